"""What a group is given by the console consumer, and what it has committed in the end."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Message, Producer

from stoker import Broker
from stoker.client.admin.group_offsets import committed_offsets
from stoker.client.admin.groups import describe_group
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.properties import client_properties
from stoker.client.topic_partition import TopicPartition
from stoker.kafka_tools.record_source import RecordSource
from tests.clients.client import eventually


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with Broker(config={"group.initial.rebalance.delay.ms": 0, "num.partitions": 1}) as broker:
        yield broker.bootstrap_servers


def _produce(address: str, topic: str, *values: str) -> None:
    producer = Producer({"bootstrap.servers": address})
    for value in values:
        producer.produce(topic, value)
    producer.flush()


def _source(
    address: str, group: str, *, topic: str | None = None, pattern: str | None = None, **others: str
) -> RecordSource:
    """One that has begun."""
    properties = {"bootstrap.servers": address, "group.id": group, "auto.offset.reset": "latest"} | {
        name.replace("_", "."): value for name, value in others.items()
    }
    source = RecordSource(properties, topic=topic, pattern=pattern, group=group)
    source.begin(None, 0)
    return source


def _assigned(address: str, group: str) -> bool:
    with Cluster(client_properties(address)) as cluster:
        try:
            return any(member.assignment for member in describe_group(cluster, group).members)
        except KafkaRefused:
            return False


def _join(source: RecordSource, address: str, group: str) -> None:
    """Until it has its partitions."""

    def joined() -> bool:
        assert not source.take(10, 0.1)
        return _assigned(address, group)

    assert eventually(joined, bool)
    assert not source.take(10, 1)


def _committed(address: str, group: str) -> dict[TopicPartition, int]:
    with Cluster(client_properties(address)) as cluster:
        return {partition: each.offset for partition, each in committed_offsets(cluster, group).items()}


def _taken(source: RecordSource, count: int) -> list[str]:
    found: list[Message] = []

    def are_there() -> bool:
        found.extend(source.take(10, 0.1))
        return len(found) >= count

    assert eventually(are_there, bool)
    return [(message.value() or b"").decode() for message in found]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_what_came_since_it_began_is_left_to_the_group(address: str, protocol: str) -> None:
    """The start is committed, as Kafka's own does, not the end that there is when it goes."""
    group = topic = f"left-{protocol}"
    _produce(address, topic, "before")
    first = _source(address, group, topic=topic, group_protocol=protocol)
    _join(first, address, group)
    _produce(address, topic, "a", "b")
    first.close()
    assert _committed(address, group) == {TopicPartition(topic, 0): 1}
    second = _source(address, group, topic=topic, group_protocol=protocol)
    assert _taken(second, 2) == ["a", "b"]
    second.close()


def test_nothing_is_committed_for_one_who_does_not_want_it(address: str) -> None:
    group = topic = "uncommitted"
    _produce(address, topic, "before")
    source = _source(address, group, topic=topic, enable_auto_commit="false")
    _join(source, address, group)
    source.close()
    assert _committed(address, group) == {}


@pytest.fixture(scope="module")
def topics(address: str) -> None:
    for topic in ("by-pattern-1", "by-pattern-22", "by-pattern-a"):
        _produce(address, topic, topic)


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        (r"by-pattern-\d+", ["by-pattern-1", "by-pattern-22"]),
        ("(?i)BY-PATTERN-[A-Z]", ["by-pattern-a"]),
        ("by-pattern-1|by-pattern-a", ["by-pattern-1", "by-pattern-a"]),
        ("by-pattern-.*|__consumer_offsets", ["by-pattern-1", "by-pattern-22", "by-pattern-a"]),
    ],
)
def test_a_pattern_is_for_whole_names_but_not_for_internal_topics(
    address: str, topics: None, pattern: str, wanted: list[str]
) -> None:
    """In Python's words, which are closer to Java's than librdkafka's are."""
    source = _source(address, pattern, pattern=pattern, auto_offset_reset="earliest")
    assert sorted(_taken(source, len(wanted))) == wanted
    source.close()
    assert sorted(partition.topic for partition in _committed(address, pattern)) == wanted


def test_topics_that_come_later_are_read_too(address: str) -> None:
    source = _source(address, "later", pattern="later-.*", auto_offset_reset="earliest", metadata_max_age_ms="500")
    assert not source.take(10, 0.5), "there is none"
    for topic in ("later-1", "later-2"):
        _produce(address, topic, topic)
        assert _taken(source, 1)[-1] == topic
    source.close()
