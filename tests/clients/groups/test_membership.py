"""Who is in a group: groups apart, idle members, members that poll too rarely or fall silent, static members."""

import re
import time
from functools import partial

import pytest

from tests.clients.client import eventually
from tests.clients.groups.group import Groups
from tests.clients.groups.kinds import CONSUMER_SESSION_MS, HEARTBEAT_MS, KINDS, Kind, parameters
from tests.clients.groups.members import CommitRefused
from tests.clients.groups.side_by_side import Run

SHORT_SESSION_MS = 2_000
SHORT_POLL_INTERVAL_MS = 2_000
REFUSALS = {
    "UNKNOWN_MEMBER_ID",
    "ILLEGAL_GENERATION",
    "STALE_MEMBER_EPOCH",
    "CommitFailedException",
    "CommitFailedError",
    "_ASSIGNMENT_LOST",
    "IllegalStateError",  # aiokafka: the partition is no longer its own
}
"""What the clients call the refusal of a commit by a member that is one no more."""

FENCED = {
    "classic": "FENCED_INSTANCE_ID|Static consumer fenced by other consumer",
    "consumer": "UNRELEASED_INSTANCE_ID|The instance ID is still used by another member",
}
"""Kafka's name of the error, or librdkafka's words for it."""


@pytest.mark.acceptance("B069")
@pytest.mark.parametrize("kind", parameters(KINDS))
def test_groups_are_independent(kind: Kind, groups: Groups) -> None:
    """Two groups of one topic each read every record, and each has commits of its own."""
    group = groups.new(kind)
    other = groups.new(kind, topic=group.topic)
    values = group.produce(30)
    members = [group.join(commit="sync"), other.join()]
    for member in members:
        member.wait_for_values(values)
        assert sorted(member.values) == sorted(values)
    for partition in group.partitions:
        members[0].wait_for_commit(partition, 10)
    assert group.committed() == dict.fromkeys(group.partitions, 10)
    assert other.committed() == {}


@pytest.mark.acceptance("B070")
@pytest.mark.parametrize("kind", parameters(KINDS))
def test_more_members_than_partitions_are_idle(kind: Kind, groups: Groups) -> None:
    """Of two members and one partition one owns nothing, until the other leaves."""
    group = groups.new(kind, partitions=1)
    owner = group.join()
    group.settle(owner)
    idle = group.join()
    both = {owner.name, idle.name}
    assert eventually(partial(group.onlooker.group_members, group.name), lambda found: found == both) == both
    group.wait_until_stable()
    group.settle(owner, idle)
    [busy, other] = sorted([owner, idle], key=lambda member: len(member.owned), reverse=True)
    assert (busy.owned, other.owned) == (group.partitions, set())
    busy.leave()
    group.settle(other)


def poll_too_rarely(kind: Kind, groups: Groups) -> None:
    group = groups.new(kind)
    group.produce(30)
    late = group.join(session_timeout_ms=SHORT_SESSION_MS, max_poll_interval_ms=SHORT_POLL_INTERVAL_MS)
    group.settle(late)
    other = group.join()
    group.settle(late, other)
    late.stop_polling()
    group.settle(other)
    with pytest.raises(CommitRefused) as refusal:
        late.commit(dict.fromkeys(group.partitions, 1))
    assert refusal.value.name in REFUSALS
    told = len(late.events)
    late.commit_soon(dict.fromkeys(group.partitions, 1))
    late.poll_again()
    assert late.wait_for_event("commit_failed", after=told).details["name"] in REFUSALS
    group.settle(late, other)
    assert group.committed() == {}


@pytest.mark.acceptance("B075", "B077", "B087")
@pytest.mark.parametrize("kind", parameters(kind for kind in KINDS if kind.heartbeats_apart))
def test_a_member_that_polls_too_rarely_leaves(kind: Kind, run: Run) -> None:
    """Beyond max.poll.interval.ms the partitions go to the other member, a commit fails, in its callback if it has one, and the next poll rejoins."""
    run(poll_too_rarely, kind)


def fall_silent(kind: Kind, groups: Groups) -> None:
    group = groups.new(kind, session_timeout_ms=SHORT_SESSION_MS)
    silent = group.join(own_program=True)
    group.settle(silent)
    busy = group.join()
    group.settle(silent, busy)
    if kind.heartbeats_apart:
        busy.stop_polling()  # for as long as the other is silent: heartbeats alone keep it in
        silent.stop_polling()
    with silent.frozen():
        since = time.monotonic()
        members = partial(group.onlooker.group_members, group.name)
        assert eventually(members, lambda found: silent.name not in found) == {busy.name}
        took_ms = (time.monotonic() - since) * 1000
        session_ms = SHORT_SESSION_MS if kind.protocol == "classic" else CONSUMER_SESSION_MS
        assert session_ms - 3 * HEARTBEAT_MS < took_ms < session_ms + 3_000
    if kind.heartbeats_apart:
        with pytest.raises(CommitRefused):
            silent.commit(dict.fromkeys(group.partitions, 0))
        busy.poll_again()
        silent.poll_again()
    group.settle(silent, busy)


@pytest.mark.acceptance("B078", "B087")
@pytest.mark.parametrize("kind", parameters(KINDS))
def test_a_silent_member_is_removed(kind: Kind, run: Run) -> None:
    """A stopped process is out after session.timeout.ms, one that only does not poll stays; a removed member's commit is refused."""
    run(fall_silent, kind)


def return_under_the_same_name(kind: Kind, groups: Groups) -> None:
    group = groups.new(kind, partitions=4)
    values = group.produce(40)
    stays = group.join(group_instance_id="stays", commit="sync")
    group.settle(stays)
    restarts = group.join(group_instance_id="restarts", commit="sync", own_program=kind.protocol == "classic")
    group.settle(stays, restarts)
    owned = restarts.owned
    group.wait_until_stable()
    before = len(stays.told("assigned", "revoked", "lost"))
    if kind.protocol == "classic":
        restarts.kill()  # even this is no reason for a rebalance
    else:
        restarts.leave()
    back = group.join(group_instance_id="restarts", commit="sync")
    group.settle(stays, back)
    assert back.owned == owned
    assert len(stays.told("assigned", "revoked", "lost")) == before
    values += group.produce(40, prefix="after the return ")
    everything = set(values)
    read = eventually(lambda: set(stays.values + restarts.values + back.values), lambda found: found == everything)
    assert read == everything

    if kind.tells_of_fencing:
        twin = group.join(group_instance_id="restarts")
        fenced = back if kind.protocol == "classic" else twin  # the older, or the newer of the two
        assert re.search(FENCED[kind.protocol], str(fenced.wait_for_event("failed").details))


@pytest.mark.acceptance("B085")
@pytest.mark.parametrize("kind", parameters(kind for kind in KINDS if kind.static_members))
def test_a_static_member_returns_without_a_rebalance(kind: Kind, run: Run) -> None:
    """After a restart within the session time-out it has its partitions again and the other noticed nothing; its twin is refused or fences it."""
    run(return_under_the_same_name, kind)
