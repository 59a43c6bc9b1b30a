"""JoinGroup of dynamic members."""

from typing import Any

import pytest

from stoker.coordinators.groups.classic_states import ClassicGroupState as State
from stoker.coordinators.groups.context import ClientInfo, GroupSettings
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupMetadataValue
from tests.coordinators.groups.classic import (
    GROUP,
    INITIAL_DELAY_MS,
    RANGE,
    REBALANCE_MS,
    SESSION_MS,
    ClassicDriver,
    stable,
)

NO_DELAY = GroupSettings(initial_rebalance_delay_ms=0)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_ms": 5_999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_ms": -1}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "x"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
@pytest.mark.parametrize("version", range(10))
def test_what_no_new_group_accepts(version: int, request_: dict[str, Any], error: ErrorCode) -> None:
    driver = ClassicDriver()
    reply = driver.join(version=version, **request_).reply
    assert (reply.error_code, reply.member_id) == (error, request_.get("member_id", ""))
    assert driver.context.groups == {}
    assert driver.log == []


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": (("sticky", b""),)}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "a", "protocols": (("sticky", b""),)}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "x"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "a", "instance_id": "one"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_what_a_stable_group_refuses(request_: dict[str, Any], error: ErrorCode) -> None:
    driver = stable("a", "b")
    assert driver.join(**request_).error is error
    assert driver.group.state is State.STABLE


@pytest.mark.parametrize("version", range(4, 10))
def test_who_joins_first_gets_an_id_to_come_back_with(version: int) -> None:
    driver = ClassicDriver()
    reply = driver.join(version=version, client=ClientInfo(client_id="billing", host="/10.0.0.7")).reply
    assert reply.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert reply.member_id == "billing-00000000-0000-0000-0000-000000000001"
    assert driver.group.state is State.EMPTY
    assert driver.group.pending_members == {reply.member_id}
    assert driver.join(reply.member_id, version=version).waits


@pytest.mark.parametrize("version", range(4))
def test_old_clients_join_at_once(version: int) -> None:
    driver = ClassicDriver()
    join = driver.join(version=version)
    assert join.waits
    driver.advance(INITIAL_DELAY_MS)
    assert join.reply.generation_id == 1
    assert join.reply.leader == join.reply.member_id == "client-00000000-0000-0000-0000-000000000001"
    assert [member.member_id for member in join.reply.members] == [join.reply.member_id]


def test_a_new_group_is_written_empty() -> None:
    """Members that come back with their id find the group after a restart, and learn that they are not in it."""
    driver = ClassicDriver()
    member_id = driver.join().reply.member_id
    [record] = driver.records()
    assert isinstance(record.value, GroupMetadataValue)
    assert (record.value.generation, record.value.protocol_type, record.value.members) == (0, "", [])
    driver.restart()
    assert driver.group.state is State.EMPTY
    assert driver.join(member_id).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_name_too_long_for_an_id_is_cut() -> None:
    driver = ClassicDriver()
    client = ClientInfo(client_id="é" * 16_383, host="/127.0.0.1")
    member_id = driver.join(client=client).reply.member_id
    assert len(member_id.encode()) <= 32_767
    assert driver.join(member_id, client=client).waits


@pytest.mark.parametrize(
    ("version", "rebalance_ms", "kept_ms"),
    [(0, 70_000, SESSION_MS), (1, 70_000, 70_000), (9, -1, SESSION_MS), (9, 0, 0)],
)
def test_the_rebalance_timeout_of_those_who_give_none_is_their_session_timeout(
    version: int, rebalance_ms: int, kept_ms: int
) -> None:
    driver = ClassicDriver()
    member_id = driver.join(version=version, rebalance_ms=rebalance_ms, instance_id="one" if version else None)
    assert member_id.waits
    [member] = driver.group.members.values()
    assert member.rebalance_timeout_ms == kept_ms


def test_a_protocol_named_twice_counts_once() -> None:
    driver = ClassicDriver(NO_DELAY)
    protocols = (("range", b"first"), ("sticky", b""), ("range", b"second"))
    _, join = driver.new_member(protocols=protocols)
    assert join.reply.members[0].metadata == b"first"
    assert driver.join(protocols=RANGE).error is ErrorCode.MEMBER_ID_REQUIRED


# -- the first rebalance --------------------------------------------------------------------------------------------


def test_the_first_rebalance_waits_for_more_members() -> None:
    driver = ClassicDriver()
    first_id, first = driver.new_member()
    driver.advance(INITIAL_DELAY_MS - 1)
    assert first.waits
    driver.advance(1)
    assert first.reply.generation_id == 1
    assert first.reply.leader == first_id


def test_the_delay_is_extended_while_members_come() -> None:
    driver = ClassicDriver()
    joins = [driver.new_member()[1]]
    for _ in range(3):
        driver.advance(INITIAL_DELAY_MS - 1)
        joins.append(driver.new_member()[1])
        driver.advance(1)
        assert all(join.waits for join in joins)
    driver.advance(INITIAL_DELAY_MS)
    assert {join.reply.generation_id for join in joins} == {1}


def test_the_delay_ends_with_the_rebalance_timeout() -> None:
    driver = ClassicDriver()
    rebalance_ms = 3 * INITIAL_DELAY_MS
    joins = [driver.new_member(rebalance_ms=rebalance_ms)[1]]
    for _ in range(2):
        driver.advance(INITIAL_DELAY_MS - 1)
        joins.append(driver.new_member(rebalance_ms=rebalance_ms)[1])
        driver.advance(1)
    driver.advance(INITIAL_DELAY_MS - 1)
    joins.append(driver.new_member(rebalance_ms=rebalance_ms)[1])
    assert all(join.waits for join in joins)
    driver.advance(1)
    assert not any(join.waits for join in joins)


def test_without_a_delay_the_first_member_has_its_generation_at_once() -> None:
    driver = ClassicDriver(NO_DELAY)
    _, join = driver.new_member()
    assert join.reply.generation_id == 1


def test_everybody_left_during_the_delay() -> None:
    driver = ClassicDriver()
    member_id, join = driver.new_member()
    driver.leave(member_id)
    assert join.error is ErrorCode.UNKNOWN_MEMBER_ID
    driver.advance(INITIAL_DELAY_MS)
    assert (driver.group.state, driver.group.generation_id) == (State.EMPTY, 1)


# -- later rebalances -----------------------------------------------------------------------------------------------


def test_a_newcomer_makes_the_others_rejoin() -> None:
    driver = stable("a", "b")
    newcomer_id, newcomer = driver.new_member()
    assert driver.group.state is State.PREPARING_REBALANCE
    assert driver.heartbeat("a", 5) is ErrorCode.REBALANCE_IN_PROGRESS
    rejoins = [driver.join("a"), driver.join("b")]
    replies = {call.reply.member_id: call.reply for call in [newcomer, *rejoins]}
    assert {reply.generation_id for reply in replies.values()} == {6}
    assert {reply.leader for reply in replies.values()} == {"a"}
    assert {member.member_id for member in replies["a"].members} == {"a", "b", newcomer_id}
    assert replies["b"].members == replies[newcomer_id].members == []
    assert (replies["b"].protocol_type, replies["b"].protocol_name) == ("consumer", "range")


def test_an_id_that_was_given_out_is_waited_for() -> None:
    driver = stable("a")
    pending_id = driver.join().reply.member_id
    rejoin = driver.join("a")
    assert rejoin.waits
    join = driver.join(pending_id)
    assert (rejoin.reply.generation_id, join.reply.generation_id) == (6, 6)


def test_an_id_that_was_given_out_is_not_waited_for_longer_than_its_session() -> None:
    driver = stable("a")
    pending_id = driver.join(session_ms=7_000).reply.member_id
    rejoin = driver.join("a")
    driver.advance(6_999)
    assert rejoin.waits
    driver.advance(1)
    assert rejoin.reply.generation_id == 6
    assert driver.join(pending_id).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_pending_member_must_not_claim_an_instance() -> None:
    driver = stable("a")
    pending_id = driver.join().reply.member_id
    assert driver.join(pending_id, instance_id="one").error is ErrorCode.UNKNOWN_MEMBER_ID


def test_who_does_not_rejoin_in_time_is_out_and_another_leads() -> None:
    driver = stable("leader", "follower")
    rejoin = driver.join("follower", protocols=(("range", b"changed"),))
    for _ in range(REBALANCE_MS // 5_000 - 1):
        driver.advance(5_000)
        assert driver.heartbeat("leader", 5) is ErrorCode.REBALANCE_IN_PROGRESS
    assert rejoin.waits
    driver.advance(5_000)
    assert rejoin.reply.leader == "follower"
    assert list(driver.group.members) == ["follower"]


def test_the_leader_of_a_stable_group_rejoins_to_rebalance() -> None:
    driver = stable("leader", "follower")
    assert driver.join("leader").waits
    assert driver.group.state is State.PREPARING_REBALANCE


def test_an_unchanged_follower_of_a_stable_group_gets_its_generation() -> None:
    driver = stable("leader", "follower")
    reply = driver.join("follower").reply
    assert (reply.error_code, reply.generation_id, reply.leader) == (0, 5, "leader")
    assert driver.group.state is State.STABLE


def test_a_follower_with_other_metadata_makes_a_rebalance() -> None:
    driver = stable("leader", "follower")
    assert driver.join("follower", protocols=(("range", b"other"),)).waits
    assert driver.group.state is State.PREPARING_REBALANCE


def completing(*followers: str) -> ClassicDriver:
    driver = stable("leader", *followers)
    driver.join("leader")
    for follower in followers:
        driver.join(follower)
    assert driver.group.state is State.COMPLETING_REBALANCE
    return driver


def test_an_unchanged_member_that_missed_its_answer_gets_it_again() -> None:
    driver = completing("follower")
    assert driver.join("follower").reply.generation_id == 6
    again = driver.join("leader").reply
    assert {member.member_id for member in again.members} == {"leader", "follower"}
    assert driver.group.state is State.COMPLETING_REBALANCE


def test_a_changed_member_starts_the_rebalance_over() -> None:
    driver = completing("follower")
    sync = driver.sync("follower", 6)
    assert driver.join("leader", protocols=(("range", b"changed"),)).waits
    assert sync.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.group.state is State.PREPARING_REBALANCE


def test_a_second_request_takes_the_place_of_one_that_waits() -> None:
    driver = stable("leader", "follower")
    first = driver.join("leader")
    second = driver.join("leader")
    assert first.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert second.waits
    assert driver.group.state is State.PREPARING_REBALANCE
    driver.join("follower")
    assert second.reply.generation_id == 6


# -- group.max.size -------------------------------------------------------------------------------------------------


def test_a_full_group_takes_nobody_else() -> None:
    driver = stable("a", "b", settings=GroupSettings(max_size=2))
    refused = driver.join().reply
    assert (refused.error_code, refused.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert driver.join("b").error is ErrorCode.NONE
    assert driver.group.state is State.STABLE


def test_a_loaded_group_over_the_limit_loses_the_last_to_rejoin() -> None:
    driver = stable("a", "b", "c", settings=GroupSettings(max_size=2))
    assert driver.group.state is State.PREPARING_REBALANCE
    joins = [driver.join("c"), driver.join("a")]
    assert driver.join("b").error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert [join.reply.generation_id for join in joins] == [6, 6]
    assert set(driver.group.members) == {"a", "c"}


def test_the_first_rebalance_is_bounded_too() -> None:
    driver = ClassicDriver(GroupSettings(max_size=1))
    first_id, first = driver.new_member()
    assert driver.join().error is ErrorCode.GROUP_MAX_SIZE_REACHED
    driver.advance(INITIAL_DELAY_MS)
    assert first.reply.leader == first_id
    assert GROUP in driver.context.groups
