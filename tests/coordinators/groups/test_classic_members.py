"""Classic members of KIP-848 groups: they join, sync, send heartbeats and leave as ever."""

from typing import Any

import pytest

from stoker.coordinators.groups.group import GroupType
from stoker.wire.error_codes import ErrorCode
from tests.coordinators.groups.classic_consumer import (
    COOPERATIVE,
    REBALANCE_TIMEOUT_MS,
    SESSION_TIMEOUT_MS,
    ClassicConsumer,
    driver_of_both,
    mixed_group,
    settle,
)
from tests.coordinators.groups.consumer_driver import GROUP, FakeMember


def test_a_classic_member_may_join_a_group_of_the_new_protocol() -> None:
    broker = driver_of_both()
    c = FakeMember(broker, "c", ["orders"])
    c.join()
    a = ClassicConsumer(broker, ["orders"])
    reply = a.joined(a.join())
    assert (reply.protocol_type, reply.protocol_name, reply.leader, reply.members) == ("consumer", COOPERATIVE, "", [])
    a.synced(a.sync())
    settle(broker, a, c)
    assert a.owned | c.owned == broker.partitions("orders")


def test_before_version_4_of_join_group_the_member_id_is_made_at_once() -> None:
    broker = driver_of_both()
    FakeMember(broker, "c", ["orders"]).join()
    a = ClassicConsumer(broker, ["orders"])
    assert a.joined(a.join(version=3)).member_id


def test_a_classic_member_goes_over_to_the_new_protocol() -> None:
    """As in a rolling upgrade: it leaves, and comes back as a consumer of the new protocol."""
    broker = driver_of_both()
    a, b, c = mixed_group(broker)
    a.leave()
    d = FakeMember(broker, "d", ["orders"])
    d.join()
    settle(broker, b, c, d)
    b.leave()
    e = FakeMember(broker, "e", ["orders"])
    e.join()
    settle(broker, c, d, e)
    assert [len(member.owned) for member in (c, d, e)] == [2, 2, 2]


def test_a_static_classic_member_goes_over_in_its_own_place() -> None:
    broker = driver_of_both()
    c = FakeMember(broker, "c", ["orders"])
    c.join()
    a = ClassicConsumer(broker, ["orders"], instance_id="one")
    a.rebalance()
    settle(broker, a, c)
    had, epoch = set(a.owned), broker.group.group_epoch
    successor = FakeMember(broker, "a2", ["orders"], instance_id="one")
    successor.join()
    assert successor.owned == had
    assert broker.group.group_epoch == epoch
    assert a.heartbeat() is ErrorCode.FENCED_INSTANCE_ID


def test_classic_members_are_heard_of_within_the_session_time_out_they_chose() -> None:
    broker = driver_of_both()
    a, b, c = mixed_group(broker)
    broker.advance(SESSION_TIMEOUT_MS - 1)
    a.beat()
    c.beat()
    broker.advance(1)
    assert set(broker.group.members) == {a.member_id, "c"}
    assert b.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_sessions_of_classic_members_hold_across_a_restart() -> None:
    broker = driver_of_both()
    a, _, _ = mixed_group(broker)
    broker.restart()
    broker.advance(SESSION_TIMEOUT_MS - 1)
    assert a.heartbeat() is ErrorCode.NONE
    broker.advance(1)
    assert set(broker.group.members) == {a.member_id, "c"}


def test_a_classic_member_that_does_not_sync_in_time_is_out() -> None:
    broker = driver_of_both()
    c = FakeMember(broker, "c", ["orders"])
    c.join()
    a = ClassicConsumer(broker, ["orders"])
    a.joined(a.join())
    for _ in range(REBALANCE_TIMEOUT_MS // 5_000 - 1):
        broker.advance(5_000)
        a.heartbeat()
        c.beat()
    assert a.member_id in broker.group.members
    broker.advance(5_000)
    assert list(broker.group.members) == ["c"]


def test_a_classic_member_that_does_not_join_again_in_time_is_out() -> None:
    broker = driver_of_both()
    a, b, c = mixed_group(broker)
    b.leave()
    c.beat()
    assert a.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    for _ in range(REBALANCE_TIMEOUT_MS // 5_000):
        broker.advance(5_000)
        a.heartbeat()
        c.beat()
    assert list(broker.group.members) == ["c"]


SYNC_ERRORS: dict[str, tuple[dict[str, Any], ErrorCode]] = {
    "another generation": ({"generation_id": 99}, ErrorCode.ILLEGAL_GENERATION),
    "a stranger": ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
    "a member of the new protocol": ({"member_id": "c"}, ErrorCode.UNKNOWN_MEMBER_ID),
    "an instance id that nobody has": ({"instance_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
}


@pytest.mark.parametrize(("changes", "error"), SYNC_ERRORS.values(), ids=SYNC_ERRORS.keys())
def test_sync_and_heartbeat_are_for_members_at_their_generation(changes: dict[str, Any], error: ErrorCode) -> None:
    broker = driver_of_both()
    a, _, _ = mixed_group(broker)
    for name, value in changes.items():
        setattr(a, name, value)
    assert a.sync().error is error
    assert a.heartbeat() is error


def test_sync_must_name_the_protocol_that_join_told() -> None:
    broker = driver_of_both()
    a, _, _ = mixed_group(broker)
    assert a.sync(protocol_type="connect").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert a.sync(protocol_name="roundrobin").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert a.sync().error is ErrorCode.NONE


def test_sync_of_a_member_that_is_behind_the_target_asks_it_to_join_again() -> None:
    broker = driver_of_both()
    a, b, c = mixed_group(broker)
    b.leave()
    c.beat()
    assert a.sync().error is ErrorCode.REBALANCE_IN_PROGRESS


def test_join_is_refused_to_who_has_no_protocol_in_common() -> None:
    broker = driver_of_both()
    mixed_group(broker)
    stranger = ClassicConsumer(broker, ["orders"], protocol="roundrobin")
    assert stranger.join().error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_join_is_refused_if_the_group_is_full() -> None:
    broker = driver_of_both(consumer_max_size=1)
    FakeMember(broker, "c", ["orders"]).join()
    assert ClassicConsumer(broker, ["orders"]).join().error is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_an_administrator_may_take_members_of_either_protocol_out() -> None:
    broker = driver_of_both()
    _, _, c = mixed_group(broker)
    c2 = FakeMember(broker, "c2", ["orders"], instance_id="two")
    c2.join()
    remover = ClassicConsumer(broker, [], member_id="", instance_id="two")
    assert remover.leave() is ErrorCode.NONE
    assert ClassicConsumer(broker, [], member_id="c").leave() is ErrorCode.NONE
    assert ClassicConsumer(broker, [], member_id="nobody").leave() is ErrorCode.UNKNOWN_MEMBER_ID
    assert broker.context.groups[GROUP].type is GroupType.CLASSIC
    assert c.beat().error_code == ErrorCode.GROUP_ID_NOT_FOUND
