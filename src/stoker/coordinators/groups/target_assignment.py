"""The target assignment of a KIP-848 group: who is to have what, once everybody has given up what others are to have."""

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from uuid import UUID

from stoker.coordinators.groups.assignors import ASSIGNORS, Assignment, GroupSpec, MemberSpec
from stoker.coordinators.groups.consumer_group import ConsumerGroup, ResolvedPattern, topics_of
from stoker.coordinators.groups.consumer_member import ConsumerMember
from stoker.coordinators.groups.consumer_records import target_epoch_record, target_record
from stoker.coordinators.groups.context import Topics
from stoker.wire.group_records import GroupRecord


def metadata_hash(names: Iterable[str], topics: Topics) -> int:
    """A number that changes whenever one of these topics is made, grows, is deleted or made anew (KIP-1101).

    Only equality counts: a Kafka that takes over the log finds another number and computes one target too many.
    """
    known = sorted(
        f"{topic_id} {topics.partition_count(name)} {name}"
        for name in names
        if (topic_id := topics.topic_id(name)) is not None
    )
    if not known:
        return 0
    digest = blake2b("\n".join(known).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def may_compute_target(group: ConsumerGroup, interval_ms: int, now_ms: int) -> bool:
    """At most one target in an interval, so that members who arrive together share one; the first comes at once.

    A clock that was set back does not stop the group.
    """
    since = group.assignment_timestamp_ms
    return since == 0 or not since <= now_ms < since + interval_ms


def preferred_assignor(members: Iterable[ConsumerMember], offered: tuple[str, ...]) -> str:
    """The one that most members ask for; among equals, and if none asks, the one that the broker offers first."""
    wishes = Counter(member.server_assignor for member in members)
    return max(offered, key=lambda name: wishes[name])


def assign(
    group: ConsumerGroup,
    members: Mapping[str, ConsumerMember],
    patterns: Mapping[str, ResolvedPattern],
    topics: Topics,
    assignor: str,
) -> dict[str, Assignment]:
    """The partitions of each of `members`, who need not be those of the group yet."""
    subscriptions: dict[frozenset[str], frozenset[UUID]] = {}  # most members of a group have the same
    counts: dict[UUID, int] = {}
    specs = {}
    for member_id, member in members.items():
        names = topics_of(member, patterns)
        if names not in subscriptions:
            subscriptions[names] = _existing(names, topics, counts)
        specs[member_id] = MemberSpec(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            topics=subscriptions[names],
            assigned=group.target_of(member_id, member.instance_id),
        )
    homogeneous = len(set(subscriptions.values())) <= 1
    return ASSIGNORS[assignor].assign(GroupSpec(members=specs, homogeneous=homogeneous, partition_counts=counts))


def _existing(names: Iterable[str], topics: Topics, counts: dict[UUID, int]) -> frozenset[UUID]:
    """The topics of these names that exist; their numbers of partitions are put into `counts`."""
    found = {topics.topic_id(name): topics.partition_count(name) for name in names}
    existing = {topic_id: count for topic_id, count in found.items() if topic_id is not None and count is not None}
    counts |= existing
    return frozenset(existing)


def target_records(
    group: ConsumerGroup, target: Mapping[str, Assignment], epoch: int, now_ms: int
) -> list[GroupRecord]:
    """What changes from the group's target to this one, and its epoch."""
    records = [
        target_record(group.group_id, member_id, assignment)
        for member_id, assignment in target.items()
        if group.target.get(member_id) != assignment
    ]
    records.append(target_epoch_record(group.group_id, epoch, now_ms))
    return records
