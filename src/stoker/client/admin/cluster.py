"""The cluster itself: its id, its brokers, its controller."""

from dataclasses import dataclass

from stoker.client.admin.quorum import describe_quorum
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused, UnsupportedByBroker, raise_if_refused
from stoker.client.targets import CONTROLLER


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokerDescription:
    node_id: int
    host: str
    port: int
    rack: str | None
    is_controller: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class RegisteredBroker:
    """`is_fenced` is one that is stopped or has not caught up: it leads nothing, and clients do not hear of it."""

    node_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterDescription:
    """`controller_id` is None while nobody tells who it is."""

    cluster_id: str
    controller_id: int | None
    brokers: tuple[BrokerDescription, ...]


def describe_cluster(cluster: Cluster) -> ClusterDescription:
    """The live brokers and the cluster's id. Raises KafkaRefused."""
    metadata = cluster.metadata([])
    controller = _controller(cluster, metadata.controller_id)
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


def _controller(cluster: Cluster, told: int) -> int | None:
    """In KRaft brokers tell their clients any broker, for all hand requests on (KIP-631): who really is it leads the quorum."""
    try:
        return describe_quorum(cluster).leader_id
    except UnsupportedByBroker:  # a cluster with ZooKeeper
        return told
    except KafkaRefused:  # who asks may not know, or there is no quorum
        return None


def unregister_broker(cluster: Cluster, node_id: int) -> None:
    """Forget a broker that is stopped for good, so that no replicas are placed on it (KIP-1073). Raises KafkaRefused."""
    from stoker.wire.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse

    answer = cluster.send(UnregisterBrokerRequest(broker_id=node_id), UnregisterBrokerResponse, to=CONTROLLER)
    raise_if_refused(answer.error_code, answer.error_message)


def registered_brokers(cluster: Cluster) -> tuple[RegisteredBroker, ...]:
    """All brokers that the controller knows, those that are not running too. Raises KafkaRefused."""
    from stoker.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

    answer = cluster.send(DescribeClusterRequest(include_fenced_brokers=True), DescribeClusterResponse)
    raise_if_refused(answer.error_code, answer.error_message)
    return tuple(
        RegisteredBroker(
            node_id=each.broker_id, host=each.host, port=each.port, rack=each.rack, is_fenced=each.is_fenced
        )
        for each in answer.brokers
    )
