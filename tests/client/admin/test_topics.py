"""Topics of a real cluster."""

from uuid import uuid4

import pytest

from stoker.client.admin.topics import (
    Topic,
    create_topic,
    delete_topics,
    describe_partitions,
    describe_topics,
    grow_topic,
    list_topics,
    wait_until,
)
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.wire.error_codes import ErrorCode


def test_the_life_of_a_topic(cluster: Cluster) -> None:
    name = f"topic-{uuid4().hex[:8]}"
    create_topic(cluster, name, partitions=2, replication_factor=1, configs={"cleanup.policy": "compact"})
    wait_until(cluster, name, lambda topic: topic is not None)
    assert name in [topic.name for topic in list_topics(cluster)]
    (topic,) = describe_topics(cluster, [name])
    assert isinstance(topic, Topic)
    assert (topic.name, topic.is_internal, topic.replication_factor) == (name, False, 1)
    assert [each.partition for each in topic.partitions] == [0, 1]
    leader = topic.partitions[0].leader
    assert leader is not None
    assert topic.partitions[0].replicas == topic.partitions[0].isr == (leader,)
    grow_topic(cluster, name, 5)
    wait_until(cluster, name, lambda grown: grown is not None and len(grown.partitions) == 5)
    assert delete_topics(cluster, [name]) == {name: None}
    wait_until(cluster, name, lambda gone: gone is None)
    (gone,) = describe_topics(cluster, [name])
    assert isinstance(gone, KafkaRefused)
    assert gone.error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("partitions_per_answer", [1, 2, 2000])
def test_partitions_are_told_page_by_page(cluster: Cluster, partitions_per_answer: int) -> None:
    names = [f"topic-{uuid4().hex[:8]}" for _ in range(2)]
    for name in names:
        create_topic(cluster, name, partitions=3)
        wait_until(cluster, name, lambda topic: topic is not None and None not in [p.leader for p in topic.partitions])
    missing = f"never-{uuid4().hex[:8]}"
    found = describe_partitions(cluster, [*names, missing], partitions_per_answer=partitions_per_answer)
    topics = [each for each in found if isinstance(each, Topic)]
    assert [(topic.name, [each.partition for each in topic.partitions]) for topic in topics] == [
        (name, [0, 1, 2]) for name in sorted(names)
    ]
    assert {each.eligible_leader_replicas for topic in topics for each in topic.partitions} == {()}
    (refused,) = (each for each in found if isinstance(each, KafkaRefused))
    assert refused.error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_replicas_are_placed_by_hand(cluster: Cluster) -> None:
    name, broker = f"topic-{uuid4().hex[:8]}", min(cluster.brokers())
    create_topic(cluster, name, assignments=[[broker], [broker]])
    wait_until(cluster, name, lambda topic: topic is not None)
    grow_topic(cluster, name, 3, assignments=[[broker]])
    wait_until(cluster, name, lambda topic: topic is not None and len(topic.partitions) == 3)
    (topic,) = describe_topics(cluster, [name])
    assert isinstance(topic, Topic)
    assert [each.replicas for each in topic.partitions] == [(broker,)] * 3


def test_asking_for_a_topic_does_not_create_it(cluster: Cluster) -> None:
    name = f"never-{uuid4().hex[:8]}"
    describe_topics(cluster, [name])
    assert name not in [topic.name for topic in list_topics(cluster)]


def test_defaults_are_the_brokers(cluster: Cluster) -> None:
    name = f"topic-{uuid4().hex[:8]}"
    create_topic(cluster, name)
    wait_until(cluster, name, lambda topic: topic is not None)
    (topic,) = describe_topics(cluster, [name])
    assert isinstance(topic, Topic)
    assert (len(topic.partitions), topic.replication_factor) == (1, len(cluster.brokers()))


def test_refusals(cluster: Cluster, topic: str) -> None:
    with pytest.raises(KafkaRefused, match="TOPIC_ALREADY_EXISTS"):
        create_topic(cluster, topic)
    with pytest.raises(KafkaRefused, match=r"no.such.config.*INVALID_CONFIG"):
        create_topic(cluster, f"{topic}-2", configs={"no.such.config": "1"})
    with pytest.raises(KafkaRefused, match="INVALID_PARTITIONS"):
        grow_topic(cluster, topic, 1)
    refused = delete_topics(cluster, [f"{topic}-3"])[f"{topic}-3"]
    assert refused is not None
    assert refused.error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_validating_changes_nothing(cluster: Cluster, topic: str) -> None:
    create_topic(cluster, f"{topic}-2", validate_only=True)
    grow_topic(cluster, topic, 3, validate_only=True)
    first, second = describe_topics(cluster, [topic, f"{topic}-2"])
    assert isinstance(first, Topic)
    assert len(first.partitions) == 2
    assert isinstance(second, KafkaRefused)
