"""Writing record batches: in order, each once, whatever a broker does meanwhile."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place

from stoker.client.admin.configs import Alteration, Operation, Resource, ResourceType, alter_configs
from stoker.client.admin.topics import create_topic, wait_until
from stoker.client.cluster import Cluster
from stoker.client.errors import DeliveryTimedOut, KafkaRefused, ProduceRefused
from stoker.client.producing import (
    DEFAULT_MAX_MESSAGE_BYTES,
    BatchProducer,
    BatchToSend,
    ProducerIdentity,
    idempotent_producer,
    largest_batch,
    partition_count,
)
from stoker.client.properties import client_properties
from stoker.client.topic_partition import TopicPartition
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from stoker.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from stoker.wire.record_batch import HEADER_SIZE, Record, build_batch, iterate_records, read_header
from tests.client.scripted_broker import Answer, Asked, ScriptedBroker, framed, offering, scripted_broker
from tests.clients.client import fresh_topic
from tests.faults.broker_process import BrokerProcess

QUICK = {"retry.backoff.ms": "1", "retry.backoff.max.ms": "5"}
ORDERS = TopicPartition("orders", 0)
NOW = 1_700_000_000_000


def batch_of(partition: TopicPartition, *values: bytes) -> BatchToSend:
    built = build_batch([Record(timestamp=NOW, value=value) for value in values])
    return BatchToSend(partition, len(values), 0, NOW, NOW, memoryview(built)[HEADER_SIZE:])


def read(address: str, topic: str, partition: int, count: int) -> list[bytes | None]:
    """The first so many values; then there must be no more."""
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "nobody", "enable.auto.commit": False, "log_level": 0}
    )
    consumer.assign([Place(topic, partition, 0)])
    try:
        found: list[bytes | None] = []
        while len(found) < count:
            messages = consumer.consume(count, timeout=20)
            assert messages, f"{len(found)} of {count} records"
            found += [message.value() for message in messages]
        assert consumer.get_watermark_offsets(Place(topic, partition), timeout=20)[1] == count
        return found
    finally:
        consumer.close()


# -- on real brokers --------------------------------------------------------------------------------------------------


def test_batches_arrive_once_and_in_order(cluster: Cluster, address: str, topic: str) -> None:
    """Many more than may be in flight, of two partitions, through a buffer that holds few of them."""
    producer = BatchProducer(cluster, idempotent_producer(cluster), buffer_bytes=2000, request_bytes=500)
    for number in range(300):
        producer.send(batch_of(TopicPartition(topic, number % 2), b"%d" % number, b"%d and a half" % number))
    producer.flush()
    assert producer.partitions == [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    for partition in (0, 1):
        numbers = range(partition, 300, 2)
        expected = [value for number in numbers for value in (b"%d" % number, b"%d and a half" % number)]
        assert read(address, topic, partition, 300) == expected


def test_other_requests_may_be_made_while_batches_are_in_flight(cluster: Cluster, address: str, topic: str) -> None:
    """On the same connection."""
    producer = BatchProducer(cluster, idempotent_producer(cluster))
    for number in range(4):
        producer.send(batch_of(TopicPartition(topic, 0), b"%d" % number))
        producer.push()
        assert partition_count(cluster, topic) == 2
    producer.flush()
    assert read(address, topic, 0, 4) == [b"0", b"1", b"2", b"3"]


def test_a_topic_is_created_if_brokers_do_so(cluster: Cluster) -> None:
    assert partition_count(cluster, fresh_topic("made-by-asking")) == 1


def test_a_topic_that_cannot_be_is_refused_by_name(cluster: Cluster) -> None:
    with pytest.raises(KafkaRefused, match="topic 'no/topic' cannot be written to") as refused:
        partition_count(cluster, "no/topic")
    assert refused.value.error_code is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_what_a_topic_takes(cluster: Cluster, topic: str) -> None:
    assert largest_batch(cluster, topic) == DEFAULT_MAX_MESSAGE_BYTES
    limit = Alteration("max.message.bytes", Operation.SET, "2000")
    alter_configs(cluster, Resource(ResourceType.TOPIC, topic), [limit])
    for _ in cluster.attempts():
        if largest_batch(cluster, topic) == 2000:
            break
    producer = BatchProducer(cluster, idempotent_producer(cluster))
    producer.send(batch_of(TopicPartition(topic, 1), bytes(3000)))
    with pytest.raises(ProduceRefused, match=f"{topic}-1 refused a batch of 1 records, 30.. bytes") as refused:
        producer.flush()
    assert refused.value.error_code is ErrorCode.MESSAGE_TOO_LARGE


def test_a_broker_that_is_killed_and_comes_back(tmp_path: Path) -> None:
    """Nothing is lost and nothing is there twice, though batches were on their way."""
    with (
        BrokerProcess(tmp_path / "data") as broker,
        Cluster(client_properties(broker.bootstrap_servers, QUICK)) as cluster,
    ):
        create_topic(cluster, "orders", partitions=1)
        wait_until(cluster, "orders", lambda found: found is not None)
        producer = BatchProducer(cluster, idempotent_producer(cluster))
        values = [b"%05d" % number + bytes(1000) for number in range(2000)]
        restarting: Thread | None = None
        for number, value in enumerate(values):
            if number == 700:
                broker.kill()
                restarting = Thread(target=broker.start)
                restarting.start()
            producer.send(batch_of(ORDERS, value))
            producer.push()
        producer.flush()
        assert restarting is not None
        restarting.join()
        assert read(broker.bootstrap_servers, "orders", 0, len(values)) == values


# -- on a broker that does as a test says -----------------------------------------------------------------------------


def told(broker: Callable[[], ScriptedBroker], leaders: tuple[int, int] = (1, 1)) -> Answer:
    """Metadata: this broker, which is number 1, leads both partitions."""

    def answer(asked: Asked) -> bytes:
        host, port = broker().address
        partitions = [
            MetadataResponsePartition(partition_index=number, leader_id=leader) for number, leader in enumerate(leaders)
        ]
        return framed(
            asked,
            MetadataResponse(
                brokers=[MetadataResponseBroker(node_id=1, host=host, port=port)],
                controller_id=1,
                topics=[MetadataResponseTopic(name="orders", partitions=partitions)],
            ),
        )

    return answer


def produced(*error_codes: ErrorCode) -> Answer:
    """An error for each partition of the request."""

    def answer(asked: Asked) -> bytes:
        request = ProduceRequest.decode(asked.body, 0, asked.header.api_version)
        (topic,) = request.topic_data
        results = [
            PartitionProduceResponse(index=data.index, error_code=error_code)
            for data, error_code in zip(topic.partition_data, error_codes, strict=True)
        ]
        return framed(
            asked, ProduceResponse(responses=[TopicProduceResponse(name=topic.name, partition_responses=results)])
        )

    return answer


@contextmanager
def scripted(*script: Answer | None) -> Iterator[tuple[ScriptedBroker, Cluster]]:
    """None is an answer to Metadata."""
    running: list[ScriptedBroker] = []
    metadata = told(lambda: running[0])
    answers = [metadata if each is None else each for each in script]
    with scripted_broker(offering(MetadataRequest, ProduceRequest), *answers) as broker:
        running.append(broker)
        with Cluster(client_properties(str(broker.address), QUICK)) as cluster:
            yield broker, cluster


def sequences(broker: ScriptedBroker) -> list[list[int]]:
    """The base sequences of the batches in each Produce request."""
    found = []
    for asked in broker.asked:
        if asked.header.api_key == ProduceRequest.API_KEY:
            request = ProduceRequest.decode(asked.body, 0, asked.header.api_version)
            (topic,) = request.topic_data
            found.append([read_header(data.records or b"").base_sequence for data in topic.partition_data])
    return found


IDENTITY = ProducerIdentity(7, 3)
GONE: Answer = lambda asked: None  # noqa: E731
FINE = ErrorCode.NONE

CASES: dict[str, tuple[Sequence[Answer | None], list[list[int]]]] = {
    "nothing goes wrong": (
        [None, *[produced(FINE)] * 4],
        [[0], [2], [4], [6]],
    ),
    "the first fails: the others wait for it, since a partition that does not know a producer takes any batch": (
        [None, produced(ErrorCode.NOT_LEADER_OR_FOLLOWER), None, *[produced(FINE)] * 4],
        [[0], [0], [2], [4], [6]],
    ),
    "the leader has moved: the later ones come too early": (
        [
            None,
            produced(FINE),
            produced(ErrorCode.NOT_LEADER_OR_FOLLOWER),
            produced(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
            produced(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
            None,
            *[produced(FINE)] * 3,
        ],
        [[0], [2], [4], [6], [2], [4], [6]],
    ),
    "the third fails": (
        [
            None,
            produced(FINE),
            produced(FINE),
            produced(ErrorCode.NOT_ENOUGH_REPLICAS),
            produced(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
            None,
            *[produced(FINE)] * 2,
        ],
        [[0], [2], [4], [6], [4], [6]],
    ),
    "written but not acknowledged: the later ones are written too": (
        [
            None,
            produced(FINE),
            produced(ErrorCode.REQUEST_TIMED_OUT),
            produced(FINE),
            produced(FINE),
            None,
            *[produced(ErrorCode.DUPLICATE_SEQUENCE_NUMBER)] * 3,
        ],
        [[0], [2], [4], [6], [2], [4], [6]],
    ),
    "again and again": (
        [
            None,
            produced(FINE),
            *[produced(ErrorCode.NOT_LEADER_OR_FOLLOWER)] * 3,
            *[None, produced(ErrorCode.LEADER_NOT_AVAILABLE)] * 3,
            None,
            *[produced(FINE)] * 3,
        ],
        [[0], [2], [4], [6], [2], [2], [2], [2], [4], [6]],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_fails_is_sent_again_with_the_same_sequence_numbers(case: str) -> None:
    script, expected = CASES[case]
    with scripted(*script) as (broker, cluster):
        producer = BatchProducer(cluster, IDENTITY)
        for number in range(4):
            producer.send(batch_of(ORDERS, b"a %d" % number, b"b %d" % number))
        producer.flush()
        assert sequences(broker) == expected


def test_a_connection_that_breaks_is_opened_again() -> None:
    with scripted(None, produced(FINE), GONE, None, produced(FINE), produced(FINE)) as (broker, cluster):
        producer = BatchProducer(cluster, IDENTITY)
        for number in range(3):
            producer.send(batch_of(ORDERS, b"%d" % number))
        producer.flush()
        assert sequences(broker) == [[0], [1], [1], [2]]
        assert broker.connections == 2


def test_a_batch_that_waits_for_another_partition_is_not_sent_twice() -> None:
    """While one of two partitions has no leader, what is to go to the other must not wait from one try to the next."""
    other = TopicPartition("orders", 1)
    running: list[ScriptedBroker] = []
    failed = produced(ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    leaderless = told(lambda: running[0], leaders=(1, -1))
    with scripted(None, failed, leaderless, leaderless, None, *[produced(FINE, FINE)] * 2) as (broker, cluster):
        running.append(broker)
        producer = BatchProducer(cluster, IDENTITY)
        producer.send(batch_of(ORDERS, b"a"))
        producer.send(batch_of(other, b"b"))
        producer.flush()
        assert sequences(broker) == [[0, 0], [0, 0]]


def test_a_request_has_a_batch_of_every_partition_but_only_one() -> None:
    other = TopicPartition("orders", 1)
    with scripted(None, produced(FINE, FINE), produced(FINE)) as (broker, cluster):
        producer = BatchProducer(cluster, IDENTITY)
        producer.send(batch_of(ORDERS, b"a"))
        producer.send(batch_of(other, b"b", b"c"))
        producer.send(batch_of(other, b"d"))
        producer.flush()
        assert sequences(broker) == [[0, 0], [2]]


FATAL = [
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
]


@pytest.mark.parametrize("error_code", FATAL, ids=lambda code: code.name)
def test_what_would_fail_again_is_raised(error_code: ErrorCode) -> None:
    with scripted(None, produced(error_code)) as (_broker, cluster):
        producer = BatchProducer(cluster, IDENTITY)
        producer.send(batch_of(ORDERS, b"a", b"b"))
        with pytest.raises(ProduceRefused, match="orders-0 refused a batch of 2 records") as refused:
            producer.flush()
        assert refused.value.error_code is error_code


def test_it_ends_when_the_time_is_over() -> None:
    failing = [None, produced(ErrorCode.NOT_ENOUGH_REPLICAS)]
    with scripted(*failing * 1000) as (_broker, cluster):
        producer = BatchProducer(cluster, IDENTITY, delivery_timeout_ms=50)
        producer.send(batch_of(ORDERS, b"a", b"b"))
        with pytest.raises(
            DeliveryTimedOut, match=r"2 records were not acknowledged in 0.05 s.*orders-0: Fewer replicas"
        ):
            producer.flush()


def test_partitions_are_added_to_a_transaction_before_they_are_written() -> None:
    """Once each, and in a version in which the broker does not add them by itself."""
    added: list[list[TopicPartition]] = []
    other = TopicPartition("orders", 1)
    with scripted(None, produced(FINE), produced(FINE, FINE)) as (broker, cluster):
        identity = ProducerIdentity(7, 3, "orders-sink", add_partitions=added.append)
        producer = BatchProducer(cluster, identity)
        producer.send(batch_of(ORDERS, b"a"))
        producer.push()
        producer.send(batch_of(ORDERS, b"b"))
        producer.send(batch_of(other, b"c"))
        producer.flush()
        assert added == [[ORDERS], [other]]
        assert [asked.header.api_version for asked in broker.asked if asked.header.api_key == 0] == [11, 11]


def test_batches_of_a_transaction_say_so() -> None:
    with scripted(None, produced(FINE)) as (broker, cluster):
        producer = BatchProducer(cluster, ProducerIdentity(7, 3, "orders-sink"))
        producer.send(batch_of(ORDERS, b"a"))
        producer.flush()
        (asked,) = [each for each in broker.asked if each.header.api_key == ProduceRequest.API_KEY]
        request = ProduceRequest.decode(asked.body, 0, asked.header.api_version)
        assert (asked.header.api_version, request.transactional_id, request.acks) == (12, "orders-sink", -1)
        records = request.topic_data[0].partition_data[0].records or b""
        header = read_header(records)
        assert (header.is_transactional, header.producer_id, header.producer_epoch) == (True, 7, 3)
        assert [record.value for record in iterate_records(records, 1000)] == [b"a"]
