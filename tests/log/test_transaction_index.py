"""Aborted transactions: kept in Kafka's `.txnindex`, found by offsets, rebuilt after a crash."""

import os
from pathlib import Path

import pytest

from stoker.log.transaction_index import AbortedTransaction, TransactionIndex, write_transaction_index

FIRST = AbortedTransaction(7, 0, 9, 5)
SECOND = AbortedTransaction(8, 5, 12, 13)
THIRD = AbortedTransaction(7, 20, 30, 31)


def test_entries_have_kafkas_format(tmp_path: Path) -> None:
    index = TransactionIndex(f"{tmp_path}/0.txnindex")
    index.append(AbortedTransaction(1, 2, 3, 4))

    assert (tmp_path / "0.txnindex").read_bytes() == bytes.fromhex(
        "00000000000000000001000000000000000200000000000000030000000000000004"
    )


def test_a_segment_without_aborted_transactions_has_no_file(tmp_path: Path) -> None:
    assert not len(TransactionIndex(f"{tmp_path}/0.txnindex"))
    write_transaction_index(f"{tmp_path}/0.txnindex", [])

    assert not os.listdir(tmp_path)


def test_half_an_entry_is_left_out(tmp_path: Path) -> None:
    path = f"{tmp_path}/0.txnindex"
    write_transaction_index(path, [FIRST, SECOND])
    os.truncate(path, os.path.getsize(path) - 1)

    index = TransactionIndex(path)
    index.append(THIRD)

    assert list(index) == [FIRST, THIRD]
    assert list(TransactionIndex(path)) == [FIRST, THIRD]


@pytest.mark.parametrize(
    ("start", "end", "expected", "is_complete"),
    [
        (0, 5, [FIRST], True),
        (0, 6, [FIRST, SECOND], True),
        (9, 14, [FIRST, SECOND], True),
        (10, 13, [SECOND], True),
        (10, 14, [SECOND], True),
        (13, 20, [], True),
        (13, 31, [THIRD], True),
        (13, 32, [THIRD], False),
        (31, 40, [], False),
    ],
)
def test_those_that_touch_a_range_are_collected(
    tmp_path: Path, start: int, end: int, expected: list[AbortedTransaction], is_complete: bool
) -> None:
    index = TransactionIndex(f"{tmp_path}/0.txnindex")
    for transaction in (FIRST, SECOND, THIRD):
        index.append(transaction)
    found: list[AbortedTransaction] = []

    assert index.collect(start, end, found) is is_complete
    assert found == expected


def test_what_the_disk_refused_is_written_when_the_log_is_closed(tmp_path: Path) -> None:
    directory = tmp_path / "full"
    index = TransactionIndex(f"{directory}/0.txnindex")
    index.append(FIRST)  # there is no such directory
    directory.mkdir()
    index.save()

    assert list(index) == [FIRST]
    assert list(TransactionIndex(f"{directory}/0.txnindex")) == [FIRST]
