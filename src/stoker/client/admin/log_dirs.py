"""How much the replicas of topics take on the disks of the brokers."""

from collections.abc import Iterable

from stoker.client.cluster import Cluster
from stoker.client.errors import raise_if_refused
from stoker.client.targets import Broker
from stoker.client.topic_partition import TopicPartition, by_topic
from stoker.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)


def replica_sizes(cluster: Cluster, node_id: int, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """The bytes of each partition that the broker has a replica of. Raises KafkaRefused."""
    topics = [
        DescribableLogDirTopic(topic=topic, partitions=indexes) for topic, indexes in by_topic(partitions).items()
    ]
    answer = cluster.send(DescribeLogDirsRequest(topics=topics), DescribeLogDirsResponse, to=Broker(node_id))
    raise_if_refused(answer.error_code)
    return {
        TopicPartition(topic.name, each.partition_index): each.partition_size
        for directory in answer.results
        for topic in directory.topics
        for each in topic.partitions
        if not each.is_future_key
    }
