"""Static members (KIP-345): they keep their place while they are away, and come back under a new member id."""

import pytest

from stoker.coordinators.groups.classic_states import ClassicGroupState as State
from stoker.coordinators.groups.context import ClientInfo, GroupSettings
from stoker.wire.consumer_protocol import ConsumerProtocolSubscription
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupMetadataValue
from tests.coordinators.groups.classic import (
    REBALANCE_MS,
    SESSION_MS,
    SUBSCRIPTION,
    ClassicDriver,
    member_record,
    stable,
)


def group_of_two() -> ClassicDriver:
    return stable(member_record("leader", instance_id="one"), member_record("follower", instance_id="two"))


@pytest.mark.parametrize("version", range(5, 10))
def test_a_static_member_needs_no_second_try(version: int) -> None:
    driver = ClassicDriver(GroupSettings(initial_rebalance_delay_ms=0))
    reply = driver.join(instance_id="one", version=version).reply
    assert reply.error_code == 0
    assert reply.member_id == "one-00000000-0000-0000-0000-000000000001"
    assert reply.members[0].group_instance_id == "one"


@pytest.mark.parametrize("version", range(5, 10))
def test_a_follower_comes_back_without_a_rebalance(version: int) -> None:
    driver = group_of_two()
    reply = driver.join(instance_id="two", version=version).reply
    assert (reply.error_code, reply.generation_id, reply.leader) == (0, 5, "leader")
    assert (reply.members, reply.skip_assignment) == ([], False)
    assert driver.group.state is State.STABLE
    assert driver.sync(reply.member_id, 5, instance_id="two").reply.assignment == b"follower"
    assert driver.heartbeat("follower", 5, instance_id="two") is ErrorCode.FENCED_INSTANCE_ID
    assert driver.heartbeat(reply.member_id, 5, instance_id="two") is ErrorCode.NONE


def test_the_new_id_of_a_static_member_is_written() -> None:
    driver = group_of_two()
    new_id = driver.join(instance_id="two").reply.member_id
    value = driver.records()[-1].value
    assert isinstance(value, GroupMetadataValue)
    assert {member.member_id: member.assignment for member in value.members} == {
        "leader": b"leader",
        new_id: b"follower",
    }
    driver.restart()
    assert driver.heartbeat(new_id, 5, instance_id="two") is ErrorCode.NONE


def test_a_returning_leader_is_told_to_skip_the_assignment() -> None:
    """KIP-814: it leads again, so that it watches the topics, but the group is stable and has its assignments."""
    driver = group_of_two()
    reply = driver.join(instance_id="one", version=9).reply
    assert reply.leader == reply.member_id
    assert reply.skip_assignment
    assert [member.group_instance_id for member in reply.members] == ["one", "two"]


@pytest.mark.parametrize("version", range(5, 9))
def test_a_returning_leader_that_cannot_skip_does_not_learn_that_it_leads(version: int) -> None:
    driver = group_of_two()
    reply = driver.join(instance_id="one", version=version).reply
    assert (reply.leader, reply.members) == ("leader", [])
    assert driver.group.leader_id == reply.member_id


def test_a_static_member_that_would_change_the_protocol_makes_a_rebalance() -> None:
    driver = ClassicDriver(GroupSettings(initial_rebalance_delay_ms=0))
    both = (("range", SUBSCRIPTION), ("sticky", SUBSCRIPTION))
    member_id = driver.join(instance_id="one", protocols=both).reply.member_id
    driver.sync(member_id, 1, {})
    reply = driver.join(instance_id="one", protocols=both[::-1]).reply
    assert (reply.generation_id, reply.protocol_name) == (2, "sticky")


def test_a_static_member_comes_back_while_the_leader_assigns() -> None:
    """Its old id may be in the assignments already, so everybody joins again."""
    driver = group_of_two()
    old_sync_id = "follower"
    driver.join("leader", instance_id="one")
    driver.join("follower", instance_id="two")
    sync = driver.sync(old_sync_id, 6, instance_id="two")
    join = driver.join(instance_id="two")
    assert sync.error is ErrorCode.FENCED_INSTANCE_ID
    assert join.waits
    assert driver.group.state is State.PREPARING_REBALANCE
    driver.join("leader", instance_id="one")
    assert join.reply.generation_id == 7


def test_a_static_member_comes_back_while_its_former_self_waits() -> None:
    driver = group_of_two()
    driver.join("leader", instance_id="one")
    driver.advance(1)
    former = driver.group.leader_id
    join = driver.join(instance_id="one")
    assert former == "leader"
    assert join.waits
    second = driver.join(instance_id="one")
    assert join.error is ErrorCode.FENCED_INSTANCE_ID
    driver.join("follower", instance_id="two")
    assert second.reply.leader == second.reply.member_id


def test_a_static_member_away_during_a_rebalance_keeps_its_place() -> None:
    driver = stable("leader", member_record("away", instance_id="one", session_ms=600_000))
    rejoin = driver.join("leader")
    driver.advance(REBALANCE_MS)
    assert rejoin.reply.generation_id == 6
    assert {member.member_id for member in rejoin.reply.members} == {"leader", "away"}


def test_if_only_silent_static_members_are_left_the_group_waits_for_their_sessions() -> None:
    driver = stable(member_record("away", instance_id="one", session_ms=100_000), "dynamic")
    driver.advance(SESSION_MS)
    assert driver.group.state is State.PREPARING_REBALANCE
    assert list(driver.group.members) == ["away"]
    driver.advance(REBALANCE_MS)
    assert driver.group.state is State.PREPARING_REBALANCE
    driver.advance(100_000)
    assert (driver.group.state, driver.group.generation_id) == (State.EMPTY, 6)


def test_no_time_for_a_rebalance_does_not_mean_to_try_without_end() -> None:
    record = member_record("away", instance_id="one")
    record.rebalance_timeout = 0
    driver = stable(record, "dynamic", settings=GroupSettings(max_size=1))
    assert driver.group.state_name == "PreparingRebalance"
    driver.advance(SESSION_MS)
    assert driver.group.state is State.EMPTY


def test_a_static_member_that_comes_back_before_it_has_synced_must_still_do_so() -> None:
    driver = group_of_two()
    driver.join("leader", instance_id="one")
    driver.join("follower", instance_id="two")
    driver.sync("leader", 6, {}, instance_id="one")
    new_id = driver.join(instance_id="two").reply.member_id
    for _ in range(REBALANCE_MS // 5_000):
        assert driver.heartbeat("leader", 6, instance_id="one") is ErrorCode.NONE
        assert driver.heartbeat(new_id, 6, instance_id="two") is ErrorCode.NONE
        driver.advance(5_000)
    assert (driver.group.state, list(driver.group.members)) == (State.PREPARING_REBALANCE, ["leader"])


def test_a_static_member_stays_one_when_it_does_not_name_its_instance() -> None:
    driver = group_of_two()
    driver.join("leader")
    driver.leave("leader")
    assert driver.group.static_members == {"two": "follower"}
    assert driver.join(instance_id="one").waits


def test_what_a_static_member_reads_when_it_comes_back_counts_at_once() -> None:
    driver = group_of_two()
    subscription = ConsumerProtocolSubscription(topics=["refunds"]).to_bytes()
    driver.join(instance_id="two", protocols=(("range", subscription),))
    assert [driver.group.is_subscribed_to(topic) for topic in ("orders", "refunds", "other")] == [True, True, False]


def test_a_static_member_is_shown_where_it_came_back() -> None:
    driver = group_of_two()
    driver.join(instance_id="two", client=ClientInfo(client_id="moved", host="/10.0.0.9"))
    assert [member.client_host for member in driver.group.members.values()] == ["/127.0.0.1", "/10.0.0.9"]


@pytest.mark.parametrize(
    ("member_id", "instance_id", "error"),
    [
        ("follower", "one", ErrorCode.FENCED_INSTANCE_ID),
        ("follower", "three", ErrorCode.UNKNOWN_MEMBER_ID),
        ("other", "two", ErrorCode.FENCED_INSTANCE_ID),
    ],
)
def test_whoever_is_not_the_instance_is_refused_everywhere(member_id: str, instance_id: str, error: ErrorCode) -> None:
    driver = group_of_two()
    assert driver.join(member_id, instance_id=instance_id).error is error
    assert driver.sync(member_id, 5, instance_id=instance_id).error is error
    assert driver.heartbeat(member_id, 5, instance_id=instance_id) is error
    [left] = driver.leave((member_id, instance_id)).reply.members
    assert left.error_code == error
    assert driver.group.state is State.STABLE


def test_if_the_new_id_cannot_be_written_the_former_self_stays() -> None:
    driver = group_of_two()
    before = driver.group.metadata_record(driver.group.assignments)
    driver.refuse_with = ErrorCode.NOT_COORDINATOR
    reply = driver.join(instance_id="one", session_ms=9_000, protocols=(("range", b"other"),)).reply
    assert (reply.error_code, reply.member_id) == (ErrorCode.NOT_COORDINATOR, "")
    assert driver.group.metadata_record(driver.group.assignments) == before
    assert driver.heartbeat("leader", 5, instance_id="one") is ErrorCode.NONE
    driver.advance(SESSION_MS - 1)
    assert len(driver.group.members) == 2
