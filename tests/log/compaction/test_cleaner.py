"""What compaction keeps and what it takes away, by Kafka's rules."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from stoker.errors import CorruptRecords
from stoker.log.compaction.cleaner import MOST_SOURCES, Cleaner, LogTooDirty
from stoker.log.compaction.segment_reading import Pace
from stoker.log.compaction.selection import dirty_part
from stoker.log.config import LogConfig
from stoker.log.errors import LogError
from stoker.log.partition import PartitionLog
from stoker.log.producer_state import AppendOrigin
from stoker.wire.record_batch import ControlType, build_end_transaction_batch
from tests.log.batches import NOW_MS, FakeClock, new_log, read_records, reopen
from tests.log.compaction.compacting import COMPACT, DAY_MS, LIMITS, answers_to, batches_in, compact, job_for, keyed

HOUR_MS = 3_600_000


def append(log: PartitionLog, *records: tuple[bytes | None, bytes | None], **options: int | bool) -> int:
    batch = keyed(*records, timestamp=log._clock(), **options)  # type: ignore[arg-type]
    return log.append(batch, leader_epoch=0).base_offset


def end_transaction(log: PartitionLog, producer_id: int, control_type: ControlType) -> int:
    marker = build_end_transaction_batch(
        control_type, producer_id=producer_id, producer_epoch=0, timestamp=log._clock()
    )
    return log.append(memoryview(marker), leader_epoch=0, origin=AppendOrigin.COORDINATOR).base_offset


def offsets_of(log: PartitionLog) -> list[int]:
    return [record.offset for record in read_records(log)]


@pytest.mark.acceptance("B011")
def test_the_newest_value_of_every_key_stays_at_its_offset(tmp_path: Path) -> None:
    """Three keys written many times: after compaction the last of each is there, in order, with its offset and time."""
    clock = FakeClock()
    log = new_log(tmp_path, COMPACT, clock)
    for number in range(300):
        append(log, (b"k%d" % (number % 3), b"%d" % number))
        clock.advance(10)
    log.roll(clock())
    before = {record.offset: record for record in read_records(log)}
    size = log.size_bytes
    done = compact(log)
    assert done is not None
    assert (done.end_offset, done.records_read, done.records_kept) == (300, 300, 3)
    assert read_records(log) == [before[297], before[298], before[299]]
    assert (log.log_start_offset, log.log_end_offset) == (0, 300)
    assert log.size_bytes < size / 50
    assert append(log, (b"k0", b"next")) == 300
    assert read_records(log, 5)[0] == before[297], "who asks for what is gone gets what follows"


@pytest.mark.acceptance("B014", "B015")
def test_a_tombstone_deletes_its_key_and_goes_after_delete_retention_ms(tmp_path: Path) -> None:
    """The value goes at once, the tombstone stays for delete.retention.ms from the first cleaning on, and then goes."""
    clock = FakeClock()
    log = new_log(tmp_path, COMPACT, clock)
    append(log, (b"gone", b"value"), (b"stays", b"value"))
    append(log, (b"gone", None))
    log.roll(clock())
    compact(log)
    assert offsets_of(log) == [1, 2]
    (tombstone,) = [header for header, records in batches_in(log) if records[0].offset == 2]
    assert tombstone.delete_horizon_ms == clock() + DAY_MS
    assert read_records(log)[1].timestamp == NOW_MS, "the horizon takes the base timestamp's place, not the record's"

    for milliseconds, expected in ((DAY_MS - 1, [1, 2]), (1, [1])):
        clock.advance(milliseconds)
        append(log, (b"other", b"%d" % milliseconds))
        log.roll(clock())
        compact(log, log.segments[-2].base_offset)
        assert [offset for offset in offsets_of(log) if offset <= 2] == expected


@pytest.mark.acceptance("B016")
def test_the_active_segment_is_left_alone(tmp_path: Path) -> None:
    """Duplicates in the head survive a run; they go when a newer segment has begun."""
    log = new_log(tmp_path, COMPACT)
    append(log, (b"k", b"0"))
    append(log, (b"k", b"1"))
    assert compact(log) is None
    log.roll(NOW_MS)
    append(log, (b"k", b"2"))
    append(log, (b"k", b"3"))
    compact(log)
    assert offsets_of(log) == [1, 2, 3]
    log.roll(NOW_MS)
    compact(log, 2)
    assert offsets_of(log) == [3]


def test_what_is_younger_than_min_compaction_lag_ms_waits(tmp_path: Path) -> None:
    clock = FakeClock()
    log = new_log(tmp_path, replace(COMPACT, min_compaction_lag_ms=HOUR_MS), clock)
    for number in range(4):
        append(log, (b"k", b"%d" % number))
        log.roll(clock())
        clock.advance(HOUR_MS // 2)
    compact(log)
    assert offsets_of(log) == [2, 3], "all but the last are old enough"


def test_nothing_at_or_above_the_last_stable_offset_is_touched(tmp_path: Path) -> None:
    log = new_log(tmp_path, COMPACT)
    append(log, (b"k", b"0"))
    append(log, (b"k", b"1"))
    log.roll(NOW_MS)
    append(log, (b"open", b"2"), producer_id=7, base_sequence=0, transactional=True)
    log.roll(NOW_MS)
    append(log, (b"k", b"3"))
    log.roll(NOW_MS)
    done = compact(log)
    assert done is not None
    assert done.end_offset == 2
    assert offsets_of(log) == [1, 2, 3]
    end_transaction(log, 7, ControlType.COMMIT)
    log.roll(NOW_MS)
    compact(log, 2)
    assert offsets_of(log) == [2, 3, 4]


def test_records_of_aborted_transactions_go_and_supersede_nothing(tmp_path: Path) -> None:
    clock = FakeClock()
    log = new_log(tmp_path, COMPACT, clock)
    append(log, (b"k", b"committed"))
    append(log, (b"k", b"aborted"), (b"other", b"aborted"), producer_id=7, base_sequence=0, transactional=True)
    end_transaction(log, 7, ControlType.ABORT)
    append(log, (b"z", b"last"), producer_id=7, base_sequence=2, transactional=True)
    end_transaction(log, 7, ControlType.COMMIT)
    log.roll(clock())
    compact(log)
    assert offsets_of(log) == [0, 3, 4, 5], "the aborted records went, the markers are there"
    assert log.aborted_transactions(0, 6)[0].last_offset == 3, "its batch was there when the marker was met"
    compact(log)
    assert not log.aborted_transactions(0, 6)
    assert [header.delete_horizon_ms for header, _ in batches_in(log)] == [None, clock() + DAY_MS, None, None]
    clock.advance(DAY_MS)
    compact(log)
    assert offsets_of(log) == [0, 4, 5], "a marker goes with nothing left of its transaction, after its time"
    assert log.append(
        keyed((b"z", b"again"), timestamp=clock(), producer_id=7, base_sequence=2, transactional=True), leader_epoch=0
    ).duplicate


@pytest.mark.parametrize("is_clean", [True, False])
def test_the_last_sequence_of_a_producer_survives_its_records(tmp_path: Path, is_clean: bool) -> None:
    """The last batch of a producer stays, empty, so that a batch sent again is known and the next one is in order."""
    log = new_log(tmp_path, COMPACT)
    for number in range(5):
        append(log, (b"k", b"%d" % number), (b"l", b"%d" % number), producer_id=9, base_sequence=2 * number)
    append(log, (b"k", b"newest"), (b"l", b"newest"))
    log.roll(NOW_MS)
    compact(log)
    assert offsets_of(log) == [10, 11]
    (empty,) = [header for header, records in batches_in(log) if not records]
    assert (empty.base_offset, empty.last_offset, empty.last_sequence, empty.record_count) == (8, 9, 9, 0)
    (snapshot,) = Path(log.directory).glob("*.snapshot")
    if not is_clean:
        snapshot.unlink()
    log = reopen(log, clean=is_clean, recovery_point=0)
    again = log.append(
        keyed((b"k", b"4"), (b"l", b"4"), timestamp=NOW_MS, producer_id=9, base_sequence=8), leader_epoch=0
    )
    assert (again.base_offset, again.duplicate) == (8, True)
    assert append(log, (b"k", b"5"), producer_id=9, base_sequence=10) == 12


def test_a_batch_that_stays_whole_stays_as_it_is(tmp_path: Path) -> None:
    log = new_log(tmp_path, COMPACT)
    append(log, *[(b"%d" % number, b"v") for number in range(20)], codec=4)
    log.roll(NOW_MS)
    before = Path(log.segments[0].path(".log")).read_bytes()
    compact(log)
    assert Path(log.segments[0].path(".log")).read_bytes() == before


@pytest.mark.parametrize("codec", range(5))
def test_what_stays_of_a_batch_keeps_its_codec(tmp_path: Path, codec: int) -> None:
    log = new_log(tmp_path, replace(COMPACT, message_timestamp_type="LogAppendTime" if codec % 2 else "CreateTime"))
    append(
        log,
        *[(b"%d" % (number % 30), b"v%d" % number * 20) for number in range(40)],
        codec=codec,
        producer_id=3,
        base_sequence=0,
    )
    log.roll(NOW_MS)
    before = read_records(log)
    compact(log)
    ((header, records),) = batches_in(log)
    assert records == before[10:]
    assert (header.base_offset, header.last_offset, header.record_count, header.codec) == (0, 39, 30, codec)
    assert (header.base_sequence, header.last_sequence) == (0, 39)
    log = reopen(log, clean=False, recovery_point=0)
    assert read_records(log) == before[10:]


def test_records_without_a_key_go(tmp_path: Path) -> None:
    """They are from before the topic was compacted."""
    log = new_log(tmp_path, LogConfig(segment_bytes=4000))
    append(log, (None, b"0"), (b"k", b"1"), (None, b"2"))
    log.roll(NOW_MS)
    log.reconfigure(COMPACT)
    done = compact(log)
    assert done is not None
    assert done.keyless_records == 2
    assert offsets_of(log) == [1]


@pytest.mark.parametrize("segment_bytes", [4000, 100_000])
def test_small_segments_become_one(tmp_path: Path, segment_bytes: int) -> None:
    """Up to segment.bytes, or to what a swap of a few milliseconds allows; the new one is as old as the last of them."""
    log = new_log(tmp_path, replace(COMPACT, segment_bytes=segment_bytes))
    for number in range(MOST_SOURCES + 10):
        append(log, (b"%03d" % number, b"v"))
        log.roll(NOW_MS)
    append(log, (b"active", b"v"))
    before = read_records(log)
    size = log.segments[0].size
    joined = min(MOST_SOURCES, segment_bytes // size)
    modified = os.stat(log.segments[joined - 1].path(".log")).st_mtime_ns
    compact(log)
    assert [segment.base_offset for segment in log.segments] == [0, joined, MOST_SOURCES + 10]
    assert log.segments[0].size == joined * size
    assert os.stat(log.segments[0].path(".log")).st_mtime_ns == modified
    assert read_records(log) == before
    names = {path.name for path in Path(log.directory).iterdir()}
    assert {int(name[:20]) for name in names if name.endswith(".log")} == {0, joined, MOST_SOURCES + 10}
    assert not [name for name in names if name.endswith((".cleaned", ".swap", ".deleted"))]
    assert read_records(reopen(log, clean=True)) == before


def test_what_memory_holds_is_cleaned_and_the_rest_next_time(tmp_path: Path) -> None:
    """With room for few keys a run cleans as far as they fit, and the following go on from there."""
    log = new_log(tmp_path, COMPACT)
    for _ in range(2):
        for number in range(200):
            append(log, (b"%d" % number, b"v"))
    log.roll(NOW_MS)
    limits = LIMITS._replace(dedupe_buffer_bytes=24 * 60)
    cleaned_up_to, runs = 0, 0
    while cleaned_up_to < 400:
        done = compact(log, cleaned_up_to, limits=limits)
        assert done is not None
        assert done.end_offset > cleaned_up_to
        cleaned_up_to = done.end_offset
        runs += 1
    assert runs == pytest.approx(400 / (59 * 0.9), abs=2)
    assert offsets_of(log) == list(range(200, 400))


def test_a_batch_whose_keys_do_not_fit_is_an_error_that_names_the_choices(tmp_path: Path) -> None:
    log = new_log(tmp_path, COMPACT)
    append(log, *[(b"%d" % number, b"v") for number in range(50)])
    log.roll(NOW_MS)
    job = job_for(log, 0, NOW_MS, LIMITS._replace(dedupe_buffer_bytes=24 * 12))
    assert job is not None
    with pytest.raises(LogTooDirty, match=r"log\.cleaner\.dedupe\.buffer\.size"):
        list(Cleaner(job).answers())


def test_a_damaged_batch_ends_the_cleaning_before_anything_is_replaced(tmp_path: Path) -> None:
    log = new_log(tmp_path, COMPACT)
    for number in range(10):
        append(log, (b"k", b"%d" % number))
    log.roll(NOW_MS)
    path = Path(log.segments[0].path(".log"))
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    job = job_for(log, 0, NOW_MS)
    assert job is not None
    with pytest.raises(CorruptRecords, match=f"offset 9 does not have the checksum it claims .* of {path}"):
        list(answers_to(job))
    assert path.read_bytes() == content


def test_segments_that_went_meanwhile_are_not_replaced(tmp_path: Path) -> None:
    """delete_records and retention go on while a worker cleans."""
    log = new_log(tmp_path, COMPACT)
    for number in range(3):
        append(log, (b"k", b"%d" % number))
        log.roll(NOW_MS)
    job = job_for(log, 0, NOW_MS)
    assert job is not None
    answers = answers_to(job)
    cleaned = next(answers)
    log.delete_records(2)
    log.apply_retention(NOW_MS).remove()
    with pytest.raises(LogError, match="are not there to be replaced"):
        log.replace_segments(cleaned)  # type: ignore[arg-type]
    assert offsets_of(log) == [2]


def test_a_reader_goes_on_in_the_segment_it_reads(tmp_path: Path) -> None:
    """What was located before the swap is sent from the old file, and a search that had begun goes on there."""
    log = new_log(tmp_path, COMPACT)
    for number in range(20):
        append(log, (b"k", b"%d" % number))
    log.roll(NOW_MS)
    log.roll(NOW_MS)
    piece = log.read(5, 1 << 20, at_least_one_batch=True)
    expected = piece.read()
    search = log.batches_by_timestamp(NOW_MS)
    old_segment = log.segments[0]
    job = job_for(log, 0, NOW_MS)
    assert job is not None
    cleaned = next(answers_to(job))
    removed = log.replace_segments(cleaned)  # type: ignore[arg-type]
    assert piece.read() == expected
    first = next(search).search()
    assert first is not None
    assert first.offset == 0
    assert next(old_segment.batches())[1].base_offset == 0
    removed.remove()
    assert piece.read() == expected
    assert offsets_of(log) == [19]


def test_max_compaction_lag_ms_rolls_and_makes_a_log_due(tmp_path: Path) -> None:
    clock = FakeClock()
    config = replace(COMPACT, max_compaction_lag_ms=HOUR_MS, min_cleanable_dirty_ratio=1.0)
    log = new_log(tmp_path, config, clock)
    append(log, (b"k", b"0"))
    assert not log.roll_if_due(clock())
    clock.advance(HOUR_MS + 1)
    assert log.roll_if_due(clock()), "segment.ms is a week"
    dirty = dirty_part(log, None, clock())
    assert dirty is not None
    assert dirty.must_be_cleaned
    log.reconfigure(replace(config, max_compaction_lag_ms=2 * HOUR_MS))
    dirty = dirty_part(log, None, clock())
    assert dirty is not None
    assert not dirty.must_be_cleaned


def test_the_pace_is_kept() -> None:
    """log.cleaner.io.max.bytes.per.second, by a clock that only sleeping moves."""
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    pace = Pace(1000.0, clock=lambda: now, sleep=sleep)
    for _ in range(10):
        pace.moved(500)
    assert now == pytest.approx(5.0)
    Pace(None, clock=lambda: now, sleep=sleep).moved(10**9)
    assert now == pytest.approx(5.0)
