"""Groups on this broker: what the coordinator decides is written to `__consumer_offsets`, then answered.

The coordinator itself (stoker.coordinators.groups) knows neither logs nor the event loop. Here its records become one
batch of the group's partition, its replies go to the clients that wait, and its deadlines are timers of the loop.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from logging import getLogger
from time import monotonic
from typing import Any, Final, TypeVar
from uuid import UUID

from stoker.broker.config.image import ConfigImage, ResourceType
from stoker.broker.coordinator_topic import CoordinatorTopic
from stoker.broker.flusher import Flusher
from stoker.broker.log_replay import newest_batches_of
from stoker.broker.metadata import OFFSETS_TOPIC, ClusterMetadata
from stoker.broker.partitions import Partition, Partitions
from stoker.broker.reply import Deferred, EncodedBody
from stoker.broker.request import RequestContext
from stoker.broker.topics import NewTopic
from stoker.coordinators.groups.context import ClientInfo, ConsumerGroupSettings, GroupContext, GroupSettings
from stoker.coordinators.groups.coordinator import GroupCoordinator
from stoker.coordinators.groups.pending_offsets import InTransaction
from stoker.coordinators.result import Result, Waiting
from stoker.log.errors import LogError
from stoker.log.partition import Clock
from stoker.log.producer_state import AppendOrigin
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupRecord, UnknownGroupRecord, decode_group_record, encode_key, encode_value
from stoker.wire.record_batch import (
    BatchHeader,
    ControlType,
    TransactionalProducer,
    append_record,
    build_batch_at,
    control_type_of,
    iterate_records,
    read_header,
)
from stoker.wire.schema import Response
from stoker.wire.topic_commits import TopicCommits

logger = getLogger("stoker.broker")

Entry = GroupRecord | TopicCommits
ReplyT = TypeVar("ReplyT", bound=Response | EncodedBody)

_MAX_BATCH_BYTES: Final = 128 * 1024 * 1024
_MINUTE_MS: Final = 60_000
_TURN_SECONDS: Final = 0.01
"""How long work that nobody waits for may hold up others."""


class GroupService:
    """The group coordinator of one broker. Belongs to the event loop's thread."""

    def __init__(
        self,
        *,
        configs: Callable[[], ConfigImage],
        metadata: ClusterMetadata,
        partitions: Partitions,
        flusher: Flusher,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        new_uuid: Callable[[], UUID],
    ) -> None:
        self._configs = configs
        self._metadata = metadata
        self._log = CoordinatorTopic(OFFSETS_TOPIC, partitions)
        self._flusher = flusher
        self._loop = loop
        self._clock = clock
        self._new_uuid = new_uuid
        self._timer: asyncio.Handle | None = None
        self._timer_ms = 0
        self.coordinator = self._new_coordinator()

    # -- life -------------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Make the groups from what was written. A log that cannot be read leaves its groups without a coordinator."""
        if not self._log.load(self._load):
            self.coordinator.abandon(lambda group_id: self.unavailable(group_id) is not ErrorCode.NONE)
        self.coordinator.loaded()
        self._set_timer()

    def _load(self, partition: Partition) -> None:
        if partition.log is None:
            return
        for batch in newest_batches_of(partition.log):
            header = read_header(batch)
            if header.is_control:
                self._load_marker(partition, header, batch)
                continue
            transaction = InTransaction(partition.index, header.producer_id) if header.is_transactional else None
            for record in iterate_records(batch, _MAX_BATCH_BYTES):
                decoded = decode_group_record(record.key or b"", record.value)
                if not isinstance(decoded, UnknownGroupRecord):
                    self.coordinator.replay(decoded, transaction)

    def _load_marker(self, partition: Partition, header: BatchHeader, batch: memoryview) -> None:
        for record in iterate_records(batch, _MAX_BATCH_BYTES):
            control_type = control_type_of(record)
            if control_type is not None:
                self.transaction_ended(partition, header.producer_id, committed=control_type is ControlType.COMMIT)

    def reset(self) -> None:
        """`__consumer_offsets` was deleted, and all groups with it."""
        for waiting, reply in self.coordinator.abandon(lambda group_id: True):
            waiting.resolve(reply)
        self._log.reset()
        self.coordinator = self._new_coordinator()
        self.coordinator.loaded()

    def close(self) -> None:
        """Nothing happens by the clock any more: the logs are about to be closed."""
        if self._timer is not None:
            self._timer.cancel()

    def reconfigure(self) -> None:
        """The broker's settings have changed."""
        self.coordinator.configure(self._settings())

    def new_topic(self) -> NewTopic:
        """`__consumer_offsets` as it is to be made when the first group looks for its coordinator."""
        config = self._configs().broker
        return NewTopic(
            name=OFFSETS_TOPIC,
            num_partitions=config.offsets_topic_num_partitions,
            replication_factor=1,
            configs={
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(config.offsets_topic_segment_bytes),
            },
        )

    def _new_coordinator(self) -> GroupCoordinator:
        return GroupCoordinator(
            GroupContext(
                settings=self._settings(),
                topics=self._metadata,
                wall_clock=self._clock,
                timer_clock=lambda: int(self._loop.time() * 1000),
                new_uuid=self._new_uuid,
                loading=True,
            )
        )

    def _settings(self) -> GroupSettings:
        config = self._configs().broker
        own = ConsumerGroupSettings(
            session_timeout_ms=config.group_consumer_session_timeout_ms,
            heartbeat_interval_ms=config.group_consumer_heartbeat_interval_ms,
            assignment_interval_ms=config.group_consumer_assignment_interval_ms,
        )
        return GroupSettings(
            initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
            min_session_timeout_ms=config.group_min_session_timeout_ms,
            max_session_timeout_ms=config.group_max_session_timeout_ms,
            max_size=config.group_max_size,
            consumer_max_size=config.group_consumer_max_size,
            consumer_assignors=config.group_consumer_assignors,
            consumer_migration_policy=config.group_consumer_migration_policy.lower(),
            consumer_regex_refresh_interval_ms=config.group_consumer_regex_refresh_interval_ms,
            consumer_group=lambda group_id: self._settings_of(group_id, own),
            offset_metadata_max_bytes=config.offset_metadata_max_bytes,
            offsets_retention_ms=config.offsets_retention_minutes * _MINUTE_MS,
        )

    def _settings_of(self, group_id: str, brokers: ConsumerGroupSettings) -> ConsumerGroupSettings:
        configs = self._configs()
        if not configs.stored_of(ResourceType.GROUP, group_id):
            return brokers
        return ConsumerGroupSettings(
            session_timeout_ms=configs.group_integer(group_id, "consumer.session.timeout.ms"),
            heartbeat_interval_ms=configs.group_integer(group_id, "consumer.heartbeat.interval.ms"),
            assignment_interval_ms=configs.group_integer(group_id, "consumer.assignment.interval.ms"),
        )

    # -- requests ---------------------------------------------------------------------------------------------------

    def unavailable(self, group_id: str) -> ErrorCode:
        """Why this broker cannot speak for a group now; NONE if it can."""
        return self._log.unavailable(group_id)

    def partition_of(self, group_id: str) -> Partition:
        """Where an available group is written."""
        return self._log.partition_of(group_id)

    def perform(
        self,
        group_id: str,
        operation: Callable[[], Result[Entry, ReplyT | Waiting[ReplyT]]],
        refused: Callable[[ErrorCode], ReplyT],
        producer: TransactionalProducer | None = None,
    ) -> ReplyT | Deferred | Coroutine[Any, Any, ReplyT | Deferred]:
        """Let the coordinator do its work, write what it gives, answer. `refused` makes the reply that tells an error.

        What a `producer` writes is part of its transaction.
        """
        error = self._log.unavailable(group_id)
        if error is not ErrorCode.NONE:
            return refused(error)
        result = operation()
        while result.records:
            partition = self._log.partition_of(group_id)
            assert partition.log is not None
            error = self._write(partition, result.records, producer)
            if error is ErrorCode.NONE:
                if partition.log.unflushed_messages >= partition.log.config.flush_messages:
                    return self._flush_then_reply(partition, result, refused)
                break
            if result.if_refused is None:
                return refused(error)
            result = result.if_refused(error)
        return self._reply(result)

    def _reply(self, result: Result[Entry, ReplyT | Waiting[ReplyT]]) -> ReplyT | Deferred:
        for waiting, reply in result.answers:
            waiting.resolve(reply)
        self._set_timer()
        if isinstance(result.reply, Waiting):
            deferred = Deferred()
            result.reply.when_resolved(deferred.resolve)
            return deferred
        return result.reply

    async def _flush_then_reply(
        self,
        partition: Partition,
        result: Result[Entry, ReplyT | Waiting[ReplyT]],
        refused: Callable[[ErrorCode], ReplyT],
    ) -> ReplyT | Deferred:
        """With `flush.messages` set, who waits is told when it is on the disk.

        If the disk fails the group is nevertheless as it was written, and those who waited for that are told.
        """
        assert partition.log is not None
        try:
            await self._flusher.flushed(partition.log)
        except (OSError, LogError) as error:
            logger.error("could not flush %s: %s", partition, error)
            self._reply(result)
            return refused(ErrorCode.NOT_COORDINATOR)
        return self._reply(result)

    def write(self, group_id: str, records: Sequence[GroupRecord]) -> ErrorCode:
        """Append and replay records of a group, in as many batches as it takes; NONE, or why it could not be done."""
        error = self.unavailable(group_id)
        if error is not ErrorCode.NONE:
            return error
        return self._write_in_batches(self._log.partition_of(group_id), records)

    def _write_in_batches(self, partition: Partition, records: Iterable[GroupRecord]) -> ErrorCode:
        assert partition.log is not None
        room = partition.log.config.max_message_bytes // 2
        batch: list[GroupRecord] = []
        size = 0
        for record in records:
            size += len(encode_key(record.key)) + (len(encode_value(record.value)) if record.value is not None else 0)
            if size > room and batch:
                error = self._write(partition, batch)
                if error is not ErrorCode.NONE:
                    return error
                batch, size = [], 0
            batch.append(record)
        return self._write(partition, batch) if batch else ErrorCode.NONE

    def _write(
        self, partition: Partition, records: Sequence[Entry], producer: TransactionalProducer | None = None
    ) -> ErrorCode:
        """Append and replay; NONE, or what the client is to hear."""
        batch = self._batch_of(records, producer)
        origin = AppendOrigin.CLIENT if producer is None else AppendOrigin.COORDINATOR
        error = self._log.append(partition, batch, origin)
        if error is not ErrorCode.NONE:
            return error
        transaction = None if producer is None else InTransaction(partition.index, producer.producer_id)
        for record in records:
            self.coordinator.replay(record, transaction)
        partition.grew(len(batch))
        return ErrorCode.NONE

    def _batch_of(self, records: Sequence[Entry], producer: TransactionalProducer | None) -> bytearray:
        body = bytearray()
        count = 0
        for record in records:
            if isinstance(record, TopicCommits):
                record.append_to(body, count)
                count += len(record.partitions)
            else:
                key, value = record
                append_record(body, 0, count, encode_key(key), None if value is None else encode_value(value))
                count += 1
        codec = self._configs().broker.offsets_topic_compression_codec
        return build_batch_at(self._clock(), body, count, codec=codec, transactional_producer=producer)

    def transaction_ended(self, partition: Partition, producer_id: int, *, committed: bool) -> None:
        """The marker of a transaction is in this partition of `__consumer_offsets`: its offsets count now, or never."""
        self.coordinator.end_transaction(InTransaction(partition.index, producer_id), committed=committed)

    # -- time and topics --------------------------------------------------------------------------------------------

    def _set_timer(self) -> None:
        deadline_ms = self.coordinator.next_deadline_ms
        if deadline_ms is None:
            return
        if self._timer is not None:
            # Not `when()`: uvloop's handle of a time that has passed already is without it.
            if self._timer_ms <= deadline_ms:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(deadline_ms / 1000, self._time_has_come)
        self._timer_ms = deadline_ms

    def _time_has_come(self) -> None:
        """In turns: many members may have gone at once."""
        self._timer = None
        turn_ends = monotonic() + _TURN_SECONDS
        try:
            for group_id, result in self.coordinator.expire():
                self._settle(group_id, result)
                if monotonic() > turn_ends:
                    break
        finally:
            self._set_timer()

    def _settle(self, group_id: str, result: Result[Entry, Any]) -> None:
        """Apply a result that no request of its own waits for."""
        if result.records:
            error = self._write(self._log.partition_of(group_id), result.records)
            if error is not ErrorCode.NONE:
                if result.if_refused is not None:
                    self._settle(group_id, result.if_refused(error))
                return
        for waiting, reply in result.answers:
            waiting.resolve(reply)

    async def expire_offsets(self) -> None:
        """Forget the offsets whose retention is over, and the groups that have nothing left."""
        turn_ends = monotonic() + _TURN_SECONDS
        for group_id, records in self.coordinator.expire_offsets():
            if records:
                self.write(group_id, records)
            if monotonic() > turn_ends:
                await asyncio.sleep(0)
                turn_ends = monotonic() + _TURN_SECONDS

    def forget_topics(self, topics: Iterable[str]) -> None:
        """Topics were deleted: their offsets mean nothing any more."""
        gone = frozenset(topics)
        if OFFSETS_TOPIC in gone:
            self.reset()
        by_partition: dict[Partition, list[GroupRecord]] = {}
        for group_id, records in self.coordinator.forget_topics(gone):
            by_partition.setdefault(self._log.partition_of(group_id), []).extend(records)
        for partition, records in by_partition.items():
            self._write_in_batches(partition, records)


def client_info(context: RequestContext) -> ClientInfo:
    """Who sends a request, as groups remember their members."""
    return ClientInfo(client_id=context.client_id or "", host=f"/{context.connection.peer_host}")
