"""How a member gets from what it has to its target without two members ever having a partition (KIP-848).

First it gives up what is not in its target, at its old epoch; then its epoch rises to the target's and it gets what is
free; what others have not given up yet it gets as they do.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass
from uuid import UUID

from stoker.coordinators.groups.assignors import Assignment
from stoker.coordinators.groups.consumer_member import ConsumerMember, Owned
from stoker.coordinators.groups.consumer_states import MemberState
from stoker.coordinators.groups.refusal import RequestRefused
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.consumer_group_heartbeat import TopicPartitions


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """Where to: `topics` are those the member subscribes to, as a target may be older than its subscription."""

    epoch: int
    assignment: Assignment
    topics: Set[UUID]


def reconcile(
    member: ConsumerMember,
    target: Target,
    *,
    reported: list[TopicPartitions] | None,
    owner_of: Callable[[UUID, int], str | None],
    subscription_changed: bool = False,
) -> ConsumerMember:
    """The member one step further, or as it is if it cannot move.

    `reported` is what the member says it has; None: it did not say. Raises RequestRefused for a state nobody knows.
    """
    if member.state is MemberState.STABLE and member.member_epoch == target.epoch:
        return _without_unsubscribed(member, target, reported) if subscription_changed else member
    if member.state is MemberState.UNREVOKED_PARTITIONS and _still_has(reported, member.revoking):
        return _without_unsubscribed(member, target, reported) if subscription_changed else member
    if member.state is MemberState.UNKNOWN and (reported is None or reported):
        raise RequestRefused(
            ErrorCode.FENCED_MEMBER_EPOCH,
            "The consumer group member is in an unknown state. It must abandon all its partitions and rejoin.",
        )
    return _towards(member, target, reported, owner_of)


def _towards(
    member: ConsumerMember,
    target: Target,
    reported: list[TopicPartitions] | None,
    owner_of: Callable[[UUID, int], str | None],
) -> ConsumerMember:
    assigned: dict[UUID, dict[int, int]] = {}
    revoking: dict[UUID, dict[int, int]] = {}
    free: dict[UUID, list[int]] = {}
    unreleased = False
    for topic_id in target.assignment.keys() | member.assigned.keys():
        wanted = target.assignment.get(topic_id, frozenset()) if topic_id in target.topics else frozenset()
        had = member.assigned.get(topic_id, {})
        kept = {partition: epoch for partition, epoch in had.items() if partition in wanted}
        given_up = {partition: epoch for partition, epoch in had.items() if partition not in wanted}
        missing = wanted - had.keys()
        # What the member itself was to give up is free for it again: nobody else can have got it.
        mine = member.revoking.get(topic_id, {})
        available = [partition for partition in missing if partition in mine or owner_of(topic_id, partition) is None]
        unreleased |= len(available) < len(missing)
        if kept:
            assigned[topic_id] = kept
        if given_up:
            revoking[topic_id] = given_up
        if available:
            free[topic_id] = available
    if revoking and _still_has(reported, revoking):
        epoch = target.epoch if member.state is MemberState.UNKNOWN else member.member_epoch
        return member.moved_to(epoch, MemberState.UNREVOKED_PARTITIONS, assigned, revoking)
    for topic_id, partitions in free.items():
        assigned.setdefault(topic_id, {}).update(dict.fromkeys(partitions, target.epoch))
    state = MemberState.UNRELEASED_PARTITIONS if unreleased else MemberState.STABLE
    return member.moved_to(target.epoch, state, assigned, {})


def _without_unsubscribed(
    member: ConsumerMember, target: Target, reported: list[TopicPartitions] | None
) -> ConsumerMember:
    """What it no longer subscribes to it gives up at once, before there is a target without it."""
    unsubscribed = member.assigned.keys() - target.topics
    if not unsubscribed:
        return member
    assigned = {topic_id: had for topic_id, had in member.assigned.items() if topic_id not in unsubscribed}
    revoking: dict[UUID, dict[int, int]] = {topic_id: dict(had) for topic_id, had in member.revoking.items()}
    for topic_id in unsubscribed:
        revoking.setdefault(topic_id, {}).update(member.assigned[topic_id])
    if _still_has(reported, revoking):
        return member.moved_to(member.member_epoch, MemberState.UNREVOKED_PARTITIONS, assigned, revoking)
    return member.moved_to(member.member_epoch, member.state, assigned, member.revoking)


def _still_has(reported: list[TopicPartitions] | None, partitions: Owned) -> bool:
    """A member that does not say what it has may have everything."""
    if reported is None:
        return True
    return any(partitions.get(topic.topic_id, {}).keys() & set(topic.partitions) for topic in reported)
