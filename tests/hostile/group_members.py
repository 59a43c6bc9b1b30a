"""Honest requests of members that groups know, so that what is spoiled in them goes deeper than to an unknown member."""

from collections.abc import Iterator

from stoker.wire.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from stoker.wire.consumer_protocol import TopicPartitions as AssignedPartitions
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest
from stoker.wire.messages.heartbeat import HeartbeatRequest
from stoker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stoker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from stoker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stoker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from stoker.wire.schema import Request
from tests.broker.sensible_requests import Target
from tests.raw_connection import RawConnection

_CLASSIC = "fuzzed-classic"
_MODERN = "fuzzed-modern"
_MEMBER = "fuzzed-member"


def requests_of_members(connection: RawConnection, target: Target) -> Iterator[tuple[Request, int]]:
    """Joins a group of each protocol, and gives what its member would go on with."""
    coordinator = connection.call(FindCoordinatorRequest(coordinator_keys=[_CLASSIC]), 6).coordinators[0]
    assert coordinator.error_code == ErrorCode.NONE
    yield from _of_classic_member(connection, target)
    yield from _of_modern_member(connection, target)


def _of_classic_member(connection: RawConnection, target: Target) -> Iterator[tuple[Request, int]]:
    subscription = ConsumerProtocolSubscription(topics=[target.topic], user_data=b"mine").to_bytes()
    joining = JoinGroupRequest(
        group_id=_CLASSIC,
        session_timeout_ms=60_000,
        rebalance_timeout_ms=500,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription)],
    )
    joined = connection.call(joining, 3)
    assert joined.error_code == ErrorCode.NONE, joined
    me = {"group_id": _CLASSIC, "member_id": joined.member_id, "generation_id": joined.generation_id}
    partitions = AssignedPartitions(topic=target.topic, partitions=[0, 1])
    assignment = ConsumerProtocolAssignment(assigned_partitions=[partitions]).to_bytes()
    syncing = SyncGroupRequest(
        **me, assignments=[SyncGroupRequestAssignment(member_id=joined.member_id, assignment=assignment)]
    )
    assert connection.call(syncing, 3).error_code == ErrorCode.NONE
    for version in (3, 9):
        joining.member_id = joined.member_id
        yield joining, version
    yield syncing, 3
    yield HeartbeatRequest(**me), 4
    yield _commit(_CLASSIC, joined.member_id, joined.generation_id, target), 8
    # It goes over to KIP-848 when this is sent, and back when it leaves.
    yield _joining(_CLASSIC, target), 1
    yield ConsumerGroupHeartbeatRequest(group_id=_CLASSIC, member_id=_MEMBER, member_epoch=-1), 1
    yield LeaveGroupRequest(group_id=_CLASSIC, members=[MemberIdentity(member_id=joined.member_id)]), 5


def _of_modern_member(connection: RawConnection, target: Target) -> Iterator[tuple[Request, int]]:
    epoch = connection.call(_joining(_MODERN, target), 1).member_epoch
    owned = [TopicPartitions(topic_id=target.topic_id, partitions=[0, 1])]
    for topics, regex in (([target.topic], None), (None, "fuzz.*"), ([], "")):
        yield (
            ConsumerGroupHeartbeatRequest(
                group_id=_MODERN,
                member_id=_MEMBER,
                member_epoch=epoch,
                instance_id="fuzzed" if regex else None,
                rack_id="rack",
                rebalance_timeout_ms=500,
                subscribed_topic_names=topics,
                subscribed_topic_regex=regex,
                server_assignor="range",
                topic_partitions=owned,
            ),
            1,
        )
    yield _commit(_MODERN, _MEMBER, epoch, target), 9


def _joining(group: str, target: Target) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=_MEMBER,
        rebalance_timeout_ms=500,
        subscribed_topic_names=[target.topic],
        topic_partitions=[],
    )


def _commit(group: str, member_id: str, generation: int, target: Target) -> OffsetCommitRequest:
    committed = OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
    return OffsetCommitRequest(
        group_id=group,
        member_id=member_id,
        generation_id_or_member_epoch=generation,
        topics=[OffsetCommitRequestTopic(name=target.topic, partitions=[committed])],
    )
