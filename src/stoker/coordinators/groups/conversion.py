"""A group that goes over from the classic protocol to KIP-848 while it runs, and back (`group.consumer.migration.policy`).

It goes over when the first consumer of the new protocol joins, and back when the last one has left. In between its classic
members go on as they are: a coordinator that assigns for them looks to them like a leader.
"""

from collections.abc import Callable, Mapping, Set
from typing import Any
from uuid import UUID

from stoker.coordinators.groups.classic_group import ClassicGroup
from stoker.coordinators.groups.classic_member import ClassicMember, distinct_protocols
from stoker.coordinators.groups.classic_protocol import ClassicProtocol
from stoker.coordinators.groups.classic_states import ClassicGroupState
from stoker.coordinators.groups.consumer_group import ConsumerGroup, subscribed_topics
from stoker.coordinators.groups.consumer_member import ConsumerMember
from stoker.coordinators.groups.consumer_records import group_epoch_record, target_epoch_record, target_record
from stoker.coordinators.groups.context import GroupContext, GroupSettings, Topics
from stoker.coordinators.groups.refusal import RequestRefused
from stoker.coordinators.groups.target_assignment import metadata_hash
from stoker.coordinators.result import Answer, Result
from stoker.errors import MalformedMessage
from stoker.wire.consumer_protocol import (
    PROTOCOL_TYPE,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartitions,
)
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import ClassicMemberMetadata, GroupMetadataKey, GroupRecord
from stoker.wire.group_records import ClassicProtocol as SupportedProtocol

_NEVER_COMPUTED = 0


# -- to the new protocol ------------------------------------------------------------------------------------------------


def upgrade_records(group: ClassicGroup, settings: GroupSettings, topics: Topics) -> list[GroupRecord]:
    """What makes a KIP-848 group of a classic one: all members stable, each with what it was assigned last.

    Raises RequestRefused if that must not be, or if the members do not say what they have as Kafka's consumers do.
    """
    _check_upgrade(group, settings)
    try:
        members = [_member(member, group, topics) for member in group.members.values()]
    except MalformedMessage:
        raise _not_upgraded(group, "the embedded consumer protocol is malformed") from None
    group_id, epoch = group.group_id, group.generation_id
    topics_hash = metadata_hash(subscribed_topics(members, {}), topics)
    return [
        *group.tombstones(),
        *(member.metadata_record(group_id) for member in members),
        group_epoch_record(group_id, epoch, topics_hash),
        *(target_record(group_id, member.member_id, _partitions(member)) for member in members),
        target_epoch_record(group_id, epoch, _NEVER_COMPUTED),
        *(member.assignment_record(group_id) for member in members),
    ]


def _check_upgrade(group: ClassicGroup, settings: GroupSettings) -> None:
    if settings.consumer_migration_policy not in {"bidirectional", "upgrade"}:
        raise _not_upgraded(group, "online upgrade is disabled (group.consumer.migration.policy)")
    if not group.uses_consumer_protocol:
        raise _not_upgraded(group, "it does not use the consumer embedded protocol")
    if len(group.members) > settings.consumer_max_size:
        raise _not_upgraded(group, "it has more members than group.consumer.max.size")


def _not_upgraded(group: ClassicGroup, why: str) -> RequestRefused:
    return RequestRefused(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {group.group_id} to a consumer group because {why}.",
    )


def _member(member: ClassicMember, group: ClassicGroup, topics: Topics) -> ConsumerMember:
    assigned: dict[UUID, dict[int, int]] = {}
    if member.assignment:
        assignment = ConsumerProtocolAssignment.from_bytes(member.assignment)
        if assignment.user_data:
            raise _not_upgraded(group, "an assignor of its own is in use, whose user data would be lost")
        for topic_id, partitions in with_topic_ids(assignment.assigned_partitions, topics).items():
            assigned[topic_id] = dict.fromkeys(partitions, group.generation_id)
    # A group in its first rebalance has not chosen a protocol yet.
    chosen = {protocol.name: protocol.metadata for protocol in reversed(member.protocols)}
    metadata = chosen.get(group.protocol_name or "", member.protocols[0].metadata)
    subscription = ConsumerProtocolSubscription.from_bytes(metadata)
    return ConsumerMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id or None,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        subscribed_topic_names=frozenset(subscription.topics),
        classic=ClassicMemberMetadata(
            session_timeout_ms=member.session_timeout_ms,
            supported_protocols=[
                SupportedProtocol(name=protocol.name, metadata=protocol.metadata) for protocol in member.protocols
            ],
        ),
        member_epoch=group.generation_id,
        previous_member_epoch=group.generation_id,
        assigned=assigned,
    )


def _partitions(member: ConsumerMember) -> dict[UUID, frozenset[int]]:
    return {topic_id: frozenset(partitions) for topic_id, partitions in member.assigned.items()}


# -- and back -----------------------------------------------------------------------------------------------------------


def may_downgrade(staying: list[ConsumerMember], settings: GroupSettings) -> bool:
    """Whether those who stay are better off in a classic group: all of them speak the classic protocol."""
    return (
        bool(staying)
        and all(member.uses_classic_protocol for member in staying)
        and settings.consumer_migration_policy in {"bidirectional", "downgrade"}
        and len(staying) <= settings.max_size
    )


def downgrade(
    context: GroupContext,
    classic: ClassicProtocol,
    group: ConsumerGroup,
    staying: list[ConsumerMember],
    *,
    reply: Any,
    refused: Callable[[ErrorCode], Any],
    rebalance: bool,
) -> Result[GroupRecord, Any]:
    """The classic group of those who stay takes the place of the other at once, as classic groups do; its records follow.

    `rebalance`: the members must join anew, as the assignments they have are not those they should have. `refused` makes
    the reply if the log does not take the records; then everything is as it was.
    """
    classic_group = _classic_group(context, group, staying)
    records = [*group.tombstones(), classic_group.metadata_record(classic_group.assignments)]
    classic.adopt(classic_group)
    answers: list[Answer] = []
    if rebalance:
        rebalanced = classic.rebalance(classic_group)
        records += rebalanced.records
        answers = list(rebalanced.answers)

    def take_back(error: ErrorCode) -> Result[GroupRecord, Any]:
        classic.replay(GroupRecord(GroupMetadataKey(group=group.group_id), None))
        context.groups[group.group_id] = group
        return Result([], refused(error), answers)

    return Result(records, reply, answers, take_back)


def _classic_group(context: GroupContext, group: ConsumerGroup, staying: list[ConsumerMember]) -> ClassicGroup:
    classic_group = ClassicGroup(
        group.group_id,
        context.wall_clock,
        state=ClassicGroupState.STABLE,
        generation_id=group.group_epoch,
        protocol_type=PROTOCOL_TYPE,
        state_since_ms=context.wall_clock(),
    )
    for member in staying:
        target = group.target_of(member.member_id, member.instance_id)
        classic_group.add(_classic_member(member, target, context.topics), PROTOCOL_TYPE)
    classic_group.protocol_name = classic_group.select_protocol()
    classic_group.find_subscribed_topics()
    return classic_group


def _classic_member(member: ConsumerMember, target: Mapping[UUID, Set[int]], topics: Topics) -> ClassicMember:
    assert member.classic is not None
    return ClassicMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.classic.session_timeout_ms,
        protocols=distinct_protocols(member.classic.supported_protocols),
        assignment=assignment_blob(member, target, topics),
    )


# -- what classic members read and write --------------------------------------------------------------------------------


def assignment_blob(member: ConsumerMember, partitions: Mapping[UUID, Set[int]], topics: Topics) -> bytes:
    """An assignment as a classic member reads it, in the version in which it writes its subscription."""
    assert member.classic is not None
    version = int.from_bytes(member.classic.supported_protocols[0].metadata[:2], "big")
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            TopicPartitions(topic=name, partitions=sorted(partitions[topic_id]))
            for topic_id in sorted(partitions)
            if (name := topics.topic_name(topic_id)) is not None
        ]
    )
    return assignment.to_bytes(min(version, ConsumerProtocolAssignment.MAX_VERSION))


def with_topic_ids(partitions: list[TopicPartitions], topics: Topics) -> dict[UUID, list[int]]:
    """What a classic member tells by name; topics that are gone are left out."""
    return {
        topic_id: topic.partitions for topic in partitions if (topic_id := topics.topic_id(topic.topic)) is not None
    }
