"""What retention and DeleteRecords take away, and what they must leave."""

import os
from pathlib import Path

import pytest

from stoker.log.config import LogConfig
from stoker.log.errors import OffsetOutOfRange
from stoker.log.partition import PartitionLog
from tests.log.batches import NOW_MS, FakeClock, batch, new_log, reopen, values_of

HOUR_MS = 3_600_000


def hourly_log(path: Path, config: LogConfig, clock: FakeClock, hours: int = 10) -> PartitionLog:
    """One batch an hour, each in a segment of its own."""
    log = new_log(path, config, clock)
    for hour in range(hours):
        log.append(batch(b"%d" % hour, timestamp=clock()), leader_epoch=hour)
        if hour < hours - 1:
            log.roll(clock())
            clock.advance(HOUR_MS)
    return log


@pytest.mark.acceptance("B009")
def test_retention_by_time_removes_whole_closed_segments(tmp_path: Path) -> None:
    """Segments older than retention.ms go, the log start moves, and what is gone is OFFSET_OUT_OF_RANGE."""
    clock = FakeClock()
    log = hourly_log(tmp_path, LogConfig(retention_ms=3 * HOUR_MS), clock)
    removed = log.apply_retention(clock())
    assert (log.log_start_offset, log.log_end_offset) == (6, 10)
    assert values_of(log) == [b"6", b"7", b"8", b"9"]
    with pytest.raises(OffsetOutOfRange):
        log.read(5, 100, at_least_one_batch=True)
    assert removed
    assert all(path.endswith(".deleted") for path in removed.paths)
    removed.remove()
    assert not any(os.path.exists(path) for path in removed.paths)
    assert {path.stem for path in Path(log.directory).glob("*.log")} == {f"{offset:020d}" for offset in range(6, 10)}
    assert not log.apply_retention(clock())


def test_the_active_segment_goes_too_when_all_of_it_is_too_old(tmp_path: Path) -> None:
    clock = FakeClock()
    log = hourly_log(tmp_path, LogConfig(retention_ms=3 * HOUR_MS), clock)
    clock.advance(10 * HOUR_MS)
    log.apply_retention(clock()).remove()
    assert (log.log_start_offset, log.log_end_offset) == (10, 10)
    assert log.append(batch(b"next", timestamp=clock()), leader_epoch=10).base_offset == 10
    assert values_of(reopen(log, clean=False)) == [b"next"]
    assert not log.apply_retention(clock()), "a log without records has nothing to remove"


@pytest.mark.parametrize("is_reopened", [False, True])
def test_records_without_timestamps_age_by_their_file(tmp_path: Path, is_reopened: bool) -> None:
    clock = FakeClock()
    log = new_log(tmp_path, LogConfig(retention_ms=HOUR_MS), clock)
    log.append(batch(b"a", timestamp=-1), leader_epoch=0)
    if is_reopened:
        log = reopen(log, clean=True)
    os.utime(log.segments[0].path(".log"), (NOW_MS / 1000, NOW_MS / 1000))
    assert not log.apply_retention(NOW_MS + HOUR_MS)
    assert log.apply_retention(NOW_MS + HOUR_MS + 1)


@pytest.mark.acceptance("B010")
def test_retention_by_size_removes_the_oldest_segments(tmp_path: Path) -> None:
    """The oldest segments go while the log without them is still at least retention.bytes."""
    clock = FakeClock()
    log = hourly_log(tmp_path, LogConfig(retention_ms=-1), clock)
    size = log.segments[0].size
    assert log.size_bytes == 10 * size
    assert not log.apply_retention(clock())
    log.reconfigure(LogConfig(retention_ms=-1, retention_bytes=3 * size + 5))
    log.apply_retention(clock()).remove()
    assert log.size_bytes == 4 * size
    assert values_of(log) == [b"6", b"7", b"8", b"9"]
    log.reconfigure(LogConfig(retention_ms=-1, retention_bytes=0))
    log.apply_retention(clock()).remove()
    assert values_of(log) == []
    assert log.log_end_offset == 10


def test_a_compacted_log_forgets_nothing_by_time_or_size(tmp_path: Path) -> None:
    clock = FakeClock()
    config = LogConfig(cleanup_policy=frozenset({"compact"}), retention_ms=1, retention_bytes=1)
    log = hourly_log(tmp_path, config, clock)
    assert not log.apply_retention(clock() + 10**12)
    log.delete_records(5)
    assert log.apply_retention(clock())
    assert [segment.base_offset for segment in log.segments] == [5, 6, 7, 8, 9]


def test_time_is_judged_by_the_largest_timestamp_of_a_segment(tmp_path: Path) -> None:
    """Timestamps need not rise: one recent record keeps its segment, and the segments after it."""
    clock = FakeClock()
    log = new_log(tmp_path, LogConfig(retention_ms=HOUR_MS, index_interval_bytes=0), clock)
    for age in (50, 0, 50):
        for minutes in (3, 0, 5):
            log.append(batch(b"x", timestamp=NOW_MS - (age + minutes) * HOUR_MS // 60 * 60), leader_epoch=0)
        log.roll(clock())
    log = reopen(log, clean=True)
    log.apply_retention(NOW_MS)
    assert log.log_start_offset == 3


@pytest.mark.parametrize("clean", [True, False])
def test_delete_records(tmp_path: Path, clean: bool) -> None:
    clock = FakeClock()
    log = hourly_log(tmp_path, LogConfig(), clock)
    assert log.delete_records(4) == 4
    assert log.delete_records(2) == 4, "the log start never goes back"
    assert values_of(log) == [b"4", b"5", b"6", b"7", b"8", b"9"]
    for outside in (11, -2):
        with pytest.raises(OffsetOutOfRange):
            log.delete_records(outside)
    log.apply_retention(clock()).remove()
    assert len(list(Path(log.directory).glob("*.log"))) == 6
    assert log.end_offset_for_epoch(2) == (2, 4), "what came before the log start ended where it starts"
    log = reopen(log, clean=clean)
    assert (log.log_start_offset, log.log_end_offset) == (4, 10)
    assert log.delete_records(-1) == 10
    assert values_of(log) == []
    log.apply_retention(clock()).remove()
    assert [segment.base_offset for segment in log.segments] == [9], "the active segment stays"


def test_delete_records_within_a_batch(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(batch(b"a", b"b", b"c"), leader_epoch=0)
    log.delete_records(1)
    with pytest.raises(OffsetOutOfRange):
        log.read(0, 100, at_least_one_batch=True)
    assert values_of(log) == [b"b", b"c"]
    found = log.offset_for_timestamp(NOW_MS)
    assert found is not None
    assert found.offset == 1


def test_a_reader_goes_on_with_what_retention_removed(tmp_path: Path) -> None:
    clock = FakeClock()
    log = hourly_log(tmp_path, LogConfig(retention_ms=HOUR_MS), clock)
    log_slice = log.read(0, 100, at_least_one_batch=True)
    before = log_slice.read()
    log.apply_retention(clock()).remove()
    assert log.log_start_offset > 0
    assert log_slice.read() == before


def test_snapshots_go_with_their_segments(tmp_path: Path) -> None:
    clock = FakeClock()
    log = hourly_log(tmp_path, LogConfig(retention_ms=3 * HOUR_MS), clock)
    assert len(list(Path(log.directory).glob("*.snapshot"))) == 9
    log.apply_retention(clock()).remove()
    assert {int(path.stem) for path in Path(log.directory).glob("*.snapshot")} == {6, 7, 8, 9}
