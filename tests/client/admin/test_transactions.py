"""Transactions of a real cluster, as its coordinators know them."""

from uuid import uuid4

import pytest

from stoker.client.admin.transactions import (
    COMPLETE_COMMIT,
    ONGOING,
    Producer,
    describe_transaction,
    fence_producer,
    list_transactions,
)
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.properties import client_properties
from stoker.client.topic_partition import TopicPartition
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse, TransactionState
from stoker.wire.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from tests.client.scripted_broker import Answer, Asked, framed, offering, scripted_broker
from tests.raw_transactional_producer import TIMEOUT_MS, TransactionalProducer


@pytest.fixture
def name() -> str:
    return f"payments-{uuid4().hex[:8]}"


def test_from_begin_to_commit(cluster: Cluster, topic: str, name: str) -> None:
    """State, partitions and duration; there is a duration only while a transaction is open."""
    partitions = (TopicPartition(topic, 0), TopicPartition(topic, 1))
    producer = TransactionalProducer(cluster, name)
    described = describe_transaction(cluster, name)
    assert (described.state, described.partitions, described.start_time_ms) == ("Empty", (), None)
    assert (described.producer_id, described.producer_epoch) == (producer.producer_id, producer.producer_epoch)
    assert described.coordinator in cluster.brokers()
    assert described.timeout_ms == TIMEOUT_MS
    producer.add(*partitions)
    described = describe_transaction(cluster, name)
    assert (described.state, described.partitions) == (ONGOING, partitions)
    assert described.start_time_ms is not None
    assert described.duration_ms(described.start_time_ms + 7) == 7
    (listed,) = [each for each in list_transactions(cluster) if each.transactional_id == name]
    assert listed == (name, described.coordinator, producer.producer_id, ONGOING)
    producer.commit()
    described = describe_transaction(cluster, name)
    assert (described.state, described.partitions) == (COMPLETE_COMMIT, ())
    assert described.duration_ms(2**60) is None


def test_a_fenced_producer(cluster: Cluster, topic: str, name: str) -> None:
    """Its transaction is aborted by the time the call returns, and it can do nothing any more."""
    partition = TopicPartition(topic, 0)
    producer = TransactionalProducer(cluster, name)
    producer.add(partition)
    producer.produce(partition)
    successor = fence_producer(cluster, name, timeout_ms=TIMEOUT_MS)
    assert successor.producer_epoch > producer.producer_epoch
    described = describe_transaction(cluster, name)
    assert Producer(described.producer_id, described.producer_epoch) == successor
    assert (described.is_open, described.partitions) == (False, ())
    assert producer.try_to_produce(partition)[0] is ErrorCode.INVALID_PRODUCER_EPOCH


def test_an_id_that_is_not_there(cluster: Cluster, name: str) -> None:
    with pytest.raises(KafkaRefused) as refused:
        describe_transaction(cluster, name)
    assert refused.value.error_code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_what_a_coordinator_refuses(cluster: Cluster, name: str) -> None:
    with pytest.raises(KafkaRefused, match="INVALID_TRANSACTION_TIMEOUT"):
        fence_producer(cluster, name, timeout_ms=2**31 - 1)
    with pytest.raises(KafkaRefused, match="INVALID_REGULAR_EXPRESSION"):
        list_transactions(cluster, id_pattern="[")


def test_the_transactions_of_all_coordinators() -> None:
    """Each broker tells of those that it coordinates."""

    def coordinating(*names: str) -> Answer:
        states = [TransactionState(transactional_id=name, producer_id=7, transaction_state=ONGOING) for name in names]
        return lambda asked: framed(asked, ListTransactionsResponse(transaction_states=states))

    def metadata(asked: Asked) -> bytes:
        brokers = [
            MetadataResponseBroker(node_id=node_id, host=each.address.host, port=each.address.port)
            for node_id, each in ((1, one), (2, other))
        ]
        return framed(asked, MetadataResponse(brokers=brokers))

    apis = offering(MetadataRequest, ListTransactionsRequest)
    with (
        scripted_broker(apis, metadata, coordinating("b")) as one,
        scripted_broker(apis, coordinating("c", "a")) as other,
        Cluster(client_properties(str(one.address))) as cluster,
    ):
        listed = list_transactions(cluster)
    assert [each[:2] for each in listed] == [("a", 2), ("b", 1), ("c", 2)]
