"""One Fetch request from its first look at the logs to its reply: at once, when enough has come, or when time is up."""

import os
from asyncio import AbstractEventLoop, Handle, TimerHandle
from collections.abc import Sequence
from logging import getLogger
from typing import Final
from uuid import UUID

from stoker.broker.fetch_sessions import FetchSession, SessionPartition
from stoker.broker.partitions import Partition, Partitions
from stoker.broker.reply import Deferred, EncodedBody
from stoker.errors import CorruptRecords
from stoker.log.errors import LogError, OffsetOutOfRange
from stoker.log.partition import LogSlice, PartitionLog
from stoker.wire.error_codes import ErrorCode
from stoker.wire.fetch_hot_path import FetchedPartition, encode_fetched

logger = getLogger("stoker.broker")

_READ_UP_TO_BYTES: Final = 16 * 1024
"""Shorter stretches are read and sent with the bytes around them; from here on sendfile is cheaper."""

Fetched = FetchedPartition[LogSlice]


class PendingFetch:
    """Reads the wanted partitions, and again those that grew, until there is enough to answer with."""

    __slots__ = (
        "_bytes",
        "_deferred",
        "_failed",
        "_fetched",
        "_grown",
        "_hidden",
        "_incremental",
        "_is_behind",
        "_loop",
        "_max_bytes",
        "_min_bytes",
        "_partitions",
        "_read_committed",
        "_resolved",
        "_scheduled",
        "_session",
        "_timer",
        "_version",
        "_wanted",
    )

    def __init__(
        self,
        *,
        version: int,
        wanted: Sequence[SessionPartition],
        session: FetchSession | None,
        incremental: bool,
        min_bytes: int,
        max_bytes: int,
        read_committed: bool,
        partitions: Partitions,
        loop: AbstractEventLoop,
    ) -> None:
        self._version = version
        self._wanted = wanted
        self._session = session
        self._incremental = incremental
        self._min_bytes = min_bytes
        self._max_bytes = max_bytes
        self._read_committed = read_committed
        self._partitions = partitions
        self._loop = loop
        self._resolved: list[Partition | None] = []
        self._fetched: list[Fetched | None] = []
        self._bytes = 0
        self._failed = False
        self._is_behind = False
        """What was read is of an older segment, so that more may follow: no reason to wait for `min_bytes`, as in Kafka."""
        self._grown: set[Partition] = set()
        self._hidden: dict[Partition, tuple[int, int]] = {}
        """For `read_committed` the last stable offset of a partition, and how much there is that cannot be read yet."""
        self._deferred: Deferred | None = None
        self._timer: TimerHandle | None = None
        self._scheduled: Handle | None = None

    # -- reading ----------------------------------------------------------------------------------------------------

    def look(self) -> bool:
        """Read every wanted partition; true when the reply need not wait."""
        topic: str | UUID | None = None
        partitions: list[Partition] = []
        for wanted in self._wanted:
            if wanted.topic is not topic:  # partitions of a topic come together, and hashing a UUID is slow
                topic = wanted.topic
                partitions = self._partitions.of_topic(topic) or []
            partition = partitions[wanted.index] if 0 <= wanted.index < len(partitions) else None
            self._resolved.append(partition)
            self._fetched.append(self._read(wanted, partition))
        return self._failed or self._is_behind or self._bytes >= self._min_bytes or not self._wanted

    def _read(self, wanted: SessionPartition, partition: Partition | None) -> Fetched | None:
        """What to tell of one partition; None when an incremental reply need not mention it."""
        if partition is None:
            unknown = (
                ErrorCode.UNKNOWN_TOPIC_ID if isinstance(wanted.topic, UUID) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
            return self._error(wanted, unknown)
        if wanted.current_leader_epoch != partition.leader_epoch:
            error = partition.epoch_error(wanted.current_leader_epoch)
            if error:
                return self._error(wanted, error)
        log = partition.log
        if log is None:
            return self._error(wanted, ErrorCode.KAFKA_STORAGE_ERROR)
        high_watermark = log.high_watermark
        log_start_offset = log.log_start_offset
        records: bytes | LogSlice = b""
        aborted: Sequence[tuple[int, int]] | None = () if self._read_committed else None
        tagged = b"\x00"
        try:
            stable = log.last_stable_offset
            if wanted.fetch_offset != high_watermark:
                records = self._read_records(wanted, partition, stable if self._read_committed else high_watermark)
                if self._read_committed and records:
                    aborted = self._aborted_transactions(wanted, log, records, stable)
            if wanted.last_fetched_epoch >= 0:
                tagged = self._diverging_epoch(wanted, partition) or tagged
        except OffsetOutOfRange:
            return self._error(wanted, ErrorCode.OFFSET_OUT_OF_RANGE)
        except CorruptRecords as problem:
            logger.error("cannot read %s at offset %d: %s", partition, wanted.fetch_offset, problem)
            return self._error(wanted, ErrorCode.CORRUPT_MESSAGE)
        except (OSError, LogError) as problem:
            logger.error("cannot read %s at offset %d: %s", partition, wanted.fetch_offset, problem)
            return self._error(wanted, ErrorCode.KAFKA_STORAGE_ERROR)
        if (
            self._incremental
            and not records
            and tagged == b"\x00"
            and wanted.told_high_watermark == high_watermark
            and wanted.told_log_start_offset == log_start_offset
        ):
            return None
        return FetchedPartition(
            index=wanted.index,
            high_watermark=high_watermark,
            last_stable_offset=stable,
            log_start_offset=log_start_offset,
            aborted_transactions=aborted,
            records=records,
            tagged=tagged,
        )

    def _read_records(self, wanted: SessionPartition, partition: Partition, up_to: int) -> bytes | LogSlice:
        assert partition.log is not None
        room = min(wanted.max_bytes, self._max_bytes - self._bytes)
        if room <= 0 and self._bytes:
            return b""
        # The first batch of a reply is sent whole however large it is, or a reader could never get past it (KIP-74).
        piece = partition.log.read(wanted.fetch_offset, room, at_least_one_batch=not self._bytes, up_to_offset=up_to)
        self._bytes += piece.length
        if piece.length and partition.log.is_in_older_segment(wanted.fetch_offset):
            self._is_behind = True
        if piece.length > _READ_UP_TO_BYTES:
            return piece
        return os.pread(piece.file.descriptor, piece.length, piece.position) if piece.length else b""

    def _aborted_transactions(
        self, wanted: SessionPartition, log: PartitionLog, records: bytes | LogSlice, stable: int
    ) -> Sequence[tuple[int, int]]:
        """Producer id and first offset of those that the reader has to leave out."""
        size = records.length if isinstance(records, LogSlice) else len(records)
        aborted = log.aborted_transactions_in_slice(wanted.fetch_offset, size, stable)
        return [(transaction.producer_id, transaction.first_offset) for transaction in aborted]

    def _error(self, wanted: SessionPartition, error: ErrorCode) -> Fetched:
        self._failed = True
        wanted.told_high_watermark = -1
        return FetchedPartition(index=wanted.index, error_code=error)

    def _diverging_epoch(self, wanted: SessionPartition, partition: Partition) -> bytes | None:
        """KIP-595: the reader's last epoch ended earlier here than where it wants to read on."""
        assert partition.log is not None
        epoch, end_offset = partition.log.end_offset_for_epoch(wanted.last_fetched_epoch)
        if epoch == wanted.last_fetched_epoch and end_offset >= wanted.fetch_offset:
            return None
        self._failed = True
        body = epoch.to_bytes(4, "big", signed=True) + end_offset.to_bytes(8, "big", signed=True) + b"\x00"
        return b"\x01\x00" + bytes((len(body),)) + body

    # -- waiting ----------------------------------------------------------------------------------------------------

    def wait(self, max_wait_ms: int) -> Deferred:
        """Reply when the wanted partitions have grown enough, or after `max_wait_ms`."""
        self._deferred = Deferred(on_cancel=self._stop_waiting)
        self._timer = self._loop.call_later(max_wait_ms / 1000, self._time_is_up)
        for partition in self._resolved:
            if partition is not None:
                partition.waiters[self] = None
                if self._read_committed and partition.log is not None:
                    self._hidden[partition] = (partition.log.last_stable_offset, _unstable_bytes(partition.log))
        return self._deferred

    def partition_grew(self, partition: Partition, appended_bytes: int) -> None:
        if self._read_committed and partition.log is not None:
            # What is part of an open transaction counts when its end moves the last stable offset.
            stable, hidden_bytes = self._hidden[partition]
            appended_bytes += hidden_bytes
            moved = partition.log.last_stable_offset != stable
            self._hidden[partition] = (partition.log.last_stable_offset, 0 if moved else appended_bytes)
            if not moved:
                return
        self._grown.add(partition)
        self._min_bytes -= appended_bytes
        if self._min_bytes <= self._bytes and self._scheduled is None:
            # After the producer that woke us has its reply.
            self._scheduled = self._loop.call_soon(self._finish)

    def partition_gone(self, partition: Partition) -> None:
        self._grown.add(partition)
        if self._scheduled is None:
            self._scheduled = self._loop.call_soon(self._finish)

    def _time_is_up(self) -> None:
        if self._scheduled is None:
            self._finish()

    def _stop_waiting(self) -> None:
        for partition in self._resolved:
            if partition is not None:
                partition.waiters.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
        if self._scheduled is not None:
            self._scheduled.cancel()

    def _finish(self) -> None:
        self._stop_waiting()
        if self._grown:
            for position, partition in enumerate(self._resolved):
                if partition in self._grown:
                    wanted = self._wanted[position]
                    self._fetched[position] = self._read(wanted, self._partitions.find(wanted.topic, wanted.index))
        assert self._deferred is not None
        self._deferred.resolve(self.reply())

    # -- replying ---------------------------------------------------------------------------------------------------

    def reply(self) -> EncodedBody:
        topics: list[tuple[str | UUID, list[Fetched]]] = []
        current: str | UUID | None = None
        for wanted, fetched in zip(self._wanted, self._fetched, strict=True):
            if fetched is None:
                continue
            if wanted.topic is not current and wanted.topic != current:
                current = wanted.topic
                topics.append((current, []))
            topics[-1][1].append(fetched)
            if not fetched.error_code:
                wanted.told_high_watermark = fetched.high_watermark
                wanted.told_log_start_offset = fetched.log_start_offset
            if self._incremental and fetched.records and self._session is not None:
                self._session.served((wanted.topic, wanted.index))
        session_id = self._session.id if self._session is not None else 0
        parts, size = encode_fetched(self._version, session_id=session_id, topics=topics)
        return EncodedBody(parts, size)


def _unstable_bytes(log: PartitionLog) -> int:
    try:
        return log.unstable_bytes()
    except (CorruptRecords, OSError, LogError):
        return 0  # who reads them hears of it
