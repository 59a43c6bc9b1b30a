"""The range assignor: Kafka's documented examples, and its promises for any group."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.coordinators.groups.assignors import ASSIGNORS, GroupSpec
from tests.coordinators.groups.assignors.groups import (
    A,
    B,
    C,
    Expected,
    assert_promises,
    changed,
    group,
    member,
    random_group,
)

range_assignor = ASSIGNORS["range"]

EXAMPLES: dict[str, tuple[GroupSpec, Expected]] = {
    "co-partitioned": (
        group({"m0": member([A, B]), "m1": member([A, B])}, {A: 3, B: 3}),
        {"m0": {A: {0, 1}, B: {0, 1}}, "m1": {A: {2}, B: {2}}},
    ),
    "more members than partitions": (
        group({"m0": member([A, B]), "m1": member([A, B]), "m2": member([A, B])}, {A: 2, B: 1}),
        {"m0": {A: {0}, B: {0}}, "m1": {A: {1}}, "m2": {}},
    ),
    "different subscriptions": (
        group({"m0": member([A, B]), "m1": member([C]), "m2": member([B, C])}, {A: 3, B: 3, C: 2}),
        {"m0": {A: {0, 1, 2}, B: {0, 1}}, "m1": {C: {0}}, "m2": {B: {2}, C: {1}}},
    ),
    "static members first, by their instance ids": (
        group({"m0": member([A]), "m1": member([A], instance_id="i1"), "m2": member([A], instance_id="i0")}, {A: 3}),
        {"m2": {A: {0}}, "m1": {A: {1}}, "m0": {A: {2}}},
    ),
    "a topic that is gone": (group({"m0": member([A, B], {B: {0, 1}})}, {A: 1}), {"m0": {A: {0}}}),
    "no topic": (group({"m0": member([])}, {A: 1}), {"m0": {}}),
    "nobody": (group({}, {A: 1}), {}),
}


@pytest.mark.parametrize(("spec", "expected"), EXAMPLES.values(), ids=EXAMPLES)
def test_examples(spec: GroupSpec, expected: Expected) -> None:
    assert range_assignor.assign(spec) == expected


def test_a_static_member_that_restarts_has_its_range_again() -> None:
    before = {f"m{number}": member([A, B], instance_id=f"i{number}") for number in range(4)}
    after = {f"{9 - number} new id": each for number, each in enumerate(before.values())}
    first = range_assignor.assign(group(before, {A: 7, B: 7}))
    second = range_assignor.assign(group(after, {A: 7, B: 7}))
    assert list(second.values()) == list(first.values())


@given(st.randoms(use_true_random=False))
def test_promises(random: Random) -> None:
    spec = random_group(random)
    first = range_assignor.assign(spec)
    assert_promises(spec, first)
    later = changed(random, spec, first)
    second = range_assignor.assign(later)
    assert_promises(later, second)
    for topic in later.partition_counts:
        ranges = [sorted(assignment[topic]) for assignment in second.values() if topic in assignment]
        assert all(partitions == list(range(partitions[0], partitions[-1] + 1)) for partitions in ranges)
        subscribers = sum(topic in each.topics for each in later.members.values())
        lengths = [len(partitions) for partitions in ranges] + [0] * (subscribers - len(ranges))
        assert max(lengths, default=0) - min(lengths, default=0) <= 1


@given(st.randoms(use_true_random=False))
def test_topics_with_equally_many_partitions_are_co_partitioned(random: Random) -> None:
    members = random.randint(1, 9)
    count = random.randint(1, 20)
    spec = group({f"m{number}": member([A, B, C]) for number in range(members)}, {A: count, B: count, C: count})
    for assignment in range_assignor.assign(spec).values():
        assert assignment.get(A) == assignment.get(B) == assignment.get(C)
