"""Partitions put together by the broker that is asked about them, so that each broker is asked once."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.topic_partition import TopicPartition
from stoker.wire.error_codes import ErrorCode

T = TypeVar("T")


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


def ask_each(
    cluster: Cluster,
    partitions: Iterable[TopicPartition],
    ask: Callable[[list[TopicPartition], int], dict[TopicPartition, T | KafkaRefused]],
    *,
    who: Callable[[Cluster, Iterable[TopicPartition]], Leaders] = by_leader,
    waits_for_leaders: bool = False,
) -> dict[TopicPartition, T | KafkaRefused]:
    """What `ask` is told of each partition by whom it has to ask, looked for again as long as an answer may be another soon.

    A partition that is not there is refused at once, and one without a leader too, which may stay so for hours, unless
    `waits_for_leaders`: then it has as long as any call.
    """
    wanted = pending = list(partitions)
    found: dict[TopicPartition, T | KafkaRefused] = {}
    for attempt in cluster.attempts() if wanted else ():
        brokers = who(cluster, pending)
        answered: dict[TopicPartition, T | KafkaRefused] = {}
        for node_id, held in brokers.partitions.items():
            answered |= ask(held, node_id)
        found |= brokers.refused
        found |= answered
        pending = [each for each, result in answered.items() if _may_change(result)]
        if waits_for_leaders:
            pending += [
                each for each, why in brokers.refused.items() if why.error_code is ErrorCode.LEADER_NOT_AVAILABLE
            ]
        if attempt.is_last or not pending:
            break
    return {partition: found[partition] for partition in wanted}


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


def _may_change(result: object) -> bool:
    return isinstance(result, KafkaRefused) and result.error_code.retriable
