"""Groups that go over from the classic protocol to KIP-848 while they run, and back."""

from dataclasses import replace
from typing import Any

import pytest

from stoker.coordinators.groups.classic_group import ClassicGroup
from stoker.coordinators.groups.classic_states import ClassicGroupState
from stoker.coordinators.groups.consumer_group import ConsumerGroup
from stoker.wire.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupMetadataKey, GroupRecord, encode_key
from stoker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tests.coordinators.groups.classic_consumer import (
    COOPERATIVE,
    EAGER,
    REBALANCE_TIMEOUT_MS,
    SESSION_TIMEOUT_MS,
    ClassicConsumer,
    assignment_of,
    classic_group,
    driver_of_both,
    mixed_group,
    settle,
)
from tests.coordinators.groups.consumer_driver import CLIENT, GROUP, ConsumerDriver, FakeMember
from tests.coordinators.groups.driver import Topics


@pytest.mark.parametrize("protocol", [COOPERATIVE, EAGER])
def test_a_classic_group_goes_over_when_the_first_consumer_of_the_new_protocol_joins(protocol: str) -> None:
    broker = driver_of_both()
    a, b = classic_group(broker, protocol)
    c = FakeMember(broker, "c", ["orders"])
    assert c.join().error_code == ErrorCode.NONE
    assert isinstance(broker.context.groups[GROUP], ConsumerGroup)
    assert GroupRecord(GroupMetadataKey(group=GROUP), None) in broker.records()
    settle(broker, a, b, c)
    assert [len(member.owned) for member in (a, b, c)] == [2, 2, 2]
    assert [member.member_type for member in broker.coordinator.consumer.describe(GROUP).members] == [0, 0, 1]


def test_members_keep_what_they_have_when_the_group_goes_over() -> None:
    broker = driver_of_both()
    a, b = classic_group(broker)
    had = a.owned, b.owned
    FakeMember(broker, "c", ["orders"]).join()
    group = broker.group
    for member, partitions in ((a, had[0]), (b, had[1])):
        assert {(topic, p) for topic, ps in group.members[member.member_id].assigned.items() for p in ps} == partitions
        assert group.members[member.member_id].member_epoch == 2
    assert (group.group_epoch, group.assignment_epoch) == (3, 3)


def test_the_group_goes_over_at_any_moment_of_a_classic_rebalance() -> None:
    """Whoever waits is told to join again, and does so in the new group."""
    broker = driver_of_both()
    a, b = classic_group(broker)
    waiting = a.join()
    c = FakeMember(broker, "c", ["orders"])
    c.join()
    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    a.rebalance()
    settle(broker, a, b, c)


def test_the_group_goes_over_while_its_members_wait_for_their_leader() -> None:
    broker = driver_of_both()
    a, b = classic_group(broker)
    joining = b.join()
    a.joined(a.join())
    b.joined(joining)
    waiting = b.sync()
    c = FakeMember(broker, "c", ["orders"])
    c.join()
    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    settle(broker, a, b, c)


def test_the_group_goes_over_before_its_first_generation() -> None:
    broker = ConsumerDriver(Topics(orders=6))  # with the initial delay
    a = ClassicConsumer(broker, ["orders"])
    waiting = a.join()
    assert waiting.waits
    c = FakeMember(broker, "c", ["orders"])
    c.join()
    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    a.rebalance()
    settle(broker, a, c)
    assert [len(member.owned) for member in (a, c)] == [3, 3]


def test_an_empty_classic_group_gives_way() -> None:
    broker = driver_of_both()
    a = ClassicConsumer(broker, ["orders"])
    a.joined(a.join())
    a.leave()
    assert broker.context.groups[GROUP].is_empty
    c = FakeMember(broker, "c", ["orders"])
    assert c.join().member_epoch == 2
    assert c.owned == broker.partitions("orders")


def test_an_empty_new_group_gives_way_to_a_classic_one() -> None:
    broker = driver_of_both()
    c = FakeMember(broker, "c", ["orders"])
    c.join()
    c.leave()
    a = ClassicConsumer(broker, ["orders"])
    a.joined(a.join())
    assert isinstance(broker.context.groups[GROUP], ClassicGroup)
    broker.restart()
    assert isinstance(broker.context.groups[GROUP], ClassicGroup)


NOT_UPGRADED: dict[str, dict[str, Any]] = {
    "the policy does not allow it": {"consumer_migration_policy": "disabled"},
    "the policy allows only the way back": {"consumer_migration_policy": "downgrade"},
    "it has too many members": {"consumer_max_size": 1},
}


@pytest.mark.parametrize("settings", NOT_UPGRADED.values(), ids=NOT_UPGRADED.keys())
def test_a_group_stays_classic_where(settings: dict[str, Any]) -> None:
    broker = driver_of_both(**settings)
    a, _ = classic_group(broker)
    assert FakeMember(broker, "c", ["orders"]).join().error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert isinstance(broker.context.groups[GROUP], ClassicGroup)
    assert a.heartbeat() is ErrorCode.NONE


ASSIGNMENTS = {
    "its leader uses an assignor of its own": assignment_of("orders", 0, user_data=b"custom"),
    "its leader does not write as Kafka's consumers do": b"\x00\x03\xff",
}


@pytest.mark.parametrize("assignment", ASSIGNMENTS.values(), ids=ASSIGNMENTS.keys())
def test_a_group_stays_classic_if(assignment: bytes) -> None:
    broker = driver_of_both()
    a = ClassicConsumer(broker, ["orders"])
    a.joined(a.join())
    a.sync({a.member_id: assignment})
    assert FakeMember(broker, "c", ["orders"]).join().error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert isinstance(broker.context.groups[GROUP], ClassicGroup)


def test_a_heartbeat_is_no_reason_to_go_over() -> None:
    broker = driver_of_both()
    classic_group(broker)
    c = FakeMember(broker, "c", ["orders"], epoch=1)
    assert c.beat().error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_if_the_log_refuses_the_group_stays_classic() -> None:
    broker = driver_of_both()
    a, b = classic_group(broker)
    waiting = b.join()
    broker.refuse_with = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert FakeMember(broker, "c", ["orders"]).join().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    broker.refuse_with = None
    assert isinstance(broker.context.groups[GROUP], ClassicGroup)
    assert a.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


# -- and back -------------------------------------------------------------------------------------------------------


def classic(broker: ConsumerDriver) -> ClassicGroup:
    group = broker.context.groups[GROUP]
    assert isinstance(group, ClassicGroup)
    return group


def assignments(group: ClassicGroup) -> dict[str, int]:
    """How many partitions each member has."""
    return {
        member.member_id: sum(
            len(topic.partitions)
            for topic in ConsumerProtocolAssignment.from_bytes(member.assignment).assigned_partitions
        )
        for member in group.members.values()
    }


def test_the_group_goes_back_when_the_last_consumer_of_the_new_protocol_leaves() -> None:
    broker = driver_of_both()
    a, b, c = mixed_group(broker)
    epoch = broker.group.group_epoch
    assert c.leave().error_code == ErrorCode.NONE
    group = classic(broker)
    assert group.state is ClassicGroupState.PREPARING_REBALANCE
    assert (group.generation_id, group.protocol_type, group.protocol_name) == (epoch, "consumer", COOPERATIVE)
    assert assignments(group) == {a.member_id: 2, b.member_id: 2}

    assert a.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    joining = a.join()
    b.joined(b.join())
    assert a.joined(joining).leader in {a.member_id, b.member_id}


def test_a_group_goes_back_with_a_member_that_named_its_protocol_twice() -> None:
    broker = driver_of_both()
    *_, c = mixed_group(broker)
    metadata = ConsumerProtocolSubscription(topics=["orders"]).to_bytes()
    twice = [JoinGroupRequestProtocol(name=COOPERATIVE, metadata=metadata)] * 2
    request = JoinGroupRequest(
        group_id=GROUP, session_timeout_ms=10_000, member_id="twice", protocol_type="consumer", protocols=twice
    )
    assert broker.perform(broker.coordinator.join(CLIENT, request, 3)).error is ErrorCode.NONE
    assert c.leave().error_code == ErrorCode.NONE
    assert classic(broker).protocol_name == COOPERATIVE


def test_the_group_goes_back_when_the_last_consumer_of_the_new_protocol_is_not_heard_of() -> None:
    broker = driver_of_both()
    a, b, _ = mixed_group(broker)
    for _ in range(9):
        broker.advance(5_000)
        a.heartbeat()
        b.heartbeat()
    assert set(classic(broker).members) == {a.member_id, b.member_id}


def test_a_group_that_went_back_comes_back_so_after_a_restart() -> None:
    broker = driver_of_both()
    a, b, c = mixed_group(broker)
    c.leave()
    broker.restart()
    group = classic(broker)
    assert group.state is ClassicGroupState.STABLE
    assert assignments(group) == {a.member_id: 2, b.member_id: 2}
    left = {key for key, value in dict(broker.log).items() if value is not None}
    assert left == {encode_key(GroupMetadataKey(group=GROUP))}


def test_the_members_of_a_group_that_went_back_have_their_sessions() -> None:
    broker = driver_of_both()
    _, _, c = mixed_group(broker)
    c.leave()
    broker.advance(REBALANCE_TIMEOUT_MS)
    assert classic(broker).is_empty


def test_a_group_goes_over_and_back_and_over() -> None:
    broker = driver_of_both()
    a, b, c = mixed_group(broker)
    c.leave()
    c.join()
    a.rebalance()
    b.rebalance()
    settle(broker, a, b, c)
    assert [len(member.owned) for member in (a, b, c)] == [2, 2, 2]


def test_if_the_log_refuses_the_group_does_not_go_back() -> None:
    broker = driver_of_both()
    a, b, c = mixed_group(broker)
    request = c.request()
    request.member_epoch = -1
    broker.refuse_with = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert broker.heartbeat(request).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    broker.refuse_with = None
    settle(broker, a, b, c)
    broker.advance(SESSION_TIMEOUT_MS - 1)
    c.beat()
    assert len(broker.group.members) == 3
    broker.advance(1)
    assert list(broker.group.members) == ["c"]


NOT_DOWNGRADED: dict[str, dict[str, Any]] = {
    "the policy allows only the way over": {"consumer_migration_policy": "upgrade"},
    "a classic group may not be that large": {"max_size": 1},
}


@pytest.mark.parametrize("settings", NOT_DOWNGRADED.values(), ids=NOT_DOWNGRADED.keys())
def test_a_group_does_not_go_back_where(settings: dict[str, Any]) -> None:
    broker = driver_of_both()
    a, b, c = mixed_group(broker)
    broker.context.settings = replace(broker.settings, **settings)
    c.leave()
    assert set(broker.group.members) == {a.member_id, b.member_id}


def test_classic_members_that_are_left_alone_share_what_the_others_had() -> None:
    """They are told to join again though nobody of the new protocol is there to make a target."""
    broker = driver_of_both(consumer_migration_policy="upgrade")
    a, b, c = mixed_group(broker)
    c.leave()
    broker.advance(broker.context.settings.consumer_group("readers").assignment_interval_ms)
    settle(broker, a, b)
    assert len(a.owned) == len(b.owned) == 3
    b.leave()
    broker.advance(broker.context.settings.consumer_group("readers").assignment_interval_ms)
    settle(broker, a)
    assert len(a.owned) == 6


def static_pair(broker: ConsumerDriver) -> tuple[ClassicConsumer, FakeMember]:
    c = FakeMember(broker, "c", ["orders"], instance_id="one")
    c.join()
    a = ClassicConsumer(broker, ["orders"])
    a.rebalance()
    settle(broker, a, c)
    return a, c


def test_a_static_consumer_that_returns_as_a_classic_one_takes_its_place_without_a_rebalance() -> None:
    broker = driver_of_both()
    a, c = static_pair(broker)
    had = set(c.owned)
    c.leave()
    returned = ClassicConsumer(broker, ["orders"], instance_id="one")
    returned.joined(returned.join())
    assert classic(broker).state is ClassicGroupState.STABLE
    returned.synced(returned.sync())
    assert returned.owned == had
    assert a.heartbeat() is returned.heartbeat() is ErrorCode.NONE
    broker.restart()
    assert assignments(classic(broker)) == {a.member_id: 3, returned.member_id: 3}


def test_a_static_consumer_that_returns_as_a_classic_one_with_another_subscription_causes_a_rebalance() -> None:
    broker = driver_of_both()
    a, c = static_pair(broker)
    broker.topics.set("payments", 1)
    c.leave()
    returned = ClassicConsumer(broker, ["payments"], instance_id="one")
    returned.joined(returned.join())
    assert classic(broker).state is ClassicGroupState.PREPARING_REBALANCE
    assert returned.sync().error is a.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
