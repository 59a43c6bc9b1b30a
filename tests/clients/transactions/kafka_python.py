"""kafka-python, which speaks the classic protocol of transactions."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError

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

WAIT_MS = int(WAIT_SECONDS * 1000)


class KafkaPythonTransactions(TransactionalClient):
    name: ClassVar[str] = "kafka-python"

    def _producer(self, transactional_id: str, timeout_ms: int, codec: Codec) -> "KafkaPythonProducer":
        return KafkaPythonProducer(
            bootstrap_servers=self.bootstrap_servers,
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            compression_type=None if codec == "none" else codec,
        )

    def _member(self, group: str, topic: str, protocol: GroupProtocol) -> "KafkaPythonMember":
        consumer = self._consumer(
            "read_committed", group_id=group, auto_offset_reset="earliest", heartbeat_interval_ms=HEARTBEAT_MS
        )
        consumer.partitions_for_topic(topic)  # else it may join before it knows them
        return KafkaPythonMember(consumer, group, topic)

    def read(self, topic: str, *, isolation: Isolation, count: int) -> list[bytes]:
        consumer = self._consumer(isolation)
        try:
            _go_to_beginning(consumer, topic)
            return _next_values(consumer, count)
        finally:
            consumer.close()

    def read_to_end(self, topic: str, *, isolation: Isolation) -> list[bytes]:
        where = TopicPartition(topic, 0)
        consumer = self._consumer(isolation)
        try:
            _go_to_beginning(consumer, topic)
            end = consumer.end_offsets([where])[where]
            values = []
            while consumer.position(where) < end:
                for records in consumer.poll(WAIT_MS).values():
                    values += [record.value for record in records]
            return values
        finally:
            consumer.close()

    def end(self, topic: str, *, isolation: Isolation) -> int:
        where = TopicPartition(topic, 0)
        consumer = self._consumer(isolation)
        try:
            return int(consumer.end_offsets([where])[where])
        finally:
            consumer.close()

    def _consumer(self, isolation: Isolation, **settings: Any) -> Any:
        return KafkaConsumer(
            bootstrap_servers=self.bootstrap_servers,
            enable_auto_commit=False,
            isolation_level=isolation,
            fetch_max_wait_ms=100,
            **settings,
        )


class KafkaPythonProducer(TransactionalProducer):
    def __init__(self, **settings: Any) -> None:
        self._producer = KafkaProducer(**settings)
        try:
            with _told():
                self._producer.init_transactions()
        except TransactionFailed:
            self._producer.close(0)
            raise

    def begin(self) -> None:
        with _told():
            self._producer.begin_transaction()

    def send(self, topic: str, values: Sequence[bytes], *, partition: int = 0) -> list[int]:
        with _told():
            futures = [self._producer.send(topic, value=value, partition=partition) for value in values]
            self._producer.flush(WAIT_SECONDS)
            return [future.get(WAIT_SECONDS).offset for future in futures]

    def send_offsets(self, to: GroupMember | str, offsets: Mapping[Partition, int]) -> None:
        wanted = {TopicPartition(*where): OffsetAndMetadata(offset, "", -1) for where, offset in offsets.items()}
        with _told():
            self._producer.send_offsets_to_transaction(wanted, to.metadata if isinstance(to, KafkaPythonMember) else to)

    def commit(self) -> None:
        with _told():
            self._producer.commit_transaction()

    def abort(self) -> None:
        with _told():
            self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(0)


class KafkaPythonMember(GroupMember):
    def __init__(self, consumer: Any, group: str, topic: str) -> None:
        self.group = group
        self.metadata: Any = None
        self._consumer = consumer
        self._consumer.subscribe([topic])

    def poll(self, count: int) -> list[bytes]:
        values = _next_values(self._consumer, count)
        self.metadata = self._consumer.group_metadata()
        return values

    def rewind(self) -> None:
        for where in self._consumer.assignment():
            self._consumer.seek(where, self._consumer.committed(where) or 0)

    def close(self) -> None:
        self._consumer.close()


def _go_to_beginning(consumer: Any, topic: str) -> None:
    where = TopicPartition(topic, 0)
    consumer.assign([where])
    consumer.seek(where, 0)


def _next_values(consumer: Any, count: int) -> list[bytes]:
    values: list[bytes] = []
    while len(values) < count:
        polled = consumer.poll(WAIT_MS, max_records=count - len(values))
        assert polled, f"{len(values)} of {count} records after {WAIT_SECONDS} s"
        values += [record.value for records in polled.values() for record in records]
    return values


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except KafkaError as failure:
        raise TransactionFailed(type(failure).__name__, str(failure)) from failure
