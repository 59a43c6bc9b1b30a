"""Producers of a real cluster, as its partitions know them."""

from uuid import uuid4

import pytest

from stoker.client.admin.producers import ActiveProducer, abort_in_partition, describe_producers, open_transactions
from stoker.client.admin.topics import Topic, describe_topics
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.targets import LeaderOf
from stoker.client.topic_partition import TopicPartition
from stoker.wire.error_codes import ErrorCode
from tests.raw_transactional_producer import HOUR_MS, TransactionalProducer


def known(cluster: Cluster, partition: TopicPartition, *, on_broker: int | None = None) -> list[ActiveProducer]:
    producers = describe_producers(cluster, [partition], on_broker=on_broker)[partition]
    assert isinstance(producers, list)
    return producers


def test_producers_of_a_partition(cluster: Cluster, topic: str) -> None:
    """By their ids; those whose transaction is open are told apart."""
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    one, other = (TransactionalProducer(cluster, f"payments-{uuid4().hex[:8]}") for _ in range(2))
    one.add(first)
    one.produce(first, age_ms=HOUR_MS)
    one.commit()
    other.add(first)
    other.produce(first)
    assert other.produce(first) == 3
    # Each coordinator gives ids out of a block of its own, so that the later may have the smaller one.
    told = known(cluster, first)
    ended, is_open = sorted(told, key=lambda producer: producer.producer_id == other.producer_id)
    assert ended[:3] == (one.producer_id, one.producer_epoch, 0)
    assert ended.transaction_start_offset is None
    assert is_open[:4] == (other.producer_id, other.producer_epoch, None, 1)
    assert is_open.transaction_start_offset == 2
    assert is_open.last_timestamp is not None
    producers = describe_producers(cluster, [second, first])
    assert list(producers) == [second, first]
    assert producers[second] == []
    assert list(open_transactions(producers)) == [(first, is_open)]
    leader = cluster.leader_of(LeaderOf(*first))
    assert known(cluster, first, on_broker=leader) == told


@pytest.mark.parametrize("is_on_one_broker", [False, True])
def test_a_partition_that_is_not_there(cluster: Cluster, topic: str, is_on_one_broker: bool) -> None:
    """It has an error of its own, and the others are told."""
    on_broker = min(cluster.brokers()) if is_on_one_broker else None
    there, missing = TopicPartition(topic, 1), TopicPartition(topic, 7)
    producers = describe_producers(cluster, [missing, there], on_broker=on_broker)
    assert producers[there] == []
    refused = producers[missing]
    assert isinstance(refused, KafkaRefused)
    assert refused.error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_broker_that_has_no_replica(cluster: Cluster, topic: str) -> None:
    partition = TopicPartition(topic, 0)
    refused = describe_producers(cluster, [partition], on_broker=7)[partition]
    (described,) = describe_topics(cluster, [topic])
    assert isinstance(described, Topic)
    replicas = ", ".join(map(str, described.partitions[0].replicas))
    assert str(refused) == f"the replicas are on other brokers: {replicas} (NOT_LEADER_OR_FOLLOWER)"


def test_more_partitions_than_one_request_asks_for(
    cluster: Cluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stoker.client.admin.producers._PARTITIONS_AT_ONCE", 1)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert describe_producers(cluster, [first, second]) == {first: [], second: []}
    assert describe_producers(cluster, []) == {}


def test_a_marker_of_an_epoch_that_is_over(cluster: Cluster, topic: str) -> None:
    """A transaction of a later epoch is not aborted in place of the one that was meant."""
    partition, name = TopicPartition(topic, 0), f"payments-{uuid4().hex[:8]}"
    for _ in range(2):
        producer = TransactionalProducer(cluster, name)
        producer.add(partition)
        producer.produce(partition)
        producer.commit()
    (current,) = known(cluster, partition)
    with pytest.raises(KafkaRefused, match="INVALID_PRODUCER_EPOCH"):
        abort_in_partition(cluster, partition, current._replace(producer_epoch=0))
