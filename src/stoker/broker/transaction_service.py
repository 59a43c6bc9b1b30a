"""Transactions on this broker: what the coordinator decides is written to `__transaction_state`, then done, then answered.

The coordinator itself (stoker.coordinators.transactions) knows neither logs nor the event loop. A decision goes
through here in three writes: the record that decides, a marker in each partition, the record that calls it complete. All
partitions are this broker's, so that this takes one turn of the event loop; where a log is to be flushed first
(`flush.messages`), the next write waits for that. Whatever cannot be written is tried again, and after a crash the start
does what was left to do: nothing is called complete before every marker is in its log.
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Sequence
from logging import getLogger
from time import monotonic
from typing import Any, Final, TypeVar

from stoker.broker.config.image import ConfigImage
from stoker.broker.coordinator_topic import CoordinatorTopic
from stoker.broker.flusher import Flusher
from stoker.broker.log_replay import newest_batches_of
from stoker.broker.metadata import TRANSACTIONS_TOPIC
from stoker.broker.partitions import Partition, Partitions
from stoker.broker.topics import NewTopic
from stoker.broker.transaction_markers import TransactionMarkers
from stoker.coordinators.result import Result
from stoker.coordinators.transactions.coordinator import (
    Change,
    Producer,
    TransactionCoordinator,
    TransactionSettings,
)
from stoker.coordinators.transactions.states import TransactionState
from stoker.coordinators.transactions.transaction import TopicPartition, Transaction
from stoker.errors import CorruptRecords
from stoker.log.errors import AppendRefused, LogError
from stoker.log.partition import Clock, PartitionLog
from stoker.log.producer_state import TransactionMarker
from stoker.wire.error_codes import ErrorCode
from stoker.wire.record_batch import append_record, build_batch_at, iterate_records, read_header
from stoker.wire.transaction_records import decode_transaction_record, encode_transaction_key

logger = getLogger("stoker.broker")

T = TypeVar("T")
Steps = Generator[Sequence[PartitionLog], None, T]
"""Work that yields the logs which must be on the disk before it goes on."""

_MAX_BATCH_BYTES: Final = 128 * 1024 * 1024
_RETRY_SECONDS: Final = 0.5
_TURN_SECONDS: Final = 0.01
"""How long work that nobody waits for may hold up others."""
_NO_PRODUCER_ID: Final = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
"""What Kafka answers while it cannot get a block of ids; every client tries again."""


class TransactionService:
    """The transaction coordinator of one broker. Belongs to the event loop's thread."""

    def __init__(
        self,
        *,
        configs: Callable[[], ConfigImage],
        partitions: Partitions,
        metadata_log: PartitionLog,
        new_producer_id: Callable[[], int],
        markers: TransactionMarkers,
        flusher: Flusher,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
    ) -> None:
        self._configs = configs
        self._partitions = partitions
        self._metadata_log = metadata_log
        self._markers = markers
        self._flusher = flusher
        self._loop = loop
        self._clock = clock
        self._log = CoordinatorTopic(TRANSACTIONS_TOPIC, partitions)
        self._retry: asyncio.TimerHandle | None = None
        self._running: set[asyncio.Task[Any]] = set()
        self._new_producer_id = new_producer_id
        self.coordinator = self._new_coordinator()

    # -- life -------------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Make the transactions from what was written, and finish those that were decided."""
        if not self._log.load(self._load):
            self.coordinator.abandon(lambda transactional_id: self.unavailable(transactional_id) is not ErrorCode.NONE)
        decided = self.coordinator.decided()
        if decided:
            logger.info("finishing %d transactions that were decided before the last stop", len(decided))
            self._finish_decided()

    async def finished(self) -> None:
        """What `load` began is done, also where logs had to be flushed in between."""
        await asyncio.gather(*self._running, return_exceptions=True)

    def _load(self, partition: Partition) -> None:
        if partition.log is None:
            return
        for batch in newest_batches_of(partition.log):
            if read_header(batch).is_control:
                continue
            for record in iterate_records(batch, _MAX_BATCH_BYTES):
                decoded = decode_transaction_record(record.key or b"", record.value)
                if decoded is None:
                    continue
                transactional_id, value = decoded
                try:
                    transaction = None if value is None else Transaction.from_value(transactional_id, value)
                except ValueError as error:
                    raise CorruptRecords(f"the record at offset {record.offset}: {error}") from None
                self.coordinator.replay(Change(transactional_id, transaction))

    def reset(self) -> None:
        """`__transaction_state` was deleted, and with it all that was known of transactions."""
        self._log.reset()
        self.coordinator = self._new_coordinator()

    def close(self) -> None:
        """Nothing happens by the clock any more: the logs are about to be closed."""
        if self._retry is not None:
            self._retry.cancel()
        for task in self._running:
            task.cancel()

    def reconfigure(self) -> None:
        """The broker's settings have changed."""
        self.coordinator.settings = self._settings()

    def new_topic(self) -> NewTopic:
        """`__transaction_state` as it is to be made when the first producer looks for its coordinator."""
        config = self._configs().broker
        return NewTopic(
            name=TRANSACTIONS_TOPIC,
            num_partitions=config.transaction_state_log_num_partitions,
            replication_factor=1,
            configs={
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "segment.bytes": str(config.transaction_state_log_segment_bytes),
                "unclean.leader.election.enable": "false",
            },
        )

    def _new_coordinator(self) -> TransactionCoordinator:
        return TransactionCoordinator(
            settings=self._settings(), clock=self._clock, new_producer_id=self._new_producer_id
        )

    def _settings(self) -> TransactionSettings:
        config = self._configs().broker
        return TransactionSettings(
            max_timeout_ms=config.transaction_max_timeout_ms, id_expiration_ms=config.transactional_id_expiration_ms
        )

    # -- requests ---------------------------------------------------------------------------------------------------

    def unavailable(self, transactional_id: str) -> ErrorCode:
        """Why this broker cannot speak for a transactional id now; NONE if it can."""
        return self._log.unavailable(transactional_id)

    @property
    def verifies(self) -> bool:
        return self._configs().broker.transaction_partition_verification_enable

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: tuple[int, int] | None
    ) -> Producer | Coroutine[Any, Any, Producer]:
        return self._run(self._init_producer_id(transactional_id, timeout_ms, expected), Producer)

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: frozenset[TopicPartition],
        client_version: int,
    ) -> ErrorCode | Coroutine[Any, Any, ErrorCode]:
        return self._run(
            self._add_partitions(transactional_id, producer_id, producer_epoch, partitions, client_version),
            lambda error: error,
        )

    def verify_partition(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partition: TopicPartition
    ) -> ErrorCode:
        error = self.unavailable(transactional_id)
        if error is not ErrorCode.NONE:
            return error
        return self.coordinator.verify_partition(transactional_id, producer_id, producer_epoch, partition)

    def end(
        self, transactional_id: str, producer_id: int, producer_epoch: int, *, commit: bool, client_version: int
    ) -> Producer | Coroutine[Any, Any, Producer]:
        return self._run(self._end(transactional_id, producer_id, producer_epoch, commit, client_version), Producer)

    # -- what they do, step by step ---------------------------------------------------------------------------------

    def _init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: tuple[int, int] | None
    ) -> Steps[Producer]:
        while True:
            error = self.unavailable(transactional_id)
            if error is not ErrorCode.NONE:
                return Producer(error)
            known = self.coordinator.find(transactional_id)
            try:
                result = self.coordinator.init_producer_id(transactional_id, timeout_ms, expected)
            except AppendRefused:
                return Producer(_NO_PRODUCER_ID)
            if result.records and result.reply.error is ErrorCode.CONCURRENT_TRANSACTIONS:
                error = yield from self._decide(transactional_id, result)
                if error is not ErrorCode.NONE:
                    return Producer(error)
            elif (yield from self._is_id_durable(known, transactional_id)):
                break
        error = self._write(transactional_id, result.records)
        if error is not ErrorCode.NONE:
            return Producer(error)
        yield self._due(transactional_id)
        return result.reply

    def _add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: frozenset[TopicPartition],
        client_version: int,
    ) -> Steps[ErrorCode]:
        error = self.unavailable(transactional_id)
        if error is not ErrorCode.NONE:
            return error
        result = self.coordinator.add_partitions(
            transactional_id, producer_id, producer_epoch, partitions, client_version
        )
        if result.records:
            error = self._write(transactional_id, result.records)
            if error is not ErrorCode.NONE:
                return error
            yield self._due(transactional_id)
        return result.reply

    def _end(
        self, transactional_id: str, producer_id: int, producer_epoch: int, commit: bool, client_version: int
    ) -> Steps[Producer]:
        error = self.unavailable(transactional_id)
        if error is not ErrorCode.NONE:
            return Producer(error)
        while True:
            known = self.coordinator.find(transactional_id)
            try:
                result = self.coordinator.end(
                    transactional_id, producer_id, producer_epoch, commit=commit, client_version=client_version
                )
            except AppendRefused:
                return Producer(_NO_PRODUCER_ID)
            if not result.records:
                return result.reply
            if (yield from self._is_id_durable(known, transactional_id)):
                break
        error = yield from self._decide(transactional_id, result)
        return result.reply if error is ErrorCode.NONE else Producer(error)

    def _is_id_durable(self, known: Transaction | None, transactional_id: str) -> Steps[bool]:
        """Have the block of a new producer id on the disk; false if what is known has changed while that took its time."""
        if not self._metadata_log.unflushed_messages:
            return True
        yield [self._metadata_log]
        return self.coordinator.find(transactional_id) is known

    def _decide(self, transactional_id: str, result: Result[Change, Any]) -> Steps[ErrorCode]:
        """Write the decision and do what follows from it. NONE as soon as it is decided, even if markers have to wait."""
        error = self._write(transactional_id, result.records)
        if error is ErrorCode.NONE:
            yield self._due(transactional_id)
            yield from self._finish(transactional_id)
        return error

    def _finish(self, transactional_id: str, *, again: bool = False) -> Steps[None]:
        """Every marker, and then the record that says so."""
        if self.unavailable(transactional_id) is not ErrorCode.NONE:
            return
        if again:
            yield self._due(transactional_id)  # the decision, if the disk refused it before
        decided = self.coordinator.find(transactional_id)
        if decided is None or not decided.state.is_decided:
            return
        marked = self._write_markers(decided, again)
        if marked is None:
            self._try_again_later()
            return
        yield [log for log in marked if log.unflushed_messages >= log.config.flush_messages]
        if self.coordinator.find(transactional_id) is not decided:
            return  # while that took its time, another try was done
        error = self._write(transactional_id, self.coordinator.complete(transactional_id).records)
        if error is not ErrorCode.NONE:
            self._try_again_later()

    def _write_markers(self, decided: Transaction, again: bool) -> list[PartitionLog] | None:
        """The logs that were written to; None if some marker could not be."""
        marker = TransactionMarker(
            decided.producer_id,
            decided.producer_epoch,
            decided.state is TransactionState.PREPARE_COMMIT,
            self._log.partition_of(decided.transactional_id).leader_epoch,
        )
        logs = []
        failed = False
        for topic, index in sorted(decided.partitions):
            partition = self._partitions.find(topic, index)
            if partition is None:
                continue  # deleted, and what was written to it with it
            if again and partition.log is not None and _has_marker(partition.log, marker):
                continue
            error = self._markers.write(partition, marker)
            if error is ErrorCode.NONE:
                assert partition.log is not None
                logs.append(partition.log)
            elif error is not ErrorCode.INVALID_PRODUCER_EPOCH:  # a later epoch is there: so is the marker
                failed = True
        return None if failed else logs

    # -- writing ----------------------------------------------------------------------------------------------------

    def _write(self, transactional_id: str, records: Sequence[Change]) -> ErrorCode:
        """Append and replay; NONE, or what the client is to hear."""
        if not records:
            return ErrorCode.NONE
        error = self.unavailable(transactional_id)
        if error is not ErrorCode.NONE:
            return error  # its log was deleted while another was flushed
        body = bytearray()
        for delta, (name, transaction) in enumerate(records):
            value = None if transaction is None else transaction.encoded()
            append_record(body, 0, delta, encode_transaction_key(name), value)
        partition = self._log.partition_of(transactional_id)
        batch = build_batch_at(self._clock(), body, len(records))
        error = self._log.append(partition, batch)
        if error is ErrorCode.NONE:
            for change in records:
                self.coordinator.replay(change)
            partition.grew(len(batch))
        return error

    def _due(self, transactional_id: str) -> Sequence[PartitionLog]:
        """The log of this transactional id if its flush.messages is reached."""
        log = self._log.partition_of(transactional_id).log
        assert log is not None
        return [log] if log.unflushed_messages >= log.config.flush_messages else ()

    def _run(self, steps: Steps[T], refused: Callable[[ErrorCode], T]) -> T | Coroutine[Any, Any, T]:
        """Take all steps, at once if no log is to be flushed between them."""
        try:
            while not (logs := next(steps)):
                pass
        except StopIteration as done:
            result: T = done.value
            return result
        return self._run_flushing(steps, logs, refused)

    async def _run_flushing(
        self, steps: Steps[T], logs: Sequence[PartitionLog], refused: Callable[[ErrorCode], T]
    ) -> T:
        while True:
            flushes = [self._flusher.flushed(log) for log in logs]
            errors = await asyncio.gather(*flushes, return_exceptions=True)
            for log, error in zip(logs, errors, strict=True):
                if isinstance(error, OSError | LogError):
                    # What is written counts nevertheless; a decision that is not on the disk is tried again.
                    logger.error("could not flush %s: %s", log.directory, error)
                    self._try_again_later()
                    return refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
                if isinstance(error, BaseException):
                    raise error
            try:
                while not (logs := next(steps)):
                    pass
            except StopIteration as done:
                result: T = done.value
                return result

    # -- time -------------------------------------------------------------------------------------------------------

    def _try_again_later(self) -> None:
        if self._retry is None:
            self._retry = self._loop.call_later(_RETRY_SECONDS, self._finish_decided)

    def _finish_decided(self) -> None:
        self._retry = None
        for transaction in self.coordinator.decided():
            self._run_in_background(self._finish(transaction.transactional_id, again=True))

    def _run_in_background(self, steps: Steps[object]) -> None:
        unfinished = self._run(steps, lambda error: error)
        if isinstance(unfinished, Coroutine):
            task = self._loop.create_task(unfinished)
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def abort_timed_out(self) -> None:
        """End the transactions that have been open for longer than their producers allowed."""
        for result in self.coordinator.timed_out():
            (transactional_id, _transaction) = result.records[0]
            if self.unavailable(transactional_id) is ErrorCode.NONE:
                logger.info("aborting the transaction of %.200r: it timed out", transactional_id)
                self._run_in_background(self._decide(transactional_id, result))
            await asyncio.sleep(0)

    async def expire_ids(self) -> None:
        """Forget the transactional ids that nobody has used for transactional.id.expiration.ms."""
        turn_ends = monotonic() + _TURN_SECONDS
        for result in self.coordinator.expired():
            transactional_id = result.records[0].transactional_id
            if self.unavailable(transactional_id) is ErrorCode.NONE:
                self._write(transactional_id, result.records)
            if monotonic() > turn_ends:
                await asyncio.sleep(0)
                turn_ends = monotonic() + _TURN_SECONDS


def _has_marker(log: PartitionLog, marker: TransactionMarker) -> bool:
    """Whether this marker, or a later one, is in the log: then an earlier try got so far."""
    producer = log.active_producers().get(marker.producer_id)
    return producer is not None and producer.epoch >= marker.producer_epoch and producer.transaction_first_offset < 0
