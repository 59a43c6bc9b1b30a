"""After a crash: what is torn or damaged is cut off and never served, everything before it is there."""

import logging
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from stoker.log.config import LogConfig
from stoker.log.errors import UnsupportedLog
from stoker.log.files import FileCache
from stoker.log.opening import open_partition_log
from stoker.log.partition import PartitionLog
from stoker.wire.record_batch import read_header
from tests.log.batches import NOW_MS, batch, headers_in, last_log_file, new_log, read_records, reopen, values_of

SMALL = LogConfig(segment_bytes=1500, index_interval_bytes=200)


def filled_log(path: Path, batches: int = 40, config: LogConfig = SMALL) -> PartitionLog:
    """Batches of one and two records by turns, in several segments, the last of which has at least two batches."""
    log = new_log(path, config)
    for number in range(batches):
        values = [b"%04d" % number * 10] * (1 + number % 2)
        log.append(batch(*values, timestamp=NOW_MS + number), leader_epoch=number // 10)
    assert len(list(headers_in(last_log_file(log).read_bytes()))) >= 2
    return log


def last_batch(log: PartitionLog) -> tuple[int, int, int]:
    """Position in the last segment, size and base offset of the last batch."""
    position, header = list(headers_in(last_log_file(log).read_bytes()))[-1]
    return position, header.size, header.base_offset


def test_a_tail_torn_at_any_byte_is_cut_off(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = filled_log(tmp_path)
    everything = values_of(log)
    position, size, base_offset = last_batch(log)
    content = last_log_file(log).read_bytes()
    for kept in range(size):
        log.close(clean=False)
        last_log_file(log).write_bytes(content[: position + kept])
        caplog.clear()
        log = reopen(log, clean=False)
        assert log.log_end_offset == base_offset
        assert values_of(log) == everything[:base_offset]
        assert len(caplog.records) == (kept > 0), "one clear line for what is lost, none for what is not"
        if kept:
            assert f"position {position}" in caplog.text
            assert f"{kept} bytes" in caplog.text
        assert log.append(batch(b"next"), leader_epoch=9).base_offset == base_offset


@pytest.mark.parametrize("clean", [False, True])
def test_a_flipped_bit_in_the_last_batch_is_never_served(tmp_path: Path, clean: bool) -> None:
    """Even base offset and leader epoch, which no checksum covers; after a clean shutdown those under the checksum."""
    log = filled_log(tmp_path)
    everything = values_of(log)
    position, size, base_offset = last_batch(log)
    log.close()
    content = last_log_file(log).read_bytes()
    for byte in range(17 if clean else 0, size):
        damaged = bytearray(content)
        damaged[position + byte] ^= 1 << byte % 8
        last_log_file(log).write_bytes(damaged)
        log = reopen(log, clean=False, latest_leader_epoch=3) if not clean else reopen_cleanly(log)
        assert values_of(log) == everything[:base_offset], f"byte {byte}"
        log.close(clean=False)


def reopen_cleanly(log: PartitionLog) -> PartitionLog:
    """As if the clean shutdown marker were there, though somebody changed the files since."""
    return open_partition_log(
        log.directory,
        topic=log.topic,
        partition=log.partition,
        config=log.config,
        files=FileCache(64),
        clock=log._clock,
        had_clean_shutdown=True,
        recovery_point=60,
    )


def test_a_zero_filled_tail_is_cut_off(tmp_path: Path) -> None:
    """What a file system may leave of a file that grew shortly before the power failed."""
    log = filled_log(tmp_path)
    everything = values_of(log)
    for zeros in (1, 12, 61, 5000):
        log.close(clean=False)
        with last_log_file(log).open("ab") as file:
            file.write(bytes(zeros))
        log = reopen(log, clean=False)
        assert values_of(log) == everything
        assert last_log_file(log).stat().st_size == log.segments[-1].size


def test_damage_in_an_unflushed_segment_ends_the_log_there(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = filled_log(tmp_path)
    everything = values_of(log)
    segments = log.segments
    damaged = Path(segments[1].path(".log"))
    log.close(clean=False)
    content = bytearray(damaged.read_bytes())
    (_, first), (second_position, _) = list(headers_in(content))[:2]
    content[second_position + 30] ^= 1
    damaged.write_bytes(content)
    log = reopen(log, clean=False)
    assert log.log_end_offset == first.next_offset
    assert values_of(log) == everything[: first.next_offset]
    assert len(log.segments) == 2
    assert len(list(Path(log.directory).glob("*.log"))) == 2
    assert str(damaged) in caplog.text
    assert not [path for path in Path(log.directory).glob("*.snapshot") if int(path.stem) > log.log_end_offset]


def test_what_is_flushed_is_not_read_again(tmp_path: Path) -> None:
    """Recovery begins with the segment of the recovery point; damage before it is found by whoever reads it."""
    log = filled_log(tmp_path)
    first_segment = Path(log.segments[0].path(".log"))
    log.flush()
    log.close(clean=False)
    content = bytearray(first_segment.read_bytes())
    content[70] ^= 1
    first_segment.write_bytes(content)
    log = reopen(log, clean=False, recovery_point=log.recovery_point)
    assert (log.log_start_offset, log.log_end_offset) == (0, 60)


def test_batches_out_of_place_end_the_log(tmp_path: Path) -> None:
    log = filled_log(tmp_path)
    everything = values_of(log)
    position, _, base_offset = last_batch(log)
    content = last_log_file(log).read_bytes()
    for wrong_offset in (base_offset - 1, base_offset + 1, base_offset + 2**33, -5):
        log.close(clean=False)
        damaged = bytearray(content)
        struct.pack_into(">q", damaged, position, wrong_offset)
        last_log_file(log).write_bytes(damaged)
        log = reopen(log, clean=False)
        assert values_of(log) == everything[:base_offset]


def test_gaps_are_what_compaction_leaves(tmp_path: Path) -> None:
    log = filled_log(tmp_path, config=LogConfig(cleanup_policy=frozenset({"compact"}), index_interval_bytes=200))
    log.close(clean=False)
    content = bytearray(last_log_file(log).read_bytes())
    position, header = list(headers_in(content))[20]
    last_log_file(log).write_bytes(content[:position] + content[position + header.size :])
    log = reopen(log, clean=False)
    offsets = [record.offset for record in read_records(log)]
    assert offsets == [offset for offset in range(60) if not header.base_offset <= offset <= header.last_offset]
    assert read_records(log, header.base_offset)[0].offset == header.next_offset


DAMAGED_INDEXES: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda content: None,
    "empty": lambda content: b"",
    "cut to whole entries": lambda content: content[: len(content) // 2 // 24 * 24],
    "cut within an entry": lambda content: content[:-3],
    "zeros": lambda content: bytes(len(content)),
    "zeros behind": lambda content: content + bytes(24 * 100),
    "garbage": lambda content: bytes((7 * number + 13) % 256 for number in range(len(content))),
    "another segment's": lambda content: bytes(3) + b"\x05" + content[4:],
}


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("damage", DAMAGED_INDEXES)
@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_indexes_are_rebuilt_when_they_are_wrong(tmp_path: Path, suffix: str, damage: str, clean: bool) -> None:
    log = filled_log(tmp_path, batches=120, config=LogConfig(segment_bytes=4000, index_interval_bytes=100))
    everything = read_records(log)
    log.close()
    good = {path: path.read_bytes() for path in Path(log.directory).glob(f"*{suffix}")}
    assert len(good) > 3
    for path, content in good.items():
        damaged = DAMAGED_INDEXES[damage](content)
        path.unlink()
        if damaged is not None:
            path.write_bytes(damaged)
    log = reopen(log, clean=clean)
    for offset in (0, 1, 59, 60, 90, 178, 179):
        assert read_records(log, offset, max_bytes=300) == everything[offset:]
    for record in everything:
        found = log.offset_for_timestamp(record.timestamp)
        assert found is not None
        first = next(other for other in everything if other.timestamp >= record.timestamp)
        assert (found.offset, found.timestamp) == (first.offset, first.timestamp)
    largest = log.max_timestamp_offset()
    assert largest is not None
    assert largest.timestamp == max(record.timestamp for record in everything)
    log.close()
    assert all(path.exists() for path in good)


def test_a_log_whose_files_are_gone_begins_anew_at_its_start(tmp_path: Path) -> None:
    log = filled_log(tmp_path)
    log.delete_records(30)
    log.close()
    for path in Path(log.directory).iterdir():
        path.unlink()
    for clean in (True, False):
        log = reopen(log, clean=clean, recovery_point=60)
        assert (log.log_start_offset, log.log_end_offset) == (30, 30)
        assert log.append(batch(b"a"), leader_epoch=0).base_offset == 30
        log.close(clean=False)
        for path in Path(log.directory).iterdir():
            path.unlink()


def test_a_log_shorter_than_its_start_begins_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = filled_log(tmp_path)
    log.close()
    log = reopen(log, clean=False, log_start_offset=1000)
    assert (log.log_start_offset, log.log_end_offset) == (1000, 1000)
    assert values_of(log) == []
    assert "beginning anew" in caplog.text
    log.append(batch(b"a"), leader_epoch=0)
    assert values_of(reopen(log, clean=True)) == [b"a"]


def test_a_checkpoint_that_contradicts_the_files_is_not_believed(tmp_path: Path) -> None:
    log = filled_log(tmp_path)
    everything = values_of(log)
    for wrong in (0, 3, 59, 61):
        log = reopen(log, clean=True, recovery_point=wrong)
        assert values_of(log) == everything[: len(values_of(log))]
        assert log.append(batch(b"next"), leader_epoch=9).base_offset == len(everything)
        everything.append(b"next")


def test_what_interrupted_deletions_left_is_removed(tmp_path: Path) -> None:
    log = filled_log(tmp_path)
    everything = values_of(log)
    log.close()
    directory = Path(log.directory)
    for name in (
        "00000000000000000000.log.deleted",
        "00000000000000000000.index.cleaned",
        "leader-epoch-checkpoint.tmp",
    ):
        (directory / name).write_bytes(b"old")
    log = reopen(log, clean=True)
    assert not list(directory.glob("*.deleted")) + list(directory.glob("*.cleaned")) + list(directory.glob("*.tmp"))
    assert values_of(log) == everything


@pytest.mark.parametrize("is_complete", [True, False])
def test_an_interrupted_compaction_is_finished_or_undone(tmp_path: Path, is_complete: bool) -> None:
    """A `.swap` file is the result of a compaction; `.cleaned` files beside it say that the result is not complete."""
    log = filled_log(tmp_path, config=LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=1500))
    everything = [record.offset for record in read_records(log)]
    log.close()
    first, second, third = log.segments[:3]
    content = Path(first.path(".log")).read_bytes()
    position, header = list(headers_in(content))[2]
    compacted = content[:position] + content[position + header.size :] + Path(second.path(".log")).read_bytes()
    Path(first.path(".log.swap")).write_bytes(compacted)
    if not is_complete:
        Path(first.path(".log.cleaned")).write_bytes(b"half of it")
    log = reopen(log, clean=False)
    removed = range(header.base_offset, header.next_offset) if is_complete else range(0)
    assert [record.offset for record in read_records(log)] == [offset for offset in everything if offset not in removed]
    assert [segment.base_offset for segment in log.segments[:2]] == (
        [0, third.base_offset] if is_complete else [0, second.base_offset]
    )
    assert not list(Path(log.directory).glob("*.swap"))


def test_recovery_reads_every_byte_it_keeps(tmp_path: Path) -> None:
    """The offsets, epochs and files after recovery are those before the crash."""
    log = filled_log(tmp_path)
    before = {path.name: path.stat().st_size for path in Path(log.directory).glob("*.log")}
    log = reopen(log, clean=False, recovery_point=0)
    assert {path.name: path.stat().st_size for path in Path(log.directory).glob("*.log")} == before
    assert log.end_offset_for_epoch(0) == (0, 15)
    assert log.recovery_point == 0
    stored = log.read(59, 1000, at_least_one_batch=True).read()
    assert read_header(stored).partition_leader_epoch == 3
    log.close()
    assert os.path.exists(log.segments[-1].path(".index"))


@pytest.mark.parametrize("level", [logging.INFO])
def test_a_whole_log_is_recovered_without_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture, level: int) -> None:
    log = filled_log(tmp_path)
    with caplog.at_level(level):
        reopen(log, clean=False)
    assert caplog.text == ""


@pytest.mark.parametrize("magic", [0, 1])
def test_older_message_formats_are_refused_not_cut_off(tmp_path: Path, magic: int) -> None:
    log = filled_log(tmp_path)
    log.close(clean=False)
    timestamp = struct.pack(">q", NOW_MS) if magic else b""
    body = struct.pack(">bb", magic, 0) + timestamp + struct.pack(">ii", -1, 40) + b"v" * 40
    message = struct.pack(">qiI", 60, len(body) + 4, zlib.crc32(body)) + body
    with last_log_file(log).open("ab") as file:
        file.write(message)
    size = last_log_file(log).stat().st_size
    with pytest.raises(UnsupportedLog, match=f"message format {magic}"):
        reopen(log, clean=False)
    assert last_log_file(log).stat().st_size == size
