"""Partitions put together by the broker that is asked about them, so that each broker is asked once."""

from collections.abc import Iterable
from typing import NamedTuple

from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.topic_partition import TopicPartition
from stoker.wire.error_codes import ErrorCode


class Leaders(NamedTuple):
    """Partitions by the id of the broker to ask, and those that there is none for."""

    partitions: dict[int, list[TopicPartition]]
    refused: dict[TopicPartition, KafkaRefused]


def by_leader(cluster: Cluster, partitions: Iterable[TopicPartition]) -> Leaders:
    partitions = list(partitions)
    metadata = cluster.metadata(sorted({each.topic for each in partitions}))
    errors = {topic.name: topic.error_code for topic in metadata.topics}
    leaders = {
        TopicPartition(topic.name or "", each.partition_index): each.leader_id
        for topic in metadata.topics
        for each in topic.partitions
    }
    found = Leaders({}, {})
    for partition in partitions:
        leader = leaders.get(partition)
        if leader is None:
            code = errors.get(partition.topic) or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            found.refused[partition] = KafkaRefused(code)
        elif leader < 0:
            found.refused[partition] = KafkaRefused(ErrorCode.LEADER_NOT_AVAILABLE)
        else:
            found.partitions.setdefault(leader, []).append(partition)
    return found


def by_replica(cluster: Cluster, partitions: Iterable[TopicPartition], node_id: int) -> Leaders:
    """The same for one broker, which need not lead them: refused are those that it has no replica of."""
    partitions = list(partitions)
    metadata = cluster.metadata(sorted({each.topic for each in partitions}))
    replicas = {
        TopicPartition(topic.name or "", each.partition_index): each.replica_nodes
        for topic in metadata.topics
        for each in topic.partitions
    }
    found = Leaders({}, {})
    for partition in partitions:
        if partition not in replicas:
            found.refused[partition] = KafkaRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        elif node_id not in replicas[partition]:
            elsewhere = ", ".join(map(str, replicas[partition]))
            message = f"the replicas are on other brokers: {elsewhere}"
            found.refused[partition] = KafkaRefused(ErrorCode.NOT_LEADER_OR_FOLLOWER, message)
        else:
            found.partitions.setdefault(node_id, []).append(partition)
    return found
