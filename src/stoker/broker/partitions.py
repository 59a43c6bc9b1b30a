"""The partitions this broker serves: each one's log, and who waits for it to grow."""

from collections.abc import Iterator
from typing import Protocol
from uuid import UUID

from stoker.log.partition import PartitionLog
from stoker.wire.error_codes import ErrorCode


class Waiter(Protocol):
    """Someone who wants to know that a partition grew."""

    def partition_grew(self, partition: "Partition", appended_bytes: int) -> None: ...

    def partition_gone(self, partition: "Partition") -> None: ...


class Partition:
    """One partition as it is served. `log` is None while its log directory cannot be used."""

    __slots__ = ("index", "leader_epoch", "log", "topic", "topic_id", "waiters")

    def __init__(self, topic: str, topic_id: UUID, index: int, leader_epoch: int, log: PartitionLog | None) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.leader_epoch = leader_epoch
        self.log = log
        self.waiters: dict[Waiter, None] = {}

    def __repr__(self) -> str:
        return f"{self.topic}-{self.index}"

    def grew(self, appended_bytes: int) -> None:
        """Tell everyone who waits."""
        if self.waiters:
            for waiter in tuple(self.waiters):
                waiter.partition_grew(self, appended_bytes)

    def epoch_error(self, claimed: int) -> ErrorCode:
        """Whether a client's idea of the leader epoch is older or newer than ours (-1: it has none)."""
        if claimed < 0 or claimed == self.leader_epoch:
            return ErrorCode.NONE
        return ErrorCode.FENCED_LEADER_EPOCH if claimed < self.leader_epoch else ErrorCode.UNKNOWN_LEADER_EPOCH


class Partitions:
    """Every partition, found by topic name or topic id."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[Partition]] = {}
        self._by_id: dict[UUID, list[Partition]] = {}

    def __iter__(self) -> Iterator[Partition]:
        for partitions in self._by_name.values():
            yield from partitions

    def of_topic(self, topic: str | UUID) -> list[Partition] | None:
        return self._by_id.get(topic) if isinstance(topic, UUID) else self._by_name.get(topic)

    def find(self, topic: str | UUID, index: int) -> Partition | None:
        partitions = self.of_topic(topic)
        return partitions[index] if partitions is not None and 0 <= index < len(partitions) else None

    def add(self, partition: Partition) -> None:
        """Partitions of a topic are added in the order of their indexes."""
        partitions = self._by_name.get(partition.topic)
        if partitions is None:
            partitions = self._by_name[partition.topic] = self._by_id[partition.topic_id] = []
        assert partition.index == len(partitions)
        partitions.append(partition)

    def remove_topic(self, topic: str) -> list[Partition]:
        """Forget a topic; those who wait for its partitions are told."""
        partitions = self._by_name.pop(topic, [])
        for partition in partitions:
            self._by_id.pop(partition.topic_id, None)
            for waiter in tuple(partition.waiters):
                waiter.partition_gone(partition)
        return partitions

    def offline_of(self, topic: str) -> frozenset[int]:
        """The partitions of a topic whose log directory cannot be used."""
        partitions = self._by_name.get(topic, ())
        return frozenset(partition.index for partition in partitions if partition.log is None)
