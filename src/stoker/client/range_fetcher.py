"""A range of a partition, answer by answer of the broker that leads it, whoever that is by then.

numpy takes 0.06 s to import. Import this module where it is used.
"""

import ctypes
from enum import StrEnum
from typing import Final, NamedTuple
from uuid import UUID

from stoker.client.admin.offsets import EARLIEST, EARLIEST_LOCAL, LATEST, ListedOffset, list_offsets
from stoker.client.cluster import CONNECTION_FAILURES, Cluster
from stoker.client.connection import MAX_RESPONSE_BYTES, Connection
from stoker.client.errors import (
    CannotFetch,
    ClientError,
    InvalidClientProperty,
    KafkaRefused,
    OffsetsGone,
    TopicGone,
    raise_if_refused,
)
from stoker.client.properties import ClientProperties
from stoker.client.targets import LeaderOf
from stoker.client.topic_partition import TopicPartition
from stoker.errors import CorruptRecords
from stoker.wire.batch_columns import BatchColumns, check_checksums, read_batches
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from stoker.wire.schema import ZERO_UUID
from stoker.wire.varint_columns import PADDING

_BEFORE_TOPIC_IDS: Final = 12
_NO_SESSION: Final = -1
_MOST_BUFFERS: Final = 3
_SLACK_BYTES: Final = 1024 * 1024
_SECONDS_UNTIL_GONE: Final = 5.0
"""For so long a topic that is not there may be one that a broker has not heard of yet."""
_GONE: Final = frozenset(
    (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INCONSISTENT_TOPIC_ID)
)
_MORE_THAN_TYPICAL: Final = 1.25
_MORE_BYTES: Final = 64 * 1024
_MOST_TOPICS: Final = 1000
_NUMBERS: Final = {"max.partition.fetch.bytes": 4 * 1024 * 1024, "fetch.max.wait.ms": 500}

_typical_bytes: dict[str, float] = {}
"""By topic: of an offset, as they were in the last answer. Of a short range not much more is asked for than it has."""


class Isolation(StrEnum):
    """As `isolation.level` names it."""

    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


class PartitionRange(NamedTuple):
    """The records of a partition from offset `start` up to before `end`."""

    topic: str
    partition: int
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} from {self.start} up to before {self.end}"


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int


class Fetched(NamedTuple):
    """One answer, with at least one whole batch. The first and the last may go beyond the range."""

    batches: BatchColumns
    """Padding follows them."""
    aborted: list[AbortedTransaction]
    """Which transactions, of those in the batches, are to be left out; by first offset."""
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int


class FetchSettings(NamedTuple):
    """What the properties of a Kafka consumer say of fetching."""

    partition_bytes: int
    """How much to ask for at once; a batch that is larger comes nevertheless, whole."""
    max_wait_ms: int
    check_crcs: bool


def fetch_settings(properties: ClientProperties) -> FetchSettings:
    """By Kafka's names; raises InvalidClientProperty. More is asked for at once than Kafka's consumers do by default."""
    check_crcs = properties.given.get("check.crcs", "true").strip().lower()
    if check_crcs not in ("true", "false"):
        raise InvalidClientProperty(f"check.crcs={check_crcs} is neither true nor false")
    return FetchSettings(
        partition_bytes=_number(properties, "max.partition.fetch.bytes"),
        max_wait_ms=_number(properties, "fetch.max.wait.ms"),
        check_crcs=check_crcs == "true",
    )


def _number(properties: ClientProperties, name: str) -> int:
    text = properties.given.get(name)
    if text is None:
        return _NUMBERS[name]
    if not text.strip().isdecimal() or int(text) > MAX_RESPONSE_BYTES // 2:
        raise InvalidClientProperty(f"{name}={text} is not a number from 0 to {MAX_RESPONSE_BYTES // 2}")
    return int(text)


class RangeFetcher:
    """Answer after answer of one range, each when it is asked for. For one thread; only `interrupt` is for others."""

    def __init__(self, cluster: Cluster, wanted: PartitionRange, isolation: Isolation, settings: FetchSettings) -> None:
        self._cluster = cluster
        self._wanted = wanted
        self._partition = LeaderOf(wanted.topic, wanted.partition)
        self._isolation = isolation
        self._settings = settings
        self._topic_id = ZERO_UUID
        self._buffers: list[bytearray] = []
        self._buffer = bytearray()
        self._connection: Connection | None = None
        self._is_interrupted = False
        self.position = wanted.start

    @property
    def is_done(self) -> bool:
        return self.position >= self._wanted.end

    def interrupt(self) -> None:
        """From another thread: `next` ends soon, with a ClientError."""
        self._is_interrupted = True
        if self._connection is not None:
            self._connection.interrupt()

    def next(self) -> Fetched | None:
        """The batches from the position on, which moves behind them; None if it turns out that there are none left."""
        seconds_at_first = None
        empty_answers = 0
        failure: ClientError | None = None
        for attempt in self._cluster.attempts():
            if self._is_interrupted:
                raise CannotFetch(f"fetching {self._wanted} was interrupted")
            if attempt.is_last and failure is not None:  # no time is left for an answer
                raise failure
            try:
                answer = self._ask(attempt.seconds_left)
                if answer is not None and answer.records:
                    return self._taken(answer, memoryview(answer.records))
                if answer is not None and self._reaches_the_end(answer):
                    empty_answers += 1
                    if empty_answers > 1 and not self._is_elsewhere():  # all of the rest was compacted away
                        self.position = self._wanted.end
                        return None
                failure = self._nothing_there(answer)
            except CONNECTION_FAILURES as lost:
                failure = lost
            except KafkaRefused as refused:
                if refused.error_code is ErrorCode.OFFSET_OUT_OF_RANGE:
                    gone = self._offsets_gone()
                    if not self._has_offset(gone):
                        raise gone from None
                    failure = refused
                elif refused.error_code in _GONE:
                    failure = self._topic_gone()
                    seconds_at_first = seconds_at_first or attempt.seconds_left
                    if seconds_at_first - attempt.seconds_left > _SECONDS_UNTIL_GONE:
                        raise failure from None
                elif refused.error_code.retriable:
                    failure = refused
                else:
                    raise
            self._cluster.forget(self._partition)
        raise failure or AssertionError("there is at least one attempt")

    def _ask(self, seconds: float) -> PartitionData | None:
        """What the leader says of the partition; None if it says nothing at all, as it does when it throttles."""
        self._connection = self._cluster.connection_to(self._partition, seconds)
        topic_id = self._cluster.topic_id(self._wanted.topic)
        self._refuse_another(topic_id)
        wait_ms = min(self._settings.max_wait_ms, max(int(seconds * 1000), 0))
        request = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=MAX_RESPONSE_BYTES // 2,
            isolation_level=int(self._isolation is Isolation.READ_COMMITTED),
            session_epoch=_NO_SESSION,
            topics=[
                FetchTopic(
                    topic=self._wanted.topic,
                    topic_id=topic_id,
                    partitions=[
                        FetchPartition(
                            partition=self._wanted.partition,
                            fetch_offset=self.position,
                            partition_max_bytes=self._useful_bytes(),
                        )
                    ],
                )
            ],
        )
        answer = self._connection.send(
            request,
            FetchResponse,
            timeout=self._cluster.request_timeout(seconds) + wait_ms / 1000,
            up_to=None if topic_id != ZERO_UUID else _BEFORE_TOPIC_IDS,
            place=self._place,
        )
        raise_if_refused(answer.error_code)
        for topic in answer.responses:
            for partition in topic.partitions:
                raise_if_refused(partition.error_code)
                self._topic_id = topic_id
                return partition
        return None

    def _useful_bytes(self) -> int:
        typical = _typical_bytes.get(self._wanted.topic)
        if typical is None:
            return self._settings.partition_bytes
        expected = (self._wanted.end - self.position) * typical * _MORE_THAN_TYPICAL
        return min(self._settings.partition_bytes, int(expected) + _MORE_BYTES)

    def _place(self, size: int) -> memoryview:
        """Room for an answer in a buffer that nobody looks at any more, or in a new one."""
        free = [buffer for buffer in self._buffers if not _is_looked_at(buffer)]
        fitting = [buffer for buffer in free if len(buffer) >= size + PADDING]
        if fitting:
            self._buffer = fitting[0]
        else:
            for buffer in free:  # all too small
                buffer.clear()
            self._buffer = bytearray(size + min(size // 8, _SLACK_BYTES) + PADDING)
            self._buffers = [*[buffer for buffer in self._buffers if buffer][1 - _MOST_BUFFERS :], self._buffer]
        return memoryview(self._buffer)[:size]

    def _taken(self, answer: PartitionData, records: memoryview) -> Fetched:
        start = _address(records) - _address(self._buffer)
        try:
            batches = read_batches(memoryview(self._buffer)[start:], len(records))
            if self._settings.check_crcs:
                check_checksums(batches)
        except CorruptRecords as error:
            raise CorruptRecords(f"{self._wanted.topic}-{self._wanted.partition} at {self.position}: {error}") from None
        following = int(batches.last_offsets[-1]) + 1 if len(batches) else self.position
        if following <= self.position:
            raise CorruptRecords(
                f"{self._wanted.topic}-{self._wanted.partition}: asked for the batch of offset {self.position}, "
                f"{len(records)} bytes came that do not hold it"
            )
        self.position = following
        if len(_typical_bytes) >= _MOST_TOPICS:
            _typical_bytes.clear()
        _typical_bytes[self._wanted.topic] = batches.end / (following - int(batches.headers["base_offset"][0]))
        return Fetched(
            batches,
            sorted(
                (AbortedTransaction(each.producer_id, each.first_offset) for each in answer.aborted_transactions or ()),
                key=lambda aborted: aborted.first_offset,
            ),
            answer.high_watermark,
            answer.last_stable_offset,
            answer.log_start_offset,
        )

    def _end_of(self, answer: PartitionData) -> int:
        return answer.last_stable_offset if self._isolation is Isolation.READ_COMMITTED else answer.high_watermark

    def _reaches_the_end(self, answer: PartitionData) -> bool:
        return self._end_of(answer) >= self._wanted.end

    def _is_elsewhere(self) -> bool:
        """Whether the leader has to get what comes next from a remote storage: while it waits for that it sends nothing."""
        partition = TopicPartition(self._wanted.topic, self._wanted.partition)
        found = list_offsets(self._cluster, {partition: EARLIEST_LOCAL})[partition]
        return self.position < found.offset if isinstance(found, ListedOffset) else found.error_code.retriable

    def _nothing_there(self, answer: PartitionData | None) -> ClientError:
        if answer is None:
            return CannotFetch(f"the leader gave no answer about {self._wanted}")
        if self._reaches_the_end(answer):
            return CannotFetch(
                f"of {self._wanted} the leader sends nothing from {self.position} on, though it has more"
            )
        topic, partition, _, _ = self._wanted
        return OffsetsGone(topic, partition, self.position, answer.log_start_offset, self._end_of(answer))

    def _offsets_gone(self) -> ClientError:
        partition = TopicPartition(self._wanted.topic, self._wanted.partition)
        found = [
            list_offsets(self._cluster, {partition: which}, waits_for_leaders=True)[partition]
            for which in (EARLIEST, LATEST)
        ]
        offsets = [each.offset for each in found if isinstance(each, ListedOffset)]
        if len(offsets) < len(found):
            return next(each for each in found if isinstance(each, KafkaRefused))
        return OffsetsGone(*partition, self.position, *offsets)

    def _has_offset(self, gone: ClientError) -> bool:
        """Whether the position is there nevertheless: who refused it was a leader that is none any more, and lags behind."""
        return isinstance(gone, OffsetsGone) and gone.log_start_offset <= self.position < gone.end_offset

    def _refuse_another(self, topic_id: UUID) -> None:
        if self._topic_id not in (ZERO_UUID, topic_id) and topic_id != ZERO_UUID:
            raise TopicGone(
                f"topic {self._wanted.topic!r} was deleted and created anew: of {self._wanted} the records from "
                f"{self.position} on are gone"
            )

    def _topic_gone(self) -> TopicGone:
        return TopicGone(
            f"there is no partition {self._wanted.partition} of topic {self._wanted.topic!r} (any more): of "
            f"{self._wanted} the records from {self.position} on are gone"
        )


def _is_looked_at(buffer: bytearray) -> bool:
    """Whether anybody holds a view of it: Python changes the size of no such bytearray."""
    try:
        buffer.append(buffer.pop())
    except BufferError:
        return True
    return False


def _address(buffer: bytearray | memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))
