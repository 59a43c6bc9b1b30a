"""Which log is cleaned next, and how far, by Kafka's rules (its LogCleanerManager). Cheap: it looks at no record."""

from typing import NamedTuple

from stoker.errors import CorruptRecords
from stoker.log.compaction.job import CleaningJob, LastRecord, SourceSegment
from stoker.log.config import NEVER
from stoker.log.partition import PartitionLog
from stoker.log.segment import Segment


class CleanerLimits(NamedTuple):
    """What one worker may take of the machine."""

    dedupe_buffer_bytes: int
    load_factor: float
    read_bytes: int
    max_bytes_per_second: float | None


class DirtyLog(NamedTuple):
    """A log of which something can be cleaned."""

    log: PartitionLog
    first_dirty_offset: int
    first_uncleanable_offset: int
    segments: tuple[Segment, ...]
    """All that end before `first_uncleanable_offset`, the clean ones too."""
    dirty_ratio: float
    is_overdue: bool
    """Something has waited for max.compaction.lag.ms."""

    @property
    def must_be_cleaned(self) -> bool:
        return self.is_overdue or self.dirty_ratio > self.log.config.min_cleanable_dirty_ratio

    def job(self, now_ms: int, limits: CleanerLimits) -> CleaningJob:
        """What a worker is to be told."""
        log, config = self.log, self.log.config
        return CleaningJob(
            directory=log.directory,
            segments=tuple(SourceSegment(base_offset=each.base_offset, size=each.size) for each in self.segments),
            first_dirty_offset=self.first_dirty_offset,
            first_uncleanable_offset=self.first_uncleanable_offset,
            now_ms=now_ms,
            delete_retention_ms=config.delete_retention_ms,
            segment_bytes=config.segment_bytes,
            segment_index_bytes=config.segment_index_bytes,
            index_interval_bytes=config.index_interval_bytes,
            producers={
                producer_id: LastRecord(
                    last_offset=entry.batches[-1].last_offset if entry.batches else -1, epoch=entry.epoch
                )
                for producer_id, entry in log.active_producers().items()
            },
            aborted_transactions=tuple(
                log.aborted_transactions(self.segments[0].base_offset, self.first_uncleanable_offset)
            ),
            dedupe_buffer_bytes=limits.dedupe_buffer_bytes,
            load_factor=limits.load_factor,
            read_bytes=limits.read_bytes,
            max_bytes_per_second=limits.max_bytes_per_second,
        )


def dirty_part(log: PartitionLog, cleaned_up_to: int | None, now_ms: int) -> DirtyLog | None:
    """What can be cleaned of a log that was cleaned up to this offset before; None if there is nothing.

    That is nothing of the active segment, nothing at or above the last stable offset, and nothing younger than
    min.compaction.lag.ms.
    """
    segments = log.segments
    if len(segments) < 2 or not log.config.is_compacted:
        return None
    first_dirty_offset = cleaned_up_to if cleaned_up_to is not None else log.log_start_offset
    if not log.log_start_offset <= first_dirty_offset <= log.log_end_offset:
        first_dirty_offset = log.log_start_offset
    ends = [segment.base_offset for segment in segments[1:]]
    first_uncleanable_offset = segments[0].base_offset
    last_stable_offset = log.last_stable_offset
    count = clean_bytes = dirty_bytes = 0
    is_overdue = False
    for segment, end in zip(segments, ends, strict=False):
        is_dirty = end > first_dirty_offset
        if end > last_stable_offset or (is_dirty and _is_too_young(log, segment, now_ms)):
            break
        count += 1
        first_uncleanable_offset = end
        if is_dirty:
            dirty_bytes += segment.size
            is_overdue = is_overdue or _is_overdue(log, segment, now_ms)
        else:
            clean_bytes += segment.size
    if not dirty_bytes:
        return None
    return DirtyLog(
        log,
        first_dirty_offset,
        first_uncleanable_offset,
        segments[:count],
        dirty_bytes / (clean_bytes + dirty_bytes),
        is_overdue,
    )


def _is_too_young(log: PartitionLog, segment: Segment, now_ms: int) -> bool:
    lag_ms = log.config.min_compaction_lag_ms
    return lag_ms > 0 and segment.largest_timestamp(log.config.index_interval_bytes) > now_ms - lag_ms


def _is_overdue(log: PartitionLog, segment: Segment, now_ms: int) -> bool:
    """By the timestamp of the segment's first batch, as in Kafka."""
    lag_ms = log.config.max_compaction_lag_ms
    if lag_ms == NEVER or not segment.size:
        return False
    try:
        _, header = next(segment.batches(read_bytes=64))
    except CorruptRecords:
        return False
    return 0 < header.max_timestamp < now_ms - lag_ms
