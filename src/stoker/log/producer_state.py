"""What a partition remembers of each producer, so that a batch sent twice is written once (KIP-98).

Per producer id: its epoch, its last five batches, its open transaction. The rules are those of Kafka's
ProducerStateManager; snapshots have its format, so that Kafka's tools read ours and we read Kafka's.
"""

import logging
import struct
from enum import Enum
from typing import NamedTuple

import crc32c

from stoker.errors import CorruptRecords
from stoker.log.errors import AppendRefused, CorruptCheckpoint
from stoker.log.transaction_index import AbortedTransaction
from stoker.wire.error_codes import ErrorCode
from stoker.wire.record_batch import (
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    BatchHeader,
    ControlType,
    control_type_of,
    coordinator_epoch_of,
    iterate_records,
)

logger = logging.getLogger("stoker.log")

BATCHES_REMEMBERED = 5

_MAX_SEQUENCE = 2**31 - 1
_SNAPSHOT_VERSION = 1
_SNAPSHOT_HEADER = struct.Struct(">hIi")
_SNAPSHOT_ENTRY = struct.Struct(">qhiqiqiq")
_CRC_STARTS_AT = 6
_MAX_MARKER_BYTES = 65536


class AppendOrigin(Enum):
    """Who appends, which decides what is checked."""

    CLIENT = "a producer over the network: everything is checked"
    COORDINATOR = "the broker itself: it may write control batches, several batches at once, and needs no sequences"


class TransactionMarker(NamedTuple):
    """How the transaction of a producer ends in a partition."""

    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int


class AppendedBatch(NamedTuple):
    """One batch a producer wrote."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class ProducerEntry:
    """What is remembered of one producer."""

    __slots__ = ("batches", "coordinator_epoch", "epoch", "last_timestamp", "transaction_first_offset")

    def __init__(self) -> None:
        self.epoch = NO_PRODUCER_EPOCH
        self.coordinator_epoch = -1
        self.last_timestamp = -1
        self.transaction_first_offset = -1
        self.batches: list[AppendedBatch] = []

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


def last_sequence_of(base_sequence: int, last_offset_delta: int) -> int:
    """Sequences count to 2^31 - 1 and go on with 0."""
    if base_sequence == NO_SEQUENCE:
        return NO_SEQUENCE
    last_sequence = base_sequence + last_offset_delta
    return last_sequence if last_sequence <= _MAX_SEQUENCE else last_sequence - _MAX_SEQUENCE - 1


class ProducerStates:
    """The producers of one partition."""

    __slots__ = ("entries", "open_transactions")

    def __init__(self) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        self.open_transactions: dict[int, int] = {}
        """Producer id to first offset, in the order of first offsets."""

    def check(
        self, producer_id: int, epoch: int, base_sequence: int, last_sequence: int, origin: AppendOrigin
    ) -> AppendedBatch | None:
        """None if the batch comes next; the batch already written if it is one of the last five; else AppendRefused."""
        entry = self.entries.get(producer_id)
        if entry is None:
            # The producer may be known to everyone but us, because retention removed all it wrote: take any sequence.
            return None
        if epoch == entry.epoch:
            expected = entry.last_sequence + 1
            if base_sequence == expected or origin is not AppendOrigin.CLIENT:
                return None
            for batch in entry.batches:
                if batch.first_sequence == base_sequence and batch.last_sequence == last_sequence:
                    return batch
            if base_sequence == 0 and entry.last_sequence == _MAX_SEQUENCE:
                return None
            raise AppendRefused(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {producer_id} sent sequence {base_sequence}, expected is {expected}",
            )
        if epoch < entry.epoch:
            raise _old_epoch(producer_id, epoch, entry.epoch)
        if base_sequence != 0 and origin is AppendOrigin.CLIENT and entry.epoch != NO_PRODUCER_EPOCH:
            raise AppendRefused(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {producer_id} began epoch {epoch} with sequence {base_sequence} instead of 0",
            )
        return None

    def check_transaction(self, producer_id: int, is_transactional: bool) -> None:
        """A producer with an open transaction writes nothing outside of it."""
        if not is_transactional and producer_id in self.open_transactions:
            raise AppendRefused(
                ErrorCode.INVALID_TXN_STATE, f"producer {producer_id} has an open transaction and wrote outside of it"
            )

    def add(
        self,
        producer_id: int,
        epoch: int,
        base_sequence: int,
        last_sequence: int,
        first_offset: int,
        last_offset: int,
        timestamp: int,
        is_transactional: bool,
    ) -> None:
        """Remember a batch that was written; it has been checked, or is read back from the log."""
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = self.entries[producer_id] = ProducerEntry()
        batches = entry.batches
        if entry.epoch != epoch:
            entry.epoch = epoch
            batches.clear()
        elif len(batches) >= BATCHES_REMEMBERED:
            del batches[0]
        batches.append(AppendedBatch(base_sequence, last_sequence, first_offset, last_offset, timestamp))
        entry.last_timestamp = timestamp
        if is_transactional and entry.transaction_first_offset < 0:
            entry.transaction_first_offset = first_offset
            self.open_transactions[producer_id] = first_offset

    def check_marker(self, marker: TransactionMarker) -> None:
        """Neither a producer nor a coordinator that was replaced may end transactions any more. Raises AppendRefused."""
        entry = self.entries.get(marker.producer_id)
        if entry is None:
            return
        if marker.producer_epoch < entry.epoch:
            raise _old_epoch(marker.producer_id, marker.producer_epoch, entry.epoch)
        if marker.coordinator_epoch < entry.coordinator_epoch:
            raise AppendRefused(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"a coordinator of epoch {marker.coordinator_epoch} ended a transaction of producer "
                f"{marker.producer_id}, the current one has epoch {entry.coordinator_epoch}",
            )

    def replay(self, header: BatchHeader, batch: memoryview) -> AbortedTransaction | None:
        """Account for a batch that is in the log: data of a producer, or the end of its transaction, told if aborted."""
        if header.producer_id < 0:
            return None
        if not header.is_control:
            self.add(
                header.producer_id,
                header.producer_epoch,
                header.base_sequence,
                header.last_sequence,
                header.base_offset,
                header.last_offset,
                header.max_timestamp,
                header.is_transactional,
            )
            return None
        try:
            record = next(iterate_records(batch, _MAX_MARKER_BYTES), None)
            # An empty control batch is what compaction leaves of a transaction that is gone altogether.
            control_type = None if record is None else control_type_of(record)
            if record is None or control_type is None:
                return None
            marker = TransactionMarker(
                header.producer_id,
                header.producer_epoch,
                control_type is ControlType.COMMIT,
                coordinator_epoch_of(record),
            )
        except CorruptRecords as problem:
            logger.warning("ignoring the control batch at offset %d: %s", header.base_offset, problem)
            return None
        return self.end_transaction(marker, header.last_offset, record.timestamp)

    def end_transaction(self, marker: TransactionMarker, offset: int, timestamp: int) -> AbortedTransaction | None:
        """A marker was written at this offset; tells of the transaction that it aborted, if there was one."""
        producer_id, epoch, committed, coordinator_epoch = marker
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = self.entries[producer_id] = ProducerEntry()
        first_offset = entry.transaction_first_offset
        if entry.epoch != epoch:
            entry.epoch = epoch
            entry.batches.clear()
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp = timestamp
        entry.transaction_first_offset = -1
        self.open_transactions.pop(producer_id, None)
        if committed or first_offset < 0:
            return None
        first_unstable_offset = self.first_unstable_offset
        last_stable_offset = offset + 1 if first_unstable_offset is None else first_unstable_offset
        return AbortedTransaction(producer_id, first_offset, offset, last_stable_offset)

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the oldest open transaction began."""
        for first_offset in self.open_transactions.values():
            return first_offset
        return None

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget producers that have been idle too long; an open transaction keeps its producer."""
        idle = [
            producer_id
            for producer_id, entry in self.entries.items()
            if entry.transaction_first_offset < 0 and now_ms - entry.last_timestamp >= expiration_ms
        ]
        for producer_id in idle:
            del self.entries[producer_id]

    def snapshot(self) -> bytes:
        """All producers in the format of Kafka's `.snapshot` files, which keep the last batch of each."""
        parts = []
        for producer_id, entry in self.entries.items():
            last_sequence, last_offset, offset_delta = NO_SEQUENCE, -1, 0
            if entry.batches:
                batch = entry.batches[-1]
                last_sequence, last_offset = batch.last_sequence, batch.last_offset
                offset_delta = batch.last_offset - batch.first_offset
            parts.append(
                _SNAPSHOT_ENTRY.pack(
                    producer_id,
                    entry.epoch,
                    last_sequence,
                    last_offset,
                    offset_delta,
                    entry.last_timestamp,
                    entry.coordinator_epoch,
                    entry.transaction_first_offset,
                )
            )
        content = bytearray(_SNAPSHOT_HEADER.pack(_SNAPSHOT_VERSION, 0, len(parts)))
        content += b"".join(parts)
        crc = crc32c.crc32c(memoryview(content)[_CRC_STARTS_AT:])
        _SNAPSHOT_HEADER.pack_into(content, 0, _SNAPSHOT_VERSION, crc, len(parts))
        return bytes(content)

    @classmethod
    def from_snapshot(cls, content: bytes) -> "ProducerStates":
        """Read what `snapshot` or Kafka wrote; raises CorruptCheckpoint."""
        if len(content) < _SNAPSHOT_HEADER.size:
            raise CorruptCheckpoint(f"a producer snapshot of {len(content)} bytes is too short")
        version, crc, count = _SNAPSHOT_HEADER.unpack_from(content)
        if version != _SNAPSHOT_VERSION:
            raise CorruptCheckpoint(f"producer snapshot version {version} is unknown; known is {_SNAPSHOT_VERSION}")
        if crc != crc32c.crc32c(memoryview(content)[_CRC_STARTS_AT:]):
            raise CorruptCheckpoint("the producer snapshot's checksum is wrong")
        if len(content) != _SNAPSHOT_HEADER.size + count * _SNAPSHOT_ENTRY.size:
            raise CorruptCheckpoint(f"a producer snapshot of {len(content)} bytes cannot hold {count} entries")
        states = cls()
        transactions = []
        for (
            producer_id,
            epoch,
            last_sequence,
            last_offset,
            offset_delta,
            timestamp,
            coordinator_epoch,
            transaction_first_offset,
        ) in _SNAPSHOT_ENTRY.iter_unpack(memoryview(content)[_SNAPSHOT_HEADER.size :]):
            entry = states.entries[producer_id] = ProducerEntry()
            entry.epoch = epoch
            entry.coordinator_epoch = coordinator_epoch
            entry.last_timestamp = timestamp
            entry.transaction_first_offset = transaction_first_offset
            if last_offset >= 0:
                first_sequence = last_sequence - offset_delta
                if first_sequence < 0 and last_sequence != NO_SEQUENCE:
                    first_sequence += _MAX_SEQUENCE + 1
                entry.batches.append(
                    AppendedBatch(first_sequence, last_sequence, last_offset - offset_delta, last_offset, timestamp)
                )
            if transaction_first_offset >= 0:
                transactions.append((transaction_first_offset, producer_id))
        states.open_transactions = {producer_id: first_offset for first_offset, producer_id in sorted(transactions)}
        return states


def _old_epoch(producer_id: int, epoch: int, current: int) -> AppendRefused:
    return AppendRefused(
        ErrorCode.INVALID_PRODUCER_EPOCH, f"producer {producer_id} sent epoch {epoch}, the current one is {current}"
    )
