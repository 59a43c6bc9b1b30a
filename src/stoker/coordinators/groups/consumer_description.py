"""A KIP-848 group as ConsumerGroupDescribe tells of it."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from stoker.coordinators.groups.consumer_group import ConsumerGroup
from stoker.coordinators.groups.consumer_member import ConsumerMember
from stoker.coordinators.groups.context import Topics
from stoker.coordinators.groups.target_assignment import preferred_assignor
from stoker.wire.messages.consumer_group_describe import Assignment, DescribedGroup, Member, TopicPartitions

_CLASSIC_MEMBER = 0
_CONSUMER_MEMBER = 1


def describe_group(group: ConsumerGroup, topics: Topics, assignors: tuple[str, ...]) -> DescribedGroup:
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=preferred_assignor(group.members.values(), assignors),
        members=[_member(member, group, topics) for member in group.members.values()],
    )


def _member(member: ConsumerMember, group: ConsumerGroup, topics: Topics) -> Member:
    """What it must still give up counts as assigned: it has it."""
    has: dict[UUID, set[int]] = {}
    for owned in (member.assigned, member.revoking):
        for topic_id, partitions in owned.items():
            has.setdefault(topic_id, set()).update(partitions)
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscribed_topic_names),
        subscribed_topic_regex=member.subscribed_topic_regex,
        assignment=_assignment(has, topics),
        target_assignment=_assignment(group.target_of(member.member_id), topics),
        member_type=_CLASSIC_MEMBER if member.uses_classic_protocol else _CONSUMER_MEMBER,
    )


def _assignment(partitions: Mapping[UUID, Iterable[int]], topics: Topics) -> Assignment:
    """Topics that were deleted meanwhile have no name and are left out, as in Kafka."""
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=name, partitions=sorted(indexes))
            for topic_id, indexes in partitions.items()
            if (name := topics.topic_name(topic_id)) is not None
        ]
    )
