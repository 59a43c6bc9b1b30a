"""ConsumerGroupHeartbeat: joining, staying, changing and leaving."""

from dataclasses import replace
from typing import Any

import pytest

from stoker.coordinators.groups.consumer_states import ConsumerGroupState, MemberState
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from tests.coordinators.groups.consumer_driver import (
    CLIENT,
    GROUP,
    SESSION_TIMEOUT_MS,
    ConsumerDriver,
    FakeMember,
    settle,
)
from tests.coordinators.groups.driver import Topics


def driver(assignment_interval_ms: int = 0, **settings: Any) -> ConsumerDriver:
    return ConsumerDriver(Topics(orders=6, payments=3), assignment_interval_ms=assignment_interval_ms, **settings)


def join_request(**changes: Any) -> ConsumerGroupHeartbeatRequest:
    fields: dict[str, Any] = {
        "group_id": GROUP,
        "member_id": "a",
        "member_epoch": 0,
        "rebalance_timeout_ms": 1_000,
        "subscribed_topic_names": ["orders"],
        "topic_partitions": [],
    }
    return ConsumerGroupHeartbeatRequest(**(fields | changes))


INVALID_REQUESTS: dict[str, tuple[dict[str, Any], int]] = {
    "no group": ({"group_id": ""}, 1),
    "blank group": ({"group_id": "  "}, 1),
    "empty instance id": ({"instance_id": ""}, 1),
    "empty rack": ({"rack_id": ""}, 1),
    "from version 1 on members make their own id": ({"member_id": ""}, 1),
    "a heartbeat of nobody": ({"member_id": "", "member_epoch": 1}, 0),
    "nobody leaves": ({"member_id": "", "member_epoch": -1}, 0),
    "joining without a rebalance time-out": ({"rebalance_timeout_ms": -1}, 1),
    "joining with partitions": ({"topic_partitions": [TopicPartitions(partitions=[0])]}, 1),
    "joining without saying that there are no partitions": ({"topic_partitions": None}, 1),
    "joining without a subscription": ({"subscribed_topic_names": None}, 1),
    "leaving for a while without an instance id": ({"member_epoch": -2}, 1),
    "an epoch that means nothing": ({"member_epoch": -3}, 1),
}


@pytest.mark.parametrize(("changes", "version"), INVALID_REQUESTS.values(), ids=INVALID_REQUESTS.keys())
def test_a_request_that_contradicts_the_protocol_is_refused(changes: dict[str, Any], version: int) -> None:
    broker = driver()
    reply = broker.heartbeat(join_request(**changes), version=version)
    assert reply.error_code == ErrorCode.INVALID_REQUEST
    assert reply.error_message
    assert not broker.log


REFUSALS: dict[str, tuple[dict[str, Any], ErrorCode]] = {
    "an assignor that is not offered": ({"server_assignor": "sticky"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
    "a heartbeat to a group that is not there": ({"member_epoch": 1}, ErrorCode.GROUP_ID_NOT_FOUND),
    "leaving a group that is not there": ({"member_epoch": -1}, ErrorCode.GROUP_ID_NOT_FOUND),
    "not a regular expression": (
        {"subscribed_topic_names": None, "subscribed_topic_regex": "[a"},
        ErrorCode.INVALID_REGULAR_EXPRESSION,
    ),
}


@pytest.mark.parametrize(("changes", "error"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_request_that_cannot_be_fulfilled_is_refused(changes: dict[str, Any], error: ErrorCode) -> None:
    broker = driver()
    reply = broker.heartbeat(join_request(**changes))
    assert reply.error_code == error
    assert not broker.log


def test_the_first_member_gets_everything_at_once() -> None:
    broker = driver()
    a = FakeMember(broker, "a", ["orders", "payments"])
    reply = a.join()
    assert (reply.member_id, reply.member_epoch, reply.heartbeat_interval_ms) == ("a", 2, 5_000)
    assert a.owned == broker.partitions("orders", "payments")
    assert broker.group.state is ConsumerGroupState.STABLE


def test_a_member_without_a_subscription_has_an_epoch_too() -> None:
    broker = driver()
    a = FakeMember(broker, "a", [])
    reply = a.join()
    assert (reply.error_code, reply.member_epoch) == (ErrorCode.NONE, 1)
    assert not a.owned
    a.subscribe("orders")
    settle(a)
    assert a.owned == broker.partitions("orders")


def test_before_version_1_the_broker_makes_the_member_id() -> None:
    broker = driver()
    reply = broker.heartbeat(join_request(member_id=""), version=0)
    assert reply.member_id
    assert list(broker.group.members) == [reply.member_id]


def test_a_heartbeat_with_nothing_new_writes_nothing_and_tells_nothing() -> None:
    broker = driver()
    a = FakeMember(broker, "a", ["orders"])
    settle(a)
    written = len(broker.log)
    reply = a.beat()
    assert len(broker.log) == written
    assert (reply.member_epoch, reply.assignment) == (2, None)


def test_a_full_heartbeat_is_told_the_assignment_though_it_has_not_changed() -> None:
    broker = driver()
    a = FakeMember(broker, "a", ["orders"])
    settle(a)
    a.subscribe("orders")
    written = len(broker.log)
    assert a.beat().assignment is not None
    assert len(broker.log) == written


def test_a_second_member_gets_half_when_the_first_has_given_it_up() -> None:
    broker = driver()
    a, b = FakeMember(broker, "a", ["orders"]), FakeMember(broker, "b", ["orders"])
    a.join()
    b.join()
    assert not b.owned
    assert broker.group.members["b"].state is MemberState.UNRELEASED_PARTITIONS
    assert broker.group.state_name == "Reconciling"

    a.beat(at_once=False)
    assert (a.epoch, len(a.owned), len(a.told)) == (2, 6, 3)
    assert broker.group.members["a"].state is MemberState.UNREVOKED_PARTITIONS
    b.beat()
    assert not b.owned

    a.reconcile()
    a.beat()
    assert a.epoch == 3
    b.beat()
    assert len(b.owned) == 3
    assert a.owned | b.owned == broker.partitions("orders")
    assert broker.group.state_name == "Stable"


def test_who_leaves_makes_room() -> None:
    broker = driver()
    a, b = FakeMember(broker, "a", ["orders"]), FakeMember(broker, "b", ["orders"])
    settle(a, b)
    reply = b.leave()
    assert (reply.error_code, reply.member_id, reply.member_epoch) == (ErrorCode.NONE, "b", -1)
    settle(a)
    assert a.owned == broker.partitions("orders")


def test_the_last_member_leaves_an_empty_group() -> None:
    broker = driver()
    a = FakeMember(broker, "a", ["orders"])
    a.join()
    a.leave()
    group = broker.group
    assert group.state is ConsumerGroupState.EMPTY
    assert group.is_empty
    assert group.metadata_hash == 0
    assert group.group_epoch == 3


def test_who_is_not_heard_of_for_the_session_time_out_is_out() -> None:
    broker = driver()
    a, b = FakeMember(broker, "a", ["orders"]), FakeMember(broker, "b", ["orders"])
    settle(a, b)
    broker.advance(SESSION_TIMEOUT_MS - 1)
    a.beat()
    broker.advance(1)
    assert list(broker.group.members) == ["a"]
    assert b.beat().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    settle(a)
    assert a.owned == broker.partitions("orders")


def test_a_member_that_the_log_refuses_to_let_go_is_let_go_later() -> None:
    broker = driver()
    FakeMember(broker, "a", ["orders"]).join()
    broker.refuse_with = ErrorCode.KAFKA_STORAGE_ERROR
    broker.advance(SESSION_TIMEOUT_MS)
    assert list(broker.group.members) == ["a"]
    broker.refuse_with = None
    broker.advance(500)
    assert broker.group.is_empty


def test_who_does_not_give_up_partitions_within_its_rebalance_time_out_is_fenced() -> None:
    broker = driver()
    a = FakeMember(broker, "a", ["orders"], rebalance_timeout_ms=60_000)
    b = FakeMember(broker, "b", ["orders"])
    a.join()
    b.join()
    a.beat(at_once=False)
    for _ in range(2):
        broker.advance(30_000 - 1)
        a.beat(at_once=False)
        b.beat()
    assert a.member_id in broker.group.members
    broker.advance(2)
    assert list(broker.group.members) == ["b"]
    assert a.beat().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    settle(b)
    assert b.owned == broker.partitions("orders")


def test_who_gave_up_in_time_has_time_again_for_the_next() -> None:
    broker = driver()
    a = FakeMember(broker, "a", ["orders"], rebalance_timeout_ms=40_000)
    b = FakeMember(broker, "b", ["orders"])
    a.join()
    b.join()
    settle(a, b)
    broker.advance(39_999)
    a.beat()
    b.beat()
    broker.advance(10_000)
    assert sorted(broker.group.members) == ["a", "b"]


EPOCHS: dict[str, tuple[int, list[int] | None, ErrorCode]] = {
    "the current one": (3, None, ErrorCode.NONE),
    "a later one": (4, None, ErrorCode.FENCED_MEMBER_EPOCH),
    "the one before, with what was left to it": (2, [0, 1, 2], ErrorCode.NONE),
    "the one before, with more": (2, [0, 1, 2, 3], ErrorCode.FENCED_MEMBER_EPOCH),
    "the one before, without saying what it has": (2, None, ErrorCode.FENCED_MEMBER_EPOCH),
}


@pytest.mark.parametrize(("epoch", "has", "error"), EPOCHS.values(), ids=EPOCHS.keys())
def test_a_member_may_be_behind_only_if_a_reply_could_have_been_lost(
    epoch: int, has: list[int] | None, error: ErrorCode
) -> None:
    broker = driver()
    a, b = FakeMember(broker, "a", ["orders"], server_assignor="range"), FakeMember(broker, "b", ["orders"])
    settle(a)
    b.join()
    a.beat()
    a.beat()  # gave up 3, 4 and 5, and is at epoch 3 now
    topic_id = broker.topic_id("orders")
    assert {index for _, index in a.owned} == {0, 1, 2}
    reported = None if has is None else [TopicPartitions(topic_id=topic_id, partitions=has)]
    reply = broker.heartbeat(
        ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="a", member_epoch=epoch, topic_partitions=reported)
    )
    assert reply.error_code == error
    assert "a" in broker.group.members


def test_a_member_that_joins_again_is_told_what_it_still_has() -> None:
    broker = driver()
    a, b = FakeMember(broker, "a", ["orders"]), FakeMember(broker, "b", ["orders"])
    settle(a, b)
    before = set(a.owned)
    a.join()
    assert a.owned == before
    assert broker.group.group_epoch == 3


def test_a_group_takes_no_more_than_its_largest_size() -> None:
    broker = driver(consumer_max_size=1)
    FakeMember(broker, "a", ["orders"]).join()
    assert FakeMember(broker, "b", ["orders"]).join().error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert FakeMember(broker, "a", ["orders"]).join().error_code == ErrorCode.NONE


def test_a_change_of_subscription_is_an_epoch() -> None:
    broker = driver()
    a, b = FakeMember(broker, "a", ["orders"]), FakeMember(broker, "b", ["orders", "payments"])
    settle(a, b)
    epoch = broker.group.group_epoch
    b.subscribe("payments")
    settle(a, b)
    assert broker.group.group_epoch == epoch + 1
    assert a.owned == broker.partitions("orders")
    assert b.owned == broker.partitions("payments")


def test_what_is_no_longer_subscribed_to_is_given_up_before_there_is_a_target_without_it() -> None:
    broker = driver(assignment_interval_ms=60_000)
    a = FakeMember(broker, "a", ["orders", "payments"])
    a.join()
    a.beat()
    a.subscribe("orders")
    reply = a.beat()
    assert reply.member_epoch == 2
    assert a.owned == broker.partitions("orders")
    assert broker.group.state is ConsumerGroupState.ASSIGNING


def test_another_client_id_is_written_but_no_epoch() -> None:
    broker = driver()
    FakeMember(broker, "a", ["orders"]).join()
    heartbeat = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="a", member_epoch=2)
    broker.heartbeat(heartbeat, client=replace(CLIENT, client_id="renamed"))
    assert broker.group.members["a"].client_id == "renamed"
    assert broker.group.group_epoch == 2


def test_most_members_choose_the_assignor() -> None:
    broker = driver()
    members = [
        FakeMember(broker, "a", ["orders"], server_assignor="range"),
        FakeMember(broker, "b", ["orders"], server_assignor="range"),
        FakeMember(broker, "c", ["orders"], server_assignor="uniform"),
    ]
    settle(*members)
    assert [sorted(index for _, index in member.owned) for member in members] == [[0, 1], [2, 3], [4, 5]]
    assert broker.coordinator.consumer.describe(GROUP).assignor_name == "range"


def test_members_that_come_within_the_assignment_interval_share_one_target() -> None:
    broker = driver(assignment_interval_ms=1_000)
    a, b, c = (FakeMember(broker, name, ["orders"]) for name in "abc")
    a.join()
    assert len(a.owned) == 6
    b.join()
    c.join()
    assert (b.epoch, c.epoch) == (2, 2)
    assert not b.owned | c.owned
    assert (broker.group.group_epoch, broker.group.assignment_epoch) == (4, 2)
    assert broker.group.state is ConsumerGroupState.ASSIGNING

    broker.advance(1_000)
    settle(a, b, c)
    assert broker.group.assignment_epoch == 4
    assert [len(member.owned) for member in (a, b, c)] == [2, 2, 2]


def test_the_assignment_interval_holds_across_a_restart_but_not_if_the_clock_was_set_back() -> None:
    broker = driver(assignment_interval_ms=1_000)
    FakeMember(broker, "a", ["orders"]).join()
    broker.restart()
    FakeMember(broker, "b", ["orders"]).join()
    assert broker.group.assignment_epoch == 2
    broker.clock.passed_ms -= 10_000
    FakeMember(broker, "c", ["orders"]).join()
    assert broker.group.assignment_epoch == 4


def test_after_a_restart_members_have_their_session_and_rebalance_time_outs() -> None:
    broker = driver()
    a = FakeMember(broker, "a", ["orders"], rebalance_timeout_ms=10_000)
    b = FakeMember(broker, "b", ["orders"])
    a.join()
    b.join()
    a.beat(at_once=False)
    broker.restart()
    broker.advance(9_999)
    assert sorted(broker.group.members) == ["a", "b"]
    broker.advance(1)
    assert list(broker.group.members) == ["b"]
    broker.advance(SESSION_TIMEOUT_MS - 10_000)
    assert broker.group.is_empty
