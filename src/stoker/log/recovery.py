"""Finding out what a log holds: cheaply after a clean shutdown, batch by batch after a crash.

After a crash every batch from the recovery point's segment on is read and checked. At the first that is torn or damaged
the log is cut, with one line in the broker's log; indexes, leader epochs and producers are rebuilt on the way.
"""

import logging
import mmap
import os
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stoker.errors import CorruptRecords
from stoker.log.config import LogConfig
from stoker.log.errors import CorruptCheckpoint, UnsupportedLog
from stoker.log.files import unlink_if_there
from stoker.log.index import CorruptIndex, OffsetIndex, TimeIndex
from stoker.log.leader_epochs import LEADER_EPOCH_FILE, LeaderEpochs
from stoker.log.producer_state import BATCHES_REMEMBERED, AppendedBatch, ProducerStates
from stoker.log.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    ActiveSegment,
    Segment,
)
from stoker.log.snapshots import load_latest_snapshot, snapshot_path
from stoker.wire.record_batch import HEADER_SIZE, MAGIC, BatchHeader, crc_is_valid, read_header

logger = logging.getLogger("stoker.log")

_MAX_RELATIVE_OFFSET = 2**31 - 1
_TAIL_INDEX_ENTRIES = 64
"""How much of the log's end is read to remember more than the last batch of each producer."""


_BULK_BYTES = 2 * 1024 * 1024
_SAMPLE_BYTES = 64 * 1024
_SMALL_BATCH_BYTES = 2048


class RecoveredLog(NamedTuple):
    """What recovery found; the segments and snapshots it was given are changed in place."""

    active: ActiveSegment
    log_end_offset: int
    epochs: LeaderEpochs
    producers: ProducerStates
    checked_from: int
    """From this offset on every batch has the checksum it claims."""


def recover(
    segments: list[Segment],
    snapshots: list[int],
    config: LogConfig,
    now_ms: int,
    recovery_point: int,
    latest_leader_epoch: int | None = None,
    was_compacted: bool = False,
) -> RecoveredLog:
    """Check the log from the segment of the recovery point on, and cut it where it is damaged.

    Only a log that `was_compacted` may have gaps between its batches.
    """
    directory = segments[0].directory
    try:
        epochs = LeaderEpochs.load(f"{directory}/{LEADER_EPOCH_FILE}")
    except CorruptCheckpoint as problem:
        logger.warning("%s; reading the whole log to find the leader epochs", problem)
        epochs = LeaderEpochs()
        recovery_point = 0
    first = max(0, bisect_right([segment.base_offset for segment in segments], recovery_point) - 1)
    start_offset = segments[first].base_offset
    producers, snapshot_offset = load_latest_snapshot(directory, snapshots, start_offset)
    replay_producers(producers, segments[:first], snapshot_offset or 0, start_offset, config.index_interval_bytes)

    for slot in range(first, len(segments)):
        segment = segments[slot]
        active = ActiveSegment(directory, segment.base_offset, segment.size, segment.files, created_ms=now_ms)
        next_offset = recover_segment(
            active, config, epochs, producers, latest_leader_epoch, was_compacted=was_compacted
        )
        is_cut = active.size < segment.size
        if is_cut or slot == len(segments) - 1:
            for lost in segments[slot + 1 :]:
                logger.warning("removing %s, which followed the damage", lost.path(LOG_SUFFIX))
                remove_segment_files(lost)
            del segments[slot + 1 :]
            segments[slot] = active
            break
        active.write_indexes()
        segments[slot] = active.closed()

    for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX):
        # They are in memory now, and written anew when the segment is closed.
        unlink_if_there(active.path(suffix))
    for offset in [offset for offset in snapshots if offset > next_offset]:
        unlink_if_there(snapshot_path(directory, offset))
        snapshots.remove(offset)
    epochs.truncate_from_end(next_offset)
    _remember_batches_before(producers, segments, config.index_interval_bytes)
    return RecoveredLog(active, next_offset, epochs, producers, start_offset)


def remove_segment_files(segment: Segment) -> None:
    segment.close()
    for suffix in (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX):
        unlink_if_there(segment.path(suffix))


def activate(segment: Segment, config: LogConfig, now_ms: int, *, was_compacted: bool) -> tuple[ActiveSegment, int]:
    """The segment ready for appending, and the offset that comes next. Reads its indexes and its last few batches."""
    active = ActiveSegment(segment.directory, segment.base_offset, segment.size, segment.files, created_ms=now_ms)
    if not segment.size:
        return active, segment.base_offset
    try:
        next_offset = _activate_by_indexes(active, config.index_interval_bytes)
    except (CorruptIndex, CorruptRecords) as problem:
        logger.warning("checking %s and rebuilding its indexes: %s", segment.path(LOG_SUFFIX), problem)
        active.close()
        active = ActiveSegment(segment.directory, segment.base_offset, segment.size, segment.files, created_ms=now_ms)
        next_offset = recover_segment(active, config, was_compacted=was_compacted)
    segment.close()
    return active, next_offset


def _activate_by_indexes(active: ActiveSegment, index_interval_bytes: int) -> int:
    indexes = active.indexes
    indexes.offset_index = OffsetIndex.load(active.path(INDEX_SUFFIX), active.base_offset, active.size)
    indexes.time_index = TimeIndex.load(active.path(TIME_INDEX_SUFFIX), active.base_offset)
    active.offset_index = indexes.offset_index
    if len(indexes.time_index):
        indexes.max_timestamp, indexes.offset_of_max_timestamp = indexes.time_index[len(indexes.time_index) - 1]
    _, first = next(active.batches())
    active.first_timestamp = first.max_timestamp

    last_entry = indexes.offset_index[len(indexes.offset_index) - 1] if len(indexes.offset_index) else None
    start = last_entry.position if last_entry else 0
    next_offset = active.base_offset
    size = 0
    for position, header in active.batches(start):
        if last_entry and position == start and header.last_offset != last_entry.last_offset:
            raise CorruptIndex("the offset index points at the wrong batch")
        if position - start > index_interval_bytes + size:
            raise CorruptIndex("the offset index lacks entries")
        size = header.size
        next_offset = header.next_offset
        if header.max_timestamp > indexes.max_timestamp:
            raise CorruptIndex("the time index lacks its last entry")
        active.remember_recent(header.last_offset, position)
    _check_last_batch(active, position, header)
    indexes.bytes_since_entry = active.size - start
    active.max_timestamp = indexes.max_timestamp
    active.indexed_size = active.size
    return next_offset


def _check_last_batch(active: ActiveSegment, position: int, header: BatchHeader) -> None:
    """One checksum, of the batch most likely to be damaged, is what a clean start can afford."""
    file = active.opened()
    batch = memoryview(os.pread(file.descriptor, header.size, position))
    if not crc_is_valid(batch, 0, header):
        raise CorruptRecords(f"the last batch, at position {position}, has a wrong checksum")


def recover_segment(
    active: ActiveSegment,
    config: LogConfig,
    epochs: LeaderEpochs | None = None,
    producers: ProducerStates | None = None,
    latest_leader_epoch: int | None = None,
    *,
    was_compacted: bool = False,
) -> int:
    """Check every batch, rebuild the indexes, cut at the first bad batch; returns the offset that comes next.

    `active.size` is what the file has at first and what is valid of it at last.
    """
    file_bytes = active.size
    active.size = 0
    if producers is not None:
        active.aborted_transactions.clear()
    next_offset = active.base_offset
    if file_bytes:
        file = active.opened()
        with mmap.mmap(file.descriptor, file_bytes, prot=mmap.PROT_READ) as mapped, memoryview(mapped) as view:
            checker = _BatchChecker(view, active.base_offset, latest_leader_epoch, was_compacted)
            if _has_many_small_batches(view):
                from stoker.log.bulk_recovery import BatchLimits, recover_in_bulk

                limits = BatchLimits(active.base_offset + _MAX_RELATIVE_OFFSET, latest_leader_epoch, was_compacted)
                expected = recover_in_bulk(view, active, config.index_interval_bytes, limits, epochs, producers)
                checker.expected = expected
                next_offset = expected.offset
            for position, header in checker:
                active.add(header.size, header.last_offset, header.max_timestamp, config.index_interval_bytes)
                next_offset = header.next_offset
                if epochs is not None and header.partition_leader_epoch > epochs.latest:
                    epochs.assign(header.partition_leader_epoch, header.base_offset)
                if producers is not None:
                    with view[position : position + header.size] as batch:
                        aborted = producers.replay(header, batch)
                    if aborted is not None:
                        active.aborted_transactions.append(aborted)
        if active.size < file_bytes:
            logger.warning(
                "%s: %s at position %d; cut off the last %d bytes, the log goes on at offset %d",
                active.path(LOG_SUFFIX),
                checker.problem,
                active.size,
                file_bytes - active.size,
                next_offset,
            )
            os.ftruncate(file.descriptor, active.size)
    return next_offset


def _has_many_small_batches(view: memoryview) -> bool:
    """Whether it takes seconds to look at them one by one, as the first few have it."""
    if len(view) < _BULK_BYTES:
        return False
    position = count = 0
    while position < _SAMPLE_BYTES:
        header = read_header(view, position)
        if header.size < HEADER_SIZE:
            return False
        position += header.size
        count += 1
    return count * _SMALL_BATCH_BYTES > position


class _BatchChecker:
    """Iterates over the valid batches at the front of a file; afterwards `problem` says why it ended."""

    def __init__(
        self,
        view: memoryview,
        base_offset: int,
        latest_leader_epoch: int | None,
        gaps_are_allowed: bool,
    ) -> None:
        self.problem = ""
        self.expected: tuple[int, int, int] = (0, base_offset, -1)
        """The position, the lowest offset and the lowest leader epoch of the next batch."""
        self._view = view
        self._highest_offset = base_offset + _MAX_RELATIVE_OFFSET
        # Neither base offset nor leader epoch is under the checksum; what can be known about them is checked here.
        # Only compaction leaves gaps between batches.
        self._gaps_are_allowed = gaps_are_allowed
        self._latest_leader_epoch = latest_leader_epoch

    def __iter__(self) -> Iterator[tuple[int, BatchHeader]]:
        view = self._view
        position, expected_offset, leader_epoch = self.expected
        while position < len(view):
            if len(view) - position < HEADER_SIZE:
                self.problem = "a torn batch"
                return
            header = read_header(view, position)
            self.problem = self._problem_of(position, header, expected_offset, leader_epoch)
            if self.problem:
                return
            yield position, header
            expected_offset = header.next_offset
            leader_epoch = header.partition_leader_epoch
            position += header.size

    def _problem_of(self, position: int, header: BatchHeader, expected_offset: int, leader_epoch: int) -> str:
        if header.size < HEADER_SIZE or header.magic != MAGIC:
            self._refuse_older_formats(position, header)
            return "bytes that are no record batch"
        if position + header.size > len(self._view):
            return "a torn batch"
        if not crc_is_valid(self._view, position, header):
            return "a batch with a wrong checksum"
        if header.base_offset < expected_offset or header.last_offset > self._highest_offset:
            return f"a batch with offset {header.base_offset} where {expected_offset} is next"
        if header.base_offset > expected_offset and not self._gaps_are_allowed:
            return f"a batch with offset {header.base_offset} where {expected_offset} is next"
        if header.partition_leader_epoch < leader_epoch or (
            self._latest_leader_epoch is not None and header.partition_leader_epoch > self._latest_leader_epoch
        ):
            return f"a batch with leader epoch {header.partition_leader_epoch}"
        return ""

    def _refuse_older_formats(self, position: int, header: BatchHeader) -> None:
        """A good message of format 0 or 1 is nothing to cut off: Apache Kafka still reads it, and we do not."""
        if header.magic not in (0, 1):
            return
        # The slice must be gone before the exception leaves, or the mapping could not be closed.
        with self._view[position + 16 : position + header.size] as body:
            (crc,) = struct.unpack_from(">I", self._view, position + 12)
            is_good = len(body) == header.batch_length - 4 and zlib.crc32(body) == crc
        if is_good:
            raise UnsupportedLog(f"message format {header.magic} is not supported, only {MAGIC} is")


def load_producers(
    segments: Sequence[Segment], snapshots: list[int], log_end_offset: int, index_interval_bytes: int
) -> ProducerStates:
    """The producers as of the log end: the last good snapshot, and the batches after it.

    Without any snapshot there were no producers: closing cleanly and rolling write one, and after a crash recovery
    builds the state from the log itself.
    """
    producers, snapshot_offset = load_latest_snapshot(segments[0].directory, snapshots, log_end_offset)
    if snapshot_offset is None:
        return producers
    replay_producers(producers, segments, snapshot_offset, log_end_offset, index_interval_bytes)
    _remember_batches_before(producers, segments, index_interval_bytes)
    return producers


def replay_producers(
    producers: ProducerStates,
    segments: Sequence[Segment],
    start_offset: int,
    end_offset: int,
    index_interval_bytes: int,
) -> None:
    """Account for all batches of producers in [start_offset, end_offset)."""
    if start_offset >= end_offset:
        return
    for slot, segment in enumerate(segments):
        if slot + 1 < len(segments) and segments[slot + 1].base_offset <= start_offset:
            continue
        if segment.base_offset >= end_offset:
            return
        location = segment.locate(start_offset, index_interval_bytes) if segment.size else None
        if location is None:
            continue
        file = segment.opened()
        for position, header in segment.batches(location.position):
            if header.base_offset >= end_offset:
                return
            if header.producer_id >= 0:
                batch = os.pread(file.descriptor, header.size, position) if header.is_control else b""
                producers.replay(header, memoryview(batch))


def _remember_batches_before(producers: ProducerStates, segments: Sequence[Segment], index_interval_bytes: int) -> None:
    """A snapshot has one batch of each producer; the end of the log tells of those before it, which may come again.

    Looking back by index entries reads few headers whether batches are large or small.
    """
    if not producers.entries:
        return
    tail: list[tuple[Segment, int]] = []
    wanted = _TAIL_INDEX_ENTRIES
    for segment in reversed(segments):
        index = segment.loaded_offset_index(index_interval_bytes)
        slot = len(index) - wanted
        tail.append((segment, index[slot].position if slot > 0 else 0))
        if slot >= 0:
            break
        wanted = -slot
    found: dict[int, list[AppendedBatch]] = {}
    for segment, position in reversed(tail):
        for _, header in segment.batches(position):
            entry = producers.entries.get(header.producer_id)
            if entry is not None and entry.epoch == header.producer_epoch and not header.is_control:
                found.setdefault(header.producer_id, []).append(
                    AppendedBatch(
                        header.base_sequence,
                        header.last_sequence,
                        header.base_offset,
                        header.last_offset,
                        header.max_timestamp,
                    )
                )
    for producer_id, batches in found.items():
        entry = producers.entries[producer_id]
        if entry.batches and entry.batches[-1].last_offset == batches[-1].last_offset:
            entry.batches = batches[-BATCHES_REMEMBERED:]
