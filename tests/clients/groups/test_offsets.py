"""What a group has committed, where a member begins to read, and what a crash between the two leaves."""

import re
from functools import partial

import pytest

from tests.clients.client import Record, eventually
from tests.clients.groups.group import Group, Groups
from tests.clients.groups.kinds import CONFLUENT, CONFLUENT_CONSUMER, JAVA, JAVA_CONSUMER, KINDS, Kind, parameters
from tests.clients.groups.members import Member, Place
from tests.clients.groups.side_by_side import Run

SHORT_SESSION_MS = 2_000
NO_OFFSET = "_AUTO_OFFSET_RESET|NoOffsetForPartition"
"""What the clients say when there is no offset and no reset."""


@pytest.mark.both_backends
@pytest.mark.acceptance("B072", "B076")
@pytest.mark.parametrize("kind", parameters(KINDS))
def test_reading_resumes_at_the_commit(kind: Kind, groups: Groups) -> None:
    """A commit moves only the partition it names, and after a restart each partition is read on from exactly there."""
    group = groups.new(kind)
    values = group.produce(30)
    member = group.join()
    member.wait_for_values(values)
    expected = {}
    for partition, offset in zip(sorted(group.partitions), (4, 7, 10), strict=True):
        member.commit({partition: offset})
        expected[partition] = offset
        assert group.committed() == expected
    member.leave()

    successor = group.join()
    successor.wait_for_values(
        values[number] for number in range(30) if number // 3 >= expected[group.topic, number % 3]
    )
    assert min(record.offset for record in successor.records if record.partition == 0) == 4
    assert min(record.offset for record in successor.records if record.partition == 1) == 7
    assert {record.partition for record in successor.records} == {0, 1}


@pytest.mark.acceptance("B075")
@pytest.mark.parametrize("kind", parameters(kind for kind in KINDS if kind.commits_asynchronously))
def test_an_asynchronous_commit_tells_its_end(kind: Kind, groups: Groups) -> None:
    """Its callback gets what was committed."""
    group = groups.new(kind)
    values = group.produce(30)
    member = group.join(commit="async")
    member.wait_for_values(values)
    for partition in group.partitions:
        member.wait_for_commit(partition, 10)
    group.wait_for_commits(10)


@pytest.mark.acceptance("B074")
@pytest.mark.parametrize("kind", parameters(KINDS))
def test_auto_commit_follows_the_reading(kind: Kind, groups: Groups) -> None:
    """Offsets are committed every auto.commit.interval.ms while the member reads on."""
    group = groups.new(kind, enable_auto_commit=True, auto_commit_interval_ms=100)
    member = group.join()
    for end in (10, 20):
        member.wait_for_values(group.produce(30, prefix=f"up to {end}: "))
        group.wait_for_commits(end)


@pytest.mark.acceptance("B073")
@pytest.mark.parametrize("kind", parameters(KINDS))
def test_without_a_commit_reading_begins_where_the_reset_says(kind: Kind, groups: Groups) -> None:
    """auto.offset.reset: earliest reads all, latest only what is new, none fails; a commit goes before all of them."""
    group = groups.new(kind, partitions=1)
    old = group.produce(10, prefix="old ")
    earliest = group.join(auto_offset_reset="earliest")
    earliest.wait_for_values(old)

    latest = groups.new(kind, topic=group.topic).join(auto_offset_reset="latest")
    latest.wait_until_assigned()
    assert first_value_read(latest, group).startswith("new ")

    if kind.fails_without_offset:
        none = groups.new(kind, topic=group.topic).join(auto_offset_reset="none")
        assert re.search(NO_OFFSET, str(none.wait_for_event("failed").details))

    earliest.commit({(group.topic, 0): 7})
    earliest.leave()
    for reset in ("earliest", "latest", "none") if kind.fails_without_offset else ("earliest", "latest"):
        committed = group.join(auto_offset_reset=reset)
        committed.wait_for_values([old[7]])
        assert committed.records[0].offset == 7
        committed.leave()


def first_value_read(member: Member, group: Group) -> str:
    """What a member reads first of the records that are written until it has read one."""

    def write_and_look() -> list[str]:
        group.produce(1, prefix="new ")
        return member.values

    [first, *_] = eventually(write_and_look, bool)
    return first


@pytest.mark.acceptance("B086")
@pytest.mark.parametrize("kind", parameters(KINDS))
def test_a_member_seeks(kind: Kind, groups: Groups) -> None:
    """Reading goes on at an offset, at the beginning, at the first record of a time, or at the end."""
    group = groups.new(kind, partitions=1)
    group.onlooker.produce(
        group.topic, [Record(value=str(each).encode(), timestamp=1_000 + each) for each in range(10)]
    )
    member = group.join()
    member.wait_for_values(map(str, range(10)))
    places: list[tuple[Place, int]] = [(4, 4), ("beginning", 0), ({"time": 1_006}, 6)]
    for place, expected in places:
        before = len(member.records)
        member.seek((group.topic, 0), place)
        member.wait_for_record_count(before + 10 - expected)
        assert [record.offset for record in member.records[before:]] == list(range(expected, 10))
    member.stop_polling()
    member.seek((group.topic, 0), 2)
    member.seek((group.topic, 0), "end")
    before = len(member.records)
    member.poll_again()
    eventually(partial(write_and_count, group, member), lambda count: count > before)
    assert member.records[before].offset >= 10


def write_and_count(group: Group, member: Member) -> int:
    group.produce(1)
    return len(member.records)


@pytest.mark.acceptance("B091")
@pytest.mark.parametrize("kind", parameters([CONFLUENT, CONFLUENT_CONSUMER]))
def test_the_end_of_a_partition_is_an_event(kind: Kind, groups: Groups) -> None:
    """With enable.partition.eof there is one for each partition, empty ones too, and one more after more records."""
    group = groups.new(kind)
    values = group.produce(10, partition=1)
    member = group.join(enable_partition_eof=True)
    member.wait_for_values(values)
    ends = eventually(lambda: ends_of_partitions(member), lambda found: len(found) == 3)
    assert sorted(ends) == [(0, 0), (1, 10), (2, 0)]
    member.wait_for_values(group.produce(5, partition=2, prefix="more "))
    more = eventually(lambda: ends_of_partitions(member), lambda found: len(found) == 4)
    assert more[3] == (2, 5)


def ends_of_partitions(member: Member) -> list[tuple[int, int]]:
    return [(event.details["partition"], event.details["offset"]) for event in member.told("end_of_partition")]


def crash_between(kind: Kind, groups: Groups) -> None:
    at_most, at_least = (
        groups.new(kind, session_timeout_ms=SHORT_SESSION_MS),
        groups.new(kind, session_timeout_ms=SHORT_SESSION_MS),
    )
    crashed = [at_most.join(commit="sync", end="after_commit"), at_least.join(commit="sync", end="before_commit")]
    values = at_most.produce(30)
    assert at_least.produce(30) == values
    for member in crashed:
        member.wait_for_death()
    successors = [at_most.join(), at_least.join()]

    skipped = at_most.committed()
    assert sum(skipped.values()) > 0
    assert crashed[0].records == []
    kept = [value for number, value in enumerate(values) if number // 3 >= skipped.get((at_most.topic, number % 3), 0)]
    rest = at_most.produce(3, prefix="after the crash ")
    successors[0].wait_for_values(kept + rest)
    assert sorted(successors[0].values) == sorted(kept + rest)

    assert at_least.committed() == {}
    assert crashed[1].records != []
    successors[1].wait_for_values(values)


@pytest.mark.acceptance("B093", "B094")
@pytest.mark.parametrize("kind", parameters(KINDS))
def test_a_crash_between_work_and_commit(kind: Kind, run: Run) -> None:
    """Committed before the work, records are skipped (at most once); worked on before the commit, they come again (at least once)."""
    run(crash_between, kind)


@pytest.mark.acceptance("B084")
@pytest.mark.parametrize("kind", parameters([CONFLUENT, JAVA, CONFLUENT_CONSUMER, JAVA_CONSUMER]))
def test_callbacks_come_around_the_move(kind: Kind, groups: Groups) -> None:
    """In the revoked callback a commit is in time for the next owner; in the assigned callback a seek decides where reading begins."""
    group = groups.new(kind, partitions=2)
    values = group.produce(20)
    first = group.join(callbacks=True)
    first.wait_for_values(values)
    second = group.join()
    group.settle(first, second)
    [moved] = second.owned
    [committed, *_] = [event for event in first.told("committed") if moved in event.offsets]
    [revoked, *_] = [event for event in first.told("revoked") if moved in event.partitions]
    [assigned, *_] = [event for event in second.told("assigned") if moved in event.partitions]
    assert revoked.at <= committed.at <= assigned.at
    assert first.events.index(revoked) < first.events.index(committed)
    assert group.committed()[moved] == 10
    more = group.produce(20, prefix="more ")
    second.wait_for_values(value for number, value in enumerate(more) if number % 2 == moved[1])
    assert second.records[0].offset == 10

    second.leave()
    group.settle(first)
    again = eventually(
        lambda: [each.offset for each in first.records if each.partition == moved[1]], lambda found: found.count(0) == 2
    )
    assert again.count(0) == 2, "it seeks to the beginning of what it is assigned, the commit notwithstanding"
