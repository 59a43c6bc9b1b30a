"""The cluster itself: its id, its brokers, its controller."""

from dataclasses import dataclass
from typing import Final

from stoker.client.cluster import Cluster
from stoker.client.errors import UnsupportedByBroker
from stoker.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    TopicData,
)

_METADATA_TOPIC: Final = "__cluster_metadata"


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokerDescription:
    node_id: int
    host: str
    port: int
    rack: str | None
    is_controller: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterDescription:
    cluster_id: str
    controller_id: int
    brokers: tuple[BrokerDescription, ...]


def describe_cluster(cluster: Cluster) -> ClusterDescription:
    """The live brokers and the cluster's id. Raises KafkaRefused."""
    metadata = cluster.metadata([])
    controller = _quorum_leader(cluster)
    if controller is None:
        controller = metadata.controller_id
    return ClusterDescription(
        cluster_id=metadata.cluster_id or "",
        controller_id=controller,
        brokers=tuple(
            BrokerDescription(
                node_id=broker.node_id,
                host=broker.host,
                port=broker.port,
                rack=broker.rack,
                is_controller=broker.node_id == controller,
            )
            for broker in sorted(metadata.brokers, key=lambda broker: broker.node_id)
        ),
    )


def _quorum_leader(cluster: Cluster) -> int | None:
    """Who really is the controller: in KRaft, brokers tell their clients any broker, for all hand requests on (KIP-631)."""
    partition = PartitionData(partition_index=0)
    request = DescribeQuorumRequest(topics=[TopicData(topic_name=_METADATA_TOPIC, partitions=[partition])])
    try:
        answer = cluster.send(request, DescribeQuorumResponse)
    except UnsupportedByBroker:  # a cluster with ZooKeeper
        return None
    if answer.error_code or not answer.topics or answer.topics[0].partitions[0].error_code:
        return None
    return answer.topics[0].partitions[0].leader_id
