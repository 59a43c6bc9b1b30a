"""Groups: list, describe, delete."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused, UnsupportedByBroker, raise_if_refused
from stoker.client.targets import Broker, CoordinatorOf
from stoker.client.topic_partition import TopicPartition
from stoker.errors import MalformedMessage
from stoker.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from stoker.wire.messages.consumer_group_describe import Assignment
    from stoker.wire.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
    from stoker.wire.messages.describe_groups import DescribedGroup as DescribedClassicGroup

DEAD: Final = "Dead"
EMPTY: Final = "Empty"
CLASSIC: Final = "Classic"
CONSUMER: Final = "Consumer"
CONSUMER_PROTOCOL_TYPE: Final = "consumer"

_NOT_OF_THE_NEW_PROTOCOL: Final = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)


class ListedGroup(NamedTuple):
    """State and type are empty if the broker is too old to tell."""

    group_id: str
    type: str
    state: str
    protocol_type: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    target: tuple[TopicPartition, ...] | None = None
    """What the member will have when it has caught up; only the new protocol tells."""
    epoch: int | None = None
    is_upgraded: bool | None = None
    """Of a group of the new protocol: whether the member speaks it, too. Brokers before 4.0 do not tell."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """`type` is CLASSIC or CONSUMER, `assignor` the name of what assigns partitions, `epoch` is of CONSUMER groups."""

    group_id: str
    type: str
    state: str
    protocol_type: str
    assignor: str
    coordinator: int | None
    members: tuple[Member, ...]
    epoch: int | None = None
    assignment_epoch: int | None = None
    """Of the target assignment, which may be behind the group."""

    @property
    def is_active(self) -> bool:
        return self.state not in (EMPTY, DEAD)


def list_groups(cluster: Cluster, *, states: Iterable[str] = (), types: Iterable[str] = ()) -> list[ListedGroup]:
    """The groups of all brokers by their ids; of certain states and types only, if any are given. Raises KafkaRefused."""
    from stoker.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse

    request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
    found: dict[str, ListedGroup] = {}
    for node_id in list(cluster.brokers()):
        answer = cluster.send(request, ListGroupsResponse, to=Broker(node_id))
        raise_if_refused(answer.error_code)
        for group in answer.groups:
            found[group.group_id] = ListedGroup(
                group.group_id, group.group_type.capitalize(), group.group_state, group.protocol_type
            )
    return [found[group_id] for group_id in sorted(found)]


def describe_group(cluster: Cluster, group_id: str) -> Group:
    """A group of either protocol, found as Kafka's admin client finds it: the new one first. Raises KafkaRefused."""
    try:
        return _describe_consumer_group(cluster, group_id)
    except UnsupportedByBroker:
        pass
    except KafkaRefused as refused:
        if refused.error_code not in _NOT_OF_THE_NEW_PROTOCOL:
            raise
    return _describe_classic_group(cluster, group_id)


def delete_groups(cluster: Cluster, group_ids: Sequence[str]) -> dict[str, KafkaRefused | None]:
    """Delete groups and their offsets; for each None or why it was not deleted."""
    from stoker.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse

    results: dict[str, KafkaRefused | None] = {}
    for group_id in dict.fromkeys(group_ids):
        answer = cluster.send(
            DeleteGroupsRequest(groups_names=[group_id]),
            DeleteGroupsResponse,
            to=CoordinatorOf(group_id),
            error_of=lambda answer: answer.results[0].error_code,
        )
        error_code = answer.results[0].error_code
        results[group_id] = KafkaRefused(error_code) if error_code else None
    return results


def _describe_consumer_group(cluster: Cluster, group_id: str) -> Group:
    from stoker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse

    coordinator = CoordinatorOf(group_id)
    answer = cluster.send(
        ConsumerGroupDescribeRequest(group_ids=[group_id]),
        ConsumerGroupDescribeResponse,
        to=coordinator,
        error_of=lambda answer: answer.groups[0].error_code,
    )
    described = answer.groups[0]
    raise_if_refused(described.error_code, described.error_message)
    return _consumer_group(described, cluster.coordinator_of(coordinator))


def _consumer_group(described: "DescribedConsumerGroup", coordinator: int | None) -> Group:
    return Group(
        group_id=described.group_id,
        type=CONSUMER,
        state=described.group_state,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        assignor=described.assignor_name,
        coordinator=coordinator,
        epoch=described.group_epoch,
        assignment_epoch=described.assignment_epoch,
        members=tuple(
            Member(
                member_id=member.member_id,
                instance_id=member.instance_id,
                client_id=member.client_id,
                host=member.client_host,
                assignment=_partitions_of(member.assignment),
                target=_partitions_of(member.target_assignment),
                epoch=member.member_epoch,
                is_upgraded=None if member.member_type < 0 else bool(member.member_type),
            )
            for member in described.members
        ),
    )


def _describe_classic_group(cluster: Cluster, group_id: str) -> Group:
    from stoker.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse

    coordinator = CoordinatorOf(group_id)
    answer = cluster.send(
        DescribeGroupsRequest(groups=[group_id]),
        DescribeGroupsResponse,
        to=coordinator,
        error_of=lambda answer: answer.groups[0].error_code,
    )
    described = answer.groups[0]
    raise_if_refused(described.error_code, described.error_message)
    if described.group_state == DEAD:  # how brokers before version 6 say that there is none (KIP-1043)
        raise KafkaRefused(ErrorCode.GROUP_ID_NOT_FOUND)
    return _classic_group(described, cluster.coordinator_of(coordinator))


def _classic_group(described: "DescribedClassicGroup", coordinator: int | None) -> Group:
    reads_topics = described.protocol_type == CONSUMER_PROTOCOL_TYPE
    return Group(
        group_id=described.group_id,
        type=CLASSIC,
        state=described.group_state,
        protocol_type=described.protocol_type,
        assignor=described.protocol_data,
        coordinator=coordinator,
        members=tuple(
            Member(
                member_id=member.member_id,
                instance_id=member.group_instance_id,
                client_id=member.client_id,
                host=member.client_host,
                assignment=_decoded(member.member_assignment) if reads_topics else (),
            )
            for member in described.members
        ),
    )


def _decoded(assignment: bytes) -> tuple[TopicPartition, ...]:
    """What a leader of a classic group assigned; bytes that mean nothing to us assign nothing."""
    from stoker.wire.consumer_protocol import ConsumerProtocolAssignment

    try:
        assigned = ConsumerProtocolAssignment.from_bytes(assignment).assigned_partitions
    except MalformedMessage:  # also while it is empty: the group is rebalancing
        return ()
    return tuple(sorted(TopicPartition(each.topic, index) for each in assigned for index in each.partitions))


def _partitions_of(assignment: "Assignment") -> tuple[TopicPartition, ...]:
    return tuple(
        sorted(
            TopicPartition(each.topic_name, index) for each in assignment.topic_partitions for index in each.partitions
        )
    )
