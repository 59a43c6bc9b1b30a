"""Members join, leave and are killed while records keep coming: nothing is lost, skipped or read by two at a time."""

import pytest

from tests.clients.client import WAIT_SECONDS, eventually
from tests.clients.groups.group import Group, Groups, assert_never_shared
from tests.clients.groups.kinds import KINDS, Kind, parameters
from tests.clients.groups.load import Load
from tests.clients.groups.members import Member, Partition
from tests.clients.groups.side_by_side import Run

PARTITIONS = 6
SESSION_MS = 8_000
"""Of the member that is killed. Longer than a busy machine stands still: a member that says nothing for so long is given up."""


def read_by(members: list[Member]) -> dict[Partition, set[int]]:
    found: dict[Partition, set[int]] = {}
    for member in members:
        for record in member.records:
            assert record.value == str(record.offset)
            found.setdefault((record.topic, record.partition), set()).add(record.offset)
    return found


def assert_only_processed_is_committed(group: Group) -> None:
    """Below each committed offset every record has been processed: told before the commit, though heard perhaps after it."""
    committed = group.committed()

    def unread() -> dict[Partition, set[int]]:
        read = read_by(group.members)
        missing = {
            partition: set(range(offset)) - read.get(partition, set()) for partition, offset in committed.items()
        }
        return {partition: offsets for partition, offsets in missing.items() if offsets}

    assert eventually(unread, lambda missing: not missing) == {}, f"committed: {committed}"


def assert_in_order(member: Member) -> None:
    """Between two assignments a member reads each partition in order and leaves out nothing."""
    last: dict[Partition, int] = {}
    for event in member.events:
        if event.kind == "assigned":
            last = {partition: offset for partition, offset in last.items() if partition not in event.partitions}
        elif event.kind == "records":
            for topic, partition, offset, _ in event.details["records"]:
                assert offset == last.get((topic, partition), offset - 1) + 1
                last[topic, partition] = offset


def come_and_go(kind: Kind, groups: Groups) -> None:
    group = groups.new(kind, partitions=PARTITIONS)
    with Load(group.onlooker, group.topic, PARTITIONS) as load:
        first = group.join(commit="sync")
        group.settle(first)
        doomed = group.join(commit="sync", own_program=True, session_timeout_ms=SESSION_MS)
        group.settle(first, doomed)
        leaver = group.join(commit="sync")
        group.settle(first, doomed, leaver)
        leaver.wait_for_event("committed")
        leaver.leave()
        group.settle(first, doomed, seconds=kind.session_ms / 1000 - 1)  # and not because it is given up
        doomed.wait_for_event("committed", after=len(doomed.events))
        doomed.kill()
        assert_only_processed_is_committed(group)
        group.settle(first, seconds=SESSION_MS / 1000 + WAIT_SECONDS)
        last = group.join(commit="sync")
        group.settle(first, last)
    group.wait_for_commits(load.written)
    assert_only_processed_is_committed(group)
    assert_never_shared(group.members)
    for member in group.members:
        assert_in_order(member)


@pytest.mark.acceptance("B068", "B071", "B092", "B094")
@pytest.mark.parametrize("kind", parameters(KINDS))
def test_nothing_is_lost_while_members_come_and_go(kind: Kind, run: Run) -> None:
    """Assignments are disjoint and complete through joins, a leave and a kill -9; each record is read; no commit is ahead of the work."""
    run(come_and_go, kind)
