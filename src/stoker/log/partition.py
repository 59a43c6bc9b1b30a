"""One partition's log: segments on disk, appended to at one end and read from anywhere.

Threads: everything runs on the thread that owns the log (the event loop), except `flush`, `RemovedFiles.remove`
and `validate`, which may run on any other thread meanwhile.
"""

import logging
import os
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

from stoker.errors import CorruptRecords
from stoker.log.compaction.job import CleanedSegment
from stoker.log.compaction.swap import put_in_place
from stoker.log.config import NEVER, LogConfig
from stoker.log.errors import AppendRefused, CorruptCheckpoint, LogError, OffsetOutOfRange
from stoker.log.files import NO_FILE, FileCache, RemovedFiles, SegmentFile, sync_directory
from stoker.log.leader_epochs import LEADER_EPOCH_FILE, LeaderEpochs
from stoker.log.producer_state import (
    AppendOrigin,
    ProducerEntry,
    ProducerStates,
    TransactionMarker,
    last_sequence_of,
)
from stoker.log.recovery import RecoveredLog, activate, load_producers, remove_segment_files
from stoker.log.retention import count_removable_segments
from stoker.log.segment import (
    INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    ActiveSegment,
    BatchLocation,
    Segment,
    new_active_segment,
)
from stoker.log.snapshots import set_aside_snapshot, set_aside_snapshots, snapshot_path, write_snapshot
from stoker.log.timestamps import (
    BatchToSearch,
    TimestampedOffset,
    batches_by_max_timestamp,
    batches_by_timestamp,
)
from stoker.log.transaction_index import AbortedTransaction
from stoker.log.validation import prepare_coordinator_batches, put_base_offset, put_leader_epoch, validate_client_batch
from stoker.wire.error_codes import ErrorCode
from stoker.wire.record_batch import (
    LEADER_EPOCH_OFFSET,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    ControlType,
    build_end_transaction_batch,
)

logger = logging.getLogger("stoker.log")

Clock = Callable[[], int]
"""Milliseconds since 1970."""

_CLIENT = AppendOrigin.CLIENT
_UNKNOWN_EPOCH = -2


def system_clock() -> int:
    return time.time_ns() // 1_000_000


class AppendResult(NamedTuple):
    """Where a batch is in the log, whether it was written now or (`duplicate`) by an earlier try."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    duplicate: bool = False


class LogSlice(NamedTuple):
    """Whole batches in a file, to be sent from there. The file stays open for as long as the slice is held."""

    file: SegmentFile
    position: int
    length: int

    def read(self) -> bytes:
        """The bytes themselves."""
        return os.pread(self.file.descriptor, self.length, self.position) if self.length else b""


EMPTY_SLICE = LogSlice(NO_FILE, 0, 0)


class PartitionLog:
    """Kafka's log of one partition. `stoker.log.opening` makes one; no file is opened before it is needed."""

    __slots__ = (
        "_active",
        "_clock",
        "_directory_is_dirty",
        "_epochs",
        "_has_aborted_transactions",
        "_latest_epoch",
        "_producers",
        "_segments",
        "_snapshots",
        "checked_from",
        "config",
        "directory",
        "files",
        "is_closed",
        "last_flush_ms",
        "log_end_offset",
        "log_start_offset",
        "partition",
        "recovery_point",
        "topic",
        "topic_id",
        "was_compacted",
    )

    def __init__(
        self,
        directory: str,
        *,
        topic: str,
        partition: int,
        topic_id: UUID | None,
        config: LogConfig,
        files: FileCache,
        clock: Clock,
        segments: list[Segment],
        snapshots: list[int],
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        recovered: RecoveredLog | None = None,
        was_compacted: bool = False,
    ) -> None:
        self.directory = directory
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self.config = config
        self.files = files
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.recovery_point = min(recovery_point, log_end_offset)
        """Everything below it is on stable storage."""
        self.last_flush_ms = clock()
        self.is_closed = False
        self.checked_from = NEVER if recovered is None else recovered.checked_from
        """From this offset on every batch was checked when the log was opened."""
        self.was_compacted = was_compacted
        """There may be gaps between batches, whatever the config says now."""
        self._clock = clock
        self._segments = segments
        self._snapshots = snapshots
        self._active: ActiveSegment | None = None
        self._producers: ProducerStates | None = None
        self._epochs: LeaderEpochs | None = None
        self._latest_epoch = _UNKNOWN_EPOCH
        self._has_aborted_transactions: bool | None = None
        """None while no segment has been asked."""
        self._directory_is_dirty = recovered is not None or recovery_point == 0
        if recovered is not None:
            self._active = recovered.active
            self._producers = recovered.producers
            self._epochs = recovered.epochs

    def __repr__(self) -> str:
        return f"PartitionLog({self.directory!r}, [{self.log_start_offset}, {self.log_end_offset}))"

    # What is known without touching a file.

    @property
    def high_watermark(self) -> int:
        """With one replica, what is appended is committed."""
        return self.log_end_offset

    @property
    def last_stable_offset(self) -> int:
        """Where a read_committed consumer must stop: at the first open transaction."""
        producers = self._producers
        if producers is None:
            if not self._snapshots:
                return self.log_end_offset
            producers = self._load_producers()
        first_unstable_offset = producers.first_unstable_offset
        if first_unstable_offset is None:
            return self.log_end_offset
        return max(first_unstable_offset, self.log_start_offset)

    def is_in_older_segment(self, offset: int) -> bool:
        return offset < self._segments[-1].base_offset

    def unstable_bytes(self) -> int:
        """How much there is from the last stable offset on. Raises CorruptRecords if the disk lies."""
        stable = self.last_stable_offset
        if stable == self.log_end_offset:
            return 0
        first, location = self._locate_in_closed(stable)
        if location is None:
            return 0
        behind = sum(segment.size for segment in self._segments if segment.base_offset > first.base_offset)
        return first.size - location.position + behind

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    @property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(self._segments)

    @property
    def unflushed_messages(self) -> int:
        return self.log_end_offset - self.recovery_point

    # Appending.

    def validate(self, records: memoryview, *, at_once: bool = False) -> tuple[memoryview, BatchHeader]:
        """The first half of `append`, for any thread: what it returns is to be appended next. Raises as `append` does."""
        return validate_client_batch(records, self.config, self._clock(), at_once=at_once)

    def append(
        self,
        records: memoryview,
        *,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        valid_header: BatchHeader | None = None,
        at_once: bool = False,
    ) -> AppendResult:
        """Validate and append; raises AppendRefused, and then the log is as it was.

        With the `valid_header` that `validate` returned, or that the broker's own batch has, it is not validated again. With `at_once`, a batch
        that takes more than milliseconds to validate raises RecordsMustBeRead instead.

        Base offset and leader epoch, and with LogAppendTime the timestamp, are written into `records` in place; a
        read-only view is copied first. The bytes go to the file from there, with one write.
        """
        if records.readonly:
            records = memoryview(bytearray(records))
        now_ms = self._clock()
        if origin is not _CLIENT:
            return self._append_as_coordinator(records, leader_epoch, now_ms)
        config = self.config
        if valid_header is None:
            records, header = validate_client_batch(records, config, now_ms, at_once=at_once)
        else:
            header = valid_header
        _, _, _, _, _, attributes, last_offset_delta, _, max_timestamp, producer_id, epoch, base_sequence, _ = header
        active = self._active or self._activate()
        base_offset = self.log_end_offset
        last_offset = base_offset + last_offset_delta

        if producer_id >= 0:
            producers = self._producers or self._load_producers()
            last_sequence = last_sequence_of(base_sequence, last_offset_delta)
            duplicate = producers.check(producer_id, epoch, base_sequence, last_sequence, _CLIENT)
            if duplicate is not None:
                append_time = -1 if config.message_timestamp_type == "CreateTime" else duplicate.timestamp
                return AppendResult(
                    duplicate.first_offset, duplicate.last_offset, append_time, self.log_start_offset, True
                )
            if producers.open_transactions:
                producers.check_transaction(producer_id, bool(attributes & TRANSACTIONAL_FLAG))

        size = len(records)
        if active.must_roll_before(size, last_offset, max_timestamp, now_ms, config):
            active = self._roll_for(size, now_ms)
        if leader_epoch != self._latest_epoch:
            self.assign_leader_epoch(leader_epoch)
        put_base_offset(records, 0, base_offset)
        put_leader_epoch(records, LEADER_EPOCH_OFFSET, leader_epoch)
        try:
            active.write(records)
        except OSError as problem:
            raise self._storage_error(problem) from problem
        active.add(size, last_offset, max_timestamp, config.index_interval_bytes)
        self.log_end_offset = last_offset + 1
        if producer_id >= 0:
            producers.add(
                producer_id,
                epoch,
                base_sequence,
                last_sequence,
                base_offset,
                last_offset,
                max_timestamp,
                bool(attributes & TRANSACTIONAL_FLAG),
            )
        append_time = -1 if config.message_timestamp_type == "CreateTime" else max_timestamp
        return AppendResult(base_offset, last_offset, append_time, self.log_start_offset)

    def _append_as_coordinator(self, records: memoryview, leader_epoch: int, now_ms: int) -> AppendResult:
        """The broker's own batches: any number of them, written together or not at all."""
        config = self.config
        active = self._active or self._activate()
        base_offset = self.log_end_offset
        headers = prepare_coordinator_batches(records, config, base_offset, leader_epoch)
        for _, header in headers:
            if header.producer_id >= 0:
                producers = self._producers or self._load_producers()
                producers.check(
                    header.producer_id,
                    header.producer_epoch,
                    header.base_sequence,
                    header.last_sequence,
                    AppendOrigin.COORDINATOR,
                )
        last_offset = headers[-1][1].last_offset
        max_timestamp = max(header.max_timestamp for _, header in headers)
        if active.must_roll_before(len(records), last_offset, max_timestamp, now_ms, config):
            active = self._roll_for(len(records), now_ms)
        if leader_epoch != self._latest_epoch:
            self.assign_leader_epoch(leader_epoch)
        try:
            active.write(records)
        except OSError as problem:
            raise self._storage_error(problem) from problem
        for position, header in headers:
            active.add(header.size, header.last_offset, header.max_timestamp, config.index_interval_bytes)
            self.log_end_offset = header.next_offset
            if header.producer_id >= 0:
                producers = self._producers or self._load_producers()
                self._note_aborted(active, producers.replay(header, records[position : position + header.size]))
        return AppendResult(base_offset, last_offset, -1, self.log_start_offset)

    def end_transaction(self, marker: TransactionMarker, *, leader_epoch: int) -> int:
        """Append the control batch that ends a producer's transaction; returns its bytes. Raises AppendRefused."""
        config = self.config
        now_ms = self._clock()
        active = self._active or self._activate()
        producers = self._producers or self._load_producers()
        producers.check_marker(marker)
        offset = self.log_end_offset
        batch = build_end_transaction_batch(
            ControlType.COMMIT if marker.committed else ControlType.ABORT,
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            timestamp=now_ms,
            coordinator_epoch=marker.coordinator_epoch,
            base_offset=offset,
            leader_epoch=leader_epoch,
        )
        size = len(batch)
        if active.must_roll_before(size, offset, now_ms, now_ms, config):
            active = self._roll_for(size, now_ms)
        if leader_epoch != self._latest_epoch:
            self.assign_leader_epoch(leader_epoch)
        try:
            active.write(memoryview(batch))
        except OSError as problem:
            raise self._storage_error(problem) from problem
        active.add(size, offset, now_ms, config.index_interval_bytes)
        self.log_end_offset = offset + 1
        self._note_aborted(active, producers.end_transaction(marker, offset, now_ms))
        return size

    def _note_aborted(self, active: ActiveSegment, aborted: AbortedTransaction | None) -> None:
        if aborted is not None:
            active.aborted_transactions.append(aborted)
            self._has_aborted_transactions = True

    def _storage_error(self, problem: OSError) -> AppendRefused:
        logger.error("could not append to %s: %s", self.directory, problem)
        return AppendRefused(ErrorCode.KAFKA_STORAGE_ERROR, f"could not append to {self.directory}: {problem.strerror}")

    # Reading.

    def read(
        self, offset: int, max_bytes: int, *, at_least_one_batch: bool, up_to_offset: int | None = None
    ) -> LogSlice:
        """Batches from the one that holds `offset` on; raises OffsetOutOfRange, or CorruptRecords if the disk lies.

        The slice is empty at the log end, and if the first batch is larger than `max_bytes` (unless
        `at_least_one_batch`). It ends before the batch that holds `up_to_offset`, and where `max_bytes` ends it, it may
        end within a batch. It never crosses a segment.
        """
        log_end_offset = self.log_end_offset
        if not self.log_start_offset <= offset <= log_end_offset:
            raise OffsetOutOfRange(offset, self.log_start_offset, log_end_offset)
        if offset == log_end_offset or (up_to_offset is not None and offset >= up_to_offset):
            return EMPTY_SLICE
        interval = self.config.index_interval_bytes
        segment: Segment = self._active or self._activate()
        if offset >= segment.base_offset:
            location = segment.locate(offset, interval)
        else:
            segment, location = self._locate_in_closed(offset)
        if location is None:
            return EMPTY_SLICE
        position, first_size = location
        if first_size > max_bytes:
            return LogSlice(segment.opened(), position, first_size) if at_least_one_batch else EMPTY_SLICE

        end = segment.size
        if up_to_offset is not None and up_to_offset < log_end_offset:
            limit = segment.locate(up_to_offset, interval) if up_to_offset >= segment.base_offset else location
            if limit is not None:
                end = limit.position
                if end <= position:
                    return EMPTY_SLICE
        if end - position > max_bytes:
            end = position + max_bytes
            boundary = segment.floor_position(end)
            if boundary > position:
                end = boundary
        return LogSlice(segment.opened(), position, end - position)

    def _locate_in_closed(self, offset: int) -> tuple[Segment, BatchLocation | None]:
        """Compaction may have left a gap at the end of a segment: then the batch is the first of a later one."""
        slot = bisect_right(self._segments, offset, key=_base_offset_of) - 1
        for segment in self._segments[max(slot, 0) :]:
            location = segment.locate(offset, self.config.index_interval_bytes)
            if location is not None:
                return segment, location
        return self._segments[-1], None

    def aborted_transactions(self, start_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Those that a reader of [start_offset, end_offset) has to know of, and perhaps a few more."""
        found: list[AbortedTransaction] = []
        if self._has_aborted_transactions is None:
            self._has_aborted_transactions = any(len(segment.aborted_transactions) for segment in self._segments)
        if self._has_aborted_transactions:
            first = max(bisect_right(self._segments, start_offset, key=_base_offset_of) - 1, 0)
            for segment in self._segments[first:]:
                if segment.aborted_transactions.collect(start_offset, end_offset, found):
                    break
        return found

    def aborted_transactions_in_slice(
        self, start_offset: int, size: int, up_to_offset: int
    ) -> list[AbortedTransaction]:
        """As above, of what a reader gets who reads `size` bytes from an offset on."""
        if self._has_aborted_transactions is False:
            return []
        return self.aborted_transactions(start_offset, min(up_to_offset, self._offset_after(start_offset, size)))

    def _offset_after(self, start_offset: int, size: int) -> int:
        """An offset past all that is in `size` bytes from the batch of `start_offset` on, as near as the index tells."""
        segment, location = self._locate_in_closed(start_offset)
        if location is None:
            return self.log_end_offset
        index = segment.loaded_offset_index(self.config.index_interval_bytes)
        following = bisect_right(self._segments, segment.base_offset, key=_base_offset_of)
        segment_end = self._segments[following].base_offset if following < len(self._segments) else self.log_end_offset
        return index.offset_after_position(location.position + size) or segment_end

    # Rolling.

    def roll_if_due(self, now_ms: int) -> bool:
        """Close the active segment if it is older than segment.ms by the clock, even when nothing is appended."""
        active = self._active
        if active is None or not active.size:
            return False
        began_ms = active.first_timestamp if active.first_timestamp >= 0 else active.created_ms
        if now_ms - began_ms <= self.config.roll_ms - active.roll_jitter_ms:
            return False
        self.roll(now_ms)
        return True

    def roll(self, now_ms: int) -> ActiveSegment:
        """Close the active segment and begin another at the log end offset. Raises OSError, and then nothing changed."""
        active = self._active or self._activate()
        if active.size == 0 and active.base_offset == self.log_end_offset:
            return active
        active.trim()
        following = new_active_segment(self.directory, self.log_end_offset, self.files, self.config, now_ms)
        active.write_indexes()
        self._segments[-1] = active.closed()
        self._segments.append(following)
        self._active = following
        self._directory_is_dirty = True
        self._take_snapshot()
        return following

    def _roll_for(self, size: int, now_ms: int) -> ActiveSegment:
        if size > self.config.segment_bytes:
            raise AppendRefused(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"the batch has {size} bytes, segment.bytes allows {self.config.segment_bytes}",
            )
        try:
            return self.roll(now_ms)
        except OSError as problem:
            raise self._storage_error(problem) from problem

    # Letting go of old records.

    def delete_records(self, before_offset: int) -> int:
        """Everything before this offset is gone, -1 meaning all; returns the log start offset.

        Raises OffsetOutOfRange past the high watermark. Files go with the next retention run, and a crash before the
        directory's next checkpoint may bring records back, both as in Kafka.
        """
        if before_offset == -1:
            before_offset = self.high_watermark
        if not 0 <= before_offset <= self.high_watermark:
            raise OffsetOutOfRange(before_offset, self.log_start_offset, self.high_watermark)
        self._move_log_start(before_offset)
        return self.log_start_offset

    def _move_log_start(self, offset: int) -> None:
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self._leader_epochs().truncate_from_start(offset)

    def apply_retention(self, now_ms: int) -> RemovedFiles:
        """Take segments out of use that retention or `delete_records` has done with; the caller removes the files.

        Kafka lets readers go on for file.delete.delay.ms; ours hold the files they read open, and need no delay.
        """
        count = count_removable_segments(self._segments, self.log_start_offset, self.config, now_ms)
        if not count:
            return RemovedFiles(())
        if count == len(self._segments):
            self.roll(now_ms)
        removed = self._segments[:count]
        first_offset = self._segments[count].base_offset
        self._move_log_start(first_offset)
        del self._segments[:count]
        paths = [path for segment in removed for path in segment.set_aside()]
        paths += set_aside_snapshots(self.directory, self._snapshots, first_offset)
        self._directory_is_dirty = True
        logger.info("%s starts at offset %d: %d segments removed", self.directory, self.log_start_offset, count)
        return RemovedFiles(tuple(paths))

    def replace_segments(self, cleaned: CleanedSegment) -> RemovedFiles:
        """Put a compacted segment in the place of those it was made from; the caller removes their files.

        The renames are Kafka's, in its order, so that after a crash between any two of them the log opens either with
        the old segments or with the new one, here and in Kafka. Raises LogError if not all of the old ones are part of
        the log any more, and then nothing has changed, or OSError.
        """
        first = bisect_right(self._segments, cleaned.base_offset, key=_base_offset_of) - 1
        sources = self._segments[max(first, 0) : first + len(cleaned.sources)]
        offsets = tuple(segment.base_offset for segment in sources)
        if self.is_closed or offsets != cleaned.sources or sources[-1] is self._segments[-1]:
            raise LogError(f"{self.directory} has changed: segments {cleaned.sources} are not there to be replaced")
        segment = Segment(self.directory, cleaned.base_offset, cleaned.size, self.files)
        segment.max_timestamp = cleaned.max_timestamp
        paths = put_in_place(segment, sources, cleaned.suffixes)
        for source in sources[1:]:
            paths += set_aside_snapshot(self.directory, self._snapshots, source.base_offset)
        self._segments[first : first + len(sources)] = [segment]
        self.was_compacted = True
        self._directory_is_dirty = True
        return RemovedFiles(tuple(paths))

    # Finding by timestamp.

    def offset_for_timestamp(self, timestamp: int) -> TimestampedOffset | None:
        """The first record with this timestamp or a later one."""
        return next(filter(None, map(BatchToSearch.search, self.batches_by_timestamp(timestamp))), None)

    def max_timestamp_offset(self) -> TimestampedOffset | None:
        """The first record with the largest timestamp of all."""
        return next(filter(None, map(BatchToSearch.search, self.batches_by_max_timestamp())), None)

    def batches_by_timestamp(self, timestamp: int) -> Iterator[BatchToSearch]:
        """What `offset_for_timestamp` searches, one after the other; a search may run on another thread."""
        if self._active is None:
            self._activate()
        segments = tuple(self._segments)
        return batches_by_timestamp(segments, timestamp, self.log_start_offset, self.config.index_interval_bytes)

    def batches_by_max_timestamp(self) -> Iterator[BatchToSearch]:
        """What `max_timestamp_offset` searches; a search may run on another thread."""
        if self._active is None:
            self._activate()
        return batches_by_max_timestamp(tuple(self._segments), self.config.index_interval_bytes)

    # Leader epochs.

    @property
    def leader_epoch(self) -> int:
        """The latest epoch anything was written in; -1 if none."""
        return self._leader_epochs().latest

    def assign_leader_epoch(self, leader_epoch: int) -> None:
        """What is appended from now on belongs to this epoch."""
        self._leader_epochs().assign(leader_epoch, self.log_end_offset)
        self._latest_epoch = leader_epoch

    def end_offset_for_epoch(self, requested_epoch: int) -> tuple[int, int]:
        """The largest epoch not above the requested one and its end offset; (-1, -1) if unknown."""
        return self._leader_epochs().end_offset_for(requested_epoch, self.log_end_offset)

    def epoch_of(self, offset: int) -> int:
        return self._leader_epochs().epoch_of(offset)

    def _leader_epochs(self) -> LeaderEpochs:
        if self._epochs is None:
            try:
                self._epochs = LeaderEpochs.load(f"{self.directory}/{LEADER_EPOCH_FILE}")
            except CorruptCheckpoint as problem:
                # The next append begins an epoch; what is lost is where the earlier ones ended.
                logger.warning("%s: forgetting the leader epochs", problem)
                self._epochs = LeaderEpochs()
            self._epochs.truncate_from_end(self.log_end_offset)
            self._epochs.truncate_from_start(self.log_start_offset)
        return self._epochs

    # Producers.

    def active_producers(self) -> Mapping[int, ProducerEntry]:
        """By producer id; do not change it."""
        return (self._producers or self._load_producers()).entries

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        producers = self._producers or self._load_producers()
        return producer_id in producers.open_transactions and producers.entries[producer_id].epoch == producer_epoch

    def expire_producers(self, now_ms: int) -> None:
        """Forget producers idle for longer than producer.id.expiration.ms."""
        if self._producers is not None:
            self._producers.expire(now_ms, self.config.producer_id_expiration_ms)

    def _load_producers(self) -> ProducerStates:
        if self.is_closed:
            raise LogError(f"the log in {self.directory} is closed")
        self._producers = load_producers(
            self._segments, self._snapshots, self.log_end_offset, self.config.index_interval_bytes
        )
        self._producers.expire(self._clock(), self.config.producer_id_expiration_ms)
        return self._producers

    def _take_snapshot(self) -> bool:
        """Write the producers' state as of the log end offset; False if that could not be done."""
        try:
            producers = self._producers or self._load_producers()
            base_offsets = {segment.base_offset for segment in self._segments}
            write_snapshot(self.directory, self._snapshots, self.log_end_offset, producers, base_offsets)
        except (OSError, CorruptRecords) as problem:
            logger.warning("could not write the producer snapshot of %s: %s", self.directory, problem)
            return False
        return True

    # Flushing and closing.

    def flush(self) -> int:
        """Bring all that is appended to stable storage and return its end; any thread may call this.

        What is appended meanwhile may or may not be included; the returned offset, the new recovery point, is.
        """
        end_offset = self.log_end_offset
        segments = list(self._segments)
        if self.is_closed:
            return self.recovery_point
        if end_offset > self.recovery_point:
            for slot, segment in enumerate(segments):
                is_last = slot == len(segments) - 1
                if not is_last and segments[slot + 1].base_offset <= self.recovery_point:
                    continue
                try:
                    file = segment.opened()
                    os.fsync(file.descriptor)
                except FileNotFoundError:
                    if segment in self._segments:
                        raise
                if not is_last:
                    for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX):
                        _sync_if_there(segment.path(suffix))
                    _sync_if_there(snapshot_path(self.directory, segments[slot + 1].base_offset))
        if self._epochs is not None:
            self._epochs.save(f"{self.directory}/{LEADER_EPOCH_FILE}", sync=True)
        if self._directory_is_dirty:
            self._directory_is_dirty = False
            sync_directory(self.directory)
        self.recovery_point = max(self.recovery_point, end_offset)
        self.last_flush_ms = self._clock()
        return end_offset

    def reconfigure(self, config: LogConfig) -> None:
        """Takes effect with the next append, read or retention run."""
        self.config = config

    def close(self, *, clean: bool = True) -> None:
        """Let go of all files. A clean close brings everything to disk, so that the next open need not look at it."""
        if self.is_closed:
            return
        try:
            if clean:
                self._close_cleanly()
        finally:
            self.is_closed = True
            for segment in self._segments:
                segment.close()
            if self._active is not None:
                self._segments[-1] = Segment(self.directory, self._active.base_offset, self._active.size, self.files)
                self._active = None

    def _close_cleanly(self) -> None:
        for segment in self._segments:
            segment.save_aborted_transactions()
        active = self._active
        if active is not None:
            active.trim()
            active.write_indexes()
            producers = self._producers
            if producers is not None and (producers.entries or self._snapshots) and not self._take_snapshot():
                raise LogError(f"the state of the producers of {self.directory} is not on disk")
            self.flush()
            _sync_if_there(active.path(TRANSACTION_INDEX_SUFFIX))
        elif self._segments[-1].size == 0:
            # A partition nobody wrote to yet has only its log file; give Kafka's tools the indexes they look for.
            for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX):
                path = self._segments[-1].path(suffix)
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))
        if self._epochs is not None:
            self._epochs.save(f"{self.directory}/{LEADER_EPOCH_FILE}", sync=False)

    def find_end(self) -> None:
        """Read the log end offset from the files; for a log that was closed cleanly but has no checkpoint."""
        self._activate(is_end_known=False)
        self.recovery_point = self.log_end_offset

    def start_anew_at(self, offset: int) -> None:
        """Drop everything and begin with an empty segment."""
        for segment in self._segments:
            remove_segment_files(segment)
        for snapshot in self._snapshots:
            os.unlink(snapshot_path(self.directory, snapshot))
        self._snapshots.clear()
        self._producers = ProducerStates()
        self._epochs = LeaderEpochs()
        self._epochs.is_dirty = True
        self._latest_epoch = _UNKNOWN_EPOCH
        self._active = new_active_segment(self.directory, offset, self.files, self.config, self._clock())
        self._segments[:] = [self._active]
        self.log_start_offset = self.log_end_offset = self.recovery_point = offset

    def _activate(self, is_end_known: bool = True) -> ActiveSegment:
        """Bring the last segment into shape for appending, when it is first touched."""
        if self.is_closed:
            raise LogError(f"the log in {self.directory} is closed")
        active, next_offset = activate(
            self._segments[-1], self.config, self._clock(), was_compacted=self.was_compacted or self.config.is_compacted
        )
        if next_offset != self.log_end_offset:
            if is_end_known:
                logger.warning("%s ends at offset %d, not %d", self.directory, next_offset, self.log_end_offset)
            self.log_end_offset = next_offset
            self.recovery_point = min(self.recovery_point, next_offset)
        self._segments[-1] = self._active = active
        return active


def _base_offset_of(segment: Segment) -> int:
    return segment.base_offset


def _sync_if_there(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
