"""The metadata quorum: who leads it, who votes, who listens, and how far each is."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from stoker.client.cluster import Cluster
from stoker.client.errors import raise_if_refused
from stoker.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    ReplicaState,
    TopicData,
)

METADATA_TOPIC: Final = "__cluster_metadata"


@dataclass(frozen=True, kw_only=True, slots=True)
class QuorumReplica:
    """A node's copy of the metadata log. The times are None where they are not known."""

    node_id: int
    directory_id: UUID
    log_end_offset: int
    last_fetch_ms: int | None
    last_caught_up_ms: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Quorum:
    """`endpoints` are the listeners of the controllers by node, as `NAME://host:port`; brokers before 3.9 tell none."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
    endpoints: dict[int, tuple[str, ...]]

    @property
    def leader(self) -> QuorumReplica:
        return next(each for each in self.voters if each.node_id == self.leader_id)


def describe_quorum(cluster: Cluster) -> Quorum:
    """What the leader of the quorum knows. Raises KafkaRefused, and UnsupportedByBroker for a cluster with ZooKeeper."""
    topic = TopicData(topic_name=METADATA_TOPIC, partitions=[PartitionData(partition_index=0)])
    answer = cluster.send(DescribeQuorumRequest(topics=[topic]), DescribeQuorumResponse, error_of=_error)
    raise_if_refused(answer.error_code, answer.error_message)
    (partition,) = answer.topics[0].partitions
    raise_if_refused(partition.error_code, partition.error_message)
    return Quorum(
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        high_watermark=partition.high_watermark,
        voters=tuple(map(_replica, partition.current_voters)),
        observers=tuple(map(_replica, partition.observers)),
        endpoints={
            node.node_id: tuple(f"{each.name}://{each.host}:{each.port}" for each in node.listeners)
            for node in answer.nodes
        },
    )


def _error(answer: DescribeQuorumResponse) -> int:
    """Who was asked for the leader's answer and leads no longer says so of the partition."""
    return answer.error_code or next((each.error_code for topic in answer.topics for each in topic.partitions), 0)


def _replica(state: ReplicaState) -> QuorumReplica:
    return QuorumReplica(
        node_id=state.replica_id,
        directory_id=state.replica_directory_id,
        log_end_offset=state.log_end_offset,
        last_fetch_ms=_known(state.last_fetch_timestamp),
        last_caught_up_ms=_known(state.last_caught_up_timestamp),
    )


def _known(number: int) -> int | None:
    return None if number < 0 else number
