"""What one node answers where the documents, and every tutorial, have three."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from stoker import Broker
from stoker.broker.config.server_properties import load_broker_config
from tests.broker.config.test_server_properties import RETENTION_AND_THREADS, THREADS_AND_STORAGE

# The third server.properties of the documents, as it stands there.
BROKER_AND_SYSTEM_TUNING = """\
# Increase network and I/O threads
num.network.threads=8
num.io.threads=16
num.replica.fetchers=4

# Socket buffer sizes
socket.send.buffer.bytes=1048576
socket.receive.buffer.bytes=1048576
socket.request.max.bytes=104857600

# Log flush (let OS handle — Kafka uses page cache)
log.flush.interval.messages=10000
log.flush.interval.ms=1000

# Replication
replica.lag.time.max.ms=30000
min.insync.replicas=2
unclean.leader.election.enable=false

# Log retention
log.retention.hours=168
log.retention.bytes=-1
log.segment.bytes=1073741824
log.cleanup.policy=delete
"""


@pytest.fixture
def admin(stoker_broker: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": stoker_broker.bootstrap_servers})


def create(admin: AdminClient, name: str, partitions: int = 1, replicas: int = 1, **config: str) -> None:
    settings = {key.replace("_", "."): value for key, value in config.items()}
    admin.create_topics([NewTopic(name, partitions, replicas, config=settings)])[name].result()


def produce_one(broker: Broker, topic: str, **message: Any) -> Message:
    """The delivered message; raises what the broker answered instead."""
    delivered: list[Message] = []

    def on_delivery(error: Any, message: Message) -> None:
        if error is not None:
            raise KafkaException(error)
        delivered.append(message)

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "acks": "all", "message.timeout.ms": 10_000})
    producer.produce(topic, on_delivery=on_delivery, **message)
    producer.flush(15)
    return delivered[0]


def read_one(broker: Broker, topic: str) -> Message:
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": "none", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    message = consumer.poll(10)
    consumer.close()
    assert message is not None
    assert message.error() is None
    return message


@pytest.mark.acceptance("B034", "B042")
def test_more_replicas_become_one_and_it_is_said(admin: AdminClient, caplog: pytest.LogCaptureFixture) -> None:
    """A replication factor of 3 gives one replica; the description shows it, and the broker's log says so."""
    with caplog.at_level(logging.WARNING, logger="stoker.broker"):
        create(admin, "three-replicas", partitions=2, replicas=3)
    topic = admin.list_topics("three-replicas", timeout=10).topics["three-replicas"]
    assert [(p.leader, p.replicas, p.isrs) for p in topic.partitions.values()] == [(1, [1], [1])] * 2
    assert "'three-replicas' was created with 1 replica instead of 3" in caplog.text


def test_more_replicas_are_refused_on_request() -> None:
    with Broker(config={"stoker.replication.factor.policy": "refuse"}) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        with pytest.raises(KafkaException, match="INVALID_REPLICATION_FACTOR") as refused:
            create(admin, "three-replicas", replicas=3)
        assert "only 1 broker(s) are registered" in str(refused.value)
        assert "three-replicas" not in admin.list_topics(timeout=10).topics


@pytest.mark.acceptance("B036", "B038", "B051")
def test_min_insync_replicas_counts_no_more_than_there_are(admin: AdminClient, stoker_broker: Broker) -> None:
    """acks=all on a topic with one replica and min.insync.replicas=2 is acknowledged, as Kafka does since 3.7."""
    create(admin, "two-in-sync", min_insync_replicas="2")
    assert produce_one(stoker_broker, "two-in-sync", value=b"kept").offset() == 0


@pytest.mark.acceptance("B033", "B043", "B045", "B047")
def test_one_node_is_broker_and_controller(admin: AdminClient) -> None:
    """Metadata and DescribeCluster name one broker by its id, which is the controller; no ZooKeeper is asked for."""
    cluster = admin.describe_cluster().result()
    assert [node.id for node in cluster.nodes] == [1]
    assert cluster.controller.id == 1
    assert len(cluster.cluster_id) == 22
    assert admin.list_topics(timeout=10).controller_id == 1


@pytest.mark.acceptance("B020")
def test_topics_are_created_automatically_with_the_brokers_defaults() -> None:
    """Metadata of an unknown topic makes it with num.partitions; with auto.create.topics.enable=false it is unknown."""
    for enabled, partitions in (("true", 3), ("false", 0)):
        with Broker(config={"num.partitions": 3, "auto.create.topics.enable": enabled}) as broker:
            admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "allow.auto.create.topics": True})
            topic = admin.list_topics("asked-for", timeout=10).topics["asked-for"]
            assert len(topic.partitions) == partitions
            assert (topic.error is None) == (enabled == "true")


@pytest.mark.acceptance("B022")
@pytest.mark.parametrize(("timestamp_type", "expected"), [("CreateTime", 1), ("LogAppendTime", 2)])
def test_timestamps_are_the_producers_or_the_logs(
    admin: AdminClient, stoker_broker: Broker, timestamp_type: str, expected: int
) -> None:
    """With CreateTime a record keeps its producer's timestamp, with LogAppendTime the broker stamps it."""
    topic = f"timestamps-{timestamp_type}"
    create(admin, topic, message_timestamp_type=timestamp_type)
    long_ago = 1_600_000_000_000
    produce_one(stoker_broker, topic, value=b"x", timestamp=long_ago)
    kind, timestamp = read_one(stoker_broker, topic).timestamp()
    assert kind == expected
    assert (timestamp == long_ago) == (timestamp_type == "CreateTime")
    assert timestamp >= long_ago


PASTED = [
    pytest.param(RETENTION_AND_THREADS, {"num.partitions": "6"}, marks=pytest.mark.acceptance("S014")),
    pytest.param(THREADS_AND_STORAGE, {"socket.request.max.bytes": "104857600"}, marks=pytest.mark.acceptance("S015")),
    pytest.param(BROKER_AND_SYSTEM_TUNING, {"log.flush.interval.ms": "1000"}, marks=pytest.mark.acceptance("S016")),
]


@pytest.fixture
def pasted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    """A broker with the settings of a pasted file, its directories moved below the test's."""
    file = tmp_path / "server.properties"
    file.write_text(request.param)
    loaded = load_broker_config(file)
    config = dict(loaded.config.originals)
    directories = config.get("log.dirs", "/data").split(",")
    config["log.dirs"] = ",".join(f"{tmp_path}{directory.strip()}" for directory in directories)
    config["listeners"] = "PLAINTEXT://127.0.0.1:0"
    with Broker(data_dir=tmp_path, config=config) as broker:
        yield broker


@pytest.mark.parametrize(("pasted", "expected"), PASTED, indirect=["pasted"])
def test_the_documents_broker_settings_are_accepted_and_in_force(pasted: Broker, expected: dict[str, str]) -> None:
    """The pasted server.properties, inline comments and all, starts a broker that shows its settings and serves."""
    admin = AdminClient({"bootstrap.servers": pasted.bootstrap_servers})
    resource = ConfigResource(ResourceType.BROKER, "1")
    described = admin.describe_configs([resource])[resource].result()
    assert {name: described[name].value for name in expected} == expected
    create(admin, "orders", partitions=-1, replicas=-1)
    assert produce_one(pasted, "orders", key=b"k", value=b"v").error() is None
    partitions = admin.list_topics("orders", timeout=10).topics["orders"].partitions
    assert len(partitions) == int(described["num.partitions"].value)
