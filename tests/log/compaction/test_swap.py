"""A crash between any two file operations of a cleaning leaves a log that opens, with the old segments or the new ones."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from stoker.log.compaction.job import CleanedSegment
from stoker.log.files import FileCache
from stoker.log.opening import open_partition_log
from stoker.log.partition import PartitionLog
from stoker.log.producer_state import AppendOrigin
from stoker.wire.record_batch import ControlType, Record, build_end_transaction_batch
from tests.log.batches import NOW_MS, new_log, read_records
from tests.log.compaction.compacting import COMPACT, answers_to, compact, job_for, keyed, table_of

OPERATIONS = ("rename", "unlink")


class Crashed(Exception):
    """The process is gone; what it did not do yet is not done."""


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    """Several segments, with an aborted transaction whose last batch stays for its sequence, and so its index entry."""
    log = new_log(tmp_path, COMPACT)
    for number in range(8):
        log.append(keyed((b"a", b"%d" % number), (b"b%d" % number, b"."), timestamp=NOW_MS), leader_epoch=0)
        if number == 3:
            for sequence in range(2):
                aborted = keyed(
                    (b"a", b"aborted"), timestamp=NOW_MS, producer_id=7, base_sequence=sequence, transactional=True
                )
                log.append(aborted, leader_epoch=0)
            marker = build_end_transaction_batch(ControlType.ABORT, producer_id=7, producer_epoch=0, timestamp=NOW_MS)
            log.append(memoryview(marker), leader_epoch=0, origin=AppendOrigin.COORDINATOR)
        log.roll(NOW_MS)
    log.append(keyed((b"active", b"v"), timestamp=NOW_MS), leader_epoch=0)
    log.flush()
    return log


def crash_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Let so many operations on files be done, and not the next."""
    done = 0
    for name in OPERATIONS:
        operation: Callable[..., None] = getattr(os, name)

        def counted(*arguments: str, operation: Callable[..., None] = operation) -> None:
            nonlocal done
            if done == step:
                raise Crashed
            done += 1
            operation(*arguments)

        monkeypatch.setattr(os, name, counted)


def opened(directory: str, *, is_clean: bool = False) -> PartitionLog:
    return open_partition_log(
        directory,
        topic="topic",
        partition=0,
        config=COMPACT,
        files=FileCache(64),
        clock=lambda: NOW_MS,
        had_clean_shutdown=is_clean,
        recovery_point=20 if is_clean else 0,
        was_compacted=True,
    )


def committed(log: PartitionLog) -> list[Record]:
    aborted = log.aborted_transactions(0, log.log_end_offset)
    return [
        record
        for record in read_records(log)
        if not any(each.first_offset <= record.offset <= each.last_offset for each in aborted)
    ]


def cleaned_by_a_worker(log: PartitionLog) -> CleanedSegment:
    job = job_for(log, 0, NOW_MS)
    assert job is not None
    cleaned = next(answers_to(job))
    assert isinstance(cleaned, CleanedSegment)
    return cleaned


@pytest.mark.parametrize("second_crash", [False, True])
def test_a_crash_at_any_step_of_the_swap_does_no_harm(
    log: PartitionLog, monkeypatch: pytest.MonkeyPatch, second_crash: bool
) -> None:
    """Before and after every rename; and once more while the log is opened after that."""
    expected = table_of(committed(log))
    before, ends = read_records(log), (log.log_start_offset, log.log_end_offset)
    cleaned = cleaned_by_a_worker(log)
    assert ".txnindex" in cleaned.suffixes
    log.close(clean=False)
    home, saved = Path(log.directory), Path(log.directory + ".saved")
    home.rename(saved)
    seen = set()
    step = 0
    is_done = False
    while not is_done:
        shutil.copytree(saved, home)
        log = opened_as_it_is(log)
        with monkeypatch.context() as patch:
            crash_at(patch, step)
            try:
                log.replace_segments(cleaned)
                is_done = True
            except Crashed:
                pass
        if second_crash:
            crash_while_opening(str(home), monkeypatch, step % 5)
        for is_clean in (True, False):
            again = opened(str(home), is_clean=is_clean)
            assert (again.log_start_offset, again.log_end_offset) == ends
            records = read_records(again)
            assert {record.offset for record in records} <= {record.offset for record in before}
            assert table_of(committed(again)) == expected
            assert again.append(
                keyed((b"a", b"aborted"), timestamp=NOW_MS, producer_id=7, base_sequence=1, transactional=True),
                leader_epoch=0,
            ).duplicate
            seen.add(len(records))
            again.close(clean=is_clean)
        names = [path.name for path in home.iterdir()]
        assert not [name for name in names if name.endswith((".cleaned", ".swap", ".deleted"))], names
        shutil.rmtree(home)
        step += 1
    assert step > 12
    assert len(before) in seen, "early on the old segments count"
    assert min(seen) < len(before) / 1.5, "later the new one does"


def opened_as_it_is(log: PartitionLog) -> PartitionLog:
    """The log with its `.cleaned` files left alone, as the broker that is about to swap them in has it."""
    home = Path(log.directory)
    aside = home.with_suffix(".aside")
    aside.mkdir()
    for path in home.glob("*.cleaned"):
        path.rename(aside / path.name)
    again = opened(log.directory)
    again.roll(NOW_MS)
    for path in aside.iterdir():
        path.rename(home / path.name)
    aside.rmdir()
    return again


def crash_while_opening(directory: str, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    with monkeypatch.context() as patch:
        crash_at(patch, step)
        try:
            opened(directory).close(clean=False)
        except Crashed:
            pass


def test_files_of_a_cleaning_that_came_to_nothing_are_removed(log: PartitionLog) -> None:
    cleaned_by_a_worker(log)
    assert list(Path(log.directory).glob("*.cleaned"))
    before = read_records(log)
    log.close(clean=False)
    again = opened(log.directory)
    assert read_records(again) == before
    assert not list(Path(log.directory).glob("*.cleaned"))


def test_a_gap_is_no_damage_once_the_topic_is_not_compacted_any_more(log: PartitionLog) -> None:
    compact(log)
    expected = read_records(log)
    log.close(clean=False)
    config = replace(COMPACT, cleanup_policy=frozenset({"delete"}))
    again = open_partition_log(
        log.directory,
        topic="topic",
        partition=0,
        config=config,
        files=FileCache(64),
        clock=lambda: NOW_MS,
        was_compacted=True,
    )
    assert read_records(again) == expected
