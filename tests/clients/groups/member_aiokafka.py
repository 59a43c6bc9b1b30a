"""Members that are aiokafka consumers: `python -m tests.clients.groups.member_aiokafka ADDRESS`.

All consumers of the program share one event loop on a thread of its own, so that heartbeats go on while a member does not poll.
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from tests.clients.groups.member_program import POLL_SECONDS, MemberLoop, Position, ReadRecord, serve

Result = TypeVar("Result")
ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}
_loop = asyncio.new_event_loop()


class AioKafkaMember(MemberLoop):
    def open(self, settings: Mapping[str, Any], topics: list[str] | None, pattern: str | None) -> None:
        wanted = {name.replace(".", "_"): value for name, value in settings.items()}
        if "partition_assignment_strategy" in wanted:
            wanted["partition_assignment_strategy"] = [ASSIGNORS[wanted["partition_assignment_strategy"]]]

        async def start() -> AIOKafkaConsumer:
            consumer = AIOKafkaConsumer(bootstrap_servers=self.bootstrap_servers, fetch_max_wait_ms=100, **wanted)
            consumer.subscribe(topics=topics or (), pattern=pattern, listener=_Listener(self))
            await consumer.start()
            return consumer

        self._consumer = _await(start())

    def poll(self) -> list[ReadRecord]:
        batches = _await(self._consumer.getmany(timeout_ms=int(POLL_SECONDS * 1000), max_records=500))
        return [
            ReadRecord(record.topic, record.partition, record.offset, (record.value or b"").decode())
            for batch in batches.values()
            for record in batch
        ]

    def commit(self, offsets: list[Position]) -> None:
        _await(self._consumer.commit(_offsets(offsets)))

    def commit_async(self, offsets: list[Position]) -> None:
        answer = asyncio.run_coroutine_threadsafe(self._consumer.commit(_offsets(offsets)), _loop)

        def answered(_: Any) -> None:
            error = answer.exception()
            if error is not None:
                self.tell_failure("commit_failed", error)
            else:
                self.tell("committed", offsets=offsets)

        answer.add_done_callback(answered)

    def seek(self, topic: str, partition: int, to: Any) -> None:
        where = TopicPartition(topic, partition)

        async def seek() -> None:
            match to:
                case "beginning":
                    await self._consumer.seek_to_beginning(where)
                case "end":
                    await self._consumer.seek_to_end(where)
                case {"time": time}:
                    found = await self._consumer.offsets_for_times({where: time})
                    self._consumer.seek(where, found[where].offset)
                case _:
                    self._consumer.seek(where, to)

        _await(seek())

    def close(self) -> None:
        _await(self._consumer.stop())


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    def __init__(self, member: AioKafkaMember) -> None:
        self._member = member

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._member.tell_partitions("assigned", assigned)

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self._member.tell_partitions("revoked", revoked)


def _await(work: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run_coroutine_threadsafe(work, _loop).result()


def _offsets(offsets: list[Position]) -> dict[Any, Any]:
    return {TopicPartition(each.topic, each.partition): each.offset for each in offsets}


if __name__ == "__main__":
    threading.Thread(target=_loop.run_forever, daemon=True).start()
    serve(AioKafkaMember)
