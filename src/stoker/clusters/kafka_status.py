"""What a local Apache Kafka cluster is doing: its processes, and what its brokers tell of it."""

from dataclasses import dataclass, replace

from stoker.client.admin.quorum import describe_quorum
from stoker.client.admin.reassignments import without_newcomers
from stoker.client.admin.topics import Partition, list_topics
from stoker.client.cluster import Cluster
from stoker.client.errors import ClientError
from stoker.client.topic_partition import TopicPartition
from stoker.clusters.kafka_node import KafkaNode


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeStatus:
    """`pid` and `memory` are None of a node that is down; what brokers tell is None if none answers."""

    node: int
    address: str
    rack: str
    roles: str
    is_quorum_leader: bool
    pid: int | None
    memory: int | None
    """Resident bytes."""
    leaders: int | None
    """Partitions that it leads."""
    under_replicated: int | None
    """Of these, those that lack a replica: what Kafka's metric UnderReplicatedPartitions counts."""
    out_of_sync: int | None
    """Its own replicas that are not in sync."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KafkaStatus:
    """`offline` are partitions without a leader; None if no broker answers."""

    cluster_id: str
    kafka_version: str
    directory: str
    bootstrap_servers: str
    offline: int | None
    nodes: tuple[NodeStatus, ...]

    @property
    def running(self) -> tuple[NodeStatus, ...]:
        return tuple(node for node in self.nodes if node.pid is not None)

    @property
    def quorum_leader(self) -> int | None:
        return next((node.node for node in self.nodes if node.is_quorum_leader), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Replication:
    """The partitions of a cluster, or None if no broker answers, and the active controller, or None if there is none.

    Replicas that a reassignment only adds, and that are not in sync yet, are none of a partition's here.
    """

    partitions: tuple[Partition, ...] | None
    quorum_leader: int | None

    @property
    def under_replicated(self) -> int:
        return sum(len(each.isr) < len(each.replicas) for each in self.partitions or ())

    @property
    def offline(self) -> int:
        return sum(each.leader is None for each in self.partitions or ())

    @property
    def without_preferred_leader(self) -> int:
        return sum(each.leader != each.replicas[0] for each in self.partitions or ())

    @property
    def is_whole(self) -> bool:
        """Every partition has its leader and all of its replicas in sync."""
        return self.partitions is not None and not self.under_replicated and not self.offline


def replication(cluster: Cluster) -> Replication:
    """What the brokers tell now."""
    try:
        there = {
            TopicPartition(topic.name, each.partition): each
            for topic in list_topics(cluster)
            for each in topic.partitions
        }
    except ClientError:
        return Replication(partitions=None, quorum_leader=None)
    wanted = without_newcomers(
        cluster,
        {partition: each.replicas for partition, each in there.items()},
        {partition: each.isr for partition, each in there.items()},
    )
    partitions = tuple(replace(each, replicas=wanted[partition]) for partition, each in there.items())
    try:
        leader = describe_quorum(cluster).leader_id
    except ClientError:
        leader = None
    return Replication(partitions=partitions, quorum_leader=leader)


def node_status(node: KafkaNode, told: Replication) -> NodeStatus:
    """Of one node, of which the brokers have told so much."""
    number = node.number
    is_told = told.partitions is not None
    led = [each for each in told.partitions or () if each.leader == number]
    missing = [each for each in told.partitions or () if number in each.replicas and number not in each.isr]
    return NodeStatus(
        node=number,
        address=node.address,
        rack=f"rack-{number}",
        roles=node.plan.roles(number),
        is_quorum_leader=told.quorum_leader == number,
        pid=node.daemon.pid,
        memory=node.daemon.memory,
        leaders=len(led) if is_told else None,
        under_replicated=sum(len(each.isr) < len(each.replicas) for each in led) if is_told else None,
        out_of_sync=len(missing) if is_told else None,
    )
