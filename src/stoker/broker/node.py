"""What the handlers of one broker share, and what they do to it together: topics and configs, made and changed."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import cached_property
from logging import getLogger
from random import Random
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from stoker.broker.config.alter import configs_of_new_topic
from stoker.broker.config.broker_config import BrokerConfig
from stoker.broker.config.errors import ConfigRefused
from stoker.broker.config.image import ConfigChange, ConfigImage, ResourceType
from stoker.broker.fetch_sessions import FetchSessions
from stoker.broker.flusher import Flusher
from stoker.broker.log_directories import LogDirectories
from stoker.broker.metadata import TRANSACTIONS_TOPIC, ClusterMetadata, TopicState
from stoker.broker.metadata_log import MetadataLog
from stoker.broker.partitions import Partition, Partitions
from stoker.broker.topics import (
    NewTopic,
    TopicPlan,
    TopicRefused,
    TopicRules,
    plan_growth,
    plan_removal,
    plan_topic,
)
from stoker.coordinators.producer_ids import ProducerIds
from stoker.log.errors import AppendRefused
from stoker.log.partition import Clock, PartitionLog
from stoker.wire.error_codes import ErrorCode
from stoker.wire.metadata_records import ConfigRecord, MetadataRecord
from stoker.wire.uuids import draw_uuid

if TYPE_CHECKING:
    from stoker.broker.connection import Connection
    from stoker.broker.group_service import GroupService
    from stoker.broker.schema_validation import SchemaValidation
    from stoker.broker.transaction_markers import TransactionMarkers
    from stoker.broker.transaction_service import TransactionService

logger = getLogger("stoker.broker")

T = TypeVar("T")

_PARTITIONS_PER_TURN = 50
"""New logs that are made before other requests get their turn."""


class Node:
    """One broker. Belongs to its event loop's thread."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        metadata_log: MetadataLog,
        log_directories: LogDirectories,
        loop: asyncio.AbstractEventLoop,
        executor: Executor,
        clock: Clock,
        random: Random,
    ) -> None:
        self.cluster_id = log_directories.cluster_id
        self.node_id = config.node_id
        self.directory_id = log_directories.directory_id
        self.loop = loop
        self.clock = clock
        self.metadata_log = metadata_log
        self.metadata: ClusterMetadata = metadata_log.metadata
        self.configs = ConfigImage(config, self.metadata.configs)
        self.log_directories = log_directories
        self.partitions = Partitions()
        self.flusher = Flusher(loop, executor)
        self.producer_ids = ProducerIds(config.node_id, self.metadata.next_producer_id)
        self.fetch_sessions = FetchSessions(config.max_incremental_fetch_session_cache_slots, random)
        self._executor = executor
        self._reading_records = asyncio.Lock()
        self._random = random
        self._growing: set[str] = set()
        self._advertised = {listener.name: listener for listener in config.advertised_listeners}

    @cached_property
    def groups(self) -> "GroupService":
        """The groups, as their log has them. Made when it is first needed: not every broker has groups."""
        from stoker.broker.group_service import GroupService

        groups = GroupService(
            configs=lambda: self.configs,
            metadata=self.metadata,
            partitions=self.partitions,
            flusher=self.flusher,
            loop=self.loop,
            clock=self.clock,
            new_uuid=self._new_uuid,
        )
        groups.load()
        return groups

    @property
    def _has_groups(self) -> bool:
        return "groups" in vars(self)

    @cached_property
    def transactions(self) -> "TransactionService":
        """The transactions, as their log has them; those that were decided are finished. Made when first needed."""
        from stoker.broker.transaction_service import TransactionService

        transactions = TransactionService(
            configs=lambda: self.configs,
            partitions=self.partitions,
            metadata_log=self.metadata_log.log,
            new_producer_id=self.new_producer_id,
            markers=self.transaction_markers,
            flusher=self.flusher,
            loop=self.loop,
            clock=self.clock,
        )
        transactions.load()
        return transactions

    @cached_property
    def transaction_markers(self) -> "TransactionMarkers":
        from stoker.broker.transaction_markers import TransactionMarkers

        return TransactionMarkers(lambda: self.groups if self._has_groups else None)

    @property
    def _has_transactions(self) -> bool:
        return "transactions" in vars(self)

    @cached_property
    def schema_validation(self) -> "SchemaValidation":
        """Which schemas there are. Made when a topic with schema validation is first written to."""
        from stoker.broker.schema_validation import SchemaValidation

        return SchemaValidation(self.partitions, self.read_records)

    async def make_internal_topic(self, name: str) -> None:
        """Have the log of a coordinator. Raises TopicRefused or ConfigRefused."""
        service = self.transactions if name == TRANSACTIONS_TOPIC else self.groups
        try:
            if name not in self.metadata.topics:
                await self.create_topic(service.new_topic())
        except TopicRefused as refusal:
            if refusal.error_code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise

    def new_producer_id(self) -> int:
        """One that was never given out; it may be told when the metadata log is on the disk. Raises AppendRefused."""
        result = self.producer_ids.next_producer_id()
        try:
            self.metadata_log.append(result.records)
        except AppendRefused:
            self.producer_ids = ProducerIds(self.node_id, self.metadata.next_producer_id)
            raise
        return result.reply

    def close(self) -> None:
        """Nothing is to be written any more."""
        if self._has_groups:
            self.groups.close()
        if self._has_transactions:
            self.transactions.close()

    @property
    def config(self) -> BrokerConfig:
        """The broker's settings in force, dynamic ones included."""
        return self.configs.broker

    def address_for(self, connection: "Connection") -> tuple[str, int]:
        """Where a client that came by this connection finds the broker again.

        A listener on every interface that is advertised nowhere is best known by the address the client reached.
        """
        advertised = self._advertised.get(connection.listener)
        host, port = connection.local_address
        if advertised is None:
            return host, port
        wildcard = advertised.host in ("", "0.0.0.0", "::")
        return host if wildcard else advertised.host, advertised.port or port

    async def read_records(self, work: Callable[[], T]) -> T:
        """Do on a worker thread what reads the records of a batch, of which there may be millions.

        One such work at a time: more would only take the interpreter away from the event loop.
        """
        async with self._reading_records:
            return await self.loop.run_in_executor(self._executor, work)

    # -- topics -----------------------------------------------------------------------------------------------------

    def serve(self, topic: TopicState, index: int, log: PartitionLog | None) -> None:
        """Take in the next partition of a topic; without a log it is offline."""
        leader_epoch = topic.partitions[index].leader_epoch
        self.partitions.add(Partition(topic.name, topic.topic_id, index, leader_epoch, log))

    def plan_topic(self, wanted: NewTopic) -> TopicPlan:
        """The records that would make a topic; raises TopicRefused or ConfigRefused."""
        plan = plan_topic(wanted, self.metadata, self._topic_rules())
        changes = configs_of_new_topic(self.configs, wanted.name, list(wanted.configs.items()))
        plan.records.extend(_config_records(changes))
        return plan

    async def create_topic(self, wanted: NewTopic) -> TopicPlan:
        """Make a topic; when this returns it is on disk and can be used. Raises TopicRefused or ConfigRefused."""
        plan = self.plan_topic(wanted)
        await self._add_partitions(wanted.name, plan.topic_id, range(plan.num_partitions), plan.records)
        logger.info("created topic %s with %d partition(s)", wanted.name, plan.num_partitions)
        if plan.note:
            logger.warning("%s", plan.note)
        return plan

    async def grow_topic(
        self, topic: TopicState, count: int, assignments: Sequence[Sequence[int]] | None, *, validate_only: bool
    ) -> None:
        """Give a topic more partitions; raises TopicRefused."""
        records = plan_growth(topic, count, assignments, self._topic_rules())
        if not validate_only:
            await self._add_partitions(topic.name, topic.topic_id, range(len(topic.partitions), count), records)
            logger.info("topic %s has %d partitions now", topic.name, count)

    async def _add_partitions(
        self, topic: str, topic_id: UUID, indexes: range, records: Sequence[MetadataRecord]
    ) -> None:
        """The logs first, then the records that make them known: where the disk refuses either, nothing was changed."""
        if topic in self._growing:
            raise TopicRefused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic}' is being made by another request.")
        self._growing.add(topic)
        logs: list[PartitionLog] = []
        try:
            config = self.configs.log_config_for(topic)
            for index in indexes:
                logs.append(self.log_directories.create(topic, index, topic_id, config))
                if index % _PARTITIONS_PER_TURN == _PARTITIONS_PER_TURN - 1:
                    await asyncio.sleep(0)
            if indexes.start and topic_id not in self.metadata.topics_by_id:
                raise FileNotFoundError("it was deleted meanwhile")
            self.metadata_log.append(records)
        except (OSError, AppendRefused) as error:
            for log in logs:
                self.log_directories.remove(log)
            raise TopicRefused(
                ErrorCode.KAFKA_STORAGE_ERROR, f"Topic '{topic}' could not be stored: {error}"
            ) from error
        finally:
            self._growing.discard(topic)
        state = self.metadata.topics[topic]
        for index, log in zip(indexes, logs, strict=True):
            self.serve(state, index, log)
        self._reconfigure([topic])
        await self._metadata_flushed()

    async def delete_topics(self, topics: Sequence[TopicState]) -> None:
        """Raises TopicRefused, and then all topics are still there."""
        records: list[MetadataRecord] = []
        for topic in topics:
            if topic.name in self.metadata.topics:
                records += plan_removal(topic)
        try:
            self.metadata_log.append(records)
        except AppendRefused as refusal:
            raise TopicRefused(refusal.error_code, str(refusal)) from refusal
        for topic in topics:
            for partition in self.partitions.remove_topic(topic.name):
                if partition.log is not None:
                    self.log_directories.remove(partition.log)
            logger.info("deleted topic %s", topic.name)
        if self._has_groups:
            self.groups.forget_topics(topic.name for topic in topics)
        if self._has_transactions and any(topic.name == TRANSACTIONS_TOPIC for topic in topics):
            self.transactions.reset()
        await self._metadata_flushed()

    async def _metadata_flushed(self) -> None:
        """Raises TopicRefused when the disk does not take what was changed: it is in force, but may not last."""
        try:
            await self.flusher.flushed(self.metadata_log.log)
        except OSError as error:
            logger.error("the metadata log could not be flushed: %s", error)
            raise TopicRefused(
                ErrorCode.KAFKA_STORAGE_ERROR, f"The change is made but may not be on the disk: {error}"
            ) from error

    def _topic_rules(self) -> TopicRules:
        config = self.config
        return TopicRules(
            node_id=self.node_id,
            directory_id=self.directory_id,
            num_partitions=config.num_partitions,
            replication_factor=config.default_replication_factor,
            refuse_more_replicas=config.stoker_replication_factor_policy == "refuse",
            new_topic_id=self._new_uuid,
        )

    def _new_uuid(self) -> UUID:
        return draw_uuid(lambda: UUID(int=self._random.getrandbits(128), version=4))

    # -- configs ----------------------------------------------------------------------------------------------------

    async def alter_configs(self, changes: Sequence[ConfigChange]) -> None:
        """Write changes that were checked; they are in force when this returns. Raises ConfigRefused or TopicRefused."""
        try:
            self.metadata_log.append(_config_records(changes))
        except AppendRefused as refusal:
            raise ConfigRefused(refusal.error_code, str(refusal)) from refusal
        if any(change.resource_type is ResourceType.BROKER for change in changes):
            self.configs = ConfigImage(self.configs.file, self.metadata.configs)
            self._reconfigure(list(self.metadata.topics))
            if self._has_groups:
                self.groups.reconfigure()
            if self._has_transactions:
                self.transactions.reconfigure()
        else:
            self._reconfigure([c.resource_name for c in changes if c.resource_type is ResourceType.TOPIC])
        for change in changes:
            logger.info(
                "config %.200r of %s %.200r is %s now",
                change.name,
                change.resource_type.name.lower(),
                change.resource_name or "default",
                _shown(change),
            )
        await self._metadata_flushed()

    def _reconfigure(self, topics: Sequence[str]) -> None:
        for topic in set(topics):
            config = self.configs.log_config_for(topic)
            for partition in self.partitions.of_topic(topic) or ():
                if partition.log is not None:
                    partition.log.reconfigure(config)


def _config_records(changes: Sequence[ConfigChange]) -> list[MetadataRecord]:
    return [
        ConfigRecord(
            resource_type=change.resource_type,
            resource_name=change.resource_name,
            name=change.name,
            value=change.value,
        )
        for change in changes
    ]


def _shown(change: ConfigChange) -> str:
    """A new value for the log. Topics have no secrets; the values of brokers may be some."""
    if change.value is None:
        return "its default"
    return repr(change.value[:200]) if change.resource_type is ResourceType.TOPIC else "changed"
