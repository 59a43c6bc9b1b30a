"""All that `stoker topics describe` tells of a topic."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from stoker.cli.output import print_table, shown_bytes
from stoker.client.admin.configs import Config, describe_topic_configs
from stoker.client.admin.log_dirs import replica_sizes
from stoker.client.admin.offsets import EARLIEST, LATEST, ListedOffset, list_offsets_of
from stoker.client.admin.reassignments import without_newcomers
from stoker.client.admin.topics import Partition, Topic
from stoker.client.cluster import Cluster
from stoker.client.errors import ClientError
from stoker.client.topic_partition import TopicPartition
from stoker.wire.uuids import uuid_text


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionDescription:
    """`earliest` and `latest` are offsets, `size` the bytes of the leader's replica; None where the cluster did not say.

    `is_under_replicated`: it lacks a replica in sync, other than one that a reassignment only adds.
    """

    partition: Partition
    is_under_replicated: bool
    earliest: int | None
    latest: int | None
    size: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicDescription:
    """`configs` are those that are not the default."""

    topic: Topic
    configs: tuple[Config, ...]
    partitions: tuple[PartitionDescription, ...]

    def only(self, *, under_replicated: bool, unavailable: bool) -> "TopicDescription":
        """With those partitions only that are in such trouble; with all if no trouble is asked for."""
        if not under_replicated and not unavailable:
            return self
        kept = [
            each
            for each in self.partitions
            if (under_replicated and each.is_under_replicated) or (unavailable and each.partition.leader is None)
        ]
        return replace(self, partitions=tuple(kept))

    def as_json(self) -> dict[str, Any]:
        return {
            "topic": self.topic.name,
            "id": uuid_text(self.topic.topic_id),
            "internal": self.topic.is_internal,
            "replication_factor": self.topic.replication_factor,
            "configs": {config.name: config.value for config in self.configs},
            "partitions": [
                {
                    "partition": each.partition.partition,
                    "leader": each.partition.leader,
                    "replicas": each.partition.replicas,
                    "isr": each.partition.isr,
                    "earliest": each.earliest,
                    "latest": each.latest,
                    "size": each.size,
                }
                for each in self.partitions
            ],
        }


def describe_in_full(cluster: Cluster, topics: Sequence[Topic]) -> list[TopicDescription]:
    """Each topic with its configs, and with offsets and sizes as far as they can be had."""
    by_key = {TopicPartition(topic.name, each.partition): each for topic in topics for each in topic.partitions}
    earliest = list_offsets_of(cluster, by_key, EARLIEST)
    latest = list_offsets_of(cluster, by_key, LATEST)
    sizes = _leader_sizes(cluster, topics)
    configs = describe_topic_configs(cluster, [topic.name for topic in topics])

    in_sync = {key: each.isr for key, each in by_key.items()}
    wanted = without_newcomers(cluster, {key: each.replicas for key, each in by_key.items()}, in_sync)

    def described(topic: Topic, partition: Partition) -> PartitionDescription:
        key = TopicPartition(topic.name, partition.partition)
        first, last = earliest.get(key), latest.get(key)
        return PartitionDescription(
            partition=partition,
            is_under_replicated=len(partition.isr) < len(wanted[key]),
            earliest=first.offset if isinstance(first, ListedOffset) else None,
            latest=last.offset if isinstance(last, ListedOffset) else None,
            size=sizes.get(key),
        )

    return [
        TopicDescription(
            topic=topic,
            configs=tuple(config for config in configs.get(topic.name, []) if not config.is_default),
            partitions=tuple(described(topic, partition) for partition in topic.partitions),
        )
        for topic in topics
    ]


def print_description(description: TopicDescription) -> None:
    """For people."""
    topic = description.topic
    count = len(topic.partitions)
    print(
        f"Topic {topic.name}: {count} partition{'' if count == 1 else 's'}, "
        f"replication factor {topic.replication_factor}, id {uuid_text(topic.topic_id)}"
    )
    for config in description.configs:
        print(f"  {config.name}={config.value} ({config.source.label})")
    print_table(
        ("PARTITION", "LEADER", "REPLICAS", "ISR", "EARLIEST", "LATEST", "SIZE"),
        [
            (
                each.partition.partition,
                each.partition.leader,
                ",".join(map(str, each.partition.replicas)),
                ",".join(map(str, each.partition.isr)),
                each.earliest,
                each.latest,
                None if each.size is None else shown_bytes(each.size),
            )
            for each in description.partitions
        ],
    )


def _leader_sizes(cluster: Cluster, topics: Sequence[Topic]) -> dict[TopicPartition, int]:
    by_leader: dict[int, list[TopicPartition]] = {}
    for topic in topics:
        for partition in topic.partitions:
            if partition.leader is not None:
                by_leader.setdefault(partition.leader, []).append(TopicPartition(topic.name, partition.partition))
    sizes: dict[TopicPartition, int] = {}
    for leader, partitions in by_leader.items():
        try:
            sizes |= replica_sizes(cluster, leader, partitions)
        except ClientError:  # one who may not see the disks of the brokers may still see the topic
            continue
    return sizes
