"""Finding records by timestamp, against looking at all of them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.log.config import LogConfig
from stoker.log.partition import PartitionLog
from stoker.wire.record_batch import Record, build_batch
from tests.log.batches import NOW_MS, batch, new_log, read_records, reopen

SMALL = LogConfig(segment_bytes=500, index_interval_bytes=100, message_timestamp_after_max_ms=10**15)


def append_timestamps(log: PartitionLog, timestamps: list[int], codec: int = 0) -> None:
    content = build_batch([Record(timestamp=timestamp) for timestamp in timestamps], codec=codec)
    log.append(memoryview(bytearray(content)), leader_epoch=3)


def by_looking(log: PartitionLog, timestamp: int) -> tuple[int, int, int] | None:
    for record in read_records(log):
        if record.timestamp >= timestamp:
            return record.offset, record.timestamp, 3
    return None


def largest_by_looking(log: PartitionLog) -> tuple[int, int, int] | None:
    records = [record for record in read_records(log, log.segments[0].base_offset) if record.timestamp >= 0]
    if not records:
        return None
    record = max(records, key=lambda each: (each.timestamp, -each.offset))
    return record.offset, record.timestamp, 3


@given(
    batches=st.lists(st.lists(st.integers(-1, 60), min_size=1, max_size=4), max_size=40),
    is_reopened=st.booleans(),
    start=st.integers(0, 10),
)
def test_any_timestamp_is_found_as_by_looking_at_all_records(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[int]], is_reopened: bool, start: int
) -> None:
    log = new_log(tmp_path_factory.mktemp("log"), SMALL)
    for timestamps in batches:
        append_timestamps(log, timestamps)
    if is_reopened:
        log = reopen(log, clean=True)
    assert log.max_timestamp_offset() == largest_by_looking(log)
    log.delete_records(min(start, log.log_end_offset))
    for timestamp in range(62):
        assert log.offset_for_timestamp(timestamp) == by_looking(log, timestamp)
    log.close(clean=False)


@pytest.mark.parametrize("codec", range(5))
def test_a_compressed_batch_is_looked_into(tmp_path: Path, codec: int) -> None:
    log = new_log(tmp_path)
    append_timestamps(log, [NOW_MS, NOW_MS + 10, NOW_MS + 20], codec)
    assert log.offset_for_timestamp(NOW_MS + 5) == (1, NOW_MS + 10, 3)
    assert log.max_timestamp_offset() == (2, NOW_MS + 20, 3)
    assert log.offset_for_timestamp(NOW_MS + 21) is None


def test_an_empty_log_has_no_timestamps(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    assert log.offset_for_timestamp(0) is None
    assert log.max_timestamp_offset() is None
    log.append(batch(b"a", timestamp=-1), leader_epoch=0)
    assert log.max_timestamp_offset() is None
    assert log.offset_for_timestamp(0) is None
