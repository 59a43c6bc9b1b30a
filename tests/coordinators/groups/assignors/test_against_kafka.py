"""Kafka's own assignors, asked about the same groups: range gives the same, uniform is as balanced and moves no more."""

import json
import subprocess
from pathlib import Path
from random import Random
from uuid import UUID

import pytest

from stoker.coordinators.groups.assignors import ASSIGNORS, GroupSpec
from tests.apache_kafka import CLASS_PATH, FAST_START
from tests.coordinators.groups.assignors.groups import (
    Assignments,
    changed,
    imbalance,
    moved,
    random_group,
    sizes,
)

pytestmark = pytest.mark.java

SOURCE = Path(__file__).parent / "java" / "Assign.java"
GROUPS = 300


def life_of_groups(assignor: str) -> list[GroupSpec]:
    """Each group at its birth and after a change."""
    random = Random(assignor)
    specs = []
    for _ in range(GROUPS):
        spec = random_group(random)
        specs += [spec, changed(random, spec, ASSIGNORS[assignor].assign(spec))]
    return specs


def ask_kafka(assignor: str, specs: list[GroupSpec]) -> list[Assignments]:
    answered = subprocess.run(
        ["java", *FAST_START, "-cp", CLASS_PATH, str(SOURCE)],
        input=json.dumps([as_json(assignor, spec) for spec in specs]),
        capture_output=True,
        text=True,
        check=True,
    )
    return [
        {
            member_id: {UUID(topic): frozenset(partitions) for topic, partitions in answer.get(member_id, {}).items()}
            for member_id in spec.members
        }
        for spec, answer in zip(specs, json.loads(answered.stdout), strict=True)
    ]


def as_json(assignor: str, spec: GroupSpec) -> dict[str, object]:
    return {
        "assignor": assignor,
        "homogeneous": spec.homogeneous,
        "partitionCounts": {str(topic): count for topic, count in spec.partition_counts.items()},
        "members": {
            member_id: {
                "instanceId": member.instance_id,
                "topics": [str(topic) for topic in member.topics],
                "assigned": {str(topic): sorted(partitions) for topic, partitions in member.assigned.items()},
            }
            for member_id, member in spec.members.items()
        },
    }


def test_range_is_the_same() -> None:
    specs = life_of_groups("range")
    for spec, theirs in zip(specs, ask_kafka("range", specs), strict=True):
        assert ASSIGNORS["range"].assign(spec) == theirs


def test_uniform_is_as_balanced_and_as_sticky() -> None:
    """Where subscriptions differ, both come near the best only: there the sums over all groups are compared."""
    specs = life_of_groups("uniform")
    balances, moves = [], []
    for spec, theirs in zip(specs, ask_kafka("uniform", specs), strict=True):
        ours = ASSIGNORS["uniform"].assign(spec)
        if spec.homogeneous:
            assert sizes(ours) == sizes(theirs)
            assert moved(spec, ours) <= moved(spec, theirs)
        else:
            assert max(sizes(ours)) <= max(sizes(theirs)) + 1
            balances.append((imbalance(ours), imbalance(theirs)))
            moves.append((moved(spec, ours), moved(spec, theirs)))
    assert len(balances) > GROUPS / 2
    assert sum(ours for ours, _ in balances) <= sum(theirs for _, theirs in balances) * 1.001
    assert sum(ours for ours, _ in moves) <= sum(theirs for _, theirs in moves) * 1.02
