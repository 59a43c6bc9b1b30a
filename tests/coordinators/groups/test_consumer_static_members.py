"""Static members in KIP-848 groups: who comes back under its instance id finds what it left (KIP-345)."""

from typing import Any

from stoker.wire.error_codes import ErrorCode
from tests.coordinators.groups.consumer_driver import SESSION_TIMEOUT_MS, ConsumerDriver, FakeMember, settle
from tests.coordinators.groups.driver import Topics


def two_members(**settings: Any) -> tuple[ConsumerDriver, FakeMember, FakeMember]:
    broker = ConsumerDriver(Topics(orders=4, payments=2), **settings)
    a = FakeMember(broker, "a", ["orders"], instance_id="one")
    b = FakeMember(broker, "b", ["orders"], instance_id="two")
    settle(a, b)
    return broker, a, b


def test_a_static_member_that_returns_has_its_partitions_at_once_and_nobody_else_notices() -> None:
    broker, a, b = two_members()
    had, epoch = set(a.owned), broker.group.group_epoch
    reply = a.leave()
    assert (reply.member_id, reply.member_epoch) == ("a", -2)
    returned = a.successor("a2")
    returned.join()
    assert returned.owned == had
    assert sorted(broker.group.members) == ["a2", "b"]
    assert broker.group.static_members == {"one": "a2", "two": "b"}
    written = len(broker.log)
    settle(returned, b)
    assert (broker.group.group_epoch, len(broker.log)) == (epoch, written)


def test_while_a_static_member_is_away_its_partitions_wait_for_it() -> None:
    broker, a, b = two_members()
    a.leave()
    settle(b)
    assert len(b.owned) == 2
    broker.advance(SESSION_TIMEOUT_MS - 1)
    b.beat()
    assert len(b.owned) == 2
    broker.advance(1)
    settle(b)
    assert b.owned == broker.partitions("orders")


def test_a_static_member_that_returns_after_its_session_is_a_new_one() -> None:
    broker, a, b = two_members()
    a.leave()
    broker.advance(SESSION_TIMEOUT_MS)
    assert broker.group.is_empty
    returned = a.successor("a2")
    settle(returned)
    assert returned.owned == broker.partitions("orders")
    assert b.beat().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_session_of_the_one_before_does_not_end_the_one_that_returned() -> None:
    broker, a, b = two_members()
    a.leave()
    broker.advance(SESSION_TIMEOUT_MS - 1)
    b.beat()
    returned = a.successor("a2")
    returned.join()
    broker.advance(SESSION_TIMEOUT_MS - 1)
    assert sorted(broker.group.members) == ["a2", "b"]


def test_an_instance_id_that_is_in_use_is_not_given_away() -> None:
    broker, a, _ = two_members()
    assert a.successor("a2").join().error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    assert broker.group.static_members["one"] == "a"


def test_a_static_member_that_did_not_hear_that_it_had_joined_joins_again() -> None:
    broker, a, b = two_members()
    had, epoch = set(a.owned), broker.group.group_epoch
    assert a.join().error_code == ErrorCode.NONE
    settle(a, b)
    assert (a.owned, broker.group.group_epoch) == (had, epoch)


def test_whose_instance_id_was_taken_over_is_fenced() -> None:
    _, a, _ = two_members()
    a.leave()
    a.successor("a2").join()
    a.epoch = 2
    assert a.beat().error_code == ErrorCode.FENCED_INSTANCE_ID
    assert a.leave().error_code == ErrorCode.FENCED_INSTANCE_ID


def test_a_heartbeat_that_comes_after_its_member_left_for_a_while_is_fenced() -> None:
    broker, a, _ = two_members()
    late = a.request()
    late.member_epoch = broker.group.members["a"].previous_member_epoch
    late.topic_partitions = []
    a.leave()
    assert broker.heartbeat(late).error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_an_instance_id_that_nobody_has_is_unknown() -> None:
    broker, _, _ = two_members()
    stranger = FakeMember(broker, "c", ["orders"], instance_id="three", epoch=1)
    assert stranger.beat().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert stranger.leave().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_that_returns_with_another_subscription_causes_a_rebalance() -> None:
    broker, a, b = two_members()
    epoch = broker.group.group_epoch
    a.leave()
    returned = a.successor("a2")
    returned.subscribe("payments")
    settle(returned, b)
    assert broker.group.group_epoch == epoch + 1
    assert returned.owned == broker.partitions("payments")
    assert b.owned == broker.partitions("orders")


def test_what_a_static_member_was_to_give_up_when_it_left_is_free() -> None:
    broker, a, b = two_members()
    c = FakeMember(broker, "c", ["orders"], instance_id="three")
    c.join()
    a.beat(at_once=False)
    b.beat(at_once=False)
    gives_up = {*(a.owned - a.told), *(b.owned - b.told)}
    assert gives_up
    a.leave()
    b.leave()
    c.beat()
    assert c.owned == gives_up


def test_a_static_member_is_away_across_a_restart() -> None:
    broker, a, b = two_members()
    had = set(a.owned)
    a.leave()
    broker.restart()
    returned = a.successor("a2")
    returned.join()
    assert returned.owned == had
    settle(returned, b)


def test_a_static_member_may_leave_for_good() -> None:
    broker, a, b = two_members()
    request = a.request()
    request.member_epoch = -1
    assert broker.heartbeat(request).error_code == ErrorCode.NONE
    settle(b)
    assert b.owned == broker.partitions("orders")
