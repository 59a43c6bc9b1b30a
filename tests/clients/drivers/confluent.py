"""confluent-kafka (librdkafka) as it comes from PyPI."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, ClassVar, Literal

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from tests.clients.client import (
    WAIT_SECONDS,
    Acks,
    BrokerRefused,
    Client,
    ClientRefused,
    Code,
    Codec,
    Record,
    StoredRecord,
    eventually,
)


class ConfluentKafka(Client):
    name: ClassVar[str] = "confluent-kafka"

    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__(bootstrap_servers)
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers})

    def producer(self, settings: Mapping[str, Any]) -> Producer:
        return Producer({"bootstrap.servers": self.bootstrap_servers, "linger.ms": 5, **settings})

    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        codec: Codec = "none",
        acks: Acks = "all",
        idempotent: bool = False,
    ) -> list[int]:
        try:
            producer = self.producer(
                {
                    "compression.type": codec,
                    "acks": acks,
                    "enable.idempotence": idempotent,
                    # With acks=0 the producer leaves at once. If it has not read an answer then (that to its first
                    # telemetry request), its kernel resets the connection and drops what it has not sent yet.
                    "enable.metrics.push": acks != "0",
                }
            )
        except KafkaException as error:
            raise ClientRefused(error.args[0].str()) from error
        offsets: dict[int, int] = {}
        errors: list[KafkaError] = []
        for position, record in enumerate(records):
            producer.produce(
                topic,
                value=record.value,
                key=record.key,
                partition=record.partition,
                timestamp=record.timestamp or 0,
                headers=list(record.headers),
                on_delivery=_delivery(position, offsets, errors, Message.offset),
            )
        _flush(producer, errors)
        return [offsets[position] for position in range(len(records))]

    def produce_by_key(self, topic: str, keys: Sequence[bytes | None]) -> list[int]:
        return self.partitions_chosen(topic, keys, {"partitioner": "murmur2_random"})

    def partitions_chosen(self, topic: str, keys: Sequence[bytes | None], settings: Mapping[str, Any]) -> list[int]:
        producer = self.producer(settings)
        partitions: dict[int, int] = {}
        errors: list[KafkaError] = []
        for position, key in enumerate(keys):
            on_delivery = _delivery(position, partitions, errors, Message.partition)
            producer.produce(topic, value=b"", key=key, on_delivery=on_delivery)
        _flush(producer, errors)
        return [partitions[position] for position in range(len(keys))]

    def read(
        self, topic: str, partition: int, *, start: int | Literal["earliest"] = "earliest", count: int
    ) -> list[StoredRecord]:
        # OFFSET_BEGINNING would do, but librdkafka then waits half a second before it connects to the leader.
        offset = self.offset_range(topic, partition)[0] if start == "earliest" else start
        consumer = self._consumer()
        try:
            consumer.assign([TopicPartition(topic, partition, offset)])
            stored: list[StoredRecord] = []
            while len(stored) < count:
                messages = consumer.consume(count - len(stored), WAIT_SECONDS)
                assert messages, f"{len(stored)} of {count} records of {topic}-{partition} after {WAIT_SECONDS} s"
                stored.extend(_stored(message) for message in messages)
            return stored
        finally:
            consumer.close()

    def offset_for_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        consumer = self._consumer()
        try:
            [found] = consumer.offsets_for_times([TopicPartition(topic, partition, timestamp)], WAIT_SECONDS)
            return None if found.offset < 0 else found.offset
        finally:
            consumer.close()

    def offset_range(self, topic: str, partition: int) -> tuple[int, int]:
        consumer = self._consumer()
        try:
            earliest, latest = consumer.get_watermark_offsets(TopicPartition(topic, partition), WAIT_SECONDS)
            return earliest, latest
        except KafkaException as error:
            raise _refused(error.args[0]) from error
        finally:
            consumer.close()

    def create_topic(
        self, topic: str, *, partitions: int = 1, replication_factor: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        new_topic = NewTopic(topic, partitions, replication_factor, config=dict(configs or {}))
        _only(self._admin.create_topics([new_topic]))

    def create_ready_topic(self, topic: str, *, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Create the topic and wait until the leader of each partition answers, which in Kafka is a moment later."""
        self.create_topic(topic, partitions=partitions, configs=configs)
        for partition in range(partitions):
            self.wait_for_leader(topic, partition)

    def wait_for_leader(self, topic: str, partition: int) -> None:
        assert eventually(partial(self._leader_answers, topic, partition), bool), f"{topic}-{partition} has no leader"

    def delete_topic(self, topic: str) -> None:
        _only(self._admin.delete_topics([topic]))

    def delete_if_there(self, topic: str) -> None:
        """Delete a topic whose name a tutorial has chosen, and wait until its name is free again."""
        try:
            self.delete_topic(topic)
        except BrokerRefused as refused:
            if refused.code != Code.UNKNOWN_TOPIC_OR_PARTITION:
                raise
        assert topic not in eventually(self.topics, lambda topics: topic not in topics)

    def create_anew(self, topic: str, *, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """A topic of a name that a tutorial has chosen, new and empty. Who still reads an old one makes it again, if brokers let him."""

        def is_ours() -> bool:
            self.delete_if_there(topic)
            try:
                self.create_ready_topic(topic, partitions=partitions, configs=configs)
            except BrokerRefused as refused:
                if refused.code != Code.TOPIC_ALREADY_EXISTS:
                    raise
                return False
            return True

        assert eventually(is_ours, bool), f"somebody else makes {topic} again and again"

    def create_partitions(self, topic: str, total: int) -> None:
        _only(self._admin.create_partitions([NewPartitions(topic, total)]))

    def set_topic_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in configs.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        _only(self._admin.incremental_alter_configs([resource]))

    def topic_configs(self, topic: str) -> dict[str, str]:
        entries = _only(self._admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]))
        return {name: entry.value for name, entry in entries.items()}

    def broker_configs(self, broker_id: int) -> dict[str, str]:
        entries = _only(self._admin.describe_configs([ConfigResource(ResourceType.BROKER, str(broker_id))]))
        return {name: entry.value for name, entry in entries.items()}

    def partition_count(self, topic: str) -> int:
        return len(_only(self._admin.describe_topics(TopicCollection([topic]))).partitions)

    def topics(self) -> set[str]:
        return set(self._admin.list_topics(timeout=WAIT_SECONDS).topics)

    def broker_ids(self) -> list[int]:
        return sorted(self._admin.list_topics(timeout=WAIT_SECONDS).brokers)

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        """By a client that knows nothing: librdkafka believes in the leader of a topic that had this name before, whose epoch was higher."""

        def refusal() -> BrokerRefused | None:
            try:
                admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
                _only(admin.delete_records([TopicPartition(topic, partition, before_offset)]))
            except BrokerRefused as refused:
                return refused
            return None

        left = eventually(refusal, lambda found: found is None or found.code != Code.NOT_LEADER_OR_FOLLOWER)
        if left is not None:
            raise left

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """The committed offset of each partition for which the group has one."""
        asked = [ConsumerGroupTopicPartitions(group)]
        found = _only(self._admin.list_consumer_group_offsets(asked)).topic_partitions
        return {(each.topic, each.partition): each.offset for each in found}

    def group_state(self, group: str) -> str:
        """Kafka's name of the group's state, in capitals."""
        state: str = _only(self._admin.describe_consumer_groups([group])).state.name
        return state

    def group_members(self, group: str) -> set[str]:
        """The client ids of the group's members."""
        return {member.client_id for member in _only(self._admin.describe_consumer_groups([group])).members}

    def group_type(self, group: str) -> str:
        """CLASSIC or CONSUMER, as ListGroups tells it."""
        listed = self._admin.list_consumer_groups().result(WAIT_SECONDS)
        [kind] = [each.type.name for each in listed.valid if each.group_id == group]
        return str(kind)

    def delete_group(self, group: str) -> None:
        _only(self._admin.delete_consumer_groups([group]))

    def forget_group(self, group: str) -> None:
        """Delete a group whose name a tutorial has chosen, if it is there, as soon as its last member has left."""
        assert eventually(partial(self._delete_group_if_empty, group), bool), f"{group} still has members"

    def _delete_group_if_empty(self, group: str) -> bool:
        try:
            self.delete_group(group)
        except BrokerRefused as refusal:
            if refusal.code == Code.NON_EMPTY_GROUP:
                return False
            if refusal.code != Code.GROUP_ID_NOT_FOUND:
                raise
        return True

    def _leader_answers(self, topic: str, partition: int) -> bool:
        try:
            self.offset_range(topic, partition)
        except BrokerRefused:
            return False
        return True

    def _consumer(self) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "group.id": "never-joined",  # librdkafka wants one even for assign()
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 100,
            }
        )


def _delivery(
    position: int,
    results: dict[int, int],
    errors: list[KafkaError],
    wanted: Callable[[Message], int | None],
) -> Callable[[KafkaError | None, Message], None]:
    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            errors.append(error)
        result = wanted(message)
        results[position] = -1 if result is None else result

    return delivered


def _flush(producer: Producer, errors: list[KafkaError]) -> None:
    assert producer.flush(WAIT_SECONDS) == 0, "not delivered in time"
    if errors:
        raise _refused(errors[0])


def _refused(error: KafkaError) -> BrokerRefused:
    return BrokerRefused(error.code(), error.str())


def _only(futures: Mapping[Any, "Future[Any]"]) -> Any:
    [future] = futures.values()
    try:
        return future.result(WAIT_SECONDS)
    except KafkaException as error:
        raise _refused(error.args[0]) from error


def _stored(message: Message) -> StoredRecord:
    error = message.error()
    if error is not None:
        out_of_range = error.code() == KafkaError._AUTO_OFFSET_RESET  # what auto.offset.reset=error makes of it
        raise BrokerRefused(Code.OFFSET_OUT_OF_RANGE, error.str()) if out_of_range else _refused(error)
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    headers = message.headers() or []
    assert isinstance(headers, list)
    return StoredRecord(
        offset=offset,
        partition=partition,
        timestamp=message.timestamp()[1],
        key=message.key(),
        value=message.value(),
        headers=tuple((name, value.encode() if isinstance(value, str) else value) for name, value in headers),
    )
