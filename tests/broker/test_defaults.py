"""What DescribeConfigs says of a broker that was given no settings, read by an unmodified client."""

import pytest
from confluent_kafka.admin import AdminClient, ConfigEntry, ConfigResource, ResourceType

from stoker import Broker

# Name and value as Kafka 4.3 has them; the documents are wrong in a few, which the ledger's rows correct.
BROKER_DEFAULTS = [
    pytest.param("node.id", "1", marks=pytest.mark.acceptance("B303")),
    pytest.param("log.dir", "/tmp/kafka-logs", marks=pytest.mark.acceptance("B305")),
    pytest.param("num.partitions", "1", marks=pytest.mark.acceptance("B306")),
    pytest.param("default.replication.factor", "1", marks=pytest.mark.acceptance("B307")),
    pytest.param("min.insync.replicas", "1", marks=pytest.mark.acceptance("B308")),
    pytest.param("log.retention.ms", None, marks=pytest.mark.acceptance("B309")),
    pytest.param("log.retention.hours", "168", marks=pytest.mark.acceptance("B309")),
    pytest.param("log.retention.bytes", "-1", marks=pytest.mark.acceptance("B310")),
    pytest.param("log.segment.bytes", "1073741824", marks=pytest.mark.acceptance("B311")),
    pytest.param("log.roll.ms", None, marks=pytest.mark.acceptance("B312")),
    pytest.param("log.roll.hours", "168", marks=pytest.mark.acceptance("B312")),
    pytest.param("replica.lag.time.max.ms", "30000", marks=pytest.mark.acceptance("B313")),
    pytest.param("num.network.threads", "3", marks=pytest.mark.acceptance("B314")),
    pytest.param("num.io.threads", "8", marks=pytest.mark.acceptance("B315")),
    pytest.param("socket.send.buffer.bytes", "102400", marks=pytest.mark.acceptance("B316")),
    pytest.param("message.max.bytes", "1048588", marks=pytest.mark.acceptance("B317")),
    pytest.param("auto.create.topics.enable", "true", marks=pytest.mark.acceptance("B318")),
    pytest.param("delete.topic.enable", "true", marks=pytest.mark.acceptance("B319")),
    pytest.param("unclean.leader.election.enable", "false", marks=pytest.mark.acceptance("B320", "B041")),
    pytest.param("compression.type", "producer", marks=pytest.mark.acceptance("B321")),
    pytest.param("log.cleaner.delete.retention.ms", "86400000", marks=pytest.mark.acceptance("B322")),
    pytest.param("log.cleaner.min.cleanable.ratio", "0.5", marks=pytest.mark.acceptance("B322")),
]
TOPIC_DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "delete.retention.ms": "86400000",
    "max.message.bytes": "1048588",
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.insync.replicas": "1",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.ms": "604800000",
}


@pytest.fixture(scope="module")
def described(stoker_broker: Broker) -> dict[str, ConfigEntry]:
    admin = AdminClient({"bootstrap.servers": stoker_broker.bootstrap_servers})
    resource = ConfigResource(ResourceType.BROKER, "1")
    described: dict[str, ConfigEntry] = admin.describe_configs([resource])[resource].result()
    return described


@pytest.mark.parametrize(("name", "value"), BROKER_DEFAULTS)
def test_a_broker_has_kafkas_defaults(described: dict[str, ConfigEntry], name: str, value: str | None) -> None:
    """DescribeConfigs shows Kafka 4.3's default of the setting."""
    assert described[name].value == value


@pytest.mark.acceptance("B304")
def test_the_listener_is_shown(described: dict[str, ConfigEntry]) -> None:
    """DescribeConfigs shows the listeners that were set, and that their default is PLAINTEXT://:9092."""
    assert described["listeners"].value == "PLAINTEXT://127.0.0.1:0"
    assert described["listeners"].is_default is False
    assert described["listeners"].synonyms["listeners"].value == "PLAINTEXT://:9092"


def test_a_topic_has_kafkas_defaults(stoker_broker: Broker) -> None:
    admin = AdminClient({"bootstrap.servers": stoker_broker.bootstrap_servers})
    admin.list_topics("defaults-of-a-topic", timeout=10)  # makes it
    resource = ConfigResource(ResourceType.TOPIC, "defaults-of-a-topic")
    entries = admin.describe_configs([resource])[resource].result()
    assert {name: entries[name].value for name in TOPIC_DEFAULTS} == TOPIC_DEFAULTS
    assert all(entries[name].is_default for name in TOPIC_DEFAULTS)
