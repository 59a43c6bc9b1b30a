"""Writing the segment that takes the place of others: its files have the suffix `.cleaned` until the broker renames them."""

import os
from types import TracebackType
from typing import Final, Self

from stoker.log.compaction.job import CLEANED_SUFFIX, CleanedSegment, CleaningJob
from stoker.log.compaction.segment_reading import Pace, segment_path
from stoker.log.files import write_file
from stoker.log.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    IndexBuilder,
)
from stoker.log.transaction_index import AbortedTransaction, write_transaction_index
from stoker.wire.schema import Buffer

_SYNC_BYTES: Final = 16 * 1024 * 1024
"""The disk gets the new segment in portions: all of it at once would keep it from others for seconds."""
_MAX_SEGMENT_BYTES: Final = 2**31 - 1


class SegmentTooLarge(Exception):
    """No index could say where its batches are."""


class CleanedSegmentWriter:
    """Appends batches that stay, and keeps the indexes of them."""

    def __init__(self, job: CleaningJob, base_offset: int, pace: Pace) -> None:
        self._job = job
        self._base_offset = base_offset
        self._pace = pace
        self._indexes = IndexBuilder(base_offset)
        self._aborted: list[AbortedTransaction] = []
        self._size = 0
        self._unsynced = 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        self._descriptor = os.open(self._path(LOG_SUFFIX), flags, 0o644)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def _path(self, suffix: str) -> str:
        return segment_path(self._job.directory, self._base_offset, suffix) + CLEANED_SUFFIX

    def add(self, size: int, last_offset: int, max_timestamp: int) -> None:
        """Note a batch of what is written next."""
        interval = self._job.index_interval_bytes
        self._indexes.add(self._size, size, last_offset, max_timestamp, interval)
        self._size += size

    def add_aborted(self, transaction: AbortedTransaction) -> None:
        """Some of its records are still there."""
        self._aborted.append(transaction)

    def write(self, batches: Buffer) -> None:
        if self._size > _MAX_SEGMENT_BYTES:
            raise SegmentTooLarge(f"the cleaned segment {self._base_offset} would have {self._size} bytes")
        view = memoryview(batches)
        self._pace.moved(len(view))
        self._unsynced += len(view)
        while view:
            view = view[os.write(self._descriptor, view) :]
        if self._unsynced >= _SYNC_BYTES:
            os.fdatasync(self._descriptor)
            self._unsynced = 0

    def finish(self, sources: tuple[int, ...], last_modified_ns: int) -> CleanedSegment:
        """Bring all files to the disk; their names follow with the swap. The segment is as old as the last of its sources, by which retention goes."""
        os.fsync(self._descriptor)
        os.utime(self._path(LOG_SUFFIX), ns=(last_modified_ns, last_modified_ns))
        self._indexes.finish()
        suffixes = [LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX]
        write_file(self._path(INDEX_SUFFIX), bytes(self._indexes.offset_index.entries), sync=True)
        write_file(self._path(TIME_INDEX_SUFFIX), bytes(self._indexes.time_index.entries), sync=True)
        if self._aborted:
            suffixes.append(TRANSACTION_INDEX_SUFFIX)
            write_transaction_index(self._path(TRANSACTION_INDEX_SUFFIX), self._aborted)
            with open(self._path(TRANSACTION_INDEX_SUFFIX), "rb") as file:
                os.fsync(file.fileno())
        return CleanedSegment(
            base_offset=self._base_offset,
            sources=sources,
            size=self._size,
            max_timestamp=self._indexes.max_timestamp,
            suffixes=tuple(suffixes),
        )
