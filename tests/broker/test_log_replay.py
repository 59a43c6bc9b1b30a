"""What a replay of an internal log is given: every batch, or of many what compaction would leave of them."""

from pathlib import Path

import pytest

from stoker.broker import log_replay
from stoker.broker.log_replay import batches_of, newest_batches_of
from stoker.errors import CorruptRecords
from stoker.log.config import LogConfig
from stoker.log.partition import PartitionLog
from stoker.log.producer_state import AppendOrigin
from stoker.wire.record_batch import (
    ControlType,
    Record,
    build_batch,
    build_end_transaction_batch,
    iterate_records,
    read_header,
)
from tests.log.batches import NOW_MS, new_log

Step = tuple[bytes | None, bytes | None] | str
LIMIT = 1 << 20


def append(log: PartitionLog, number: int, *, codec: int = 0, records: int = 1, transactional: bool = False) -> None:
    """Some of 30 keys, now and then a tombstone."""
    made = [
        Record(
            timestamp=NOW_MS,
            key=b"key %d" % ((number + each) % 30),
            value=None if number % 7 == 0 else b"%d" % (number + each),
        )
        for each in range(records)
    ]
    batch = build_batch(
        made,
        codec=codec,
        producer_id=9 if transactional else -1,
        producer_epoch=0 if transactional else -1,
        base_sequence=0 if transactional else -1,
        transactional=transactional,
    )
    log.append(memoryview(bytearray(batch)), leader_epoch=0, origin=AppendOrigin.COORDINATOR)


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    log = new_log(tmp_path, LogConfig(segment_bytes=40_000, cleanup_policy=frozenset({"compact"})))
    for number in range(3000):
        append(log, number, codec=number % 5 if number % 100 > 90 else 0, records=1 + (number % 50 == 0) * 5)
        if number % 700 == 0:
            append(log, number, transactional=True)
            marker = build_end_transaction_batch(ControlType.COMMIT, producer_id=9, producer_epoch=0, timestamp=NOW_MS)
            log.append(memoryview(marker), leader_epoch=0, origin=AppendOrigin.COORDINATOR)
    return log


def table_at_markers(log: PartitionLog, *, condensed: bool) -> tuple[list[dict[bytes, bytes]], int]:
    """What the log stands for at each marker and at its end, and how many records that took."""
    tables: list[dict[bytes, bytes]] = []
    table: dict[bytes, bytes] = {}
    count = 0
    for batch in newest_batches_of(log) if condensed else batches_of(log):
        if read_header(batch).is_control:
            tables.append(dict(table))
            continue
        for record in iterate_records(batch, LIMIT):
            count += 1
            assert record.key is not None
            if record.value is None:
                table.pop(record.key, None)
            else:
                table[record.key] = record.value
    return [*tables, table], count


@pytest.mark.parametrize("start_offset", [0, 1234])
def test_the_newest_records_stand_for_the_same(
    log: PartitionLog, monkeypatch: pytest.MonkeyPatch, start_offset: int
) -> None:
    """A transaction's batches and markers are met in the state in which they were written."""
    monkeypatch.setattr(log_replay, "_LARGE_LOG_BYTES", 0)
    monkeypatch.setattr("stoker.broker.condensed_replay._STRETCH_BYTES", 20_000)
    log.delete_records(start_offset)
    expected, all_records = table_at_markers(log, condensed=False)
    found, records = table_at_markers(log, condensed=True)
    assert found == expected
    assert len(found) > 3
    assert records < all_records / 3


def test_a_damaged_batch_is_named(log: PartitionLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_replay, "_LARGE_LOG_BYTES", 0)
    path = Path(log.segments[1].path(".log"))
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    for replay in (batches_of, newest_batches_of):
        with pytest.raises(CorruptRecords, match="has a damaged batch at offset"):
            list(replay(log))


def test_a_small_log_is_read_without_numpy(log: PartitionLog) -> None:
    assert list(newest_batches_of(log)) == list(batches_of(log))
