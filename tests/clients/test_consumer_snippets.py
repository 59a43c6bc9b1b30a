"""Consumers as tutorials write them, in Python and JavaScript, run with only the address changed and with the corrections that each test states."""

import signal
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException

from tests.clients.client import WAIT_SECONDS, Record, eventually
from tests.clients.consumer_groups import ConsumerGroups
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.program import Program
from tests.clients.records import KEEP_FOREVER
from tests.clients.tutorials import node_program, python_program, run_python, source


def one_record_a_partition() -> list[Record]:
    return [Record(key=b"order-%d" % partition, value=b"{}", partition=partition) for partition in range(3)]


@pytest.mark.acceptance("S040", "B091")
def test_the_python_poll_loop(
    orders: str, confluent: ConfluentKafka, consumer_groups: ConsumerGroups, broker_address: str, tmp_path: Path
) -> None:
    """Stored offsets are committed after SIGINT, each partition's end is told once; as pasted store_offsets() is refused."""
    group = "order-processing-group"
    consumer_groups.forget(group)
    confluent.produce(orders, one_record_a_partition())
    with python_program(source("poll_loop.py.txt", broker_address), tmp_path) as pasted:
        assert pasted.wait() == 1
        assert "StoreOffsets failed: Local: Invalid argument or configuration" in pasted.lines[-1]
    assert consumer_groups.committed(group, orders) == {}

    corrections = {
        "KafkaError.PARTITION_EOF": "KafkaError._PARTITION_EOF",
        '"enable.auto.commit": False,': '"enable.auto.commit": False,\n'
        '    "enable.partition.eof": True,\n    "enable.auto.offset.store": False,',
    }
    ends = [f"Reached end of partition {partition}" for partition in range(3)]
    with python_program(source("poll_loop.py.txt", broker_address, corrections), tmp_path) as loop:
        loop.wait_for(lambda lines: set(ends) <= set(lines))
        assert loop.end_with(signal.SIGINT) == 0
        received = [line for line in loop.lines if line not in ends]
        assert sorted(received) == [
            f"Received: key=b'order-{partition}' value=b'{{}}' partition={partition} offset=0" for partition in range(3)
        ]
        assert len(loop.lines) == 6
    assert consumer_groups.committed(group, orders) == {0: 1, 1: 1, 2: 1}


AROUND_THE_BATCH_CONSUMER = """
from confluent_kafka import KafkaException
def on_assign(consumer, partitions): print('assigned', sorted(each.partition for each in partitions))
def on_revoke(consumer, partitions): print('revoked', sorted(each.partition for each in partitions))
def process(message): print('processed', message.partition(), message.offset())
"""


@pytest.mark.acceptance("S041")
def test_the_python_batch_consumer(
    orders: str, confluent: ConfluentKafka, consumer_groups: ConsumerGroups, broker_address: str, tmp_path: Path
) -> None:
    """Batches of up to 500, each committed after it is processed; SIGTERM leaves the group at once. librdkafka names fetch.max.wait.ms."""
    group = "order-processor-v3"
    consumer_groups.forget(group)
    confluent.produce(orders, [Record(value=b"x" * 100, partition=number % 3) for number in range(1200)])
    text = AROUND_THE_BATCH_CONSUMER + source("batch_consumer.py.txt", broker_address)
    with python_program(text, tmp_path) as pasted:
        assert pasted.wait() == 1
        assert 'No such configuration property: "fetch.max.wait.ms"' in pasted.lines[-1]

    with python_program(text.replace("fetch.max.wait.ms", "fetch.wait.max.ms"), tmp_path) as consumer:
        everything = {0: 400, 1: 400, 2: 400}
        committed = eventually(lambda: consumer_groups.committed(group, orders), lambda found: found == everything)
        assert committed == everything
        assert consumer.end_with(signal.SIGTERM) == 0
        assert consumer_groups.is_empty(group)
        first, *processed, last = consumer.lines
    assert (first, last) == ("assigned [0, 1, 2]", "revoked [0, 1, 2]")
    assert sorted(processed) == sorted(f"processed {number % 3} {number // 3}" for number in range(1200))


@pytest.mark.acceptance("S043", "B086")
def test_the_lag_of_a_group_and_seeks(
    confluent: ConfluentKafka,
    consumer_groups: ConsumerGroups,
    broker_address: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Lag from commits and watermarks, of the group asked for and not of `monitor`; seeks to offset 12345 and to 2024, once assigned."""
    year_2024 = 1_704_067_200_000
    confluent.create_anew("orders", partitions=3, configs=KEEP_FOREVER)
    times = [year_2024 + number - 12_000 for number in range(12_350)]
    confluent.produce(
        "orders", [Record(value=str(number).encode(), timestamp=each) for number, each in enumerate(times)]
    )
    confluent.produce("orders", [Record(value=b"", partition=1)] * 5)
    consumer_groups.forget("monitor")
    consumer_groups.commit("group-of-interest", "orders", {0: 12_340, 1: 5})
    corrections = {"'...'": f"'{broker_address}'"}
    pasted = source("lag_and_seek.py.txt", broker_address, corrections)
    with pytest.raises(KafkaException) as refused:
        run_python(pasted, tmp_path)
    assert refused.value.args[0].code() == KafkaError._STATE
    assert capsys.readouterr().out.split("\n") == [
        "Partition 0: lag=12350",
        "Partition 1: lag=5",
        "Partition 2: lag=0",
        "",
    ]

    corrections |= {"'monitor'": "'group-of-interest'"}
    first_seek, second_seek = "c.seek(TopicPartition('orders', partition=0, offset=12345))", "c.seek(offsets_for_ts[0])"
    corrections |= {
        first_seek: f"c.assign([TopicPartition('orders', 0)])\nc.poll({WAIT_SECONDS})\n{first_seek}\nfirst = c.poll({WAIT_SECONDS})",
        second_seek: f"{second_seek}\nsecond = c.poll({WAIT_SECONDS})",
    }
    names = run_python(source("lag_and_seek.py.txt", broker_address, corrections), tmp_path)
    assert capsys.readouterr().out.split("\n") == [
        "Partition 0: lag=10",
        "Partition 1: lag=0",
        "Partition 2: lag=0",
        "",
    ]
    assert (names["first"].offset(), names["first"].value()) == (12_345, b"12345")
    assert (names["second"].offset(), names["second"].timestamp()[1]) == (12_000, year_2024)
    names["c"].close()


@pytest.mark.acceptance("S046")
@pytest.mark.node
def test_the_kafkajs_batch_consumer(
    orders: str, confluent: ConfluentKafka, consumer_groups: ConsumerGroups, broker_address: str, tmp_path: Path
) -> None:
    """A failing order goes to the dead letter queue; without auto-commit offsets are committed only where they are given to the call."""
    group = "order-processing-group"
    consumer_groups.forget(group)
    consumer_groups.commit(group, orders, {0: 0, 1: 0, 2: 0})  # it starts at the end otherwise
    confluent.create_anew("orders-dlq")
    created = (("event-type", b"ORDER_CREATED"),)
    bad = Record(key=b"USR-1", value=b'{"amount": -1}', headers=created, partition=1)
    good = [Record(value=b'{"amount": 1}', headers=created, partition=partition) for partition in (0, 1, 1)]
    confluent.produce(orders, [bad, *good])
    processing = {
        f"Processing: ORDER_CREATED Partition: {where}" for where in ("0 Offset: 0", "1 Offset: 0", "1 Offset: 2")
    }

    def ended(program: Program) -> int:
        """Its status after SIGTERM; a record ends the fetch that it would wait for, up to its maxWaitTimeInMs of 5 s."""
        program.signal(signal.SIGTERM)
        program.wait_for(lambda lines: "Shutting down consumer..." in lines)
        confluent.produce(orders, [Record(value=b'{"amount": 1}', partition=2)])
        return program.wait()

    around = source("around/use_batch_consumer.js", broker_address)
    with node_program(source("batch_consumer.js", broker_address) + around, tmp_path) as pasted:
        pasted.wait_for(lambda lines: processing <= set(lines))
        assert ended(pasted) == 0
    assert consumer_groups.committed(group, orders) == {0: 0, 1: 0, 2: 0}

    corrections = {
        "commitOffsetsIfNecessary })": "commitOffsetsIfNecessary, uncommittedOffsets })",
        "commitOffsetsIfNecessary()": "commitOffsetsIfNecessary(uncommittedOffsets())",
    }
    with node_program(source("batch_consumer.js", broker_address, corrections) + around, tmp_path) as consumer:
        consumer.wait_for(lambda lines: processing <= set(lines))
        wanted = {0: 1, 1: 3, 2: 1}
        assert eventually(lambda: consumer_groups.committed(group, orders), lambda found: found == wanted) == wanted
        assert ended(consumer) == 0
    assert consumer_groups.is_empty(group)
    for letter in confluent.read("orders-dlq", 0, count=2):  # one a run
        assert (letter.key, letter.value) == (bad.key, bad.value)
        assert dict(letter.headers) == {"event-type": b"ORDER_CREATED", "error": b"the amount is negative"}
