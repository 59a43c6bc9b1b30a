"""What every client that knows transactions must be able to do, so that one test asks it of all of them.

A producer of transactions, a member of a group whose offsets go into them, and a reader that sees all or only what is
committed. What a client raises comes back as `TransactionFailed` under the name that the client itself gives it, because
how an application tells a fenced producer from a transaction that it may abort is part of what is tested.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import ClassVar, Literal

from tests.clients.client import Codec

Partition = tuple[str, int]
Isolation = Literal["read_committed", "read_uncommitted"]
GroupProtocol = Literal["classic", "consumer"]
ISOLATIONS: tuple[Isolation, ...] = ("read_committed", "read_uncommitted")

TIMEOUT_MS = 60_000
"""The transaction time-out of all producers that are not told another: the default of Kafka."""


class TransactionFailed(Exception):
    """A call of a transactional producer failed; `name` is what the client calls the failure."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name


class GroupMember(ABC):
    """A consumer in a group that reads only what is committed and never commits by itself."""

    group: str

    @abstractmethod
    def poll(self, count: int) -> list[bytes]:
        """The values of the next `count` records. What the producer tells of the member is what it was when it last polled."""

    @abstractmethod
    def rewind(self) -> None:
        """Go back to the committed offsets, or to the beginning, as must be done after an abort."""

    @abstractmethod
    def close(self) -> None:
        """Leave the group. Called again it does nothing."""


class TransactionalProducer(ABC):
    """A producer that has a transactional id and has been initialised."""

    @abstractmethod
    def begin(self) -> None:
        """Begin a transaction."""

    @abstractmethod
    def send(self, topic: str, values: Sequence[bytes], *, partition: int = 0) -> list[int]:
        """Send and wait until all are acknowledged; their offsets."""

    @abstractmethod
    def send_offsets(self, to: GroupMember | str, offsets: Mapping[Partition, int]) -> None:
        """Make the offsets of the member's group, or of a group that nobody needs to be in, a part of the transaction."""

    @abstractmethod
    def commit(self) -> None: ...

    @abstractmethod
    def abort(self) -> None: ...

    @abstractmethod
    def close(self) -> None:
        """Let go of it; what it has not ended it leaves open."""


class TransactionalClient(ABC):
    """One client library, connected to one broker. It closes what it made when the test is over."""

    name: ClassVar[str]
    protocols: ClassVar[tuple[GroupProtocol, ...]] = ("classic",)
    tells_end_by_isolation: ClassVar[bool] = True
    """Whether it can be asked for the end of a partition as both kinds of readers see it, and read to there."""
    names_the_member: ClassVar[bool] = True
    """Whether it tells the broker which member sends the offsets, so that those of a removed one are refused (KIP-447)."""
    takes_several_groups: ClassVar[bool] = True
    """Whether a transaction of it can hold offsets of more than one group: some ask the coordinator only for the first."""
    codecs: ClassVar[tuple[Codec, ...]] = ("none", "gzip", "snappy", "lz4", "zstd")

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.opened = ExitStack()

    def producer(
        self, transactional_id: str, *, timeout_ms: int = TIMEOUT_MS, codec: Codec = "none"
    ) -> TransactionalProducer:
        """A new producer, initialised: from now on no older one with the same id can do anything."""
        producer = self._producer(transactional_id, timeout_ms, codec)
        self.opened.callback(producer.close)
        return producer

    def member(self, group: str, topic: str, *, protocol: GroupProtocol = "classic") -> GroupMember:
        """A new member that reads the topic from the group's offsets, or from the beginning."""
        member = self._member(group, topic, protocol)
        self.opened.callback(member.close)
        return member

    @abstractmethod
    def _producer(self, transactional_id: str, timeout_ms: int, codec: Codec) -> TransactionalProducer: ...

    @abstractmethod
    def _member(self, group: str, topic: str, protocol: GroupProtocol) -> GroupMember: ...

    @abstractmethod
    def read(self, topic: str, *, isolation: Isolation, count: int) -> list[bytes]:
        """The values of the first `count` records of partition 0 that such a reader sees."""

    def read_to_end(self, topic: str, *, isolation: Isolation) -> list[bytes]:
        """The values of all records of partition 0 that such a reader sees up to the end, as it is told where that is."""
        raise NotImplementedError

    def end(self, topic: str, *, isolation: Isolation) -> int:
        """The end of partition 0 as such a reader is told it: the last stable offset, or the high watermark."""
        raise NotImplementedError
