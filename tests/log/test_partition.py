"""Appending to a log and reading from it, rolling, flushing and closing."""

import errno
import logging
import os
import resource
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import pytest

from stoker.log.config import LogConfig
from stoker.log.errors import AppendRefused, LogError, OffsetOutOfRange
from stoker.log.files import FileCache
from stoker.log.opening import create_partition_log, open_partition_log
from stoker.log.producer_state import AppendOrigin
from stoker.wire.error_codes import ErrorCode
from stoker.wire.record_batch import (
    ControlType,
    Record,
    build_batch,
    build_end_transaction_batch,
    crc_is_valid,
    read_header,
)
from tests.log.batches import NOW_MS, FakeClock, batch, headers_in, last_log_file, new_log, reopen, values_of

SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=200)


@pytest.mark.acceptance("B002")
def test_offsets_rise_and_are_never_reused(tmp_path: Path) -> None:
    """Offsets count from 0 without a gap, and go on counting after a restart."""
    log = new_log(tmp_path)
    assert log.append(batch(b"a", b"b"), leader_epoch=0)[:2] == (0, 1)
    assert log.append(batch(b"c"), leader_epoch=0)[:2] == (2, 2)
    log = reopen(log, clean=True)
    assert log.log_end_offset == log.high_watermark == log.last_stable_offset == 3
    assert log.append(batch(b"d"), leader_epoch=0)[:2] == (3, 3)
    assert values_of(log) == [b"a", b"b", b"c", b"d"]
    log.close()


def test_append_writes_offset_and_epoch_in_place_and_leaves_the_rest(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(batch(b"first"), leader_epoch=3)
    sent = batch(b"second", b"third", codec=4)
    before = bytes(sent)
    log.append(sent, leader_epoch=5)
    stored = log.read(1, 1 << 20, at_least_one_batch=True).read()
    header = read_header(stored)
    assert (header.base_offset, header.partition_leader_epoch) == (1, 5)
    assert crc_is_valid(memoryview(stored), 0, header)
    assert stored[16:] == before[16:]
    assert stored == bytes(sent)


def test_a_read_only_batch_is_copied(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    sent = bytes(batch(b"a"))
    log.append(memoryview(sent), leader_epoch=0)
    log.append(memoryview(sent), leader_epoch=0)
    assert values_of(log) == [b"a", b"a"]


def test_a_read_ends_at_the_log_end_and_fails_outside_the_log(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    assert log.read(0, 100, at_least_one_batch=True).length == 0
    log.append(batch(b"a", b"b"), leader_epoch=0)
    assert log.read(2, 100, at_least_one_batch=True).length == 0
    for offset in (-1, 3):
        with pytest.raises(OffsetOutOfRange) as refusal:
            log.read(offset, 100, at_least_one_batch=True)
        assert (refusal.value.log_start_offset, refusal.value.log_end_offset) == (0, 2)


def test_a_read_within_a_batch_gives_the_whole_batch(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(batch(b"a"), leader_epoch=0)
    log.append(batch(b"b", b"c", b"d"), leader_epoch=0)
    for offset in (1, 2, 3):
        content = log.read(offset, 1 << 20, at_least_one_batch=True).read()
        assert [header.base_offset for _, header in headers_in(content)] == [1]


def test_the_first_batch_may_exceed_max_bytes_only_if_asked_for(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    sent = batch(b"x" * 500)
    log.append(sent, leader_epoch=0)
    log.append(batch(b"y"), leader_epoch=0)
    assert log.read(0, 10, at_least_one_batch=False).length == 0
    assert log.read(0, 10, at_least_one_batch=True).length == len(sent)
    assert log.read(0, len(sent), at_least_one_batch=False).length == len(sent)


def test_max_bytes_ends_a_slice_on_a_batch_boundary_where_one_is_known(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(index_interval_bytes=0))
    sizes = []
    for number in range(200):
        sent = batch(b"v" * (number % 7))
        sizes.append(len(sent))
        log.append(sent, leader_epoch=0)
    for start in (0, 10, 150, 190):
        log_slice = log.read(start, 1000, at_least_one_batch=True)
        ends = [sum(sizes[start : start + count]) for count in range(1, 200 - start + 1)]
        assert log_slice.length == max(end for end in ends if end <= 1000)


def test_up_to_offset_ends_a_read_before_the_batch_that_holds_it(tmp_path: Path) -> None:
    log = new_log(tmp_path, SMALL)
    for _ in range(40):
        log.append(batch(b"a" * 50, b"b" * 50), leader_epoch=0)
    for start in (0, 11, 30):
        for up_to in range(start, 80):
            content = log.read(start, 1 << 20, at_least_one_batch=True, up_to_offset=up_to).read()
            last_offsets = [header.last_offset for _, header in headers_in(content)]
            assert all(last < up_to for last in last_offsets)
            if up_to // 2 * 2 > start:
                assert last_offsets


@pytest.mark.acceptance("B008")
def test_segments_roll_by_size(tmp_path: Path) -> None:
    """A segment that would grow past segment.bytes is closed and another begins at the next offset."""
    log = new_log(tmp_path, SMALL)
    for number in range(30):
        log.append(batch(b"%d" % number * 40), leader_epoch=0)
    segments = log.segments
    assert len(segments) > 2
    assert all(segment.size <= SMALL.segment_bytes for segment in segments)
    assert sorted(path.name for path in Path(log.directory).glob("*.log")) == [
        f"{segment.base_offset:020d}.log" for segment in segments
    ]
    assert values_of(log) == [b"%d" % number * 40 for number in range(30)]
    assert values_of(log, max_bytes=150) == values_of(log)


@pytest.mark.acceptance("B008")
def test_segments_roll_by_time(tmp_path: Path) -> None:
    """A segment is closed when its first record is older than segment.ms, by the records' time or by the clock."""
    clock = FakeClock()
    log = new_log(tmp_path, LogConfig(segment_ms=1000), clock)
    log.append(batch(b"a", timestamp=NOW_MS), leader_epoch=0)
    log.append(batch(b"b", timestamp=NOW_MS + 1000), leader_epoch=0)
    assert len(log.segments) == 1
    log.append(batch(b"c", timestamp=NOW_MS + 1001), leader_epoch=0)
    assert [segment.base_offset for segment in log.segments] == [0, 2]
    clock.advance(2001)
    assert not log.roll_if_due(clock() - 1000)
    assert log.roll_if_due(clock() + 1)
    assert not log.roll_if_due(clock() + 10_000), "an empty segment has nothing to close for"
    assert [segment.base_offset for segment in log.segments] == [0, 2, 3]


def test_records_without_timestamps_roll_by_the_clock(tmp_path: Path) -> None:
    clock = FakeClock()
    log = new_log(tmp_path, LogConfig(segment_ms=1000), clock)
    log.append(batch(b"a", timestamp=-1), leader_epoch=0)
    clock.advance(1001)
    log.append(batch(b"b", timestamp=-1), leader_epoch=0)
    assert len(log.segments) == 2


def test_a_full_index_rolls_the_segment(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(segment_index_bytes=64, index_interval_bytes=0))
    for number in range(40):
        log.append(batch(b"%d" % number, timestamp=NOW_MS + number), leader_epoch=0)
    assert len(log.segments) > 4
    log.close()
    for path in (*Path(log.directory).glob("*.index"), *Path(log.directory).glob("*.timeindex")):
        assert path.stat().st_size <= 64


def test_a_segment_ends_before_offsets_overflow_its_index(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(batch(b"a"), leader_epoch=0)
    # Two billion appends take too long: let the log believe in them.
    log.log_end_offset = 2**31
    log.append(batch(b"b"), leader_epoch=0)
    assert [segment.base_offset for segment in log.segments] == [0, 2**31]
    assert values_of(log, 2**31) == [b"b"]


def test_a_batch_larger_than_a_segment_is_refused(tmp_path: Path) -> None:
    log = new_log(tmp_path, SMALL)
    with pytest.raises(AppendRefused) as refusal:
        log.append(batch(b"x" * 2000), leader_epoch=0)
    assert refusal.value.error_code is ErrorCode.RECORD_LIST_TOO_LARGE


def test_preallocated_segments_are_trimmed_when_closed(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(segment_bytes=5000, preallocate=True))
    log.append(batch(b"x" * 4000), leader_epoch=0)
    log.append(batch(b"y" * 4000), leader_epoch=0)
    first, second = sorted(Path(log.directory).glob("*.log"))
    assert first.stat().st_size == log.segments[0].size
    assert second.stat().st_size == 5000
    log = reopen(log, clean=True)
    assert second.stat().st_size == log.segments[1].size
    assert values_of(log) == [b"x" * 4000, b"y" * 4000]


def test_coordinators_append_several_batches_at_once(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(batch(b"a"), leader_epoch=0)
    both = memoryview(bytearray(bytes(batch(b"b", b"c")) + bytes(batch(b"d"))))
    result = log.append(both, leader_epoch=2, origin=AppendOrigin.COORDINATOR)
    assert (result.base_offset, result.last_offset) == (1, 3)
    assert values_of(log) == [b"a", b"b", b"c", b"d"]
    assert values_of(log, 3) == [b"d"]
    both[-1] ^= 1
    with pytest.raises(AppendRefused) as refusal:
        log.append(both, leader_epoch=2, origin=AppendOrigin.COORDINATOR)
    assert refusal.value.error_code is ErrorCode.CORRUPT_MESSAGE
    with pytest.raises(AppendRefused):
        log.append(memoryview(b""), leader_epoch=2, origin=AppendOrigin.COORDINATOR)
    assert log.log_end_offset == 4


def test_the_last_stable_offset_waits_for_open_transactions(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(batch(b"a"), leader_epoch=0)
    for producer_id in (1, 2):
        in_transaction = batch(b"t", producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)
        log.append(in_transaction, leader_epoch=0)
    assert (log.last_stable_offset, log.high_watermark) == (1, 3)
    with pytest.raises(AppendRefused) as refusal:
        log.append(batch(b"x", producer_id=1, producer_epoch=0, base_sequence=1), leader_epoch=0)
    assert refusal.value.error_code is ErrorCode.INVALID_TXN_STATE
    for producer_id, expected in ((1, 2), (2, 5)):
        log = reopen(log, clean=producer_id == 1, recovery_point=None if producer_id == 1 else 0)
        assert log.last_stable_offset == producer_id
        marker = build_end_transaction_batch(
            ControlType.COMMIT, producer_id=producer_id, producer_epoch=0, timestamp=NOW_MS
        )
        log.append(memoryview(bytearray(marker)), leader_epoch=0, origin=AppendOrigin.COORDINATOR)
        assert log.last_stable_offset == expected


@pytest.mark.acceptance("B026")
def test_flush_brings_what_is_appended_to_stable_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flush fsyncs every segment with unflushed records and moves the recovery point to the log end."""
    synced: list[str] = []
    real_fsync = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}").removesuffix(".tmp"))
        real_fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    clock = FakeClock()
    log = new_log(tmp_path, SMALL, clock)
    for number in range(30):
        log.append(batch(b"%d" % number * 40), leader_epoch=0)
    assert (log.unflushed_messages, log.recovery_point) == (30, 0)
    clock.advance(5)
    assert log.flush() == 30
    assert (log.unflushed_messages, log.recovery_point, log.last_flush_ms) == (0, 30, NOW_MS + 5)
    names = {Path(path).name for path in synced}
    assert {path.name for path in Path(log.directory).glob("*.log")} <= names
    assert {path.name for path in Path(log.directory).glob("*.index")} <= names
    assert {path.name for path in Path(log.directory).glob("*.snapshot")} <= names
    assert "leader-epoch-checkpoint" in names
    synced.clear()
    log.append(batch(b"more"), leader_epoch=0)
    log.flush()
    assert [Path(path).name for path in synced] == [last_log_file(log).name], "one fsync is the price of one flush"


def test_a_closed_log_takes_no_more_appends(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(batch(b"a"), leader_epoch=0)
    log.close()
    log.close()
    with pytest.raises(LogError):
        log.append(batch(b"b"), leader_epoch=0)


@pytest.mark.acceptance("B007")
def test_a_closed_log_has_the_files_kafka_has(tmp_path: Path) -> None:
    """A partition's directory holds .log, .index, .timeindex, .snapshot and leader-epoch-checkpoint files."""
    log = new_log(tmp_path, SMALL)
    for number in range(20):
        log.append(batch(b"%d" % number * 40), leader_epoch=0)
    log.close()
    names = {path.name for path in Path(log.directory).iterdir()}
    for segment in log.segments:
        assert {f"{segment.base_offset:020d}{suffix}" for suffix in (".log", ".index", ".timeindex")} <= names
    assert f"{log.segments[1].base_offset:020d}.snapshot" in names
    assert "leader-epoch-checkpoint" in names


def test_an_untouched_log_gets_its_indexes_when_it_is_closed(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    assert len(list(Path(log.directory).iterdir())) == 1
    log.close()
    assert {path.suffix for path in Path(log.directory).iterdir()} == {".log", ".index", ".timeindex"}


@pytest.mark.parametrize("written_bytes", [0, 1, 65])
def test_a_full_disk_refuses_the_batch_and_harms_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, written_bytes: int
) -> None:
    """Whatever part of a batch still fitted is cut off; readers go on, and so do writers once there is room."""
    log = new_log(tmp_path)
    log.append(batch(b"a"), leader_epoch=0)
    size = last_log_file(log).stat().st_size
    real_pwrite = os.pwrite

    def pwrite(descriptor: int, content: memoryview, position: int) -> int:
        if position > size or not written_bytes:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real_pwrite(descriptor, content[:written_bytes], position)

    monkeypatch.setattr(os, "pwrite", pwrite)
    with caplog.at_level(logging.ERROR), pytest.raises(AppendRefused) as refusal:
        log.append(batch(b"b"), leader_epoch=0)
    assert refusal.value.error_code is ErrorCode.KAFKA_STORAGE_ERROR
    assert "No space left" in caplog.text
    assert (log.log_end_offset, last_log_file(log).stat().st_size) == (1, size)
    assert values_of(log) == [b"a"]
    monkeypatch.undo()
    assert log.append(batch(b"c"), leader_epoch=0).base_offset == 1
    assert values_of(reopen(log, clean=False)) == [b"a", b"c"]


def test_a_file_size_limit_is_a_full_disk(tmp_path: Path) -> None:
    """The real system call, failing half-way: the kernel writes what fits and refuses the rest."""
    log = new_log(tmp_path)
    log.append(batch(b"a"), leader_epoch=0)
    size = last_log_file(log).stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, hard))
    try:
        with pytest.raises(AppendRefused):
            log.append(batch(b"b" * 1000, producer_id=1, producer_epoch=0, base_sequence=0), leader_epoch=0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert last_log_file(log).stat().st_size == size
    retry = batch(b"b" * 1000, producer_id=1, producer_epoch=0, base_sequence=0)
    assert not log.append(retry, leader_epoch=0).duplicate, "what was refused is not remembered as written"
    assert values_of(log) == [b"a", b"b" * 1000]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """On a file system of one megabyte: refused when it is full, readable all the time, going on when there is room."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=True)
    try:
        (disk / "ballast").write_bytes(bytes(200_000))
        log = new_log(disk, LogConfig(segment_bytes=300_000))

        def fill() -> None:
            while True:
                log.append(batch(b"x" * 5000), leader_epoch=0)

        with pytest.raises(AppendRefused) as refusal:
            fill()
        written = log.log_end_offset
        assert refusal.value.error_code is ErrorCode.KAFKA_STORAGE_ERROR
        assert len(values_of(log)) == written > 20
        (disk / "ballast").unlink()
        for number in range(5):
            assert log.append(batch(b"x" * 5000), leader_epoch=0).base_offset == written + number
        assert len(values_of(reopen(log, clean=False))) == written + 5
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_roll_without_room_leaves_the_log_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = new_log(tmp_path, SMALL)
    for _ in range(5):
        log.append(batch(b"x" * 80), leader_epoch=0)
    real_open = os.open

    def no_inodes(path: str, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real_open(path, flags, mode)

    monkeypatch.setattr(os, "open", no_inodes)
    with pytest.raises(AppendRefused) as refusal:
        log.append(batch(b"y" * 600), leader_epoch=0)
    assert refusal.value.error_code is ErrorCode.KAFKA_STORAGE_ERROR
    assert log.append(batch(b"z"), leader_epoch=0).base_offset == 5, "what fits the old segment still goes in"
    monkeypatch.undo()
    assert log.append(batch(b"y" * 600), leader_epoch=0).base_offset == 6
    assert [segment.base_offset for segment in log.segments] == [0, 6]
    assert len(values_of(reopen(log, clean=True))) == 7


def test_many_logs_share_few_descriptors(tmp_path: Path) -> None:
    files = FileCache(8)
    logs = [
        create_partition_log(
            str(tmp_path / f"topic-{number}"), topic="topic", partition=number, config=LogConfig(), files=files
        )
        for number in range(50)
    ]

    def open_files() -> int:
        descriptors = os.listdir("/proc/self/fd")
        names = [
            os.readlink(f"/proc/self/fd/{each}") for each in descriptors if os.path.lexists(f"/proc/self/fd/{each}")
        ]
        return sum(name.startswith(str(tmp_path)) for name in names)

    for round_number in range(3):
        for log in logs:
            log.append(batch(b"%d" % round_number, timestamp=-1), leader_epoch=0)
    assert open_files() == 8
    held = [log.read(1, 1000, at_least_one_batch=True) for log in logs]
    assert len(files) == 8
    assert open_files() == 50, "a slice keeps its file open"
    assert all(b"1" in log_slice.read() for log_slice in held)
    del held
    assert open_files() == 8
    for log in logs:
        log.close(clean=False)
    assert open_files() == 0


def test_an_idle_partition_costs_little_memory_and_no_descriptor(tmp_path: Path) -> None:
    files, config = FileCache(64), LogConfig()
    paths = [str(tmp_path / f"topic-{number}") for number in range(200)]
    for number, path in enumerate(paths):
        log = create_partition_log(path, topic="topic", partition=number, config=config, files=files)
        log.append(batch(b"a", timestamp=-1), leader_epoch=0)
        log.close()
    tracemalloc.start()
    try:
        logs = [
            open_partition_log(
                path,
                topic="topic",
                partition=number,
                config=config,
                files=files,
                had_clean_shutdown=True,
                recovery_point=1,
            )
            for number, path in enumerate(paths)
        ]
        bytes_each = tracemalloc.get_traced_memory()[0] / len(logs)
    finally:
        tracemalloc.stop()
    assert bytes_each < 2000
    assert len(files) == 0
    assert all(log.log_end_offset == 1 for log in logs)


def test_a_log_without_keys_and_values_reads_back(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    content = build_batch(
        [Record(timestamp=NOW_MS), Record(timestamp=NOW_MS, key=b"", value=b"", headers=(("h", None),))]
    )
    log.append(memoryview(bytearray(content)), leader_epoch=0)
    assert values_of(log) == [None, b""]


def test_flushes_on_other_threads_never_touch_the_wrong_file(tmp_path: Path) -> None:
    """With room for two open files and two threads that flush, each append still lands in its own log."""
    files = FileCache(2)
    logs = [
        create_partition_log(
            str(tmp_path / f"topic-{number}"), topic="topic", partition=number, config=LogConfig(), files=files
        )
        for number in range(12)
    ]
    is_done = threading.Event()
    problems: list[Exception] = []

    def flush_all() -> None:
        while not is_done.is_set():
            for log in logs:
                try:
                    log.flush()
                except OSError as problem:
                    problems.append(problem)

    threads = [threading.Thread(target=flush_all) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for number in range(300):
            for log in logs:
                log.append(batch(b"%d-%d" % (log.partition, number), timestamp=-1), leader_epoch=0)
    finally:
        is_done.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert problems == []
    for log in logs:
        assert values_of(log) == [b"%d-%d" % (log.partition, number) for number in range(300)]
        assert len(values_of(reopen(log, clean=False, recovery_point=0))) == 300
