"""confluent-kafka (librdkafka), which speaks the classic protocol of transactions."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tests.clients.client import WAIT_SECONDS, Codec
from tests.clients.groups.kinds import HEARTBEAT_MS
from tests.clients.transactions.transactional_client import (
    GroupMember,
    GroupProtocol,
    Isolation,
    Partition,
    TransactionalClient,
    TransactionalProducer,
    TransactionFailed,
)


class ConfluentTransactions(TransactionalClient):
    name: ClassVar[str] = "confluent-kafka"
    protocols: ClassVar[tuple[GroupProtocol, ...]] = ("classic", "consumer")

    def _producer(self, transactional_id: str, timeout_ms: int, codec: Codec) -> "ConfluentProducer":
        settings = {
            "bootstrap.servers": self.bootstrap_servers,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout_ms,
            "message.timeout.ms": timeout_ms,  # it may not be longer
            "compression.type": codec,
        }
        with _told():
            return ConfluentProducer(settings)

    def _member(self, group: str, topic: str, protocol: GroupProtocol) -> "ConfluentMember":
        settings = {"group.id": group, "group.protocol": protocol, "auto.offset.reset": "earliest"}
        if protocol == "classic":
            settings["heartbeat.interval.ms"] = str(HEARTBEAT_MS)
        return ConfluentMember(self._consumer("read_committed", settings), group, topic)

    def read(self, topic: str, *, isolation: Isolation, count: int) -> list[bytes]:
        consumer = self._consumer(isolation, {"group.id": "never-joined"})
        try:
            consumer.assign([TopicPartition(topic, 0, 0)])
            return _next_values(consumer, count)
        finally:
            consumer.close()

    def read_to_end(self, topic: str, *, isolation: Isolation) -> list[bytes]:
        consumer = self._consumer(isolation, {"group.id": "never-joined", "enable.partition.eof": "true"})
        try:
            consumer.assign([TopicPartition(topic, 0, 0)])
            values: list[bytes] = []
            while True:
                message = consumer.poll(WAIT_SECONDS)
                assert message is not None, f"{len(values)} records and no end of {topic} after {WAIT_SECONDS} s"
                error = message.error()
                if error is not None and error.code() == KafkaError._PARTITION_EOF:
                    return values
                values.append(_value(message))
        finally:
            consumer.close()

    def end(self, topic: str, *, isolation: Isolation) -> int:
        consumer = self._consumer(isolation, {"group.id": "never-joined"})
        try:
            return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), WAIT_SECONDS)[1])
        finally:
            consumer.close()

    def _consumer(self, isolation: Isolation, settings: Mapping[str, str]) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "enable.auto.commit": False,
                "isolation.level": isolation,
                "fetch.wait.max.ms": 100,
                **settings,
            }
        )


class ConfluentProducer(TransactionalProducer):
    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._producer = Producer(dict(settings))
        self._bootstrap_servers = settings["bootstrap.servers"]
        self._producer.init_transactions(WAIT_SECONDS)

    def begin(self) -> None:
        with _told():
            self._producer.begin_transaction()

    def send(self, topic: str, values: Sequence[bytes], *, partition: int = 0) -> list[int]:
        delivered: list[tuple[KafkaError | None, Message]] = []
        with _told():
            for value in values:
                self._producer.produce(
                    topic, value, partition=partition, on_delivery=lambda *each: delivered.append(each)
                )
            self._producer.flush(WAIT_SECONDS)
            assert len(delivered) == len(values), f"{len(delivered)} of {len(values)} records were delivered"
            for error, _ in delivered:
                if error is not None:
                    raise KafkaException(error)
        return [message.offset() or 0 for _, message in delivered]

    def send_offsets(self, to: GroupMember | str, offsets: Mapping[Partition, int]) -> None:
        wanted = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
        if isinstance(to, ConfluentMember):
            metadata = to.metadata
        else:
            nobody = Consumer({"bootstrap.servers": self._bootstrap_servers, "group.id": str(to)})
            metadata = nobody.consumer_group_metadata()
            nobody.close()
        with _told():
            self._producer.send_offsets_to_transaction(wanted, metadata, WAIT_SECONDS)

    def commit(self) -> None:
        with _told():
            self._producer.commit_transaction(WAIT_SECONDS)

    def abort(self) -> None:
        with _told():
            self._producer.abort_transaction(WAIT_SECONDS)

    def close(self) -> None:
        self._producer.purge()  # what was never sent must not be waited for
        del (
            self._producer
        )  # what was raised may keep this object for long: librdkafka would look for its broker all the time


class ConfluentMember(GroupMember):
    def __init__(self, consumer: Consumer, group: str, topic: str) -> None:
        self.group = group
        self.metadata: object = None
        self._consumer = consumer
        self._consumer.subscribe([topic])

    def poll(self, count: int) -> list[bytes]:
        values = _next_values(self._consumer, count)
        self.metadata = self._consumer.consumer_group_metadata()
        return values

    def rewind(self) -> None:
        for each in self._consumer.committed(self._consumer.assignment(), WAIT_SECONDS):
            if each.offset < 0:
                each.offset = OFFSET_BEGINNING
            self._consumer.seek(each)

    def close(self) -> None:
        self._consumer.close()


def _next_values(consumer: Consumer, count: int) -> list[bytes]:
    values: list[bytes] = []
    while len(values) < count:
        messages = consumer.consume(count - len(values), WAIT_SECONDS)
        assert messages, f"{len(values)} of {count} records after {WAIT_SECONDS} s"
        values += map(_value, messages)
    return values


def _value(message: Message) -> bytes:
    error = message.error()
    if error is not None:
        raise KafkaException(error)
    return message.value() or b""


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except (KafkaException, SystemError) as failure:
        # A fatal error is raised while the delivery callback is called, which makes a SystemError of it.
        told = failure.__cause__ if isinstance(failure, SystemError) else failure
        if not isinstance(told, KafkaException):
            raise
        error: KafkaError = told.args[0]
        raise TransactionFailed(error.name(), error.str()) from failure
