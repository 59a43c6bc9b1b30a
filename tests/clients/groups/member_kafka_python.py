"""Members that are kafka-python consumers: `python -m tests.clients.groups.member_kafka_python ADDRESS`."""

from collections.abc import Iterable, Mapping
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from tests.clients.groups.member_program import POLL_SECONDS, MemberLoop, Position, ReadRecord, serve

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


class KafkaPythonMember(MemberLoop):
    def open(self, settings: Mapping[str, Any], topics: list[str] | None, pattern: str | None) -> None:
        wanted = {name.replace(".", "_"): value for name, value in settings.items()}
        if "partition_assignment_strategy" in wanted:
            wanted["partition_assignment_strategy"] = [ASSIGNORS[wanted["partition_assignment_strategy"]]]
        self._consumer = KafkaConsumer(bootstrap_servers=self.bootstrap_servers, fetch_max_wait_ms=100, **wanted)
        for topic in topics or ():
            self._consumer.partitions_for_topic(
                topic
            )  # else it may join before it knows them, assign nothing and join again
        self._consumer.subscribe(topics=topics or (), pattern=pattern, listener=_Listener(self))

    def poll(self) -> list[ReadRecord]:
        self._remember_the_rebalance()
        batches = self._consumer.poll(timeout_ms=int(POLL_SECONDS * 1000))
        return [
            ReadRecord(record.topic, record.partition, record.offset, (record.value or b"").decode())
            for batch in batches.values()
            for record in batch
        ]

    def _remember_the_rebalance(self) -> None:
        """kafka-python 3.0.12 forgets one that it began for new metadata when a poll ends before it, and is then no member for ever."""
        coordinator = self._consumer._coordinator
        if coordinator.rejoining and not coordinator.rejoin_needed:
            coordinator.rejoin_needed = True

    def commit(self, offsets: list[Position]) -> None:
        self._consumer.commit(_offsets(offsets))

    def commit_async(self, offsets: list[Position]) -> None:
        def answered(committed: Any, answer: Any) -> None:
            if isinstance(answer, BaseException):
                self.tell_failure("commit_failed", answer)
            else:
                self.tell("committed", offsets=offsets)

        self._consumer.commit_async(_offsets(offsets), callback=answered)

    def seek(self, topic: str, partition: int, to: Any) -> None:
        where = TopicPartition(topic, partition)
        match to:
            case "beginning":
                self._consumer.seek_to_beginning(where)
            case "end":
                self._consumer.seek_to_end(where)
            case {"time": time}:
                self._consumer.seek(where, self._consumer.offsets_for_times({where: time})[where].offset)
            case _:
                self._consumer.seek(where, to)

    def close(self) -> None:
        self._consumer.close()


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python has no types
    def __init__(self, member: KafkaPythonMember) -> None:
        self._member = member

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._member.tell_partitions("assigned", assigned)

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self._member.tell_partitions("revoked", revoked)

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        self._member.tell_partitions("lost", lost)


def _offsets(offsets: list[Position]) -> dict[Any, Any]:
    return {TopicPartition(each.topic, each.partition): OffsetAndMetadata(each.offset, "", -1) for each in offsets}


if __name__ == "__main__":
    serve(KafkaPythonMember)
