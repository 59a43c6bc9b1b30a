"""Compacting a log in the process of the test, by the very steps that a broker and its worker take."""

from collections.abc import Iterator
from dataclasses import replace

from stoker.log.compaction.cleaner import Cleaner
from stoker.log.compaction.job import (
    CleanedSegment,
    CleaningDone,
    CleaningJob,
    decode_answer,
    encode_answer,
)
from stoker.log.compaction.selection import CleanerLimits, dirty_part
from stoker.log.config import LogConfig
from stoker.log.partition import PartitionLog
from stoker.wire.record_batch import Record, build_batch, iterate_records, read_header

LIMITS = CleanerLimits(dedupe_buffer_bytes=1 << 20, load_factor=0.9, read_bytes=4096, max_bytes_per_second=None)
COMPACT = LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=4000, index_interval_bytes=200)


def keyed(*records: tuple[bytes | None, bytes | None], timestamp: int = 0, **options: int | bool) -> memoryview:
    """A batch of these keys and values."""
    content = build_batch(
        [Record(timestamp=timestamp + number, key=key, value=value) for number, (key, value) in enumerate(records)],
        **options,  # type: ignore[arg-type]
    )
    return memoryview(bytearray(content))


def job_for(
    log: PartitionLog, cleaned_up_to: int | None, now_ms: int, limits: CleanerLimits = LIMITS
) -> CleaningJob | None:
    """What a worker would be told, after the way through the pipe; None if nothing can be cleaned."""
    dirty = dirty_part(log, cleaned_up_to, now_ms)
    return None if dirty is None else CleaningJob.decode(dirty.job(now_ms, limits).encode())


def answers_to(job: CleaningJob) -> Iterator[CleanedSegment | CleaningDone]:
    """What a worker would answer."""
    for answer in Cleaner(job).answers():
        received = decode_answer(encode_answer(answer))
        assert received == answer
        yield answer


def compact(
    log: PartitionLog, cleaned_up_to: int | None = None, now_ms: int | None = None, limits: CleanerLimits = LIMITS
) -> CleaningDone | None:
    """Clean a log as far as it can be cleaned; None if nothing can."""
    job = job_for(log, cleaned_up_to, log._clock() if now_ms is None else now_ms, limits)
    if job is None:
        return None
    for answer in answers_to(job):
        if isinstance(answer, CleaningDone):
            return answer
        log.replace_segments(answer).remove()
    raise AssertionError("the cleaner did not say that it is done")


def records_by_batch(log: PartitionLog) -> list[list[Record]]:
    """The records of every batch there is, also of control batches."""
    found = []
    for segment in log.segments:
        for position, header in segment.batches():
            content = segment.opened()
            import os

            batch = os.pread(content.descriptor, header.size, position)
            found.append(list(iterate_records(batch, 1 << 20)))
    return found


def table_of(records: list[Record]) -> dict[bytes, bytes]:
    """What a reader of a changelog makes of it."""
    table: dict[bytes, bytes] = {}
    for record in records:
        assert record.key is not None
        if record.value is None:
            table.pop(record.key, None)
        else:
            table[record.key] = record.value
    return table


def without_retention(config: LogConfig) -> LogConfig:
    return replace(config, retention_ms=-1)


__all__ = [
    "COMPACT",
    "LIMITS",
    "answers_to",
    "compact",
    "job_for",
    "keyed",
    "read_header",
    "records_by_batch",
    "table_of",
]
