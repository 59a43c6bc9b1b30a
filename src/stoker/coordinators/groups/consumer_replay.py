"""What each record of a KIP-848 group does to it. Nothing else changes one."""

from dataclasses import replace

from stoker.coordinators.groups.consumer_group import ConsumerGroup, ResolvedPattern
from stoker.coordinators.groups.consumer_member import LEAVE_EPOCH, ConsumerMember
from stoker.coordinators.groups.consumer_states import MemberState
from stoker.coordinators.groups.group import Group
from stoker.wire.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    GroupRecord,
)

_NO_TARGET = -1

ConsumerGroupKey = (
    ConsumerGroupMetadataKey
    | ConsumerGroupPartitionMetadataKey
    | ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey
    | ConsumerGroupRegularExpressionKey
)


def replay_consumer_record(groups: dict[str, Group], record: GroupRecord) -> None:
    """A record of a group that is not there, or is a classic one without members, makes it; a tombstone never does.

    Records of other kinds are left alone. A log that was compacted may have lost any record that a later one of the same
    key overwrote, so that none relies on those before it.
    """
    key, value = record
    if not isinstance(key, ConsumerGroupKey):
        return
    group = groups.get(key.group_id)
    if not isinstance(group, ConsumerGroup):
        if value is None:
            return
        group = groups[key.group_id] = ConsumerGroup(key.group_id)
    if value is not None:
        _put(group, record)
    elif isinstance(key, ConsumerGroupMetadataKey):
        del groups[key.group_id]
    else:
        _take_away(group, key)


def _put(group: ConsumerGroup, record: GroupRecord) -> None:
    match record:
        case (ConsumerGroupMetadataKey(), ConsumerGroupMetadataValue() as value):
            group.group_epoch = value.epoch
            group.metadata_hash = value.metadata_hash
        case (ConsumerGroupPartitionMetadataKey(), _):
            group.has_partition_metadata_record = True
        case (ConsumerGroupMemberMetadataKey() as key, ConsumerGroupMemberMetadataValue() as value):
            group.update_member(_member(group, key.member_id).with_metadata(value))
        case (
            ConsumerGroupTargetAssignmentMetadataKey(),
            ConsumerGroupTargetAssignmentMetadataValue() as value,
        ):
            group.assignment_epoch = value.assignment_epoch
            group.assignment_timestamp_ms = value.assignment_timestamp
        case (
            ConsumerGroupTargetAssignmentMemberKey() as key,
            ConsumerGroupTargetAssignmentMemberValue() as value,
        ):
            group.target[key.member_id] = {
                topic.topic_id: frozenset(topic.partitions) for topic in value.topic_partitions
            }
        case (
            ConsumerGroupCurrentMemberAssignmentKey() as key,
            ConsumerGroupCurrentMemberAssignmentValue() as value,
        ):
            group.update_member(_member(group, key.member_id).with_assignment(value))
        case (ConsumerGroupRegularExpressionKey() as key, ConsumerGroupRegularExpressionValue() as value):
            group.update_pattern(
                key.regular_expression, ResolvedPattern(frozenset(value.topics), value.version, value.timestamp)
            )


def _take_away(group: ConsumerGroup, key: ConsumerGroupKey) -> None:
    match key:
        case ConsumerGroupPartitionMetadataKey():
            group.has_partition_metadata_record = False
        case ConsumerGroupMemberMetadataKey():
            group.remove_member(key.member_id)
        case ConsumerGroupTargetAssignmentMetadataKey():
            group.assignment_epoch = _NO_TARGET
            group.assignment_timestamp_ms = 0
        case ConsumerGroupTargetAssignmentMemberKey():
            group.target.pop(key.member_id, None)
        case ConsumerGroupCurrentMemberAssignmentKey() if key.member_id in group.members:
            group.update_member(
                replace(
                    group.members[key.member_id],
                    state=MemberState.STABLE,
                    member_epoch=LEAVE_EPOCH,
                    previous_member_epoch=LEAVE_EPOCH,
                    assigned={},
                    revoking={},
                )
            )
        case ConsumerGroupRegularExpressionKey():
            group.remove_pattern(key.regular_expression)


def _member(group: ConsumerGroup, member_id: str) -> ConsumerMember:
    return group.members.get(member_id) or ConsumerMember(member_id=member_id)
