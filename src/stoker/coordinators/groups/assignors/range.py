"""The range assignor: each subscriber of a topic gets a contiguous range of its partitions.

Members stand in the same order for each topic. So where all subscribe to the same topics and these have equally many
partitions, a member gets the same partitions of every topic, and joins of records with equal keys stay local. Static
members come first, ordered by the instance id that they keep through restarts: a restarted member gets its old range.
What a member had before plays no part, so that most ranges move when a member joins or leaves.
"""

from uuid import UUID

from stoker.coordinators.groups.assignors.assignor import Assignment, GroupSpec


class RangeAssignor:
    """Ranges of a topic differ in size by at most one; the first members have the larger ones."""

    name = "range"

    def assign(self, spec: GroupSpec) -> dict[str, Assignment]:
        assignments: dict[str, Assignment] = {member_id: {} for member_id in spec.members}
        for topic, subscribers in _subscribers_by_topic(spec).items():
            size, larger = divmod(spec.partition_counts[topic], len(subscribers))
            start = 0
            for position, member_id in enumerate(subscribers):
                end = start + size + (position < larger)
                if start == end:
                    break
                assignments[member_id][topic] = frozenset(range(start, end))
                start = end
        return assignments


def _subscribers_by_topic(spec: GroupSpec) -> dict[UUID, list[str]]:
    ordered = _in_lasting_order(spec)
    if spec.homogeneous and ordered:
        topics = spec.members[ordered[0]].topics
        return {topic: ordered for topic in topics if topic in spec.partition_counts}
    subscribers: dict[UUID, list[str]] = {}
    for member_id in ordered:
        for topic in spec.members[member_id].topics:
            if topic in spec.partition_counts:
                subscribers.setdefault(topic, []).append(member_id)
    return subscribers


def _in_lasting_order(spec: GroupSpec) -> list[str]:
    def place(member_id: str) -> tuple[bool, str]:
        instance_id = spec.members[member_id].instance_id
        return (True, member_id) if instance_id is None else (False, instance_id)

    return sorted(spec.members, key=place)
