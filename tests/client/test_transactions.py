"""Transactions, request by request: with transactions v2 and as before, on Stoker and on Apache Kafka."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from stoker.client.admin.topics import Topic, create_topic, describe_topics, wait_until
from stoker.client.admin.transactions import fence_producer
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.producing import BatchProducer, BatchToSend, ProducerIdentity
from stoker.client.properties import client_properties
from stoker.client.topic_partition import TopicPartition
from stoker.client.transactions import (
    UNSTABLE,
    Transaction,
    add_partitions,
    commit_offsets,
    end_transaction,
    offsets_partition,
    speaks_v2,
    stable_offsets,
)
from stoker.wire.error_codes import ErrorCode
from stoker.wire.record_batch import append_record
from tests.backends import Backend
from tests.raw_transactional_producer import last_stable_offset

pytestmark = pytest.mark.both_backends


@pytest.fixture(scope="module")
def cluster(backend: Backend) -> Iterator[Cluster]:
    with Cluster(client_properties(backend.bootstrap_servers)) as cluster:
        yield cluster


@pytest.fixture
def partition(cluster: Cluster) -> TopicPartition:
    topic = f"topic-{uuid4().hex}"
    create_topic(cluster, topic, partitions=1)
    wait_until(cluster, topic, lambda found: found is not None)
    return TopicPartition(topic, 0)


def begin(cluster: Cluster, *, is_v2: bool, transactional_id: str | None = None) -> Transaction:
    transactional_id = transactional_id or f"producer-{uuid4().hex}"
    producer = fence_producer(cluster, transactional_id, timeout_ms=60_000)
    return Transaction(transactional_id, producer.producer_id, producer.producer_epoch, is_v2)


def write(cluster: Cluster, transaction: Transaction, partition: TopicPartition) -> None:
    identity = ProducerIdentity(
        transaction.producer_id,
        transaction.producer_epoch,
        transaction.transactional_id,
        None if transaction.is_v2 else lambda new: add_partitions(cluster, transaction, new),
    )
    records = bytearray()
    append_record(records, 0, 0, None, b"value")
    producer = BatchProducer(cluster, identity)
    producer.send(BatchToSend(partition, 1, 0, 0, 0, records))
    producer.flush()


def test_both_have_transactions_v2(cluster: Cluster) -> None:
    assert speaks_v2(cluster)


@pytest.mark.parametrize("is_v2", [True, False], ids=["v2", "v1"])
@pytest.mark.parametrize("committed", [True, False])
def test_rows_and_offsets_in_one_transaction(
    cluster: Cluster, partition: TopicPartition, is_v2: bool, committed: bool
) -> None:
    group = f"group-{uuid4().hex}"
    assert stable_offsets(cluster, group, [partition]) == {partition: None}
    transaction = begin(cluster, is_v2=is_v2)
    write(cluster, transaction, partition)
    commit_offsets(cluster, transaction, group, {partition: (7, "seven")})
    assert stable_offsets(cluster, group, [partition]) == {partition: UNSTABLE}
    assert stable_offsets(cluster, group, [partition], pending_too=True) == {partition: None}
    assert last_stable_offset(cluster, partition) == 0
    end_transaction(cluster, transaction, committed=committed)
    for _ in cluster.attempts():
        found = stable_offsets(cluster, group, [partition])[partition]
        if found != UNSTABLE and last_stable_offset(cluster, partition) == 2:
            break
    assert (found is not None and found[:2] == (7, "seven")) == committed


@pytest.mark.parametrize("is_v2", [True, False], ids=["v2", "v1"])
def test_who_was_overtaken_is_refused(cluster: Cluster, partition: TopicPartition, is_v2: bool) -> None:
    early = begin(cluster, is_v2=is_v2)
    write(cluster, early, partition)
    begin(cluster, is_v2=is_v2, transactional_id=early.transactional_id)
    with pytest.raises(KafkaRefused) as refused:
        end_transaction(cluster, early, committed=True)
    assert refused.value.error_code in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
    with pytest.raises(KafkaRefused):
        write(cluster, early, partition)
    with pytest.raises(KafkaRefused):
        commit_offsets(cluster, early, "group", {partition: (1, "")})


@pytest.mark.parametrize("group", ["", "a", "stoker-sink-0f8fad5b", "größe", "polygenelubricants"])
def test_where_the_offsets_of_a_group_are(cluster: Cluster, group: str) -> None:
    """By Java's hash, of which one has no absolute value; Kafka's own tools are the judge in the tests of heals."""
    found = offsets_partition(cluster, group)
    assert found.topic == "__consumer_offsets"
    (offsets,) = describe_topics(cluster, [found.topic])
    assert isinstance(offsets, Topic)
    expected = {"": 0, "a": 97 % len(offsets.partitions), "polygenelubricants": 0}
    assert found.partition == expected.get(group, found.partition)
