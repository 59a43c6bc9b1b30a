"""Partitions put together by the broker that leads them, so that each broker is asked once."""

from collections.abc import Iterable
from typing import NamedTuple

from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.topic_partition import TopicPartition
from stoker.wire.error_codes import ErrorCode


class Leaders(NamedTuple):
    """Partitions by the id of their leader, and those that have none."""

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
