"""Where on the disks of the brokers the replicas of topics are, how large they are, and how to move them between disks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused, raise_if_refused
from stoker.client.targets import Broker
from stoker.client.topic_partition import TopicPartition, by_topic
from stoker.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LogReplica:
    """`offset_lag` is how far it is behind the partition; `is_future` one that is to take the place of another."""

    partition: TopicPartition
    size: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class LogDir:
    """`error` is why the broker cannot use it."""

    path: str
    error: KafkaRefused | None
    replicas: tuple[LogReplica, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicaLogDirs:
    """The directory of a replica, and the one it is being moved to; None where there is none."""

    current: str | None
    future: str | None


def describe_log_dirs(cluster: Cluster, node_id: int) -> list[LogDir]:
    """All directories of a broker, and all that is in them. Raises KafkaRefused."""
    answer = cluster.send(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse, to=Broker(node_id))
    raise_if_refused(answer.error_code)
    return [
        LogDir(
            path=directory.log_dir,
            error=KafkaRefused(directory.error_code) if directory.error_code else None,
            replicas=tuple(
                LogReplica(
                    partition=TopicPartition(topic.name, each.partition_index),
                    size=each.partition_size,
                    offset_lag=each.offset_lag,
                    is_future=each.is_future_key,
                )
                for topic in directory.topics
                for each in topic.partitions
            ),
        )
        for directory in answer.results
    ]


def replica_sizes(cluster: Cluster, node_id: int, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """The bytes of each partition that the broker has a replica of. Raises KafkaRefused."""
    answer = _describe(cluster, node_id, partitions)
    return {
        TopicPartition(topic.name, each.partition_index): each.partition_size
        for directory in answer.results
        for topic in directory.topics
        for each in topic.partitions
        if not each.is_future_key
    }


def replica_log_dirs(
    cluster: Cluster, node_id: int, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, ReplicaLogDirs]:
    """Where the broker has each partition. Raises KafkaRefused."""
    partitions = list(partitions)
    answer = _describe(cluster, node_id, partitions)
    current: dict[TopicPartition, str] = {}
    future: dict[TopicPartition, str] = {}
    for directory in answer.results:
        for topic in directory.topics:
            for each in topic.partitions:
                found = future if each.is_future_key else current
                found[TopicPartition(topic.name, each.partition_index)] = directory.log_dir
    return {each: ReplicaLogDirs(current=current.get(each), future=future.get(each)) for each in partitions}


def alter_replica_log_dirs(
    cluster: Cluster, node_id: int, directories: Mapping[TopicPartition, str]
) -> dict[TopicPartition, KafkaRefused | None]:
    """Begin to move replicas of a broker to these of its directories; for each None or why it was refused."""
    from stoker.wire.messages.alter_replica_log_dirs import (
        AlterReplicaLogDir,
        AlterReplicaLogDirsRequest,
        AlterReplicaLogDirsResponse,
        AlterReplicaLogDirTopic,
    )

    request = AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(
                path=path,
                topics=[
                    AlterReplicaLogDirTopic(name=topic, partitions=indexes)
                    for topic, indexes in by_topic(each for each in directories if directories[each] == path).items()
                ],
            )
            for path in dict.fromkeys(directories.values())
        ]
    )
    answer = cluster.send(request, AlterReplicaLogDirsResponse, to=Broker(node_id))
    return {
        TopicPartition(topic.topic_name, each.partition_index): KafkaRefused(each.error_code)
        if each.error_code
        else None
        for topic in answer.results
        for each in topic.partitions
    }


def _describe(cluster: Cluster, node_id: int, partitions: Iterable[TopicPartition]) -> DescribeLogDirsResponse:
    topics = [
        DescribableLogDirTopic(topic=topic, partitions=indexes) for topic, indexes in by_topic(partitions).items()
    ]
    answer = cluster.send(DescribeLogDirsRequest(topics=topics), DescribeLogDirsResponse, to=Broker(node_id))
    raise_if_refused(answer.error_code)
    return answer
