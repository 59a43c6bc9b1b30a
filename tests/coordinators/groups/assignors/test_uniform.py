"""The uniform assignor: Kafka's documented examples, and its promises for any group."""

import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.coordinators.groups.assignors import ASSIGNORS, GroupSpec
from tests.coordinators.groups.assignors.groups import (
    TOPICS,
    A,
    B,
    Expected,
    assert_promises,
    changed,
    group,
    member,
    moved,
    partitions_of,
    random_group,
    sizes,
)

uniform = ASSIGNORS["uniform"]

EXAMPLES: dict[str, tuple[GroupSpec, Expected]] = {
    "spread over the topics": (
        group({"m0": member([A, B]), "m1": member([A, B])}, {A: 3, B: 3}),
        {"m0": {A: {0, 2}, B: {1}}, "m1": {A: {1}, B: {0, 2}}},
    ),
    "more members than partitions": (
        group({"m0": member([A]), "m1": member([A]), "m2": member([A])}, {A: 2}),
        {"m0": {A: {0}}, "m1": {A: {1}}, "m2": {}},
    ),
    "nothing changed": (
        group({"m0": member([A], {A: {1, 2}}), "m1": member([A], {A: {0}})}, {A: 3}),
        {"m0": {A: {1, 2}}, "m1": {A: {0}}},
    ),
    "a member joined": (
        group({"m0": member([A], {A: {0, 1, 2}}), "m1": member([A], {A: {3, 4, 5}}), "m2": member([A])}, {A: 6}),
        {"m0": {A: {0, 1}}, "m1": {A: {3, 4}}, "m2": {A: {2, 5}}},
    ),
    "a member left": (
        group({"m0": member([A], {A: {0, 1}}), "m1": member([A], {A: {2, 3}})}, {A: 6}),
        {"m0": {A: {0, 1, 4}}, "m1": {A: {2, 3, 5}}},
    ),
    "who has more keeps more": (
        group({"m0": member([A], {A: {0}}), "m1": member([A], {A: {1, 2}})}, {A: 3}),
        {"m0": {A: {0}}, "m1": {A: {1, 2}}},
    ),
    "the highest partitions of all topics are given up, not all of one topic": (
        group({"m0": member([A, B], {A: {0, 1}, B: {0, 1}}), "m1": member([A, B])}, {A: 2, B: 2}),
        {"m0": {A: {0}, B: {0}}, "m1": {A: {1}, B: {1}}},
    ),
    "different subscriptions": (
        group({"m0": member([A]), "m1": member([A, B]), "m2": member([B])}, {A: 4, B: 2}),
        {"m0": {A: {0, 2}}, "m1": {A: {1, 3}}, "m2": {B: {0, 1}}},
    ),
    "a member no longer subscribes": (
        group({"m0": member([B], {A: {0, 1}}), "m1": member([A, B], {B: {0, 1}})}, {A: 2, B: 2}),
        {"m0": {B: {0, 1}}, "m1": {A: {0, 1}}},
    ),
    "a topic that is gone": (group({"m0": member([A, B], {B: {0, 1}})}, {A: 1}), {"m0": {A: {0}}}),
    "a partition that is gone": (group({"m0": member([A], {A: {0, 1, 2}})}, {A: 2}), {"m0": {A: {0, 1}}}),
    "a partition with two owners": (
        group({"m0": member([A], {A: {0}}), "m1": member([A], {A: {0, 1}})}, {A: 2}),
        {"m0": {A: {0}}, "m1": {A: {1}}},
    ),
    "no topic": (group({"m0": member([])}, {A: 1}), {"m0": {}}),
    "nobody": (group({}, {A: 1}), {}),
}


@pytest.mark.parametrize(("spec", "expected"), EXAMPLES.values(), ids=EXAMPLES)
def test_examples(spec: GroupSpec, expected: Expected) -> None:
    assert uniform.assign(spec) == expected


@given(st.randoms(use_true_random=False))
def test_promises(random: Random) -> None:
    spec = random_group(random)
    first = uniform.assign(spec)
    assert_promises(spec, first)
    later = changed(random, spec, first)
    second = uniform.assign(later)
    assert_promises(later, second)
    if later.homogeneous:
        assert max(sizes(second)) - min(sizes(second)) <= 1
        assert moved(later, second) == fewest_moves(later)


def fewest_moves(spec: GroupSpec) -> int:
    """Of a balanced assignment of a homogeneous group: who is above the average keeps one more as long as there are any."""
    topics = next(iter(spec.members.values())).topics & spec.partition_counts.keys()
    quota, larger = divmod(sum(spec.partition_counts[topic] for topic in topics), len(spec.members))
    owned = sorted(
        (sum(topic in topics for topic, _ in partitions_of(each.assigned)) for each in spec.members.values()),
        reverse=True,
    )
    lost = sum(len(partitions_of(each.assigned)) for each in spec.members.values()) - sum(owned)
    return lost + sum(max(0, size - quota - (place < larger)) for place, size in enumerate(owned))


@given(st.randoms(use_true_random=False))
def test_a_balanced_group_does_not_move(random: Random) -> None:
    spec = random_group(random)
    members = {
        member_id: member(spec.members[member_id].topics, assignment)
        for member_id, assignment in uniform.assign(spec).items()
    }
    assigned = {member_id: each.assigned for member_id, each in members.items()}
    assert uniform.assign(group(members, spec.partition_counts)) == assigned


@given(st.randoms(use_true_random=False))
def test_the_order_of_members_and_topics_plays_no_part(random: Random) -> None:
    spec = random_group(random)
    spec = changed(random, spec, uniform.assign(spec))
    shuffled = group(
        dict(random.sample(sorted(spec.members.items(), key=lambda item: item[0]), len(spec.members))),
        dict(random.sample(sorted(spec.partition_counts.items()), len(spec.partition_counts))),
    )
    assert uniform.assign(shuffled) == uniform.assign(spec)


@given(st.randoms(use_true_random=False))
def test_subscribers_of_a_topic_are_balanced_as_far_as_its_partitions_allow(random: Random) -> None:
    spec = random_group(random)
    spec = changed(random, spec, uniform.assign(spec))
    made = uniform.assign(spec)
    size = {member_id: len(partitions_of(assignment)) for member_id, assignment in made.items()}
    for giver, assignment in made.items():
        for topic in assignment:
            subscribers = [member_id for member_id, each in spec.members.items() if topic in each.topics]
            assert size[giver] - min(size[member_id] for member_id in subscribers) <= 1


@pytest.mark.parametrize("kinds", [1, 10])
def test_a_large_group_is_assigned_within_one_turn_of_the_event_loop(kinds: int) -> None:
    """100 members and 5,000 partitions take some 5 ms of a quiet machine; the limit is for a busy one."""
    random = Random(1)
    counts = dict.fromkeys(TOPICS, 5000 // len(TOPICS))
    subscriptions = [TOPICS if kinds == 1 else random.sample(TOPICS, 5) for _ in range(kinds)]
    spec = group({f"m{number}": member(subscriptions[number % kinds]) for number in range(100)}, counts)
    started = time.process_time()
    made = uniform.assign(spec)
    assert time.process_time() - started < 0.1
    assert sum(sizes(made)) == 5000
