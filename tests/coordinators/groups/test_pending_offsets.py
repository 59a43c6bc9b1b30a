"""Offsets of open transactions: what was written last counts, whenever its transaction ends."""

import pytest

from stoker.coordinators.groups.committed_offset import StoredOffset
from stoker.coordinators.groups.pending_offsets import InTransaction, PendingOffsets

FIRST, SECOND, ELSEWHERE = InTransaction(3, 1), InTransaction(3, 2), InTransaction(4, 1)


def stored(offset: int) -> StoredOffset:
    return offset, -1, "", 0, -1


def ended(pending: PendingOffsets, transaction: InTransaction) -> list[tuple[str, int, int]]:
    return [(offset.group_id, offset.partition, offset.stored[0]) for offset in pending.end(transaction)]


def test_the_last_offset_of_a_partition_counts() -> None:
    pending = PendingOffsets()
    pending.add(FIRST, "g", "t", 0, stored(5))
    pending.add(FIRST, "g", "t", 1, stored(6))
    pending.add(FIRST, "g", "t", 0, stored(7))

    assert pending.partitions_of("g") == {("t", 0), ("t", 1)}
    assert sorted(ended(pending, FIRST)) == [("g", 0, 7), ("g", 1, 6)]
    assert not pending.has_any("g")
    assert ended(pending, FIRST) == []


def test_a_marker_ends_a_transaction_in_its_own_partition_of_the_log() -> None:
    pending = PendingOffsets()
    pending.add(FIRST, "g", "t", 0, stored(5))
    pending.add(ELSEWHERE, "h", "t", 0, stored(6))

    assert ended(pending, FIRST) == [("g", 0, 5)]
    assert pending.has_any("h")


@pytest.mark.parametrize(("first_to_end", "counts"), [(FIRST, [5, 6]), (SECOND, [6])])
def test_of_two_transactions_the_one_that_wrote_last_counts(first_to_end: InTransaction, counts: list[int]) -> None:
    pending = PendingOffsets()
    pending.add(FIRST, "g", "t", 0, stored(5))
    pending.add(SECOND, "g", "t", 0, stored(6))
    last_to_end = SECOND if first_to_end is FIRST else FIRST
    found = ended(pending, first_to_end) + ended(pending, last_to_end)

    assert [offset for _, _, offset in found] == counts


def test_a_plain_commit_counts_more_than_what_was_written_before_it() -> None:
    pending = PendingOffsets()
    pending.add(FIRST, "g", "t", 0, stored(5))
    pending.add(FIRST, "g", "t", 1, stored(5))
    pending.overwrite("g", "t", 0)
    pending.add(SECOND, "g", "t", 0, stored(8))

    assert pending.partitions_of("g") == {("t", 0), ("t", 1)}  # nobody knows yet what will count
    assert ended(pending, FIRST) == [("g", 1, 5)]
    assert ended(pending, SECOND) == [("g", 0, 8)]


def test_what_is_aborted_is_forgotten() -> None:
    pending = PendingOffsets()
    pending.add(FIRST, "g", "t", 0, stored(5))
    pending.drop(FIRST)

    assert ended(pending, FIRST) == []
    assert not pending.has_any("g")


def test_a_group_that_is_lost_takes_what_is_pending_along() -> None:
    pending = PendingOffsets()
    pending.add(FIRST, "g", "t", 0, stored(5))
    pending.add(FIRST, "h", "t", 0, stored(6))
    pending.forget_group("g")

    assert ended(pending, FIRST) == [("h", 0, 6)]
