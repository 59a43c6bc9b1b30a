"""Finding records by their timestamp."""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stoker.errors import CorruptRecords
from stoker.log.index import NO_TIMESTAMP, CorruptIndex, TimeIndex, read_last_time_entry
from stoker.log.segment import TIME_INDEX_SUFFIX, ActiveSegment, Segment
from stoker.log.validation import MAX_DECOMPRESSED_BYTES, MAX_RECORDS_READ, QUICKLY_READ_BYTES
from stoker.wire.compression import Codec
from stoker.wire.record_batch import BatchHeader, iterate_records


class TimestampedOffset(NamedTuple):
    """A record: where it is, its timestamp, and the leader epoch it was written in."""

    offset: int
    timestamp: int
    leader_epoch: int


class BatchToSearch(NamedTuple):
    """A batch that should hold the record that is looked for."""

    batch: bytes
    header: BatchHeader
    timestamp: int
    start_offset: int

    @property
    def is_quick(self) -> bool:
        """Searching it takes a few milliseconds at most. Records that are compressed may be any number."""
        return len(self.batch) <= QUICKLY_READ_BYTES and self.header.codec == Codec.NONE

    def search(self) -> TimestampedOffset | None:
        """For any thread. Raises CorruptRecords."""
        if self.header.record_count > MAX_RECORDS_READ:
            raise CorruptRecords(
                f"the batch at offset {self.header.base_offset} has more than {MAX_RECORDS_READ} records"
            )
        for record in iterate_records(self.batch, MAX_DECOMPRESSED_BYTES):
            if record.timestamp >= self.timestamp and record.offset >= self.start_offset:
                return TimestampedOffset(record.offset, record.timestamp, self.header.partition_leader_epoch)
        return None


def batches_by_timestamp(
    segments: Sequence[Segment], timestamp: int, start_offset: int, index_interval_bytes: int
) -> Iterator[BatchToSearch]:
    """Where to look for the first record at or after `start_offset` whose timestamp is at least `timestamp`.

    It is in the first of them, unless that batch was made with a wrong header.
    """
    for segment in segments:
        if not segment.size or segment.largest_timestamp(index_interval_bytes) < timestamp:
            continue
        position = _position_before(segment, timestamp, start_offset, index_interval_bytes)
        for batch_position, header in segment.batches(position):
            if header.max_timestamp >= timestamp and header.last_offset >= start_offset:
                yield _batch_to_search(segment, batch_position, header, timestamp, start_offset)


def batches_by_max_timestamp(segments: Sequence[Segment], index_interval_bytes: int) -> Iterator[BatchToSearch]:
    """Where to look for the first record with the largest timestamp of all; none if no record has one."""
    segment = max(
        segments, key=lambda each: each.largest_timestamp(index_interval_bytes) if each.size else NO_TIMESTAMP
    )
    timestamp = segment.largest_timestamp(index_interval_bytes) if segment.size else NO_TIMESTAMP
    if timestamp == NO_TIMESTAMP:
        return
    location = segment.locate(_offset_of_max_timestamp(segment), index_interval_bytes)
    for position, header in segment.batches(location.position if location else 0):
        if header.max_timestamp == timestamp and header.record_count:
            yield _batch_to_search(segment, position, header, timestamp, header.base_offset)
            return
    # The record with that timestamp fell to compaction, and its batch is kept without it, for its sequence number.
    yield from _largest_of_all(segments)


def _largest_of_all(segments: Sequence[Segment]) -> Iterator[BatchToSearch]:
    batches = ((segment, position, header) for segment in segments for position, header in segment.batches())
    with_records = (each for each in batches if each[2].record_count and each[2].max_timestamp != NO_TIMESTAMP)
    largest = max(with_records, key=lambda each: each[2].max_timestamp, default=None)
    if largest is not None:
        segment, position, header = largest
        yield _batch_to_search(segment, position, header, header.max_timestamp, header.base_offset)


def _offset_of_max_timestamp(segment: Segment) -> int:
    if isinstance(segment, ActiveSegment):
        return segment.indexes.offset_of_max_timestamp
    # `largest_timestamp` has just checked this entry against the log.
    entry = read_last_time_entry(segment.path(TIME_INDEX_SUFFIX), segment.base_offset)
    return entry.last_offset if entry else segment.base_offset


def _position_before(segment: Segment, timestamp: int, start_offset: int, index_interval_bytes: int) -> int:
    """A batch start such that all records before it are too old, or before `start_offset`."""
    try:
        position = _checked_position(
            segment, segment.load_time_index(index_interval_bytes), timestamp, index_interval_bytes
        )
    except CorruptIndex as problem:
        time_index = segment.rebuild_indexes(index_interval_bytes, str(problem)).time_index
        position = _checked_position(segment, time_index, timestamp, index_interval_bytes)
    if start_offset > segment.base_offset:
        location = segment.locate(start_offset, index_interval_bytes)
        if location is None:
            return segment.size
        position = max(position, location.position)
    return position


def _checked_position(segment: Segment, time_index: TimeIndex, timestamp: int, index_interval_bytes: int) -> int:
    entry = time_index.before(timestamp)
    if entry is None:
        return 0
    location = segment.locate(entry.last_offset, index_interval_bytes)
    if location is not None:
        _, header = next(segment.batches(location.position))
        if (header.last_offset, header.max_timestamp) == (entry.last_offset, entry.timestamp):
            return location.position
    raise CorruptIndex(f"{segment.path(TIME_INDEX_SUFFIX)} points at the wrong batch")


def _batch_to_search(
    segment: Segment, position: int, header: BatchHeader, timestamp: int, start_offset: int
) -> BatchToSearch:
    file = segment.opened()
    batch = os.pread(file.descriptor, header.size, position)
    return BatchToSearch(batch, header, timestamp, start_offset)
