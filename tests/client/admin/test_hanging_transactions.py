"""Which open transactions hang, on a real cluster."""

import time
from uuid import uuid4

from stoker.client.admin.hanging_transactions import OpenTransaction, coordinated_transactions, find_hanging
from stoker.client.admin.producers import abort_in_partition, describe_producers
from stoker.client.admin.transactions import ONGOING
from stoker.client.cluster import Cluster
from stoker.client.topic_partition import TopicPartition
from tests.raw_transactional_producer import (
    HOUR_MS,
    TransactionalProducer,
    let_hang,
    without_verification,
)


def found(cluster: Cluster, topic: str, *, silent_ms: int) -> list[OpenTransaction]:
    producers = describe_producers(cluster, [TopicPartition(topic, 0), TopicPartition(topic, 1)])
    return find_hanging(cluster, producers, silent_since=time.time_ns() // 1_000_000 - silent_ms)


def test_one_that_hangs_and_one_that_does_not(address: str, cluster: Cluster, topic: str) -> None:
    """Both are an hour old, and in one partition: only the coordinators know the difference."""
    name, partition = f"payments-{uuid4().hex[:8]}", TopicPartition(topic, 1)
    with without_verification(address) as unverified:
        start = let_hang(unverified, name, partition)
    ongoing = TransactionalProducer(cluster, f"{name}-ongoing")
    ongoing.add(partition)
    ongoing.produce(partition, age_ms=HOUR_MS)
    (hanging,) = found(cluster, topic, silent_ms=HOUR_MS // 2)
    assert hanging.partition == partition
    assert hanging.producer.transaction_start_offset == start
    assert hanging.coordinated is not None
    assert hanging.coordinated.transactional_id == name
    assert found(cluster, topic, silent_ms=2 * HOUR_MS) == []
    abort_in_partition(cluster, partition, hanging.producer)
    assert found(cluster, topic, silent_ms=HOUR_MS // 2) == []
    (known,) = coordinated_transactions(cluster, {ongoing.producer_id}).values()
    assert known.state == ONGOING


def test_no_producer_ids_are_not_all_of_them(cluster: Cluster) -> None:
    TransactionalProducer(cluster, f"payments-{uuid4().hex[:8]}")
    assert coordinated_transactions(cluster, set()) == {}
