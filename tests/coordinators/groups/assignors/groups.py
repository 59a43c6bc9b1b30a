"""Groups for tests of assignors, by hand and by chance, and what is measured of an assignment."""

from collections.abc import Iterable, Mapping
from random import Random
from uuid import UUID

from stoker.coordinators.groups.assignors import Assignment, GroupSpec, MemberSpec

TOPICS = [UUID(int=number) for number in range(1, 9)]
A, B, C = TOPICS[:3]

Assignments = Mapping[str, Assignment]
Expected = dict[str, dict[UUID, set[int]]]
"""The same, as it is easily written."""


def member(
    topics: Iterable[UUID], assigned: Mapping[UUID, Iterable[int]] | None = None, instance_id: str | None = None
) -> MemberSpec:
    return MemberSpec(
        instance_id=instance_id,
        rack_id=None,
        topics=frozenset(topics),
        assigned={topic: frozenset(partitions) for topic, partitions in (assigned or {}).items()},
    )


def group(members: Mapping[str, MemberSpec], partition_counts: Mapping[UUID, int]) -> GroupSpec:
    subscriptions = {each.topics for each in members.values()}
    return GroupSpec(members=members, homogeneous=len(subscriptions) <= 1, partition_counts=partition_counts)


def random_group(random: Random) -> GroupSpec:
    """A group without an assignment; the members of half of all such groups subscribe to the same topics."""
    topics = random.sample(TOPICS, random.randint(1, len(TOPICS)))
    same = random.random() < 0.5
    members = {
        f"member-{number}": member(
            topics if same else random.sample(topics, random.randint(1, len(topics))),
            instance_id=random.choice((None, f"instance-{random.randint(0, 99)}-{number}")),
        )
        for number in range(random.randint(1, 12))
    }
    return group(members, {topic: random.randint(1, 20) for topic in topics})


def changed(random: Random, spec: GroupSpec, assignments: Assignments) -> GroupSpec:
    """The group after it was assigned so, when then a member joined, left or changed its mind, or a topic grew."""
    members = {
        member_id: member(each.topics, assignments[member_id], each.instance_id)
        for member_id, each in spec.members.items()
    }
    counts = dict(spec.partition_counts)
    match random.choice(("join", "leave", "subscribe", "grow")):
        case "leave" if len(members) > 1:
            for member_id in random.sample(sorted(members), random.randint(1, len(members) // 2)):
                del members[member_id]
        case "subscribe":
            member_id = random.choice(sorted(members))
            topics = random.sample(sorted(counts), random.randint(1, len(counts)))
            members[member_id] = member(topics, assignments[member_id], members[member_id].instance_id)
        case "grow":
            counts[random.choice(sorted(counts))] += random.randint(1, 10)
        case _:
            for number in range(random.randint(1, 3)):
                members[f"joined-{number}"] = member(random.choice(sorted(members.items()))[1].topics)
    return group(members, counts)


def partitions_of(assignment: Mapping[UUID, Iterable[int]]) -> set[tuple[UUID, int]]:
    return {(topic, partition) for topic, partitions in assignment.items() for partition in partitions}


def sizes(assignments: Assignments) -> list[int]:
    return sorted(len(partitions_of(assignment)) for assignment in assignments.values())


def imbalance(assignments: Assignments) -> int:
    """The smaller, the better balanced; equal sums of sizes are told apart by the squares."""
    return sum(size**2 for size in sizes(assignments))


def moved(spec: GroupSpec, assignments: Assignments) -> int:
    """How many partitions a member of the group has to give up."""
    return sum(
        len(partitions_of(each.assigned) - partitions_of(assignments[member_id]))
        for member_id, each in spec.members.items()
    )


def assert_promises(spec: GroupSpec, assignments: Assignments) -> None:
    """Every member is there; every partition of a subscribed topic has exactly one owner, who subscribes to it."""
    assert assignments.keys() == spec.members.keys()
    subscribed = {topic for each in spec.members.values() for topic in each.topics}
    expected = {
        (topic, partition)
        for topic, count in spec.partition_counts.items()
        if topic in subscribed
        for partition in range(count)
    }
    given = [owned for assignment in assignments.values() for owned in partitions_of(assignment)]
    assert len(given) == len(set(given))
    assert set(given) == expected
    for member_id, assignment in assignments.items():
        assert assignment.keys() <= spec.members[member_id].topics
        assert all(assignment.values()), "a topic of which a member has nothing is not in its assignment"
