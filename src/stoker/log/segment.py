"""One segment of a partition: a `.log` file of record batches and the sparse indexes beside it.

`Segment` is what is known of a segment that nobody writes: a few numbers, its files opened when needed.
`ActiveSegment` is the last one of a log, the only one written: its indexes grow in memory and reach their files when
it is closed, because a crash makes recovery rebuild them anyway.
"""

import contextlib
import errno
import logging
import os
import random
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from stoker.errors import CorruptRecords
from stoker.log.config import LogConfig
from stoker.log.files import FileCache, SegmentFile, write_file
from stoker.log.index import (
    NO_TIMESTAMP,
    OFFSET_ENTRY_BYTES,
    TIME_ENTRY_BYTES,
    CorruptIndex,
    OffsetEntry,
    OffsetIndex,
    TimeIndex,
    read_last_time_entry,
)
from stoker.log.transaction_index import TransactionIndex
from stoker.wire.record_batch import HEADER_SIZE, BatchHeader, read_header

logger = logging.getLogger("stoker.log")

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"
DELETED_SUFFIX = ".deleted"

UNKNOWN_TIMESTAMP = -2
"""The largest timestamp of this segment has not been looked up yet."""

_MAX_RELATIVE_OFFSET = 2**31 - 1
_WALK_BYTES = 4096
_SCAN_BYTES = 65536
_RECENT_BATCHES = 32


class BatchLocation(NamedTuple):
    """Where a batch is in its segment's file."""

    position: int
    size: int


class Segment:
    """A segment that is not written to."""

    __slots__ = (
        "_aborted_transactions",
        "_suffix",
        "base_offset",
        "directory",
        "file",
        "files",
        "max_timestamp",
        "offset_index",
        "size",
    )

    def __init__(self, directory: str, base_offset: int, size: int, files: FileCache) -> None:
        self.directory = directory
        self.base_offset = base_offset
        self.size = size
        self.files = files
        self.file: SegmentFile | None = None
        self.offset_index: OffsetIndex | None = None
        self.max_timestamp = UNKNOWN_TIMESTAMP
        self._aborted_transactions: TransactionIndex | None = None
        self._suffix = ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path(LOG_SUFFIX)!r}, {self.size} bytes)"

    def path(self, suffix: str) -> str:
        return f"{self.directory}/{self.base_offset:020d}{suffix}{self._suffix}"

    def opened(self) -> SegmentFile:
        """The open `.log` file. Keep the reference while using its descriptor: another thread may evict the file."""
        file = self.file
        if file is None:
            file = self.files.open(self, self.path(LOG_SUFFIX), os.O_RDONLY)
        file.is_recently_used = True
        return file

    def close(self) -> None:
        """Let go of the file and the index; both come back when needed."""
        self.files.forget(self)
        self.files.indexes.forget(self)

    def set_aside(self) -> list[str]:
        """Rename the files so that nobody takes them for part of the log any more; returns their new names.

        Who still has this segment finds its files by their new names, for as long as they are there.
        """
        self.close()
        renamed = []
        for suffix in (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX):
            path = self.path(suffix)
            with contextlib.suppress(FileNotFoundError):
                os.rename(path, path + DELETED_SUFFIX)
                renamed.append(path + DELETED_SUFFIX)
        self._suffix = DELETED_SUFFIX
        return renamed

    def batches(
        self, position: int = 0, end: int | None = None, *, read_bytes: int = _SCAN_BYTES
    ) -> Iterator[tuple[int, BatchHeader]]:
        """Position and header of each batch from `position` on; raises CorruptRecords where no batch can be."""
        if end is None:
            end = self.size
        file = self.opened()
        while position < end:
            chunk = memoryview(os.pread(file.descriptor, read_bytes, position))
            within = 0
            while within + HEADER_SIZE <= len(chunk) and position < end:
                header = read_header(chunk, within)
                size = header.size
                if size < HEADER_SIZE or header.magic != 2 or position + size > end:
                    raise CorruptRecords(f"no record batch at position {position} of {self.path(LOG_SUFFIX)}")
                yield position, header
                position += size
                within += size
            if within == 0:
                raise CorruptRecords(f"no record batch at position {position} of {self.path(LOG_SUFFIX)}")

    def locate(self, offset: int, index_interval_bytes: int) -> BatchLocation | None:
        """The first batch that ends at or after `offset`; None if all batches of this segment end before it."""
        index = self.loaded_offset_index(index_interval_bytes)
        try:
            return self._walk_to(offset, index.floor(offset), index_interval_bytes)
        except CorruptIndex as problem:
            index = self.rebuild_indexes(index_interval_bytes, str(problem)).offset_index
            return self._walk_to(offset, index.floor(offset), None)

    def floor_position(self, position: int) -> int:
        """The last batch start known from the index at or before `position`; 0 if none is known."""
        index = self.offset_index
        return index.floor_position(position) if index is not None else 0

    def _walk_to(
        self, offset: int, start: OffsetEntry | None, index_interval_bytes: int | None
    ) -> BatchLocation | None:
        """Walk from the index entry on, checking that the index told the truth (unless the interval is None)."""
        start_position = start.position if start else 0
        size = 0
        try:
            for position, header in self.batches(start_position, read_bytes=_WALK_BYTES):
                if start and position == start_position and header.last_offset != start.last_offset:
                    raise CorruptIndex(f"the index of {self.path(LOG_SUFFIX)} points at the wrong batch")
                if index_interval_bytes is not None and position - start_position > index_interval_bytes + size:
                    raise CorruptIndex(f"the index of {self.path(LOG_SUFFIX)} lacks entries")
                size = header.size
                if header.last_offset >= offset:
                    return BatchLocation(position, size)
        except CorruptRecords:
            if start and size == 0:
                raise CorruptIndex(f"the index of {self.path(LOG_SUFFIX)} points at no batch") from None
            raise
        return None

    def loaded_offset_index(self, index_interval_bytes: int) -> OffsetIndex:
        """The offset index, from memory, from its file, or rebuilt from the log."""
        if self.offset_index is not None:
            return self.offset_index
        if not self.size:
            return OffsetIndex(self.base_offset)
        try:
            index = OffsetIndex.load(self.path(INDEX_SUFFIX), self.base_offset, self.size)
        except CorruptIndex as problem:
            return self.rebuild_indexes(index_interval_bytes, str(problem)).offset_index
        self.files.indexes.keep(self, index)
        return index

    @property
    def aborted_transactions(self) -> TransactionIndex:
        """Those whose marker is in this segment. Kept once it was read: most segments have none."""
        if self._aborted_transactions is None:
            self._aborted_transactions = TransactionIndex(self.path(TRANSACTION_INDEX_SUFFIX))
        return self._aborted_transactions

    def save_aborted_transactions(self) -> None:
        """Make up for entries that the disk refused. Raises OSError."""
        if self._aborted_transactions is not None:
            self._aborted_transactions.save()

    def load_time_index(self, index_interval_bytes: int) -> TimeIndex:
        try:
            return TimeIndex.load(self.path(TIME_INDEX_SUFFIX), self.base_offset)
        except CorruptIndex as problem:
            return self.rebuild_indexes(index_interval_bytes, str(problem)).time_index

    def rebuild_indexes(self, index_interval_bytes: int, reason: str) -> "IndexBuilder":
        """Walk the whole segment and write both indexes anew."""
        logger.warning("rebuilding the indexes of %s: %s", self.path(LOG_SUFFIX), reason)
        builder = IndexBuilder(self.base_offset)
        try:
            for position, header in self.batches():
                builder.add(position, header.size, header.last_offset, header.max_timestamp, index_interval_bytes)
        except CorruptRecords as problem:
            logger.error("%s: what follows is not indexed", problem)
        builder.finish()
        self.max_timestamp = builder.max_timestamp
        write_index_files(self, builder.offset_index, builder.time_index)
        self.files.indexes.keep(self, builder.offset_index)
        return builder

    def largest_timestamp(self, index_interval_bytes: int) -> int:
        """The largest timestamp of any batch; NO_TIMESTAMP if none has one."""
        if self.max_timestamp == UNKNOWN_TIMESTAMP:
            try:
                self.max_timestamp = self._read_largest_timestamp(index_interval_bytes)
            except CorruptIndex as problem:
                self.rebuild_indexes(index_interval_bytes, str(problem))
        return self.max_timestamp

    def _read_largest_timestamp(self, index_interval_bytes: int) -> int:
        """The time index ends with it; check this against the batch it names and against the segment's last batches."""
        if not self.size:
            return NO_TIMESTAMP
        path = self.path(TIME_INDEX_SUFFIX)
        entry = read_last_time_entry(path, self.base_offset)
        largest = NO_TIMESTAMP
        if entry is not None:
            location = self.locate(entry.last_offset, index_interval_bytes)
            if location is None:
                raise CorruptIndex(f"{path} names offset {entry.last_offset}, which the log does not hold")
            _, header = next(self.batches(location.position, read_bytes=_WALK_BYTES))
            if (header.last_offset, header.max_timestamp) != (entry.last_offset, entry.timestamp):
                raise CorruptIndex(f"{path} ends with a timestamp that its batch does not have")
            largest = entry.timestamp
        index = self.loaded_offset_index(index_interval_bytes)
        for _, header in self.batches(index.floor_position(self.size), read_bytes=_WALK_BYTES):
            if header.max_timestamp > largest:
                raise CorruptIndex(f"{path} lacks its last entry")
        return largest


class IndexBuilder:
    """Grows both indexes of a segment, batch by batch, by Kafka's rule for how sparse they are."""

    __slots__ = ("bytes_since_entry", "max_timestamp", "offset_index", "offset_of_max_timestamp", "time_index")

    def __init__(self, base_offset: int) -> None:
        self.offset_index = OffsetIndex(base_offset)
        self.time_index = TimeIndex(base_offset)
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = base_offset
        self.bytes_since_entry = 0

    def add(self, position: int, size: int, last_offset: int, max_timestamp: int, index_interval_bytes: int) -> None:
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset
        if self.bytes_since_entry > index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(self.max_timestamp, self.offset_of_max_timestamp)
            self.bytes_since_entry = 0
        self.bytes_since_entry += size

    def finish(self) -> None:
        """A closed segment's time index ends with its largest timestamp: retention goes by it."""
        self.time_index.maybe_append(self.max_timestamp, self.offset_of_max_timestamp)


class ActiveSegment(Segment):
    """The last segment of a log, the only one that grows."""

    __slots__ = (
        "created_ms",
        "first_timestamp",
        "indexed_size",
        "indexes",
        "recent_last_offsets",
        "recent_positions",
        "roll_jitter_ms",
    )

    def __init__(
        self, directory: str, base_offset: int, size: int, files: FileCache, *, created_ms: int, roll_jitter_ms: int = 0
    ) -> None:
        super().__init__(directory, base_offset, size, files)
        self.created_ms = created_ms
        self.roll_jitter_ms = roll_jitter_ms
        self.first_timestamp = NO_TIMESTAMP
        self.indexed_size = -1
        """How much of the segment the index files are complete for."""
        self.indexes = IndexBuilder(base_offset)
        self.offset_index = self.indexes.offset_index
        self.max_timestamp = NO_TIMESTAMP
        # The last few batches, so that readers at the tail find theirs without touching the file.
        self.recent_last_offsets = array("q")
        self.recent_positions = array("q")

    def opened(self) -> SegmentFile:
        file = self.file
        if file is None:
            file = self.files.open(self, self.path(LOG_SUFFIX), os.O_RDWR)
        file.is_recently_used = True
        return file

    def close(self) -> None:
        self.files.forget(self)

    def write(self, records: memoryview) -> None:
        """Put the bytes at the end of the file, all or nothing; `add` makes them part of the segment."""
        position = self.size
        length = len(records)
        file = self.opened()
        try:
            written = os.pwrite(file.descriptor, records, position)
            while written < length:
                more = os.pwrite(file.descriptor, records[written:], position + written)
                if more == 0:
                    raise OSError(errno.EIO, "write made no progress")
                written += more
        except OSError:
            # Should even this fail, nothing is lost: the next append overwrites the rest, recovery cuts it off,
            # and readers never look past `size`.
            try:
                os.ftruncate(file.descriptor, position)
            except OSError as problem:
                logger.warning("could not cut a torn write off %s: %s", self.path(LOG_SUFFIX), problem)
            raise

    def add(self, size: int, last_offset: int, max_timestamp: int, index_interval_bytes: int) -> None:
        """Make the batch that was written at the end part of the segment."""
        position = self.size
        if position == 0:
            self.first_timestamp = max_timestamp
        self.indexes.add(position, size, last_offset, max_timestamp, index_interval_bytes)
        self.max_timestamp = self.indexes.max_timestamp
        self.remember_recent(last_offset, position)
        self.size = position + size

    def remember_recent(self, last_offset: int, position: int) -> None:
        self.recent_last_offsets.append(last_offset)
        self.recent_positions.append(position)
        if len(self.recent_last_offsets) >= 2 * _RECENT_BATCHES:
            del self.recent_last_offsets[:_RECENT_BATCHES]
            del self.recent_positions[:_RECENT_BATCHES]

    def must_roll_before(self, size: int, last_offset: int, max_timestamp: int, now_ms: int, config: LogConfig) -> bool:
        """Whether a batch of this size, last offset and timestamp belongs into a new segment; Kafka's rule."""
        if self.size > config.segment_bytes - size or last_offset - self.base_offset > _MAX_RELATIVE_OFFSET:
            return True
        if self.size == 0:
            return False
        first = self.first_timestamp
        waited_ms = max_timestamp - first if first >= 0 else now_ms - self.created_ms
        return waited_ms > config.roll_ms - self.roll_jitter_ms or self._indexes_are_full(config.segment_index_bytes)

    def _indexes_are_full(self, segment_index_bytes: int) -> bool:
        """Kafka keeps one slot of the time index for the entry made when the segment is closed."""
        return (
            len(self.indexes.offset_index.entries) + OFFSET_ENTRY_BYTES > segment_index_bytes
            or len(self.indexes.time_index.entries) + 2 * TIME_ENTRY_BYTES > segment_index_bytes
        )

    def trim(self) -> None:
        """Cut off what is in the file past the last batch: pre-allocated space, the rest of a failed write."""
        file = self.opened()
        if os.fstat(file.descriptor).st_size != self.size:
            os.ftruncate(file.descriptor, self.size)

    def locate(self, offset: int, index_interval_bytes: int) -> BatchLocation | None:
        recent = self.recent_last_offsets
        if recent and (offset > recent[0] or self.recent_positions[0] == 0):
            slot = bisect_left(recent, offset)
            if slot == len(recent):
                return None
            position = self.recent_positions[slot]
            end = self.recent_positions[slot + 1] if slot + 1 < len(recent) else self.size
            return BatchLocation(position, end - position)
        return super().locate(offset, index_interval_bytes)

    def floor_position(self, position: int) -> int:
        recent = self.recent_positions
        if recent and position >= recent[0]:
            return recent[bisect_right(recent, position) - 1]
        return super().floor_position(position)

    def rebuild_indexes(self, index_interval_bytes: int, reason: str) -> "IndexBuilder":
        """The active segment's indexes are in memory: it rebuilds them there."""
        logger.warning("rebuilding the indexes of %s: %s", self.path(LOG_SUFFIX), reason)
        builder = IndexBuilder(self.base_offset)
        for position, header in self.batches():
            builder.add(position, header.size, header.last_offset, header.max_timestamp, index_interval_bytes)
        self.indexes = builder
        self.offset_index = builder.offset_index
        self.indexed_size = -1
        return builder

    def load_time_index(self, index_interval_bytes: int) -> TimeIndex:
        return self.indexes.time_index

    def write_indexes(self) -> None:
        """Bring the indexes to their files, complete, as a closed segment has them, if they are not there yet."""
        if self.indexed_size != self.size:
            self.indexes.finish()
            write_index_files(self, self.indexes.offset_index, self.indexes.time_index)
            self.indexed_size = self.size

    def closed(self) -> Segment:
        """This segment as one that is not written to any more; its open file and index move over."""
        segment = Segment(self.directory, self.base_offset, self.size, self.files)
        segment.max_timestamp = self.max_timestamp
        segment._aborted_transactions = self._aborted_transactions
        self.files.forget(self)
        self.files.indexes.keep(segment, self.indexes.offset_index)
        return segment


def new_active_segment(
    directory: str, base_offset: int, files: FileCache, config: LogConfig, now_ms: int
) -> ActiveSegment:
    """Begin a segment: its empty `.log` file is there, its indexes follow when it is closed."""
    jitter_limit_ms = min(config.segment_jitter_ms, config.roll_ms)
    segment = ActiveSegment(
        directory,
        base_offset,
        0,
        files,
        created_ms=now_ms,
        roll_jitter_ms=random.randrange(jitter_limit_ms) if jitter_limit_ms > 0 else 0,
    )
    file = files.open(segment, segment.path(LOG_SUFFIX), os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    if config.preallocate:
        os.posix_fallocate(file.descriptor, 0, config.segment_bytes)
    return segment


def write_index_files(segment: Segment, offset_index: OffsetIndex, time_index: TimeIndex) -> None:
    """Write both index files anew; one that cannot be written is not left behind, and is rebuilt when needed."""
    for suffix, entries in ((INDEX_SUFFIX, offset_index.entries), (TIME_INDEX_SUFFIX, time_index.entries)):
        path = segment.path(suffix)
        try:
            write_file(path, bytes(entries))
        except OSError as problem:
            logger.warning("could not write %s, it will be rebuilt when needed: %s", path, problem)
