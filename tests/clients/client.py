"""What every foreign client must be able to do, so that one test asks it of all of them.

A driver (`tests/clients/drivers/`) turns these calls into calls of one unmodified client library or tool, and says in `abilities` what
that client cannot express. What the broker refuses comes back as `BrokerRefused` with Kafka's error code, whatever the client calls it.
"""

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Literal, TypeVar

Result = TypeVar("Result")
Codec = Literal["none", "gzip", "snappy", "lz4", "zstd"]
Acks = Literal["0", "1", "all"]
CODECS: tuple[Codec, ...] = ("none", "gzip", "snappy", "lz4", "zstd")

WAIT_SECONDS = 20.0
"""How long a client may wait for an answer before the test fails; nothing here takes a tenth of it on a working broker."""


class Code(IntEnum):
    """The codes of Kafka's protocol that these tests provoke."""

    OFFSET_OUT_OF_RANGE = 1
    UNKNOWN_TOPIC_OR_PARTITION = 3
    NOT_LEADER_OR_FOLLOWER = 6
    MESSAGE_TOO_LARGE = 10
    COORDINATOR_LOAD_IN_PROGRESS = 14
    INVALID_TOPIC_EXCEPTION = 17
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_CONFIG = 40
    INVALID_REQUEST = 42
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88


class BrokerRefused(Exception):
    """The broker answered with an error code; `message` is what the client shows a person."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class ClientRefused(Exception):
    """The client itself refused, before it asked the broker."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """A record as a producer gives it; without a timestamp the producer's clock stamps it."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int | None = None
    partition: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRecord:
    """A record as a consumer gets it."""

    offset: int
    partition: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    @property
    def content(self) -> Record:
        """What the producer gave, timestamp included."""
        return Record(
            value=self.value, key=self.key, headers=self.headers, timestamp=self.timestamp, partition=self.partition
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Abilities:
    """What a client can express."""

    reads: bool = True
    administers: bool = True
    sets_timestamps: bool = True
    null_header_values: bool = True
    null_key_with_null_value: bool = True
    deletes_records: bool = True
    asks_without_creating: bool = True
    """Whether it can ask for a topic by name without creating it."""
    explains_refusals: bool = True
    """Whether the broker's error message, not only its code, reaches the caller."""


class Client(ABC):
    """One foreign client, connected to one broker."""

    name: ClassVar[str]
    abilities: ClassVar[Abilities] = Abilities()

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers

    def close(self) -> None:
        """End connections and processes; a client without any has nothing to do."""
        return

    @abstractmethod
    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        codec: Codec = "none",
        acks: Acks = "all",
        idempotent: bool = False,
    ) -> list[int]:
        """Send the records in order, wait until all are acknowledged, give their offsets (with acks=0 none is told)."""

    def produce_by_key(self, topic: str, keys: Sequence[bytes | None]) -> list[int]:
        """Send one record a key and let the client's own partitioner choose; give the partitions chosen."""
        raise NotImplementedError

    def read(
        self, topic: str, partition: int, *, start: int | Literal["earliest"] = "earliest", count: int
    ) -> list[StoredRecord]:
        """The next `count` records from `start` on."""
        raise NotImplementedError

    def offset_for_time(self, topic: str, partition: int, timestamp: int) -> int | None:
        """The offset of the first record at or after that time, None if there is none."""
        raise NotImplementedError

    def offset_range(self, topic: str, partition: int) -> tuple[int, int]:
        """The earliest offset, and the one the next record will get."""
        raise NotImplementedError

    def create_topic(
        self, topic: str, *, partitions: int = 1, replication_factor: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        raise NotImplementedError

    def delete_topic(self, topic: str) -> None:
        raise NotImplementedError

    def create_partitions(self, topic: str, total: int) -> None:
        raise NotImplementedError

    def set_topic_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        """Set these and keep the others, or make these the only ones: as the client does it."""
        raise NotImplementedError

    def topic_configs(self, topic: str) -> dict[str, str]:
        """Every config of the topic, defaults included."""
        raise NotImplementedError

    def partition_count(self, topic: str) -> int:
        """How many partitions the topic has; asking does not create it."""
        raise NotImplementedError

    def topics(self) -> set[str]:
        raise NotImplementedError

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        raise NotImplementedError


def fresh_topic(hint: str) -> str:
    """A topic name that no other test uses."""
    return f"{hint}-{uuid.uuid4().hex[:10]}"


def eventually(ask: Callable[[], Result], wanted: Callable[[Result], bool], *, seconds: float = WAIT_SECONDS) -> Result:
    """Ask until the answer is the wanted one, for state that Kafka spreads after it has answered (metadata); give the last answer."""
    deadline = time.monotonic() + seconds
    while True:
        answer = ask()
        if wanted(answer) or time.monotonic() > deadline:
            return answer
        time.sleep(0.01)


def by_partition(records: Iterable[Record]) -> dict[int, list[Record]]:
    grouped: dict[int, list[Record]] = {}
    for record in records:
        grouped.setdefault(record.partition, []).append(record)
    return grouped
