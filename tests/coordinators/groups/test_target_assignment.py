"""When a target is computed, by which assignor, from what, and what is written of it."""

from uuid import UUID

import pytest

from stoker.coordinators.groups.consumer_group import ConsumerGroup, ResolvedPattern
from stoker.coordinators.groups.consumer_member import ConsumerMember
from stoker.coordinators.groups.target_assignment import (
    assign,
    may_compute_target,
    metadata_hash,
    preferred_assignor,
    target_records,
)
from stoker.wire.group_records import (
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    GroupRecord,
    TargetTopicPartitions,
)
from tests.coordinators.groups.driver import Topics

ORDERS, PAYMENTS = UUID(int=1), UUID(int=2)


def topics() -> Topics:
    return Topics(orders=4, payments=2)


HASH_CHANGES: dict[str, tuple[str, int | None]] = {
    "it grows": ("orders", 5),
    "it is deleted": ("orders", None),
    "another is made": ("refunds", 1),
}


@pytest.mark.parametrize(("topic", "count"), HASH_CHANGES.values(), ids=HASH_CHANGES.keys())
def test_the_metadata_hash_changes_with_a_topic(topic: str, count: int | None) -> None:
    cluster = topics()
    subscribed = ["orders", "payments", "refunds"]
    before = metadata_hash(subscribed, cluster)
    cluster.set(topic, count)
    assert metadata_hash(subscribed, cluster) != before


def test_the_metadata_hash_is_of_the_subscribed_topics_alone_in_any_order() -> None:
    cluster = topics()
    before = metadata_hash(["orders", "payments"], cluster)
    assert -(2**63) <= before < 2**63
    cluster.set("refunds", 3)
    assert metadata_hash(["payments", "orders"], cluster) == before
    assert metadata_hash(["nowhere"], cluster) == metadata_hash([], cluster) == 0


def test_the_metadata_hash_changes_when_a_topic_is_made_anew() -> None:
    cluster = topics()
    before = metadata_hash(["orders"], cluster)
    cluster.set("orders", None)
    cluster.set("orders", 4)
    assert metadata_hash(["orders"], cluster) != before


INTERVALS: dict[str, tuple[int, int, int, bool]] = {
    "the first target": (0, 1_000, 5_000, True),
    "too early": (5_000, 1_000, 5_999, False),
    "late enough": (5_000, 1_000, 6_000, True),
    "without an interval": (5_000, 0, 5_000, True),
    "after the clock was set back": (5_000, 1_000, 4_000, True),
}


@pytest.mark.parametrize(("last", "interval", "now", "may"), INTERVALS.values(), ids=INTERVALS.keys())
def test_at_most_one_target_in_an_interval(last: int, interval: int, now: int, may: bool) -> None:
    group = ConsumerGroup("group")
    group.assignment_timestamp_ms = last
    assert may_compute_target(group, interval, now) == may


WISHES: dict[str, tuple[list[str | None], str]] = {
    "nobody": ([], "uniform"),
    "nobody cares": ([None, None], "uniform"),
    "one cares": ([None, None, "range"], "range"),
    "most": (["uniform", "range", "range"], "range"),
    "as many": (["range", "uniform"], "uniform"),
    "one that is no longer offered": (["gone", "gone", "range"], "range"),
}


@pytest.mark.parametrize(("wishes", "chosen"), WISHES.values(), ids=WISHES.keys())
def test_the_assignor_that_most_ask_for(wishes: list[str | None], chosen: str) -> None:
    members = [ConsumerMember(member_id=str(index), server_assignor=wish) for index, wish in enumerate(wishes)]
    assert preferred_assignor(members, ("uniform", "range")) == chosen


def member(member_id: str, *names: str, regex: str = "", instance_id: str | None = None) -> ConsumerMember:
    return ConsumerMember(
        member_id=member_id,
        subscribed_topic_names=frozenset(names),
        subscribed_topic_regex=regex,
        instance_id=instance_id,
    )


def test_everyone_gets_of_what_it_subscribes_to() -> None:
    members = {
        "a": member("a", "orders", "nowhere"),
        "b": member("b", regex="pay.*"),
        "c": member("c", "nowhere"),
    }
    patterns = {"pay.*": ResolvedPattern(frozenset({"payments"}), 1, 1)}
    target = assign(ConsumerGroup("group"), members, patterns, topics(), "uniform")
    assert target["a"] == {ORDERS: frozenset(range(4))}
    assert target["b"] == {PAYMENTS: frozenset(range(2))}
    assert not target["c"]


def test_who_has_a_target_keeps_what_it_can_and_who_takes_an_instance_id_takes_its_target() -> None:
    group = ConsumerGroup("group")
    group.update_member(member("a", "orders"))
    group.update_member(member("b", "orders", instance_id="two"))
    group.target = {"a": {ORDERS: frozenset({1, 2})}, "b": {ORDERS: frozenset({0, 3})}}
    members = {"a": group.members["a"], "b2": member("b2", "orders", instance_id="two")}
    target = assign(group, members, {}, topics(), "uniform")
    assert target == {"a": {ORDERS: frozenset({1, 2})}, "b2": {ORDERS: frozenset({0, 3})}}


def test_only_what_changes_is_written() -> None:
    group = ConsumerGroup("group")
    group.target = {"a": {ORDERS: frozenset({0, 1})}, "b": {ORDERS: frozenset({2})}}
    target = {"a": {ORDERS: frozenset({0, 1})}, "b": {ORDERS: frozenset({3, 2})}, "c": {}}

    def of_member(member_id: str, *topic_partitions: TargetTopicPartitions) -> GroupRecord:
        return GroupRecord(
            ConsumerGroupTargetAssignmentMemberKey(group_id="group", member_id=member_id),
            ConsumerGroupTargetAssignmentMemberValue(topic_partitions=list(topic_partitions)),
        )

    assert target_records(group, target, 7, 99) == [
        of_member("b", TargetTopicPartitions(topic_id=ORDERS, partitions=[2, 3])),
        of_member("c"),
        GroupRecord(
            ConsumerGroupTargetAssignmentMetadataKey(group_id="group"),
            ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=7, assignment_timestamp=99),
        ),
    ]


def test_who_subscribes_to_nothing_gets_nothing_also_beside_members_who_all_want_the_same() -> None:
    members = {"a": member("a", "orders"), "b": member("b")}
    for assignor in ("range", "uniform"):
        assert assign(ConsumerGroup("group"), members, {}, topics(), assignor) == {
            "a": {ORDERS: frozenset(range(4))},
            "b": {},
        }
