"""What time does to a classic group: sessions that end, rebalances and syncs that take too long."""

from stoker.coordinators.groups.classic_rebalance import NEW_MEMBER_JOIN_TIMEOUT_MS
from stoker.coordinators.groups.classic_states import ClassicGroupState as State
from stoker.coordinators.groups.context import GroupSettings
from stoker.wire.error_codes import ErrorCode
from tests.coordinators.groups.classic import REBALANCE_MS, SESSION_MS, ClassicDriver, member_record, stable


def test_a_silent_member_is_out_after_its_session() -> None:
    driver = stable("a", member_record("b", session_ms=20_000))
    driver.advance(SESSION_MS - 1)
    assert driver.group.state is State.STABLE
    driver.advance(1)
    assert (driver.group.state, list(driver.group.members)) == (State.PREPARING_REBALANCE, ["b"])
    driver.advance(10_000)
    assert (driver.group.state, driver.group.generation_id) == (State.EMPTY, 6)
    assert len(driver.log) == 2


def test_whoever_waits_is_not_late() -> None:
    driver = stable("a", member_record("b", session_ms=50_000))
    rejoin = driver.join("a")
    driver.advance(40_000)
    assert rejoin.waits
    driver.advance(10_000)
    assert rejoin.reply.generation_id == 6
    sync = driver.sync("a", 6, {"a": b"all"})
    assert sync.reply.assignment == b"all"
    driver.advance(SESSION_MS)
    assert driver.group.state is State.EMPTY


def test_a_session_that_passed_while_its_member_waited_begins_anew() -> None:
    driver = stable("leader", "b")
    driver.join("leader")
    driver.join("b")
    sync = driver.sync("b", 6)
    for _ in range(4):
        driver.advance(SESSION_MS - 1)
        assert driver.heartbeat("leader", 6) is ErrorCode.NONE
    driver.sync("leader", 6, {"b": b"all"})
    assert sync.reply.assignment == b"all"
    driver.advance(SESSION_MS - 1)
    assert list(driver.group.members) == ["leader", "b"]
    driver.advance(1)
    assert driver.group.members == {}


def test_a_new_member_is_not_waited_for_without_end() -> None:
    """It cannot send heartbeats, for it does not know its id; if it still is there it joins anew."""
    driver = stable(member_record("a", session_ms=1_800_000))
    _, newcomer = driver.new_member()
    record = driver.group.members["a"]
    assert record.rebalance_timeout_ms == REBALANCE_MS
    assert newcomer.waits
    driver.advance(REBALANCE_MS)
    assert newcomer.reply.generation_id == 6


def test_a_new_member_may_wait_five_minutes_for_its_generation() -> None:
    slow = member_record("a", session_ms=1_800_000)
    slow.rebalance_timeout = 1_800_000
    driver = stable(slow)
    newcomer_id, newcomer = driver.new_member(session_ms=6_000)
    driver.advance(NEW_MEMBER_JOIN_TIMEOUT_MS - 1)
    assert newcomer.waits
    driver.advance(1)
    assert newcomer.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert newcomer.reply.member_id == ""
    assert newcomer_id not in driver.group.members


def test_a_member_is_new_only_until_its_first_generation() -> None:
    driver = ClassicDriver(GroupSettings(initial_rebalance_delay_ms=0))
    first_id, first = driver.new_member()
    assert first.reply.generation_id == 1
    driver.sync(first_id, 1, {})
    second_id = driver.join(session_ms=1_800_000).reply.member_id
    rejoin = driver.join(first_id)
    driver.advance(2 * SESSION_MS)
    assert rejoin.waits
    assert driver.join(second_id).reply.generation_id == rejoin.reply.generation_id == 2


def test_whoever_does_not_sync_in_time_is_out() -> None:
    driver = stable("leader", "lazy", "b")
    for member_id in ("leader", "lazy", "b"):
        driver.join(member_id)
    driver.sync("leader", 6, {})
    driver.sync("b", 6)
    assert driver.group.state_name == "Stable"
    for _ in range(REBALANCE_MS // 5_000 - 1):
        driver.advance(5_000)
        assert [driver.heartbeat(member_id, 6) for member_id in ("leader", "lazy", "b")] == [ErrorCode.NONE] * 3
    driver.advance(5_000)
    assert driver.group.state is State.PREPARING_REBALANCE
    assert list(driver.group.members) == ["leader", "b"]


def test_a_leader_that_never_syncs_is_out_and_the_others_join_again() -> None:
    driver = stable("leader", "b")
    driver.join("leader", session_ms=1_800_000)
    driver.join("b")
    sync = driver.sync("b", 6)
    driver.advance(REBALANCE_MS - 1)
    assert sync.waits
    driver.advance(1)
    assert sync.error is ErrorCode.REBALANCE_IN_PROGRESS
    rejoin = driver.join("b")
    assert (rejoin.reply.leader, rejoin.reply.generation_id) == ("b", 7)


def test_when_all_have_synced_nothing_is_late() -> None:
    driver = stable("leader")
    driver.join("leader")
    driver.sync("leader", 6, {})
    for _ in range(REBALANCE_MS // 5_000 + 1):
        driver.advance(5_000)
        assert driver.heartbeat("leader", 6) is ErrorCode.NONE


def test_a_session_ends_while_the_group_cannot_be_written() -> None:
    driver = stable("a")
    driver.refuse_with = ErrorCode.NOT_COORDINATOR
    driver.advance(SESSION_MS)
    assert driver.group.state is State.EMPTY
    assert len(driver.log) == 1


def test_fifty_members_rebalance_in_one_generation() -> None:
    driver = ClassicDriver(GroupSettings())
    joins = dict(driver.new_member() for _ in range(50))
    driver.advance(6_000)
    replies = [join.reply for join in joins.values()]
    assert {reply.generation_id for reply in replies} == {1}
    [leader] = {reply.leader for reply in replies}
    assert [len(reply.members) for reply in replies if reply.members] == [50]

    syncs = {member_id: driver.sync(member_id, 1) for member_id in joins if member_id != leader}
    assert all(sync.waits for sync in syncs.values())
    syncs[leader] = driver.sync(leader, 1, {member_id: member_id.encode() for member_id in joins})
    assert {member_id: sync.reply.assignment for member_id, sync in syncs.items()} == {
        member_id: member_id.encode() for member_id in joins
    }
    assert driver.group.state is State.STABLE

    driver.leave(leader)
    rejoins = [driver.join(member_id) for member_id in joins if member_id != leader]
    assert {join.reply.generation_id for join in rejoins} == {2}
    assert [len(join.reply.members) for join in rejoins if join.reply.members] == [49]
    driver.restart()
    assert (driver.group.generation_id, len(driver.group.members)) == (1, 50)
