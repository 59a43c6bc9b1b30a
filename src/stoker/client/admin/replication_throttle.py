"""The throttle of replication (KIP-73): how fast replicas that move may be copied, and which they are.

A rate is a config of each broker; which replicas it holds for is a config of each topic.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from stoker.client.admin.configs import (
    Alteration,
    Operation,
    Resource,
    ResourceType,
    alter_configs_of,
    describe_topic_configs,
)
from stoker.client.cluster import Cluster
from stoker.client.topic_partition import TopicPartition

LEADER_RATE: Final = "leader.replication.throttled.rate"
FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
LOG_DIRS_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"

_MOVE_RATES: Final = (LEADER_RATE, FOLLOWER_RATE)
BROKER_CONFIGS: Final = (LEADER_RATE, FOLLOWER_RATE, LOG_DIRS_RATE)
TOPIC_CONFIGS: Final = (LEADER_REPLICAS, FOLLOWER_REPLICAS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Move:
    """Where a partition is copied from, and to."""

    sources: frozenset[int]
    destinations: frozenset[int]


Moves = Mapping[TopicPartition, Move]


def throttle_moves(cluster: Cluster, moves: Moves, bytes_per_second: int) -> None:
    """Let the replicas of the moves be copied no faster than this by any live broker that takes part. Raises KafkaRefused."""
    changes: dict[Resource, list[Alteration]] = {
        Resource(ResourceType.TOPIC, topic): [
            Alteration(LEADER_REPLICAS, Operation.SET, throttled_replicas(moves, topic, leaders=True)),
            Alteration(FOLLOWER_REPLICAS, Operation.SET, throttled_replicas(moves, topic, leaders=False)),
        ]
        for topic in sorted({partition.topic for partition in moves})
    }
    alter_configs_of(cluster, changes)
    live = {each.node_id for each in cluster.metadata([]).brokers}
    brokers = live & {node_id for move in moves.values() for node_id in move.sources | move.destinations}
    rates = [Alteration(name, Operation.SET, str(bytes_per_second)) for name in _MOVE_RATES]
    alter_configs_of(cluster, {_broker(node_id): rates for node_id in sorted(brokers)})


def throttle_log_dirs(cluster: Cluster, brokers: Iterable[int], bytes_per_second: int) -> None:
    """The same for moves between the directories of a broker. Raises KafkaRefused."""
    rate = Alteration(LOG_DIRS_RATE, Operation.SET, str(bytes_per_second))
    alter_configs_of(cluster, {_broker(node_id): [rate] for node_id in brokers})


def topics_throttled_for(cluster: Cluster, topics: Iterable[str], node_id: int) -> list[str]:
    """Those of the topics whose throttled replicas name the broker, as `throttle_moves` names it when it takes part.

    `*`, all replicas of a topic, names no broker: no move has set it. Topics whose configs may not be seen are not told.
    """
    return [
        topic
        for topic, configs in describe_topic_configs(cluster, topics).items()
        if any(config.name in TOPIC_CONFIGS and _names(config.value or "", node_id) for config in configs)
    ]


def unthrottle_moves(cluster: Cluster, brokers: Iterable[int], topics: Iterable[str]) -> None:
    """Take off what `throttle_moves` has set, and nothing else. Raises KafkaRefused.

    The topics come last: if this is cut short they still tell, by `topics_throttled_for`, that something is left.
    """
    removals = [Alteration(name, Operation.DELETE) for name in _MOVE_RATES]
    alter_configs_of(cluster, {_broker(node_id): removals for node_id in brokers})
    unthrottle_topics(cluster, topics)


def unthrottle_brokers(cluster: Cluster, brokers: Iterable[int]) -> None:
    """Raises KafkaRefused."""
    removals = [Alteration(name, Operation.DELETE) for name in BROKER_CONFIGS]
    alter_configs_of(cluster, {_broker(node_id): removals for node_id in brokers})


def unthrottle_topics(cluster: Cluster, topics: Iterable[str]) -> None:
    """Raises KafkaRefused."""
    removals = [Alteration(name, Operation.DELETE) for name in TOPIC_CONFIGS]
    alter_configs_of(cluster, {Resource(ResourceType.TOPIC, topic): removals for topic in topics})


def throttled_replicas(moves: Moves, topic: str, *, leaders: bool) -> str:
    """`partition:broker,...`, in the order of Kafka's own tool: those that copies are made from, or to."""
    return ",".join(
        sorted(
            f"{partition.partition}:{node_id}"
            for partition, move in moves.items()
            if partition.topic == topic
            for node_id in (move.sources if leaders else move.destinations - move.sources)
        )
    )


def _names(throttled: str, node_id: int) -> bool:
    return any(each.strip().partition(":")[2] == str(node_id) for each in throttled.split(","))


def _broker(node_id: int) -> Resource:
    return Resource(ResourceType.BROKER, str(node_id))
