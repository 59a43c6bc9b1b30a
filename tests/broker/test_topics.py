from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

import pytest

from stoker.broker.metadata import ClusterMetadata
from stoker.broker.topics import NewTopic, TopicRefused, TopicRules, check_name, check_total, plan_growth, plan_topic
from stoker.wire.error_codes import ErrorCode
from stoker.wire.metadata_records import PartitionRecord, TopicRecord

RULES = TopicRules(
    node_id=1,
    directory_id=UUID(int=7),
    num_partitions=3,
    replication_factor=1,
    refuse_more_replicas=False,
    new_topic_id=lambda: UUID(int=42),
)


def metadata_with(**topics: int) -> ClusterMetadata:
    """Topics by name, each with so many partitions."""
    metadata = ClusterMetadata()
    for number, (name, count) in enumerate(topics.items(), start=100):
        rules = replace(RULES, new_topic_id=partial(UUID, int=number))
        plan = plan_topic(NewTopic(name=name.replace("__", "."), num_partitions=count), metadata, rules)
        for record in plan.records:
            metadata.replay(record)
    return metadata


@pytest.mark.parametrize("name", ["a", "A-b_c.9", "x" * 249, "...", "-", "__consumer_offsets"])
def test_legal_names(name: str) -> None:
    check_name(name)


ILLEGAL_NAMES = {
    "": "the empty string",
    ".": "'.' is not allowed",
    "..": "'..' is not allowed",
    "x" * 250: "longer than the max allowed length 249",
    "a b": "characters other than",
    "a/b": "characters other than",
    "ü": "characters other than",
    "a\n": "characters other than",
    "x" * 32_767: "longer than",
}


@pytest.mark.parametrize(("name", "reason"), ILLEGAL_NAMES.items(), ids=[repr(name[:9]) for name in ILLEGAL_NAMES])
def test_illegal_names(name: str, reason: str) -> None:
    with pytest.raises(TopicRefused) as refused:
        check_name(name)
    assert refused.value.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert len(str(refused.value)) < 1100
    if len(name) < 1000:
        assert reason in str(refused.value)


def test_a_topic_and_its_partitions_are_one_batch_of_records() -> None:
    plan = plan_topic(NewTopic(name="orders", num_partitions=2), ClusterMetadata(), RULES)
    topic, *partitions = plan.records
    assert topic == TopicRecord(name="orders", topic_id=UUID(int=42))
    assert all(isinstance(record, PartitionRecord) for record in partitions)
    assert [(p.partition_id, p.leader, p.isr) for p in partitions if isinstance(p, PartitionRecord)] == [
        (0, 1, [1]),
        (1, 1, [1]),
    ]


def test_the_brokers_default_counts_when_no_number_is_given() -> None:
    assert plan_topic(NewTopic(name="orders"), ClusterMetadata(), RULES).num_partitions == 3


REFUSED: dict[str, tuple[NewTopic, ErrorCode]] = {
    "exists": (NewTopic(name="orders"), ErrorCode.TOPIC_ALREADY_EXISTS),
    "collides": (NewTopic(name="the_orders"), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "no partitions": (NewTopic(name="t", num_partitions=0), ErrorCode.INVALID_PARTITIONS),
    "negative partitions": (NewTopic(name="t", num_partitions=-2), ErrorCode.INVALID_PARTITIONS),
    "too many partitions": (NewTopic(name="t", num_partitions=10_001), ErrorCode.POLICY_VIOLATION),
    "no replicas": (NewTopic(name="t", replication_factor=0), ErrorCode.INVALID_REPLICATION_FACTOR),
    "number and assignment": (NewTopic(name="t", num_partitions=1, assignments={0: [1]}), ErrorCode.INVALID_REQUEST),
    "factor and assignment": (
        NewTopic(name="t", replication_factor=1, assignments={0: [1]}),
        ErrorCode.INVALID_REQUEST,
    ),
    "gap in assignment": (NewTopic(name="t", assignments={0: [1], 2: [1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "unknown broker": (NewTopic(name="t", assignments={0: [2]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "broker twice": (NewTopic(name="t", assignments={0: [1, 1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "no broker": (NewTopic(name="t", assignments={0: []}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
}


@pytest.mark.parametrize(("wanted", "error"), REFUSED.values(), ids=list(REFUSED))
def test_refused_topics(wanted: NewTopic, error: ErrorCode) -> None:
    with pytest.raises(TopicRefused) as refused:
        plan_topic(wanted, metadata_with(orders=1, the__orders=1), RULES)
    assert refused.value.error_code == error


def test_more_replicas_than_brokers() -> None:
    wanted = NewTopic(name="t", replication_factor=3)
    plan = plan_topic(wanted, ClusterMetadata(), RULES)
    assert plan.note is not None
    assert "1 replica instead of 3" in plan.note
    with pytest.raises(TopicRefused, match="only 1 broker") as refused:
        plan_topic(wanted, ClusterMetadata(), replace(RULES, refuse_more_replicas=True))
    assert refused.value.error_code == ErrorCode.INVALID_REPLICATION_FACTOR


GROWTHS: dict[str, tuple[int, Sequence[Sequence[int]] | None, int | ErrorCode]] = {
    "by one": (3, None, 1),
    "by two, assigned": (4, [[1], [1]], 2),
    "by nothing": (2, None, ErrorCode.INVALID_PARTITIONS),
    "to fewer": (1, None, ErrorCode.INVALID_PARTITIONS),
    "to less than none": (-(2**31), None, ErrorCode.INVALID_PARTITIONS),
    "by too many": (2**31 - 1, None, ErrorCode.POLICY_VIOLATION),
    "assigned to too few": (4, [[1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "assigned elsewhere": (3, [[2]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
}


@pytest.mark.acceptance("B018")
@pytest.mark.parametrize(("count", "assignments", "expected"), GROWTHS.values(), ids=list(GROWTHS))
def test_topics_grow_and_never_shrink(
    count: int, assignments: Sequence[Sequence[int]] | None, expected: int | ErrorCode
) -> None:
    """Partitions can be added, never removed: fewer are INVALID_PARTITIONS."""
    topic = metadata_with(orders=2).topics["orders"]
    if isinstance(expected, ErrorCode):
        with pytest.raises(TopicRefused) as refused:
            plan_growth(topic, count, assignments, RULES)
        assert refused.value.error_code == expected
    else:
        records = plan_growth(topic, count, assignments, RULES)
        assert [record.partition_id for record in records if isinstance(record, PartitionRecord)] == list(
            range(2, 2 + expected)
        )


def test_one_request_creates_so_many_partitions() -> None:
    check_total(10_000)
    with pytest.raises(TopicRefused, match="10001 partitions are more than the 10000"):
        check_total(10_001)


def test_assignments_may_be_a_mapping_of_any_kind() -> None:
    assignments: Mapping[int, Sequence[int]] = {1: (1,), 0: (1,)}
    assert plan_topic(NewTopic(name="t", assignments=assignments), ClusterMetadata(), RULES).num_partitions == 2
