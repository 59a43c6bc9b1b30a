"""The partitions this broker serves: each one's log, and who waits for it to grow."""

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from logging import getLogger
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from stoker.log.partition import PartitionLog
from stoker.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    pass

logger = getLogger("stoker.broker")


class Waiter(Protocol):
    """Someone who wants to know that a partition grew."""

    def partition_grew(self, partition: "Partition", appended_bytes: int) -> None: ...


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
