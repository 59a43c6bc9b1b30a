"""How kafka-console-consumer.sh ends, and what is left of it."""

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


def _started(address: str, *arguments: str) -> subprocess.Popen[bytes]:
    words = ["kafka-console-consumer.sh", "--bootstrap-server", address, "--topic", "orders", "--from-beginning"]
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


def test_a_group_goes_on_where_it_was(address: str) -> None:
    """What was printed is committed, and nothing else; without a group nothing is."""
    for begin, end in ((0, 5), (5, 12)):
        with _started(address, "--group", "readers", "--max-messages", str(end - begin)) as consumer:
            output, _ = consumer.communicate(timeout=60)
        assert output.decode().splitlines() == [f"order {each}" for each in range(begin, end)]
    with _started(address, "--max-messages", "3") as consumer:
        consumer.communicate(timeout=60)
    with Cluster(client_properties(address)) as cluster:
        assert [group.group_id for group in list_groups(cluster)] == ["readers"]
        committed = committed_offsets(cluster, "readers")
    assert {partition: each.offset for partition, each in committed.items()} == {TopicPartition("orders", 0): 12}
