"""aiokafka as it comes from PyPI, on an event loop that lives as long as the driver."""

import asyncio
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.admin.records_to_delete import RecordsToDelete
from aiokafka.errors import BrokerResponseError, for_code

from tests.clients.client import (
    WAIT_SECONDS,
    Abilities,
    Acks,
    BrokerRefused,
    Client,
    ClientRefused,
    Codec,
    Record,
    StoredRecord,
)

Answer = TypeVar("Answer")


class AioKafka(Client):
    name: ClassVar[str] = "aiokafka"
    abilities: ClassVar[Abilities] = Abilities(null_key_with_null_value=False, asks_without_creating=False)

    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__(bootstrap_servers)
        self._runner = asyncio.Runner()
        self._admin: Any = self._run(_started(AIOKafkaAdminClient, bootstrap_servers=bootstrap_servers))

    def close(self) -> None:
        self._run(self._admin.close())
        self._runner.close()

    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        codec: Codec = "none",
        acks: Acks = "all",
        idempotent: bool = False,
    ) -> list[int]:
        settings = {
            "compression_type": None if codec == "none" else codec,
            "acks": acks if acks == "all" else int(acks),
            "enable_idempotence": idempotent,
        }
        return self._run(self._produce(topic, records, settings))

    def produce_by_key(self, topic: str, keys: Sequence[bytes | None]) -> list[int]:
        return self.partitions_chosen(topic, keys)

    def partitions_chosen(self, topic: str, keys: Sequence[bytes | None], **settings: Any) -> list[int]:
        return self._run(self._produce_by_key(topic, keys, settings))

    def read(
        self, topic: str, partition: int, *, start: int | Literal["earliest"] = "earliest", count: int
    ) -> list[StoredRecord]:
        return self._run(self._read(TopicPartition(topic, partition), start, count))

    def offset_for_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        asked = TopicPartition(topic, partition)
        found = self._run(self._ask_consumer(lambda consumer: consumer.offsets_for_times({asked: timestamp})))[asked]
        return None if found is None else int(found.offset)

    def offset_range(self, topic: str, partition: int) -> tuple[int, int]:
        asked = TopicPartition(topic, partition)
        earliest = self._run(self._ask_consumer(lambda consumer: consumer.beginning_offsets([asked])))
        latest = self._run(self._ask_consumer(lambda consumer: consumer.end_offsets([asked])))
        return earliest[asked], latest[asked]

    def create_topic(
        self, topic: str, *, partitions: int = 1, replication_factor: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        new_topic = NewTopic(topic, partitions, replication_factor, topic_configs=dict(configs or {}))
        _raise_for(self._run(self._admin.create_topics([new_topic])).topic_errors)

    def delete_topic(self, topic: str) -> None:
        _raise_for(self._run(self._admin.delete_topics([topic])).topic_error_codes)

    def create_partitions(self, topic: str, total: int) -> None:
        self._run(self._admin.create_partitions({topic: NewPartitions(total)}))

    def set_topic_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, dict(configs))
        [response] = self._run(self._admin.alter_configs([resource]))
        _raise_for([(topic, code, message) for code, message, *_ in response.resources])

    def topic_configs(self, topic: str) -> dict[str, str]:
        [response] = self._run(self._admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)]))
        [(code, message, _, _, entries)] = response.resources
        _raise_for([(topic, code, message)])
        return {name: value for name, value, *_ in entries}

    def partition_count(self, topic: str) -> int:
        [described] = self._run(self._admin.describe_topics([topic]))
        _raise_for([(topic, described["error_code"], None)])
        return len(described["partitions"])

    def topics(self) -> set[str]:
        return set(self._run(self._admin.list_topics()))

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        wanted = {TopicPartition(topic, partition): RecordsToDelete(before_offset=before_offset)}
        self._run(self._admin.delete_records(wanted))

    def _run(self, answer: Coroutine[Any, Any, Answer]) -> Answer:
        async def in_time() -> Answer:
            async with asyncio.timeout(WAIT_SECONDS):
                return await answer

        try:
            return self._runner.run(in_time())
        except BrokerResponseError as error:
            raise BrokerRefused(error.errno, str(error)) from error

    async def _produce(self, topic: str, records: Sequence[Record], settings: Mapping[str, Any]) -> list[int]:
        try:
            producer = await _started(AIOKafkaProducer, bootstrap_servers=self.bootstrap_servers, **settings)
        except ValueError as error:
            raise ClientRefused(str(error)) from error
        try:
            deliveries: list[Awaitable[Any]] = [
                await producer.send(
                    topic,
                    value=record.value,
                    key=record.key,
                    headers=list(record.headers),
                    partition=record.partition,
                    timestamp_ms=record.timestamp,
                )
                for record in records
            ]
            delivered = await asyncio.gather(*deliveries)
            return [-1 if each is None else each.offset for each in delivered]
        finally:
            await producer.stop()

    async def _produce_by_key(self, topic: str, keys: Sequence[bytes | None], settings: Mapping[str, Any]) -> list[int]:
        producer = await _started(AIOKafkaProducer, bootstrap_servers=self.bootstrap_servers, **settings)
        try:
            deliveries = [await producer.send(topic, value=b"", key=key) for key in keys]
            return [each.partition for each in await asyncio.gather(*deliveries)]
        finally:
            await producer.stop()

    async def _read(self, asked: TopicPartition, start: int | Literal["earliest"], count: int) -> list[StoredRecord]:
        consumer = await self._consumer()
        try:
            consumer.assign([asked])
            if start == "earliest":
                await consumer.seek_to_beginning(asked)
            else:
                consumer.seek(asked, start)
            return [
                StoredRecord(
                    offset=record.offset,
                    partition=record.partition,
                    timestamp=record.timestamp,
                    key=record.key,
                    value=record.value,
                    headers=tuple(record.headers),
                )
                for record in [await consumer.getone() for _ in range(count)]
            ]
        finally:
            await consumer.stop()

    async def _ask_consumer(self, question: Any) -> Any:
        consumer = await self._consumer()
        try:
            return await question(consumer)
        finally:
            await consumer.stop()

    async def _consumer(self) -> Any:
        return await _started(
            AIOKafkaConsumer,
            bootstrap_servers=self.bootstrap_servers,
            auto_offset_reset="none",
            enable_auto_commit=False,
            fetch_max_wait_ms=100,
        )


async def _started(kind: Any, **settings: Any) -> Any:
    """A started client; what fails while it starts is stopped, else it warns when it is collected."""
    client = kind(**settings)
    try:
        await client.start()
    except BaseException:
        await (client.close() if hasattr(client, "close") else client.stop())
        raise
    return client


def _raise_for(results: Sequence[tuple[Any, ...]]) -> None:
    for _, code, *message in results:
        if code != 0:
            raise BrokerRefused(code, (message and message[0]) or str(for_code(code)()))
