"""What a KIP-848 group reads: topics by name and by pattern, which come, grow and go."""

import pytest

from stoker.coordinators.groups import member_update
from stoker.coordinators.groups.consumer_member import ConsumerMember
from stoker.coordinators.groups.consumer_records import pattern_record
from stoker.coordinators.groups.consumer_states import ConsumerGroupState
from stoker.coordinators.groups.subscription_patterns import Pattern, compile_pattern
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import (
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    GroupRecord,
)
from tests.coordinators.groups.consumer_driver import CLIENT, GROUP, ConsumerDriver, FakeMember, settle
from tests.coordinators.groups.driver import Topics

REFRESH_INTERVAL_MS = 600_000


def driver() -> ConsumerDriver:
    return ConsumerDriver(Topics(orders=2, orders_eu=2, payments=1))


TOPIC_CHANGES: dict[str, tuple[list[str], str, int | None]] = {
    "a subscribed topic grows": (["orders"], "orders", 5),
    "a subscribed topic is deleted": (["orders", "payments"], "payments", None),
    "a subscribed topic is made": (["orders", "refunds"], "refunds", 3),
}


@pytest.mark.parametrize(("subscription", "topic", "count"), TOPIC_CHANGES.values(), ids=TOPIC_CHANGES.keys())
def test_a_change_of_subscribed_topics_is_found_at_the_next_heartbeat(
    subscription: list[str], topic: str, count: int | None
) -> None:
    broker = driver()
    a = FakeMember(broker, "a", subscription)
    settle(a)
    broker.topics.set(topic, count)
    a.beat()
    assert broker.group.group_epoch == 3
    settle(a)
    assert a.owned == broker.partitions(*(name for name in subscription if broker.topics.topic_id(name)))
    assert broker.group.state is ConsumerGroupState.STABLE


def test_a_change_of_other_topics_is_no_epoch() -> None:
    broker = driver()
    a = FakeMember(broker, "a", ["orders"])
    settle(a)
    written = len(broker.log)
    broker.topics.set("payments", 9)
    a.beat()
    assert (a.epoch, len(broker.log)) == (2, written)


def test_a_topic_that_was_made_anew_is_another_topic() -> None:
    broker = driver()
    a = FakeMember(broker, "a", ["payments"])
    settle(a)
    before = set(a.owned)
    broker.topics.set("payments", None)
    broker.topics.set("payments", 1)
    settle(a)
    assert a.owned == broker.partitions("payments") != before


def test_what_changed_while_the_coordinator_was_down_is_found_afterwards() -> None:
    broker = driver()
    a = FakeMember(broker, "a", ["orders"])
    settle(a)
    broker.topics.set("orders", 4)
    broker.restart()
    settle(a)
    assert a.owned == broker.partitions("orders")


def test_a_restart_alone_is_no_epoch() -> None:
    broker = driver()
    a = FakeMember(broker, "a", ["orders"], regex="pay.*")
    settle(a)
    written = len(broker.log)
    broker.restart()
    a.beat()
    assert (a.epoch, len(broker.log)) == (2, written)


def test_what_the_log_refused_to_write_of_changed_topics_is_tried_again() -> None:
    broker = driver()
    a = FakeMember(broker, "a", ["orders"])
    settle(a)
    broker.topics.set("orders", 4)
    broker.coordinator.consumer.heartbeat(CLIENT, a.request(), 1)  # what comes of it is not applied
    settle(a)
    assert a.owned == broker.partitions("orders")


def test_a_member_that_subscribes_to_nothing_that_is_there_waits_for_it() -> None:
    broker = driver()
    a = FakeMember(broker, "a", ["refunds"])
    assert a.join().member_epoch == 2
    assert not a.owned
    broker.topics.set("refunds", 2)
    a.beat()
    assert a.owned == broker.partitions("refunds")


def test_a_pattern_stands_for_the_topics_that_match_it_whole() -> None:
    broker = driver()
    a = FakeMember(broker, "a", regex="orders|ment")
    settle(a)
    assert a.owned == broker.partitions("orders")
    assert broker.group.is_subscribed_to("orders")
    assert not broker.group.is_subscribed_to("payments")


def test_names_and_a_pattern_add_up() -> None:
    broker = driver()
    a = FakeMember(broker, "a", ["payments"], regex="orders.*")
    settle(a)
    assert a.owned == broker.partitions("orders", "orders_eu", "payments")


def test_new_topics_that_match_are_found_at_the_next_heartbeat() -> None:
    broker = driver()
    a, b = FakeMember(broker, "a", regex="orders.*"), FakeMember(broker, "b", regex="orders.*")
    settle(a, b)
    broker.topics.set("orders_us", 4)
    broker.topics.set("unrelated", 4)
    settle(a, b)
    assert a.owned | b.owned == broker.partitions("orders", "orders_eu", "orders_us")
    assert not a.owned & b.owned


def test_a_pattern_is_resolved_again_after_the_refresh_interval() -> None:
    broker = driver()
    a = FakeMember(broker, "a", regex="orders")
    settle(a)
    first = broker.group.patterns["orders"].timestamp_ms
    for _ in range(REFRESH_INTERVAL_MS // 40_000 + 1):
        broker.advance(40_000)
        a.beat()
    assert broker.group.patterns["orders"].timestamp_ms - first > REFRESH_INTERVAL_MS
    assert a.epoch == 2


def test_many_patterns_are_resolved_a_few_at_a_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new topic must not make one heartbeat resolve the patterns of all members; in the end none is left out."""
    broker = driver()
    members = [FakeMember(broker, f"m{number:02}", regex=f"orders.*|m{number:02}") for number in range(30)]
    settle(*members)
    resolved: list[str] = []

    def compile_and_note(text: str) -> Pattern:
        resolved.append(text)
        return compile_pattern(text)

    monkeypatch.setattr(member_update, "compile_pattern", compile_and_note)
    monkeypatch.setattr(member_update, "_MATCHES_PER_HEARTBEAT", 5 * len(broker.topics.names()))
    for member in members:
        member.beat()
    assert resolved == []
    broker.topics.set("orders_us", 40)
    members[7].beat()
    assert len(resolved) == 3  # there is one topic more
    assert resolved[0] == "orders.*|m07"
    settle(*members)
    assert sorted(resolved) == sorted(broker.group.patterns)
    assert {owned for member in members for owned in member.owned} == broker.partitions(
        "orders", "orders_eu", "orders_us"
    )


def test_a_pattern_that_only_kafka_takes_is_not_held_against_others() -> None:
    broker = driver()
    a = FakeMember(broker, "a", regex="orders")
    settle(a)
    text = "(a?){100000}"
    broker.start_with(
        *broker.records(),
        pattern_record(GROUP, text, {"payments"}, 1, 1),
        ConsumerMember(member_id="b", subscribed_topic_regex=text).metadata_record(GROUP),
    )
    broker.topics.set("orders_us", 1)
    assert a.beat().error_code == ErrorCode.NONE
    assert broker.group.patterns[text].topics == {"payments"}


def test_the_last_member_with_a_pattern_takes_it_away() -> None:
    broker = driver()
    a, b = FakeMember(broker, "a", regex="orders.*"), FakeMember(broker, "b", regex="orders.*")
    settle(a, b)
    a.subscribe("payments", regex="")
    a.beat()
    assert list(broker.group.patterns) == ["orders.*"]
    b.leave()
    assert not broker.group.patterns
    assert broker.records()[-2] == GroupRecord(
        ConsumerGroupRegularExpressionKey(group_id=GROUP, regular_expression="orders.*"), None
    )
    settle(a)
    assert a.owned == broker.partitions("payments")


def test_another_pattern_is_another_subscription() -> None:
    broker = driver()
    a = FakeMember(broker, "a", regex="orders.*")
    settle(a)
    a.subscribe(regex="pay.*")
    settle(a)
    assert a.owned == broker.partitions("payments")
    assert list(broker.group.patterns) == ["pay.*"]
    a.subscribe(regex="(")
    assert a.beat().error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert list(broker.group.patterns) == ["pay.*"]


def test_the_partition_metadata_of_an_older_kafka_is_taken_away() -> None:
    broker = driver()
    FakeMember(broker, "a", ["orders"]).join()
    key = ConsumerGroupPartitionMetadataKey(group_id=GROUP)
    broker.start_with(*broker.records(), GroupRecord(key, ConsumerGroupPartitionMetadataValue()))
    assert broker.group.has_partition_metadata_record
    b = FakeMember(broker, "b", ["orders"])
    b.join()
    assert not broker.group.has_partition_metadata_record
    assert GroupRecord(key, None) in broker.records()
