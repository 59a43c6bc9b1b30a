"""Where replicas of a broker that goes are moved to while others are moving: test_placement.py has those at rest."""

import pytest

from stoker.client.admin.evacuation import plan_evacuation
from stoker.client.admin.reassignments import Reassignment
from stoker.client.topic_partition import TopicPartition
from tests.client.admin.test_placement import topic

ORDERS = TopicPartition("orders", 0)
RACKS: dict[int, str | None] = dict.fromkeys((1, 2, 3, 4))


@pytest.mark.parametrize("live", [(1, 2, 3, 4), (1, 2, 3, 4, 5)])
def test_what_is_on_its_way_off_the_broker_is_not_planned_again(live: tuple[int, ...]) -> None:
    """With four brokers it would seem to have nowhere to go, with five it would get a fourth replica."""
    moving = {ORDERS: Reassignment(replicas=(3, 1, 2, 4), adding=(3,), removing=(4,))}
    plan = plan_evacuation([topic("orders", (3, 1, 2, 4))], dict.fromkeys(live), 4, moving)
    assert (plan.before, plan.after) == ({}, {})


@pytest.mark.parametrize(
    ("replicas", "adding", "removing", "before", "after"),
    [
        ((4, 1, 2), (4,), (2,), (4, 1), (2, 1)),
        ((3, 4, 1), (3,), (1,), (3, 4), (3, 1)),
        ((3, 4, 1), (3,), (), (3, 4, 1), (3, 2, 1)),
    ],
    ids=["to the broker", "of another replica", "one more replica"],
)
def test_a_partition_that_moves_otherwise_keeps_the_number_of_its_replicas(
    replicas: tuple[int, ...],
    adding: tuple[int, ...],
    removing: tuple[int, ...],
    before: tuple[int, ...],
    after: tuple[int, ...],
) -> None:
    moving = {ORDERS: Reassignment(replicas=replicas, adding=adding, removing=removing)}
    topics = [topic("orders", replicas), topic("zebras", (3,))]
    plan = plan_evacuation(topics, RACKS, 4, moving)
    assert (plan.before, plan.after) == ({ORDERS: before}, {ORDERS: after})


def test_a_replica_that_goes_is_no_load() -> None:
    moving = {TopicPartition("events", 0): Reassignment(replicas=(2, 1), adding=(2,), removing=(1,))}
    plan = plan_evacuation([topic("events", (2, 1)), topic("orders", (4,), (3,))], RACKS, 4, moving)
    assert plan.after == {ORDERS: (1,)}
