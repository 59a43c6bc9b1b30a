"""Where replicas are placed, and where those of a broker that goes are moved to."""

from collections import Counter
from random import Random
from uuid import UUID

import pytest

from stoker.client.admin.evacuation import NowhereToGo, plan_evacuation, replicas_on
from stoker.client.admin.placement import CannotPlace, StripedPlacer
from stoker.client.admin.topics import Partition, Topic
from stoker.client.topic_partition import TopicPartition

RACKS = {1: "a", 2: "a", 3: "b", 4: "b"}


def topic(name: str, *replicas: tuple[int, ...]) -> Topic:
    partitions = tuple(
        Partition(partition=index, leader=each[0], replicas=each, isr=each, offline=())
        for index, each in enumerate(replicas)
    )
    return Topic(name=name, topic_id=UUID(int=1), is_internal=False, partitions=partitions)


@pytest.mark.parametrize("seed", range(20))
def test_replicas_are_spread_over_brokers_and_racks(seed: int) -> None:
    placer = StripedPlacer(RACKS, Random(seed))
    placed = [placer.place(2) for _ in range(12)]
    assert all({RACKS[each] for each in replicas} == {"a", "b"} for replicas in placed)
    assert {each for replicas in placed for each in replicas} == set(RACKS)
    assert {RACKS[replicas[0]] for replicas in placed} == {"a", "b"}


@pytest.mark.parametrize("seed", range(20))
def test_without_racks_all_brokers_lead_as_often(seed: int) -> None:
    placer = StripedPlacer(dict.fromkeys((1, 2, 3)), Random(seed))
    placed = [placer.place(3) for _ in range(9)]
    assert all(sorted(replicas) == [1, 2, 3] for replicas in placed)
    assert set(Counter(replicas[0] for replicas in placed).values()) == {3}


def test_too_few_brokers_are_refused_with_kafkas_words() -> None:
    with pytest.raises(CannotPlace, match="The target replication factor of 3 cannot be reached because only 1 "):
        StripedPlacer({1: None}, Random(0)).place(3)
    with pytest.raises(CannotPlace, match="All brokers are currently fenced"):
        StripedPlacer({}, Random(0)).place(1)


def test_replicas_of_a_broker_that_goes_stay_in_as_many_racks() -> None:
    topics = [topic("orders", (4, 1), (2, 3)), topic("events", (1, 4))]
    plan = plan_evacuation(topics, RACKS, 4)
    assert plan.before == replicas_on(topics, 4)
    assert plan.after == {TopicPartition("events", 0): (1, 3), TopicPartition("orders", 0): (3, 1)}


def test_replicas_go_to_the_broker_with_the_fewest() -> None:
    racks: dict[int, str | None] = dict.fromkeys((1, 2, 3, 4))
    plan = plan_evacuation([topic("orders", (4,), (4,), (4,), (1,))], racks, 4)
    assert Counter(after[0] for after in plan.after.values()) == {1: 1, 2: 1, 3: 1}


def test_a_replica_without_another_broker_is_refused() -> None:
    with pytest.raises(NowhereToGo, match="orders-0 has 2 replicas, and without broker 2 there are 1 live brokers"):
        plan_evacuation([topic("orders", (1, 2))], {1: None, 2: None}, 2)
