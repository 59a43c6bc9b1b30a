"""Writing record batches: many requests in flight, the batches of each partition in order, and none of them twice.

producer = BatchProducer(cluster, idempotent_producer(cluster))
producer.send(batch)
producer.flush()
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Final, NamedTuple

from crc32c import crc32c

from stoker.client.admin.configs import Resource, ResourceType, describe_configs
from stoker.client.cluster import CONNECTION_FAILURES, Cluster
from stoker.client.connection import Connection, Posted
from stoker.client.errors import (
    DeliveryTimedOut,
    KafkaRefused,
    ProduceRefused,
    UnsupportedByBroker,
    as_error_code,
    raise_if_refused,
)
from stoker.client.targets import Broker, LeaderOf
from stoker.client.topic_partition import TopicPartition
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from stoker.wire.messages.produce import ProduceRequest, ProduceResponse
from stoker.wire.produce_parts import LAST_WITH_TOPIC_NAMES, produce_parts
from stoker.wire.record_batch import (
    ATTRIBUTES_OFFSET,
    CRC_OFFSET,
    HEADER,
    HEADER_SIZE,
    LENGTH_OFFSET,
    MAGIC,
    NO_LEADER_EPOCH,
    TRANSACTIONAL_FLAG,
)
from stoker.wire.schema import Buffer

ALL_IN_SYNC_REPLICAS: Final = -1
REQUEST_BYTES: Final = 4 * 1024 * 1024
"""A request is sent when it is as large as this; one with a single batch may be larger."""
BUFFER_BYTES: Final = 16 * 1024 * 1024
"""So much may await its acknowledgement (buffer.memory of Kafka's producer, where it is twice that)."""
MOST_IN_FLIGHT: Final = 5
"""Brokers remember so many batches of a producer, and recognise one of them that comes again."""
DELIVERY_TIMEOUT_MS: Final = 120_000

DEFAULT_MAX_MESSAGE_BYTES: Final = 1024 * 1024 + 12

_MAX_MESSAGE_BYTES: Final = "max.message.bytes"
_SEQUENCE_MASK: Final = 0x7FFF_FFFF
_WITHOUT_IMPLICIT_PARTITIONS: Final = 11
"""From version 12 on a broker adds a partition to the transaction by itself (KIP-890)."""
_WITHOUT_TWO_PHASES: Final = 5
_CRC_BYTES: Final = 4
_ACKNOWLEDGED: Final = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
_AFTER_A_FAILURE: Final = (*_ACKNOWLEDGED, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
"""What may be said of a batch when one before it was not acknowledged: that one is to come first, then this one again."""


class ProducerIdentity(NamedTuple):
    """Who writes: an idempotent producer or, with a transactional id, one in a transaction."""

    producer_id: int
    producer_epoch: int
    transactional_id: str | None = None
    add_partitions: Callable[[list[TopicPartition]], None] | None = None
    """Called with partitions before they are first written to, where the broker does not add them to a transaction itself."""
    check_partitions: Callable[[list[TopicPartition]], None] | None = None
    """Called with them before that, if somebody wants to know what was left there."""


class BatchToSend(NamedTuple):
    """The records of a batch, compressed with `codec`; what is missing to its header the producer knows."""

    partition: TopicPartition
    record_count: int
    codec: int
    base_timestamp: int
    max_timestamp: int
    records: Buffer


class _Sealed(NamedTuple):
    """A batch as it goes out, however often."""

    partition: TopicPartition
    record_count: int
    header: bytearray
    records: Buffer

    @property
    def size(self) -> int:
        return HEADER_SIZE + len(self.records)


class _InFlight(NamedTuple):
    posted: Posted
    batches: list[_Sealed]


def idempotent_producer(cluster: Cluster) -> ProducerIdentity:
    """A new producer id, of no transaction. Raises ClientError."""
    answer = cluster.send(
        InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0x7FFF_FFFF),
        InitProducerIdResponse,
        up_to=_WITHOUT_TWO_PHASES,
    )
    raise_if_refused(answer.error_code)
    return ProducerIdentity(answer.producer_id, answer.producer_epoch)


def partition_count(cluster: Cluster, topic: str) -> int:
    """Of a topic, which is created if it is not there and the brokers create topics by themselves. Raises KafkaRefused."""
    for attempt in cluster.attempts():
        (found,) = cluster.metadata([topic], create=True).topics
        error_code = as_error_code(found.error_code)
        if error_code is ErrorCode.NONE and found.partitions:
            return len(found.partitions)
        if attempt.is_last or not (error_code.retriable or error_code is ErrorCode.NONE):
            raise KafkaRefused(error_code, f"topic {topic!r} cannot be written to: {error_code.message}")
    raise AssertionError("the last attempt returns or raises")


def largest_batch(cluster: Cluster, topic: str) -> int:
    """What the topic takes, `max.message.bytes`; Kafka's default where nobody may ask. Raises ClientError."""
    try:
        configs = describe_configs(cluster, Resource(ResourceType.TOPIC, topic), [_MAX_MESSAGE_BYTES])
    except KafkaRefused as refused:
        if refused.error_code not in (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED):
            raise
        return DEFAULT_MAX_MESSAGE_BYTES
    return next((int(each.value) for each in configs if each.value is not None), DEFAULT_MAX_MESSAGE_BYTES)


class BatchProducer:
    """Sends batches to the leaders of their partitions, acknowledged by all in-sync replicas; for one thread.

    What fails for a reason that passes, such as a broker that is away or leads no longer, is sent again with the same
    sequence numbers until `delivery_timeout_ms` is over, so that each batch is in its partition once. Anything else is
    raised, by this call or a later one: then the producer is of no more use.
    """

    def __init__(
        self,
        cluster: Cluster,
        identity: ProducerIdentity,
        *,
        delivery_timeout_ms: int = DELIVERY_TIMEOUT_MS,
        request_bytes: int = REQUEST_BYTES,
        buffer_bytes: int = BUFFER_BYTES,
    ) -> None:
        self._cluster = cluster
        self._request_seconds = cluster.properties.request_timeout_ms / 1000
        self._identity = identity
        self._delivery_timeout_ms = delivery_timeout_ms
        self._request_bytes = request_bytes
        self._buffer_bytes = buffer_bytes
        self._sequences: dict[TopicPartition, int] = {}
        self._added: set[TopicPartition] = set()
        self._known: set[TopicPartition] = set()
        """Where a batch was acknowledged."""
        self._unacknowledged: dict[TopicPartition, deque[_Sealed]] = {}
        self._unacknowledged_bytes = 0
        self._waiting: dict[int, dict[TopicPartition, _Sealed]] = {}
        """What the next request to each broker will hold: a batch of a partition at most, as brokers demand."""
        self._in_flight: dict[Connection, deque[_InFlight]] = {}
        self._trouble: str | None = None
        """Why something has to be sent again."""

    @property
    def partitions(self) -> list[TopicPartition]:
        """Those that were written to."""
        return sorted(self._sequences)

    def send(self, batch: BatchToSend) -> None:
        """Take a batch; it is on its way when `push` or `flush` was called, or enough has come together. Raises ClientError."""
        sealed = self._seal(batch)
        self._unacknowledged.setdefault(batch.partition, deque()).append(sealed)
        self._unacknowledged_bytes += sealed.size
        if self._trouble is None:
            with self._noting_trouble():
                self._enqueue(sealed)
        while self._trouble is None and self._unacknowledged_bytes > self._buffer_bytes:
            self.push()
            self._collect_one()
        self._recover_if_need_be()

    def push(self) -> None:
        """Send what has been taken, without waiting for it to be acknowledged. Raises ClientError."""
        with self._noting_trouble():
            for node_id in list(self._waiting):
                self._post(node_id)
        self._recover_if_need_be()

    def flush(self) -> None:
        """Return when all that was taken is acknowledged. Raises ClientError."""
        self.push()
        while self._in_flight:
            self._collect_one()
        self._recover_if_need_be()

    def _seal(self, batch: BatchToSend) -> _Sealed:
        identity = self._identity
        sequence = self._sequences.get(batch.partition, 0)
        self._sequences[batch.partition] = (sequence + batch.record_count) & _SEQUENCE_MASK
        header = bytearray(HEADER_SIZE)
        HEADER.pack_into(
            header,
            0,
            0,
            HEADER_SIZE - LENGTH_OFFSET + len(batch.records),
            NO_LEADER_EPOCH,
            MAGIC,
            0,
            batch.codec | (TRANSACTIONAL_FLAG if identity.transactional_id is not None else 0),
            batch.record_count - 1,
            batch.base_timestamp,
            batch.max_timestamp,
            identity.producer_id,
            identity.producer_epoch,
            sequence,
            batch.record_count,
        )
        checksum = crc32c(batch.records, crc32c(header[ATTRIBUTES_OFFSET:]))
        header[CRC_OFFSET : CRC_OFFSET + _CRC_BYTES] = checksum.to_bytes(_CRC_BYTES)
        return _Sealed(batch.partition, batch.record_count, header, batch.records)

    # -- the usual way ------------------------------------------------------------------------------------------------

    def _enqueue(self, batch: _Sealed) -> None:
        if batch.partition not in self._known and self._unacknowledged[batch.partition][0] is not batch:
            self._await_first(batch.partition)
            if self._trouble is not None:
                return
        node_id = self._cluster.leader_of(LeaderOf(*batch.partition))
        waiting = self._waiting.setdefault(node_id, {})
        size = sum(each.size for each in waiting.values())
        if batch.partition in waiting or (waiting and size + batch.size > self._request_bytes):
            self._post(node_id)
            waiting = self._waiting.setdefault(node_id, {})
        waiting[batch.partition] = batch

    def _await_first(self, partition: TopicPartition) -> None:
        """Until the partition knows this producer: before that it takes any batch as the first, and the first no more."""
        for node_id in list(self._waiting):
            self._post(node_id)
        while self._in_flight and partition not in self._known and self._trouble is None:
            self._collect_one()

    def _post(self, node_id: int) -> None:
        batches = list(self._waiting.pop(node_id).values())
        connection = self._cluster.connection_to(Broker(node_id), self._request_seconds)
        while len(self._in_flight.get(connection, ())) >= MOST_IN_FLIGHT:
            self._collect_from(connection)
            if self._trouble is not None:
                return
        self._add_partitions(batches)
        posted = self._post_to(connection, batches)
        self._in_flight.setdefault(connection, deque()).append(_InFlight(posted, batches))

    def _post_to(self, connection: Connection, batches: list[_Sealed]) -> Posted:
        identity = self._identity
        timeout_ms = self._cluster.properties.request_timeout_ms
        topics: dict[str, list[tuple[int, list[Buffer]]]] = {}
        for batch in batches:
            topic, partition = batch.partition
            topics.setdefault(topic, []).append((partition, [batch.header, batch.records]))
        says_partitions = identity.transactional_id is None or identity.add_partitions is not None
        posted = connection.post_parts(
            ProduceRequest,
            lambda version: produce_parts(identity.transactional_id, ALL_IN_SYNC_REPLICAS, timeout_ms, topics, version),
            timeout=self._request_seconds,
            up_to=LAST_WITH_TOPIC_NAMES if identity.add_partitions is None else _WITHOUT_IMPLICIT_PARTITIONS,
        )
        if posted.version <= _WITHOUT_IMPLICIT_PARTITIONS and not says_partitions:
            raise UnsupportedByBroker(
                f"the broker at {connection.address} does not add partitions to transactions by itself"
            )
        return posted

    def _add_partitions(self, batches: list[_Sealed]) -> None:
        calls = [call for call in (self._identity.check_partitions, self._identity.add_partitions) if call is not None]
        if not calls:
            return
        new = [each.partition for each in batches if each.partition not in self._added]
        if new:
            for call in calls:
                call(new)
            self._added.update(new)

    def _collect_one(self) -> None:
        """Wait for the answer to one of the requests in flight, if there is one."""
        for connection in self._in_flight:
            self._collect_from(connection)
            return

    def _collect_from(self, connection: Connection) -> None:
        requests = self._in_flight[connection]
        request = requests.popleft()
        if not requests:
            del self._in_flight[connection]
        try:
            answer = connection.collect(request.posted, ProduceResponse)
        except CONNECTION_FAILURES as failure:
            self._in_flight.pop(connection, None)
            self._trouble = str(failure)
        else:
            self._settle(request.batches, answer)

    def _settle(self, batches: Iterable[_Sealed], answer: ProduceResponse) -> None:
        """Cross off what was acknowledged; note what is to be sent again; raise what cannot be."""
        results = {
            TopicPartition(topic.name, partition.index): partition
            for topic in answer.responses
            for partition in topic.partition_responses
        }
        for batch in batches:
            result = results.get(batch.partition)
            error_code = ErrorCode.UNKNOWN_SERVER_ERROR if result is None else as_error_code(result.error_code)
            queue = self._unacknowledged[batch.partition]
            is_next = queue[0] is batch
            if is_next and error_code in _ACKNOWLEDGED:
                queue.popleft()
                self._known.add(batch.partition)
                self._unacknowledged_bytes -= batch.size
            elif error_code.retriable or (not is_next and error_code in _AFTER_A_FAILURE):
                self._trouble = f"{batch.partition}: {error_code.message}"
            else:
                message = None if result is None else result.error_message
                raise ProduceRefused(batch.partition, batch.record_count, batch.size, error_code, message)

    # -- when something has failed ------------------------------------------------------------------------------------

    @contextmanager
    def _noting_trouble(self) -> Iterator[None]:
        try:
            yield
        except ProduceRefused:
            raise
        except CONNECTION_FAILURES as failure:
            self._trouble = str(failure)
        except KafkaRefused as refused:
            if not refused.error_code.retriable and refused.error_code is not ErrorCode.BROKER_NOT_AVAILABLE:
                raise
            self._trouble = str(refused)

    def _recover_if_need_be(self) -> None:
        """Send again what is not acknowledged, one batch of a partition at a time, until nothing is left."""
        if self._trouble is None:
            return
        self._waiting.clear()
        while self._in_flight:
            self._collect_one()
        for attempt in self._cluster.attempts(self._delivery_timeout_ms / 1000):
            failure = self._trouble
            self._trouble = None
            with self._noting_trouble():
                self._resend()
            if self._trouble is None:
                return
            if attempt.is_last:
                self._give_up(self._trouble or failure)
            for connection in self._in_flight:
                connection.close()
            self._in_flight.clear()

    def _resend(self) -> None:
        self._waiting.clear()  # of a try that did not get as far as to send it
        self._cluster.metadata(dict.fromkeys(topic for topic, _ in self._unacknowledged))
        while self._trouble is None and any(self._unacknowledged.values()):
            for queue in self._unacknowledged.values():
                if queue:
                    self._enqueue(queue[0])
            for node_id in list(self._waiting):
                self._post(node_id)
            while self._in_flight:
                self._collect_one()
        self._waiting.clear()

    def _give_up(self, reason: str | None) -> None:
        left = list(chain.from_iterable(self._unacknowledged.values()))
        records = sum(batch.record_count for batch in left)
        raise DeliveryTimedOut(records, self._delivery_timeout_ms / 1000, reason or "")
