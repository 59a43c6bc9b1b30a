"""SyncGroup, Heartbeat, LeaveGroup and DescribeGroups of classic groups, and how a group comes back from its records."""

from typing import Any

import pytest

from stoker.coordinators.groups.classic_states import ClassicGroupState as State
from stoker.coordinators.groups.context import GroupSettings
from stoker.coordinators.groups.group import Group, GroupType
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import (
    ConsumerGroupMetadataKey,
    GroupMetadataKey,
    GroupMetadataValue,
    GroupRecord,
)
from stoker.wire.messages.describe_groups import DescribedGroup, DescribeGroupsResponse
from tests.coordinators.groups.classic import (
    GROUP,
    SESSION_MS,
    SUBSCRIPTION,
    ClassicDriver,
    group_record,
    member_record,
    stable,
)


def completing(*followers: str) -> ClassicDriver:
    """A group of generation 6 whose leader has yet to assign."""
    driver = stable("leader", *followers)
    for member_id in ("leader", *followers):
        driver.join(member_id)
    assert driver.group.state is State.COMPLETING_REBALANCE
    return driver


# -- SyncGroup ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"group_id": "unknown"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "unknown"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": 4}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation_id": 6}, ErrorCode.ILLEGAL_GENERATION),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": None}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": None}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": None, "protocol_name": None, "version": 4}, ErrorCode.NONE),
        ({}, ErrorCode.NONE),
    ],
)
def test_who_may_sync(request_: dict[str, Any], error: ErrorCode) -> None:
    request: dict[str, Any] = {"member_id": "a", "generation_id": 5} | request_
    assert stable("a").sync(**request).error is error


def test_an_empty_group_has_nobody_to_sync() -> None:
    driver = stable()
    assert driver.sync("a", 5).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_while_members_gather_there_is_nothing_to_sync() -> None:
    driver = stable("leader", "follower")
    driver.join("leader")
    assert driver.sync("follower", 5).error is ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize("version", range(6))
def test_followers_wait_for_the_leader(version: int) -> None:
    driver = completing("b", "c")
    options: dict[str, Any] = {"version": version}
    if version < 5:
        options |= {"protocol_type": None, "protocol_name": None}
    follower = driver.sync("b", 6, **options)
    assert follower.waits
    leader = driver.sync("leader", 6, {"leader": b"for leader", "b": b"for b", "stranger": b"?"}, **options)
    assert leader.reply.assignment == b"for leader"
    assert follower.reply.assignment == b"for b"
    assert (follower.reply.protocol_type, follower.reply.protocol_name) == ("consumer", "range")
    assert driver.group.state is State.STABLE
    assert driver.sync("c", 6, **options).reply.assignment == b""


def test_the_assignments_are_written() -> None:
    driver = completing("b")
    driver.sync("leader", 6, {"b": b"for b"})
    value = driver.records()[-1].value
    assert isinstance(value, GroupMetadataValue)
    assert (value.generation, value.leader, value.protocol, value.protocol_type) == (6, "leader", "range", "consumer")
    assert {member.member_id: member.assignment for member in value.members} == {"leader": b"", "b": b"for b"}
    assert {member.subscription for member in value.members} == {SUBSCRIPTION}


def test_a_stable_group_does_not_listen_to_its_leader() -> None:
    driver = stable("leader")
    assert driver.sync("leader", 5, {"leader": b"other"}).reply.assignment == b"leader"
    assert len(driver.log) == 1


def test_a_second_sync_takes_the_place_of_one_that_waits() -> None:
    driver = completing("b")
    first, second = driver.sync("b", 6), driver.sync("b", 6)
    assert first.error is ErrorCode.REBALANCE_IN_PROGRESS
    driver.sync("leader", 6, {"b": b"for b"})
    assert second.reply.assignment == b"for b"


def test_if_the_assignments_cannot_be_written_everybody_joins_again() -> None:
    driver = completing("b", "c")
    follower = driver.sync("b", 6)
    driver.refuse_with = ErrorCode.NOT_COORDINATOR
    leader = driver.sync("leader", 6, {"leader": b"x", "b": b"x", "c": b"x"})
    assert leader.error is follower.error is ErrorCode.NOT_COORDINATOR
    assert driver.group.state is State.PREPARING_REBALANCE
    assert set(driver.group.assignments.values()) == {b""}
    driver.refuse_with = None
    rejoins = [driver.join(member_id) for member_id in ("leader", "b", "c")]
    assert {call.reply.generation_id for call in rejoins} == {7}


# -- Heartbeat ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"group_id": "unknown"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "unknown"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": 4}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation_id": -1}, ErrorCode.ILLEGAL_GENERATION),
        ({}, ErrorCode.NONE),
    ],
)
def test_who_may_send_heartbeats(request_: dict[str, Any], error: ErrorCode) -> None:
    request: dict[str, Any] = {"member_id": "a", "generation_id": 5} | request_
    assert stable("a").heartbeat(**request) is error


@pytest.mark.parametrize("member_id", ["a", ""])
def test_an_empty_group_has_nobody_to_live(member_id: str) -> None:
    assert stable().heartbeat(member_id, 5) is ErrorCode.UNKNOWN_MEMBER_ID


def test_heartbeats_keep_a_member_also_while_the_group_rebalances() -> None:
    driver = stable("a", "b")
    assert driver.join("a").waits
    for _ in range(3):
        driver.advance(SESSION_MS - 1)
        assert driver.heartbeat("b", 5) is ErrorCode.REBALANCE_IN_PROGRESS
    driver.join("b")
    driver.advance(SESSION_MS - 1)
    assert driver.heartbeat("b", 6) is ErrorCode.NONE


def test_commits_keep_a_member() -> None:
    driver = stable("a", "b")
    for _ in range(3):
        driver.advance(SESSION_MS - 1)
        driver.coordinator.touch(driver.group, "a")
        driver.coordinator.touch(driver.group, "stranger")
    assert list(driver.group.members) == ["a"]


# -- LeaveGroup -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(3))
def test_old_clients_leave_one_by_one(version: int) -> None:
    driver = stable("a", "b")
    assert driver.leave("x", version=version).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.leave("a", version=version).error is ErrorCode.NONE
    assert list(driver.group.members) == ["b"]
    assert driver.leave("a", version=version, group_id="unknown").error is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(3, 6))
def test_members_leave_together(version: int) -> None:
    driver = stable("a", "b", member_record("static", instance_id="one"))
    reply = driver.leave("a", ("", "one"), ("", "two"), "x", "a", ("", None), version=version).reply
    assert reply.error_code == 0
    assert [(member.member_id, member.group_instance_id, member.error_code) for member in reply.members] == [
        ("a", None, ErrorCode.NONE),
        ("", "one", ErrorCode.NONE),
        ("", "two", ErrorCode.UNKNOWN_MEMBER_ID),
        ("x", None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("a", None, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", None, ErrorCode.UNKNOWN_MEMBER_ID),
    ]
    assert driver.group.state is State.PREPARING_REBALANCE
    assert driver.group.leader_id == "b"


@pytest.mark.parametrize(
    ("group_id", "error", "member_errors"),
    [("", ErrorCode.INVALID_GROUP_ID, []), ("unknown", ErrorCode.NONE, [ErrorCode.UNKNOWN_MEMBER_ID])],
)
def test_leaving_what_is_not_there(group_id: str, error: ErrorCode, member_errors: list[ErrorCode]) -> None:
    reply = stable("a").leave("a", group_id=group_id).reply
    assert reply.error_code == error
    assert [member.error_code for member in reply.members] == member_errors


def test_nobody_leaves_if_nobody_is_named() -> None:
    driver = stable("a")
    assert driver.leave().reply.members == []
    assert driver.group.state is State.STABLE


def test_the_last_member_leaves_an_empty_group() -> None:
    driver = stable("a")
    driver.advance(1_000)
    driver.leave("a")
    assert (driver.group.state, driver.group.generation_id) == (State.EMPTY, 6)
    value = driver.records()[-1].value
    assert isinstance(value, GroupMetadataValue)
    assert (value.generation, value.members, value.protocol, value.leader) == (6, [], None, None)
    assert value.protocol_type == "consumer"
    assert value.current_state_timestamp == driver.clock.wall()


def test_if_that_cannot_be_written_the_member_has_left_all_the_same() -> None:
    driver = stable("a")
    driver.refuse_with = ErrorCode.NOT_COORDINATOR
    assert driver.leave("a").error is ErrorCode.NOT_COORDINATOR
    assert driver.group.state is State.EMPTY


def test_the_last_one_missing_leaves_and_the_others_go_on() -> None:
    driver = stable("a", "b")
    rejoin = driver.join("a")
    driver.leave("b")
    assert rejoin.reply.generation_id == 6


def test_who_is_removed_while_it_waits_hears_so() -> None:
    driver = completing("b")
    sync = driver.sync("b", 6)
    driver.leave("b")
    assert sync.error is ErrorCode.UNKNOWN_MEMBER_ID
    join = driver.join("leader")
    assert join.reply.generation_id == 7


def test_an_id_that_was_given_out_can_be_given_back() -> None:
    driver = stable("a")
    pending_id = driver.join().reply.member_id
    rejoin = driver.join("a")
    assert driver.leave(pending_id).reply.members[0].error_code == 0
    assert rejoin.reply.generation_id == 6


# -- DescribeGroups -------------------------------------------------------------------------------------------------


def describe(driver: ClassicDriver, version: int = 6) -> DescribedGroup:
    described = driver.coordinator.describe(GROUP, version)
    DescribeGroupsResponse(groups=[described]).encode(version)
    return described


@pytest.mark.parametrize("version", range(7))
def test_a_stable_group_is_described_whole(version: int) -> None:
    described = describe(stable(member_record("a", instance_id="one")), version)
    assert (described.group_state, described.protocol_type, described.protocol_data) == ("Stable", "consumer", "range")
    [member] = described.members
    assert (member.member_id, member.group_instance_id) == ("a", "one")
    assert (member.client_id, member.client_host) == ("client", "/127.0.0.1")
    assert (member.member_metadata, member.member_assignment) == (SUBSCRIPTION, b"a")


def test_a_group_in_a_rebalance_is_described_without_protocol_and_metadata() -> None:
    driver = stable("a", "b")
    driver.join("a")
    described = describe(driver)
    assert (described.group_state, described.protocol_data) == ("PreparingRebalance", "")
    assert [member.member_metadata for member in described.members] == [b"", b""]


@pytest.mark.parametrize("version", range(7))
def test_an_unknown_group_is_dead(version: int) -> None:
    described = describe(ClassicDriver(), version)
    assert described.group_state == "Dead"
    if version >= 6:
        assert described.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert described.error_message == "Group orders not found."
    else:
        assert (described.error_code, described.error_message) == (0, None)


# -- groups of the other protocol -----------------------------------------------------------------------------------


class OtherGroup(Group):
    """As little of a KIP-848 group as the classic protocol sees."""

    type = GroupType.CONSUMER
    group_id = GROUP
    protocol_type = "consumer"
    state_name = "Empty"

    def __init__(self, is_empty: bool) -> None:
        self._is_empty = is_empty

    @property
    def is_empty(self) -> bool:
        return self._is_empty

    def commit_error(self, *arguments: object, **options: object) -> ErrorCode:
        return ErrorCode.NONE

    def fetch_error(self, *arguments: object) -> ErrorCode:
        return ErrorCode.NONE

    def delete_error(self) -> ErrorCode:
        return ErrorCode.NONE

    def offset_delete_error(self) -> ErrorCode:
        return ErrorCode.NONE

    def is_subscribed_to(self, topic: str) -> bool:
        return False

    def offsets_expire_since(self, commit_timestamp_ms: int) -> int | None:
        return None

    def tombstones(self) -> list[GroupRecord]:
        return [GroupRecord(ConsumerGroupMetadataKey(group_id=GROUP), None)]


class IgnorantDriver(ClassicDriver):
    """Replays classic records only, as the classic protocol would be given them."""

    def __init__(self, other: OtherGroup) -> None:
        super().__init__(GroupSettings(initial_rebalance_delay_ms=0))
        self.context.groups[GROUP] = other
        replay = self.coordinator.replay
        self.coordinator.replay = lambda record: (  # type: ignore[method-assign]
            replay(record) if isinstance(record.key, GroupMetadataKey) else None
        )


def test_an_empty_group_of_the_other_protocol_gives_way() -> None:
    driver = IgnorantDriver(OtherGroup(is_empty=True))
    _, join = driver.new_member()
    assert join.reply.generation_id == 1
    tombstone, made = driver.records()
    assert isinstance(tombstone.key, ConsumerGroupMetadataKey)
    assert tombstone.value is None
    assert isinstance(made.value, GroupMetadataValue)


def test_if_that_cannot_be_written_it_stays() -> None:
    other = OtherGroup(is_empty=True)
    driver = IgnorantDriver(other)
    driver.refuse_with = ErrorCode.NOT_COORDINATOR
    assert driver.join().error is ErrorCode.NOT_COORDINATOR
    assert driver.context.groups == {GROUP: other}


def test_a_group_that_cannot_be_written_is_not_made() -> None:
    driver = ClassicDriver()
    driver.refuse_with = ErrorCode.NOT_COORDINATOR
    assert driver.join(instance_id="one").error is ErrorCode.NOT_COORDINATOR
    assert driver.context.groups == {}
    driver.refuse_with = None
    driver.advance(1_000_000)
    assert driver.log == []


def test_an_active_group_of_the_other_protocol_is_not_joined() -> None:
    driver = IgnorantDriver(OtherGroup(is_empty=False))
    assert driver.join().error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert driver.join("x").error is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.sync("x", 1).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.heartbeat("x", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert describe(driver).error_message == "Group orders is not a classic group."


# -- the log --------------------------------------------------------------------------------------------------------


def test_members_have_their_session_to_come_back_after_a_restart() -> None:
    driver = stable("a", "b")
    driver.advance(SESSION_MS - 1)
    driver.restart()
    driver.advance(SESSION_MS - 1)
    assert driver.heartbeat("a", 5) is ErrorCode.NONE
    driver.advance(1)
    assert list(driver.group.members) == ["a"]


def test_the_last_record_of_a_group_counts() -> None:
    driver = ClassicDriver()
    driver.start_with(group_record("a", "b"), group_record("a", generation=7))
    assert (driver.group.generation_id, list(driver.group.members)) == (7, ["a"])
    assert driver.heartbeat("b", 7) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_tombstone_takes_the_group_away_and_its_timers() -> None:
    driver = stable("a")
    group = driver.group
    driver.coordinator.replay(group.tombstones()[0])
    assert driver.context.groups == {}
    assert group.state is State.DEAD
    driver.coordinator.replay(group.tombstones()[0])
    driver.advance(1_000_000)
    assert len(driver.log) == 1


def test_offsets_alone_make_an_empty_group() -> None:
    driver = ClassicDriver()
    group = driver.coordinator.get_or_create_empty(GROUP)
    assert (group.state_name, group.protocol_type, group.is_empty) == ("Empty", "", True)
    assert driver.coordinator.get_or_create_empty(GROUP) is group


def test_a_group_made_of_other_members_is_adopted() -> None:
    """As when the last KIP-848 member of a group leaves it to classic ones."""
    driver = ClassicDriver()
    source = stable("a", "b").group
    driver.coordinator.adopt(source)
    driver.perform(driver.coordinator.rebalance(source))
    assert driver.group.state is State.PREPARING_REBALANCE
    assert driver.heartbeat("a", 5) is ErrorCode.REBALANCE_IN_PROGRESS
    driver.advance(SESSION_MS)
    assert (driver.group.state, driver.group.generation_id) == (State.EMPTY, 6)


def test_whoever_waits_can_be_sent_away() -> None:
    """As when a classic group becomes one of KIP-848."""
    driver = completing("b")
    sync = driver.sync("b", 6)
    driver.group.answer_all(ErrorCode.REBALANCE_IN_PROGRESS)
    for waiting, reply in driver.group.take_answers():
        waiting.resolve(reply)
    assert sync.error is ErrorCode.REBALANCE_IN_PROGRESS
