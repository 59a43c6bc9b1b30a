"""One job of compaction, by Kafka's rules (its Cleaner): first the newest offset of every key, then what stays.

The dirty part of the log is read once to learn the newest offset of every key in it, as far as they fit in memory. Then
all segments up to there are read, the clean ones too, and what is superseded is left out. Small segments are joined.
"""

import os
import time
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from stoker.log.compaction.cleaned_segment import CleanedSegmentWriter
from stoker.log.compaction.job import (
    CleanedSegment,
    CleaningDone,
    CleaningJob,
    SourceSegment,
)
from stoker.log.compaction.key_hashes import KeyHasher, KeyHashes
from stoker.log.compaction.known_offsets import KnownOffsets
from stoker.log.compaction.offset_map import OffsetMap
from stoker.log.compaction.retained_records import RecordFilter
from stoker.log.compaction.segment_reading import Pace, batch_at, read_segment, records_in, segment_path
from stoker.log.compaction.swap import remove_cleaned_files
from stoker.log.compaction.transactions import CleanedTransactions
from stoker.log.segment import INDEX_SUFFIX, TIME_INDEX_SUFFIX
from stoker.wire.batch_columns import BatchColumns, Integers
from stoker.wire.record_batch import CONTROL_FLAG, TRANSACTIONAL_FLAG

_MAX_RELATIVE_OFFSET: Final = 2**31 - 1
MOST_SOURCES: Final = 64
"""Segments that become one at a time: putting the new one in their place is a few renames each, on the event loop."""


class LogTooDirty(Exception):
    """Not even the keys of one batch fit in the memory there is."""


class Cleaner:
    """Does one job. Every `CleanedSegment` it gives is on the disk; the last answer is `CleaningDone`."""

    def __init__(self, job: CleaningJob, *, hasher: KeyHasher | None = None, pace: Pace | None = None) -> None:
        self._job = job
        self._pace = pace or Pace(job.max_bytes_per_second)
        self._hash = hasher or KeyHasher()
        dirty_offsets = job.first_uncleanable_offset - job.first_dirty_offset
        self._map = OffsetMap(job.dedupe_buffer_bytes, job.load_factor, dirty_offsets)
        self._known: KnownOffsets | None = None
        dirty = job.first_dirty_offset, job.first_uncleanable_offset
        if KnownOffsets.fit(*dirty, job.dedupe_buffer_bytes):
            self._known = KnownOffsets(*dirty)
        self._keyless_records = 0

    def answers(self) -> Iterator[CleanedSegment | CleaningDone]:
        """Raises CorruptRecords or LogTooDirty, which another try would raise too, or OSError."""
        began = time.monotonic()
        job = self._job
        remove_cleaned_files(job.directory)
        end_offset = self._build_map()
        mapped = time.monotonic()
        if self._known is not None:
            self._known.note_newest(self._map)
        filtering = RecordFilter(job, self._map, self._known, self._hash, end_offset)
        before = after = 0
        for group in self._groups([segment for segment in job.segments if segment.base_offset < end_offset]):
            cleaned = self._clean(group, filtering)
            before += sum(segment.size for segment in group)
            after += cleaned.size
            yield cleaned
        yield CleaningDone(
            end_offset=end_offset,
            bytes_before=before,
            bytes_after=after,
            records_read=filtering.records_read,
            records_kept=filtering.records_kept,
            keyless_records=filtering.keyless_records + self._keyless_records,
            map_seconds=mapped - began,
            seconds=time.monotonic() - began,
        )

    # -- the map ----------------------------------------------------------------------------------------------------

    def _build_map(self) -> int:
        """Learn the newest offset of each key; returns the end of what was read, before a batch that did not fit."""
        job = self._job
        ends = [*(segment.base_offset for segment in job.segments[1:]), job.first_uncleanable_offset]
        dirty = [each for each in zip(job.segments, ends, strict=True) if each[1] > job.first_dirty_offset]
        # One that ended before would be taken for open: its marker is not read.
        aborted = [each for each in job.aborted_transactions if each.last_offset >= dirty[0][0].base_offset]
        transactions = CleanedTransactions(aborted)
        end_offset = job.first_dirty_offset
        for segment, end in dirty:
            path = segment_path(job.directory, segment.base_offset)
            for batches in read_segment(path, segment.size, job.read_bytes, self._pace):
                covered = self._learn(batches, transactions)
                if covered < len(batches):
                    if covered:
                        end_offset = max(end_offset, int(batches.last_offsets[covered - 1]) + 1)
                    if end_offset == job.first_dirty_offset:
                        raise LogTooDirty(
                            f"the keys of a single batch take more than {job.dedupe_buffer_bytes} bytes: "
                            "raise log.cleaner.dedupe.buffer.size or lower log.cleaner.threads"
                        )
                    return end_offset
                end_offset = max(end_offset, int(batches.last_offsets[-1]) + 1)
            end_offset = end  # there may be a gap at the end of a segment
        return end_offset

    def _learn(self, batches: BatchColumns, transactions: CleanedTransactions) -> int:
        """Put the keys of these batches in the map; returns how many batches that was, from the first."""
        job = self._job
        wanted = batches.last_offsets >= job.first_dirty_offset
        for slot in np.flatnonzero(batches.headers["attributes"] & (TRANSACTIONAL_FLAG | CONTROL_FLAG)).tolist():
            header = batches.headers[slot]
            producer_id, last_offset = int(header["producer_id"]), int(batches.last_offsets[slot])
            if header["attributes"] & CONTROL_FLAG:
                transactions.end(batch_at(batches, slot), producer_id, last_offset)
                wanted[slot] = False
            elif transactions.is_aborted(producer_id, last_offset):
                wanted[slot] = False
        for slots, records in records_in(batches, np.flatnonzero(wanted)):
            offsets = batches.headers["base_offset"][slots].astype(np.int64)[records.batch] + records.offset_deltas
            rows = np.flatnonzero((records.key_lengths >= 0) & (offsets >= job.first_dirty_offset))
            hashes = self._hash(records.data, records.key_starts[rows], records.key_lengths[rows])
            learned = self._put(hashes, offsets[rows], records.batch[rows], len(slots))
            if self._known is not None:
                self._known.note_tombstones(offsets[rows][records.value_lengths[rows] < 0])
                self._keyless_records += int(((records.key_lengths < 0) & (offsets >= job.first_dirty_offset)).sum())
            if learned < len(slots):
                return int(slots[learned])
        return len(batches)

    def _put(self, hashes: KeyHashes, offsets: Integers, batch: Integers, count: int) -> int:
        """Put all, or batch by batch what fits; returns of how many batches."""
        if self._map.has_room_for(hashes):
            self._map.put(hashes, offsets)
            return count
        bounds = np.searchsorted(batch, np.arange(count + 1))
        for number, (begin, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
            of_batch = KeyHashes(hashes.high[begin:end], hashes.low[begin:end])
            if not self._map.has_room_for(of_batch):
                return number
            self._map.put(of_batch, offsets[begin:end])
        return count

    # -- segments ---------------------------------------------------------------------------------------------------

    def _groups(self, segments: Sequence[SourceSegment]) -> Iterator[list[SourceSegment]]:
        """Neighbours that together stay within segment.bytes, segment.index.bytes and what relative offsets can say."""
        job = self._job
        group: list[SourceSegment] = []
        sizes = [0, 0, 0]
        limits = (job.segment_bytes, job.segment_index_bytes, job.segment_index_bytes)
        ends = [*(segment.base_offset for segment in segments[1:]), job.first_uncleanable_offset]
        for segment, end in zip(segments, ends, strict=True):
            own = [segment.size, *(self._index_size(segment, suffix) for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX))]
            joined = [size + more for size, more in zip(sizes, own, strict=True)]
            fits = (
                len(group) < MOST_SOURCES
                and all(size <= limit for size, limit in zip(joined, limits, strict=True))
                and (not segment.size or end - 1 - group[0].base_offset <= _MAX_RELATIVE_OFFSET)
                if group
                else True
            )
            if not fits:
                yield group
                group, joined = [], own
            group.append(segment)
            sizes = joined
        if group:
            yield group

    def _index_size(self, segment: SourceSegment, suffix: str) -> int:
        try:
            return os.path.getsize(segment_path(self._job.directory, segment.base_offset, suffix))
        except FileNotFoundError:
            return 0

    def _clean(self, group: Sequence[SourceSegment], filtering: RecordFilter) -> CleanedSegment:
        job = self._job
        with CleanedSegmentWriter(job, group[0].base_offset, self._pace) as writer:
            for segment in group:
                path = segment_path(job.directory, segment.base_offset)
                last_modified_ns = os.stat(path).st_mtime_ns
                for batches in read_segment(path, segment.size, job.read_bytes, self._pace):
                    filtering.write_retained(batches, writer)
            return writer.finish(tuple(segment.base_offset for segment in group), last_modified_ns)
