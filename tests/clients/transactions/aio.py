"""aiokafka, which speaks the classic protocol of transactions."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

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

Result = TypeVar("Result")


class AioKafkaTransactions(TransactionalClient):
    name: ClassVar[str] = "aiokafka"
    names_the_member: ClassVar[bool] = False
    takes_several_groups: ClassVar[bool] = False

    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__(bootstrap_servers)
        self._runner = asyncio.Runner()
        self.opened.callback(self._runner.close)

    def _producer(self, transactional_id: str, timeout_ms: int, codec: Codec) -> "AioKafkaTransactionalProducer":
        settings = {
            "bootstrap_servers": self.bootstrap_servers,
            "transactional_id": transactional_id,
            "transaction_timeout_ms": timeout_ms,
            "compression_type": None if codec == "none" else codec,
        }
        return AioKafkaTransactionalProducer(self.run, settings)

    def _member(self, group: str, topic: str, protocol: GroupProtocol) -> "AioKafkaMember":
        async def join() -> Any:
            consumer = self._consumer(
                "read_committed", group_id=group, auto_offset_reset="earliest", heartbeat_interval_ms=HEARTBEAT_MS
            )
            consumer.subscribe([topic])
            await consumer.start()
            return consumer

        return AioKafkaMember(self.run, self.run(join()), group)

    def read(self, topic: str, *, isolation: Isolation, count: int) -> list[bytes]:
        async def read() -> list[bytes]:
            consumer = await self._at_beginning(topic, isolation)
            try:
                return await _next_values(consumer, count)
            finally:
                await consumer.stop()

        return self.run(read())

    def read_to_end(self, topic: str, *, isolation: Isolation) -> list[bytes]:
        where = TopicPartition(topic, 0)

        async def read() -> list[bytes]:
            consumer = await self._at_beginning(topic, isolation)
            try:
                end = (await consumer.end_offsets([where]))[where]
                values: list[bytes] = []
                while await consumer.position(where) < end:
                    for records in (await consumer.getmany(timeout_ms=100)).values():
                        values += [record.value for record in records]
                return values
            finally:
                await consumer.stop()

        return self.run(read())

    def end(self, topic: str, *, isolation: Isolation) -> int:
        where = TopicPartition(topic, 0)

        async def ask() -> int:
            consumer = await self._at_beginning(topic, isolation)
            try:
                return int((await consumer.end_offsets([where]))[where])
            finally:
                await consumer.stop()

        return self.run(ask())

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        async def in_time() -> Result:
            async with asyncio.timeout(WAIT_SECONDS):
                return await work

        try:
            return self._runner.run(in_time())
        except KafkaError as failure:
            raise TransactionFailed(type(failure).__name__, str(failure)) from failure

    async def _at_beginning(self, topic: str, isolation: Isolation) -> Any:
        where = TopicPartition(topic, 0)
        consumer = self._consumer(isolation)
        await consumer.start()
        consumer.assign([where])
        consumer.seek(where, 0)
        return consumer

    def _consumer(self, isolation: Isolation, **settings: Any) -> Any:
        return AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap_servers,
            enable_auto_commit=False,
            isolation_level=isolation,
            fetch_max_wait_ms=100,
            **settings,
        )


class AioKafkaTransactionalProducer(TransactionalProducer):
    def __init__(self, run: Any, settings: Mapping[str, Any]) -> None:
        async def start() -> Any:
            producer = AIOKafkaProducer(**settings)
            try:
                await producer.start()
            except BaseException:
                await producer.stop()
                raise
            return producer

        self._run = run
        self._producer = run(start())

    def begin(self) -> None:
        self._run(self._producer.begin_transaction())

    def send(self, topic: str, values: Sequence[bytes], *, partition: int = 0) -> list[int]:
        async def send() -> list[int]:
            sent = [await self._producer.send(topic, value, partition=partition) for value in values]
            return [each.offset for each in await asyncio.gather(*sent)]

        offsets: list[int] = self._run(send())
        return offsets

    def send_offsets(self, to: GroupMember | str, offsets: Mapping[Partition, int]) -> None:
        wanted = {TopicPartition(*where): offset for where, offset in offsets.items()}
        group = to.group if isinstance(to, GroupMember) else to
        self._run(self._producer.send_offsets_to_transaction(wanted, group))

    def commit(self) -> None:
        self._run(self._producer.commit_transaction())

    def abort(self) -> None:
        try:
            self._run(self._producer.abort_transaction())
        except AssertionError as failure:  # how it tells that it has been fenced before
            raise TransactionFailed(type(failure).__name__, str(failure)) from failure

    def close(self) -> None:
        self._run(self._producer.stop())


class AioKafkaMember(GroupMember):
    def __init__(self, run: Any, consumer: Any, group: str) -> None:
        self._run = run
        self._consumer = consumer
        self.group = group

    def poll(self, count: int) -> list[bytes]:
        values: list[bytes] = self._run(_next_values(self._consumer, count))
        return values

    def rewind(self) -> None:
        async def rewind() -> None:
            for where in self._consumer.assignment():
                self._consumer.seek(where, await self._consumer.committed(where) or 0)

        self._run(rewind())

    def close(self) -> None:
        self._run(self._consumer.stop())


async def _next_values(consumer: Any, count: int) -> list[bytes]:
    return [(await consumer.getone()).value for _ in range(count)]
