"""kafka-consumer-groups.sh on a Stoker broker: what is named twice is acted on once, patterns are RE2's, as by Kafka's own."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from stoker import Broker
from stoker.client.admin.group_offsets import alter_committed_offsets
from stoker.client.admin.groups import delete_groups
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.client.topic_partition import TopicPartition
from stoker.kafka_tools.running import run

ORDERS = TopicPartition("orders", 0)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with Broker(config={"num.partitions": 1}) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        producer.produce("orders", b"value")
        producer.flush()
        yield broker.bootstrap_servers


@pytest.fixture
def cluster(address: str) -> Iterator[Cluster]:
    """With a group that has read the record."""
    with Cluster(client_properties(address)) as connected:
        alter_committed_offsets(connected, "payments", {ORDERS: 1})
        yield connected


def _run(address: str, *arguments: str) -> int:
    return run("kafka-consumer-groups.sh", ["--bootstrap-server", address, *arguments])


@pytest.mark.parametrize("topic", ["orders", "orders:0"])
def test_offsets_of_a_topic(address: str, cluster: Cluster, capsys: pytest.CaptureFixture[str], topic: str) -> None:
    assert _run(address, "--delete-offsets", "--group", "payments", "--topic", topic, "--topic", topic) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Request succeeded for deleting offsets from group payments.\n")
    assert printed.count("Successful") == 1


def test_a_group(address: str, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(address, "--describe", "--group", "payments", "--group", "payments") == 0
    assert capsys.readouterr().out.count("payments") == 1
    assert _run(address, "--delete", "--group", "payments", "--group", "payments") == 0
    assert capsys.readouterr().out == "Deletion of requested consumer groups ('payments') was successful.\n"


def test_a_group_of_the_client(cluster: Cluster) -> None:
    assert delete_groups(cluster, ["payments", "payments"]) == {"payments": None}


@pytest.mark.parametrize(
    ("pattern", "printed"),
    [
        (r"orders-\d+", "is valid."),
        (r"\pL+", "is valid."),
        ("(?=a)", "is invalid: "),
        (r"(a)\1", "is invalid: "),
        ("(", "is invalid: missing )"),
    ],
)
def test_a_pattern(capsys: pytest.CaptureFixture[str], pattern: str, printed: str) -> None:
    assert run("kafka-consumer-groups.sh", ["--validate-regex", pattern]) == 0
    assert capsys.readouterr().out.startswith(f"The regular expression `{pattern}` {printed}")
