"""How kafka-console-consumer.sh ends, and what is left of it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from stoker import Broker
from stoker.client.admin.group_offsets import committed_offsets
from stoker.client.admin.groups import list_groups
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.client.topic_partition import TopicPartition

RECORDS = 20


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with Broker(config={"group.initial.rebalance.delay.ms": 0, "num.partitions": 1}) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for number in range(RECORDS):
            producer.produce("orders", f"order {number}".encode())
        producer.flush()
        yield broker.bootstrap_servers


def _started(address: str, *arguments: str, topic: str = "orders") -> subprocess.Popen[bytes]:
    words = ["kafka-console-consumer.sh", "--bootstrap-server", address, "--topic", topic, "--from-beginning"]
    return subprocess.Popen(
        [sys.executable, "-m", "stoker.kafka_tools", *words, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.mark.acceptance("C008")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_well(address: str, number: signal.Signals, code: int) -> None:
    """It prints what is there, waits for more until Ctrl-C, says how many there were, and ends as a JVM does."""
    with _started(address) as consumer:
        assert consumer.stdout is not None
        lines = [consumer.stdout.readline() for _ in range(RECORDS)]
        consumer.send_signal(number)
        _, errors = consumer.communicate(timeout=60)
    assert lines == [f"order {each}\n".encode() for each in range(RECORDS)]
    assert errors.endswith(f"Processed a total of {RECORDS} messages\n".encode())
    assert b"Traceback" not in errors
    assert consumer.returncode == code


def test_a_reader_that_goes_away_ends_it(address: str) -> None:
    with _started(address) as consumer:
        assert consumer.stdout is not None
        consumer.stdout.close()
        assert consumer.stderr is not None
        errors = consumer.stderr.read()
        assert consumer.wait(60) == 0
    assert b"Unable to write to standard out, closing consumer." in errors
    assert b"Processed a total of " in errors


MANY = 100_000


@pytest.fixture(scope="module")
def many(address: str) -> str:
    """More than is printed before a signal comes."""
    producer = Producer({"bootstrap.servers": address, "queue.buffering.max.messages": MANY})
    for number in range(MANY):
        producer.produce("many", b"%d" % number)
    assert producer.flush(60) == 0
    return "many"


def _committed(address: str, group: str, topic: str) -> int:
    with Cluster(client_properties(address)) as cluster:
        return committed_offsets(cluster, group)[TopicPartition(topic, 0)].offset


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_a_signal_leaves_unprinted_is_not_committed(address: str, many: str, number: signal.Signals) -> None:
    """A reader that is slow, so that the signal comes in the middle: what was written, counted and committed is the same."""
    group = f"slow-{number}"
    with _started(address, "--group", group, topic=many) as consumer:
        assert consumer.stdout is not None
        first = os.read(consumer.stdout.fileno(), 1)  # not by its buffer, which would keep more
        consumer.send_signal(number)
        rest, errors = consumer.communicate(timeout=60)
    printed = (first + rest).count(b"\n")
    assert printed < MANY
    assert errors.endswith(f"Processed a total of {printed} messages\n".encode())
    assert _committed(address, group, many) == printed


def test_a_record_that_cannot_be_shown_ends_it_behind_those_before(address: str) -> None:
    """As with Kafka's own, it is done with; those behind it are for the next one."""
    values = [b"\x00\x00\x00%c" % number for number in range(5)]
    producer = Producer({"bootstrap.servers": address})
    for value in (*values, b"no number", *values):
        producer.produce("numbers", value)
    producer.flush()
    deserializer = "org.apache.kafka.common.serialization.IntegerDeserializer"
    arguments = ("--group", "numbers", "--value-deserializer", deserializer)
    with _started(address, *arguments, topic="numbers") as consumer:
        output, errors = consumer.communicate(timeout=60)
    assert (consumer.returncode, output) == (1, b"0\n1\n2\n3\n4\n")
    assert b"SerializationException" in errors
    assert b"Processed a total of 6 messages" in errors
    assert _committed(address, "numbers", "numbers") == 6


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--include", "("], "java.util.regex.PatternSyntaxException: missing ), unterminated subpattern"),
        (["--topic", "orders", "--partition", "0", "--offset", "9" * 20], f"The provided offset value '{'9' * 20}' is incorrect"),
        (["--topic", "orders", "--consumer-property", "metadata.max.age.ms=abc"], "metadata.max.age.ms"),
    ],
)  # fmt: skip
def test_bad_arguments_are_told_of(address: str, arguments: list[str], told: str) -> None:
    command = [sys.executable, "-m", "stoker.kafka_tools", "kafka-console-consumer.sh", "--bootstrap-server", address]
    ran = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 1
    assert told in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_group_goes_on_where_it_was(address: str) -> None:
    """What was printed is committed, and nothing else; without a group nothing is."""
    for begin, end in ((0, 5), (5, 12)):
        with _started(address, "--group", "readers", "--max-messages", str(end - begin)) as consumer:
            output, _ = consumer.communicate(timeout=60)
        assert output.decode().splitlines() == [f"order {each}" for each in range(begin, end)]
    with _started(address, "--max-messages", "3") as consumer:
        consumer.communicate(timeout=60)
    with Cluster(client_properties(address)) as cluster:
        assert "readers" in [group.group_id for group in list_groups(cluster)]
        assert not [group for group in list_groups(cluster) if group.group_id.startswith("console-consumer")]
        committed = committed_offsets(cluster, "readers")
    assert {partition: each.offset for partition, each in committed.items()} == {TopicPartition("orders", 0): 12}
