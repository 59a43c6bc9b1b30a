"""Moves of partitions between brokers: start, list and cancel them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from stoker.client.cluster import CONNECTION_FAILURES, Cluster
from stoker.client.errors import KafkaRefused, UnsupportedByBroker, raise_if_refused
from stoker.client.targets import CONTROLLER
from stoker.client.topic_partition import TopicPartition, by_topic
from stoker.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reassignment:
    """A move under way. `replicas` are all at this moment, those that are added and those that will go among them."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


def list_reassignments(
    cluster: Cluster, partitions: Iterable[TopicPartition] | None = None
) -> dict[TopicPartition, Reassignment]:
    """The moves that are under way, of the given partitions or of all. Raises KafkaRefused."""
    topics = None
    if partitions is not None:
        topics = [
            ListPartitionReassignmentsTopics(name=topic, partition_indexes=indexes)
            for topic, indexes in by_topic(partitions).items()
        ]
    answer = cluster.send(
        ListPartitionReassignmentsRequest(topics=topics), ListPartitionReassignmentsResponse, to=CONTROLLER
    )
    raise_if_refused(answer.error_code, answer.error_message)
    found = {
        TopicPartition(topic.name, each.partition_index): Reassignment(
            replicas=tuple(each.replicas), adding=tuple(each.adding_replicas), removing=tuple(each.removing_replicas)
        )
        for topic in answer.topics
        for each in topic.partitions
    }
    return dict(sorted(found.items()))


def reassignments_if_told(cluster: Cluster, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Reassignment]:
    """Those of these partitions; none of an old cluster, of one that does not tell everybody, or has no controller."""
    if not partitions:
        return {}
    try:
        return list_reassignments(cluster, partitions)
    except (UnsupportedByBroker, KafkaRefused, *CONNECTION_FAILURES):
        return {}


def without_newcomers(
    cluster: Cluster, replicas: Mapping[TopicPartition, Sequence[int]], in_sync: Mapping[TopicPartition, Sequence[int]]
) -> dict[TopicPartition, tuple[int, ...]]:
    """The replicas of each partition, but for those that a move only adds and that are not in sync yet: it does not lack them.

    Where nobody tells of moves, none counts.
    """
    lacking = [partition for partition, each in replicas.items() if len(in_sync[partition]) < len(each)]
    moving = reassignments_if_told(cluster, lacking)
    added = {partition: set(move.adding).difference(in_sync[partition]) for partition, move in moving.items()}
    return {
        partition: tuple(replica for replica in each if replica not in added.get(partition, ()))
        for partition, each in replicas.items()
    }


def alter_reassignments(
    cluster: Cluster,
    targets: Mapping[TopicPartition, Sequence[int] | None],
    *,
    allow_replication_factor_change: bool = True,
) -> dict[TopicPartition, KafkaRefused | None]:
    """Begin to move partitions to these brokers, or with None stop moving them; for each None or why it was refused.

    Raises KafkaRefused if the whole request is refused.
    """
    from stoker.wire.messages.alter_partition_reassignments import (
        AlterPartitionReassignmentsRequest,
        AlterPartitionReassignmentsResponse,
        ReassignablePartition,
        ReassignableTopic,
    )

    topics = [
        ReassignableTopic(
            name=topic,
            partitions=[
                ReassignablePartition(partition_index=index, replicas=_listed(targets[TopicPartition(topic, index)]))
                for index in indexes
            ],
        )
        for topic, indexes in by_topic(targets).items()
    ]
    request = AlterPartitionReassignmentsRequest(topics=topics)
    if not allow_replication_factor_change:  # which brokers before KIP-860 cannot be told
        request.allow_replication_factor_change = False
    answer = cluster.send(request, AlterPartitionReassignmentsResponse, to=CONTROLLER)
    raise_if_refused(answer.error_code, answer.error_message)
    return {
        TopicPartition(topic.name, each.partition_index): KafkaRefused(each.error_code, each.error_message)
        if each.error_code
        else None
        for topic in answer.responses
        for each in topic.partitions
    }


def _listed(replicas: Sequence[int] | None) -> list[int] | None:
    return None if replicas is None else list(replicas)
