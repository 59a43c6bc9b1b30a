"""Which segments a log may let go of: those before its start, beyond its size, or past their time."""

import os
from collections.abc import Sequence

from stoker.log.config import LogConfig
from stoker.log.segment import LOG_SUFFIX, Segment


def count_removable_segments(segments: Sequence[Segment], log_start_offset: int, config: LogConfig, now_ms: int) -> int:
    """How many of the oldest segments may go, by Kafka's rules; the active one too, if all it holds is past its time.

    An empty active segment never goes. The caller begins a new segment if none would be left.
    """
    count = 0
    while count + 1 < len(segments) and segments[count + 1].base_offset <= log_start_offset:
        count += 1
    if not config.is_deleted_by_retention:
        return count
    removable = len(segments) if segments[-1].size else len(segments) - 1
    if config.retention_bytes >= 0:
        excess_bytes = sum(segment.size for segment in segments[count:]) - config.retention_bytes
        while count < removable and excess_bytes >= segments[count].size:
            excess_bytes -= segments[count].size
            count += 1
    if config.retention_ms >= 0:
        while count < removable and now_ms - _age_by(segments[count], config) > config.retention_ms:
            count += 1
    return count


def _age_by(segment: Segment, config: LogConfig) -> int:
    """The time that decides a segment's age: its largest timestamp, or if none has one, when it was last written."""
    timestamp = segment.largest_timestamp(config.index_interval_bytes)
    if timestamp >= 0:
        return timestamp
    return os.stat(segment.path(LOG_SUFFIX)).st_mtime_ns // 1_000_000
