"""Compacting a log in the process of the test, by the very steps that a broker and its worker take."""

import os
from collections.abc import Iterator

from stoker.log.compaction.cleaner import Cleaner
from stoker.log.compaction.job import CleanedSegment, CleaningDone, CleaningJob, decode_answer, encode_answer
from stoker.log.compaction.selection import CleanerLimits, dirty_part
from stoker.log.config import LogConfig
from stoker.log.partition import PartitionLog
from stoker.wire.record_batch import BatchHeader, Record, build_batch, iterate_records

LIMITS = CleanerLimits(dedupe_buffer_bytes=1 << 20, load_factor=0.9, read_bytes=4096, max_bytes_per_second=None)
COMPACT = LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=4000, index_interval_bytes=200)
DAY_MS = 86_400_000


def keyed(
    *records: tuple[bytes | None, bytes | None],
    timestamp: int = 0,
    codec: int = 0,
    producer_id: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
) -> memoryview:
    """A batch of these keys and values."""
    content = build_batch(
        [Record(timestamp=timestamp + number, key=key, value=value) for number, (key, value) in enumerate(records)],
        codec=codec,
        producer_id=producer_id,
        producer_epoch=min(producer_id, 0),
        base_sequence=base_sequence,
        transactional=transactional,
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
        assert decode_answer(encode_answer(answer)) == answer
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


def batches_in(log: PartitionLog) -> list[tuple[BatchHeader, list[Record]]]:
    """Every batch there is, also those without records."""
    found = []
    for segment in log.segments:
        for position, header in segment.batches():
            content = os.pread(segment.opened().descriptor, header.size, position)
            found.append((header, list(iterate_records(content, 1 << 20))))
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
