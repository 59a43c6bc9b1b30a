"""Batches as producers send them, logs to put them in, and a clock that tests turn."""

from collections.abc import Iterator
from pathlib import Path

from stoker.log.config import LogConfig
from stoker.log.files import FileCache
from stoker.log.opening import create_partition_log, open_partition_log
from stoker.log.partition import PartitionLog
from stoker.wire.record_batch import HEADER_SIZE, BatchHeader, Record, build_batch, iterate_records, read_header

NOW_MS = 1_700_000_000_000


class FakeClock:
    """Milliseconds, moved by hand."""

    def __init__(self, now_ms: int = NOW_MS) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, milliseconds: int) -> None:
        self.now_ms += milliseconds


def batch(
    *values: bytes | None,
    key: bytes | None = b"k",
    timestamp: int = NOW_MS,
    codec: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
) -> memoryview:
    """A writable batch with one record a value, a millisecond apart."""
    content = build_batch(
        [Record(timestamp=timestamp + number, key=key, value=value) for number, value in enumerate(values)],
        codec=codec,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=transactional,
        control=control,
    )
    return memoryview(bytearray(content))


def new_log(path: Path, config: LogConfig | None = None, clock: FakeClock | None = None) -> PartitionLog:
    return create_partition_log(
        str(path / "topic-0"),
        topic="topic",
        partition=0,
        config=config or LogConfig(),
        files=FileCache(64),
        clock=clock or FakeClock(),
    )


def reopen(
    log: PartitionLog,
    *,
    clean: bool,
    recovery_point: int | None = None,
    log_start_offset: int | None = None,
    latest_leader_epoch: int | None = None,
    was_compacted: bool = False,
) -> PartitionLog:
    """Close the log, or leave it as a crash would, and open what is on disk."""
    log.close(clean=clean)
    return open_partition_log(
        log.directory,
        topic=log.topic,
        partition=log.partition,
        config=log.config,
        files=FileCache(64),
        clock=log._clock,
        had_clean_shutdown=clean,
        recovery_point=log.recovery_point if recovery_point is None else recovery_point,
        log_start_offset=log.log_start_offset if log_start_offset is None else log_start_offset,
        latest_leader_epoch=latest_leader_epoch,
        was_compacted=was_compacted,
    )


def headers_in(content: bytes | bytearray) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of the whole batches in what a consumer would get."""
    position = 0
    while position + HEADER_SIZE <= len(content):
        header = read_header(content, position)
        if position + header.size > len(content):
            return
        yield position, header
        position += header.size


def read_records(log: PartitionLog, offset: int | None = None, *, max_bytes: int = 1 << 20) -> list[Record]:
    """All records from an offset on, fetched as a consumer does: again and again, from where the last fetch ended."""
    if offset is None:
        offset = log.log_start_offset
    records: list[Record] = []
    while True:
        content = log.read(offset, max_bytes, at_least_one_batch=True).read()
        if not content:
            return records
        next_offset = offset
        for position, header in headers_in(content):
            found = iterate_records(content[position : position + header.size], 1 << 24)
            records.extend(record for record in found if record.offset >= offset)
            next_offset = header.next_offset
        assert next_offset > offset, f"a fetch at {offset} made no progress"
        offset = next_offset


def values_of(log: PartitionLog, offset: int | None = None, *, max_bytes: int = 1 << 20) -> list[bytes | None]:
    return [record.value for record in read_records(log, offset, max_bytes=max_bytes)]


def last_log_file(log: PartitionLog) -> Path:
    return max(Path(log.directory).glob("*.log"))
