"""Where replicas of a broker that goes are moved to while others are moving: test_placement.py has those at rest."""

import pytest

from stoker.client.admin.evacuation import NowhereToGo, plan_evacuation
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
    moving = {
        TopicPartition("events", index): Reassignment(replicas=(broker, 1), adding=(broker,), removing=(1,))
        for index, broker in enumerate((2, 3))
    }
    topics = [topic("events", (2, 1), (3, 1)), topic("orders", (4,)), topic("zebras", (1,), (2,), (3,))]
    assert plan_evacuation(topics, RACKS, 4, moving).after == {ORDERS: (1,)}


def test_nothing_goes_to_a_broker_that_is_being_emptied() -> None:
    """Two that are emptied at once must not fill each other."""
    moving = {TopicPartition("events", 0): Reassignment(replicas=(2, 3), adding=(2,), removing=(3,))}
    topics = [topic("events", (2, 3)), topic("orders", (4, 1)), topic("zebras", (2,))]
    assert plan_evacuation(topics, RACKS, 4, moving).after == {ORDERS: (2, 1)}
    with pytest.raises(NowhereToGo, match="orders-0 could only go to 3, off which the last replicas are moved"):
        plan_evacuation([topic("events", (2, 3)), topic("orders", (4, 1, 2))], RACKS, 4, moving)
