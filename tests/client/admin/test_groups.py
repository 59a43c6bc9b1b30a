"""Groups of a real cluster, of both protocols."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Producer

from stoker.client.admin.group_offsets import (
    alter_committed_offsets,
    committed_offsets,
    delete_committed_offsets,
)
from stoker.client.admin.groups import delete_groups, describe_group, list_groups
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.topic_partition import TopicPartition
from stoker.wire.error_codes import ErrorCode

PROTOCOLS = pytest.mark.parametrize("protocol", ["classic", "consumer"])


@contextmanager
def reading(address: str, group_id: str, topic: str, protocol: str) -> Iterator[Consumer]:
    """A member that has been assigned all partitions and has read one record."""
    producer = Producer({"bootstrap.servers": address})
    producer.produce(topic, b"value", partition=0)
    assert producer.flush(30) == 0
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group_id,
            "group.protocol": protocol,
            "client.id": "reader",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.subscribe([topic])
        message = None
        while message is None:
            message = consumer.poll(30)
        assert message.error() is None
        yield consumer
    finally:
        consumer.close()


@PROTOCOLS
def test_a_group_with_a_member(address: str, cluster: Cluster, topic: str, protocol: str) -> None:
    group_id = f"group-{uuid4().hex[:8]}"
    both = (TopicPartition(topic, 0), TopicPartition(topic, 1))
    with reading(address, group_id, topic, protocol) as consumer:
        consumer.commit(asynchronous=False)
        group = describe_group(cluster, group_id)
        assert (group.group_id, group.type, group.state) == (group_id, protocol.capitalize(), "Stable")
        assert group.is_active
        assert group.coordinator in cluster.brokers()
        assert group.assignor == {"classic": "range", "consumer": "uniform"}[protocol]
        (member,) = group.members
        assert member.client_id == "reader"
        assert member.assignment == both
        assert member.target == (both if protocol == "consumer" else None)
        (listed,) = [each for each in list_groups(cluster) if each.group_id == group_id]
        assert (listed.type, listed.state, listed.protocol_type) == (protocol.capitalize(), "Stable", "consumer")
        refused = delete_groups(cluster, [group_id])[group_id]
        assert refused is not None
        assert refused.error_code is ErrorCode.NON_EMPTY_GROUP
        committing = alter_committed_offsets(cluster, group_id, {both[0]: 0})[both[0]]
        assert committing is not None
        assert committing.error_code is ErrorCode.UNKNOWN_MEMBER_ID
        subscribed = delete_committed_offsets(cluster, group_id, [both[0]])[both[0]]
        assert subscribed is not None
        assert subscribed.error_code is ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    assert committed_offsets(cluster, group_id)[both[0]].offset == 1
    group = describe_group(cluster, group_id)
    assert (group.state, group.members, group.is_active) == ("Empty", (), False)
    assert delete_groups(cluster, [group_id]) == {group_id: None}
    with pytest.raises(KafkaRefused, match="GROUP_ID_NOT_FOUND"):
        describe_group(cluster, group_id)


@pytest.mark.parametrize(
    ("filters", "is_listed"),
    [
        ({"states": ["Empty"]}, True),
        ({"states": ["Stable"]}, False),
        ({"types": ["Classic"]}, True),
        ({"types": ["Consumer"]}, False),
        ({"states": ["Stable", "Empty"], "types": ["Consumer", "Classic"]}, True),
    ],
)
def test_filters(cluster: Cluster, topic: str, filters: dict[str, list[str]], is_listed: bool) -> None:
    group_id = f"group-{uuid4().hex[:8]}"
    alter_committed_offsets(cluster, group_id, {TopicPartition(topic, 0): 0})
    found = [group.group_id for group in list_groups(cluster, **filters)]
    assert (group_id in found) is is_listed


def test_offsets_of_a_group_that_never_had_a_member(cluster: Cluster, topic: str) -> None:
    group_id = f"group-{uuid4().hex[:8]}"
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert committed_offsets(cluster, group_id) == {}
    assert alter_committed_offsets(cluster, group_id, {first: 7, second: 8}) == {first: None, second: None}
    assert {each: found.offset for each, found in committed_offsets(cluster, group_id).items()} == {first: 7, second: 8}
    assert delete_committed_offsets(cluster, group_id, [first]) == {first: None}
    assert list(committed_offsets(cluster, group_id)) == [second]


def test_a_group_that_is_not_there(cluster: Cluster) -> None:
    def code_of(call: Callable[[], object]) -> ErrorCode:
        with pytest.raises(KafkaRefused) as refused:
            call()
        return refused.value.error_code

    nobody = f"nobody-{uuid4().hex[:8]}"
    assert code_of(lambda: describe_group(cluster, nobody)) is ErrorCode.GROUP_ID_NOT_FOUND
    deleting = delete_groups(cluster, [nobody])[nobody]
    assert deleting is not None
    assert deleting.error_code is ErrorCode.GROUP_ID_NOT_FOUND
