"""Who gets which partitions, and what a rebalance takes away meanwhile."""

from dataclasses import dataclass

import pytest
from _pytest.mark.structures import ParameterSet

from tests.clients.client import eventually
from tests.clients.groups.group import Group, Groups, assert_never_shared
from tests.clients.groups.kinds import (
    AIOKAFKA,
    CLASSIC_KINDS,
    CONFLUENT,
    JAVA,
    KAFKA_PYTHON,
    NEEDS,
    Kind,
    parameters,
)
from tests.clients.groups.load import PER_SECOND, Load
from tests.clients.groups.members import Member, Partition

Table = list[dict[str, list[int]]]
REBALANCING = "PREPARING_REBALANCING"
"""Kafka's PreparingRebalance, as librdkafka spells it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """Topics and their partitions, what each member subscribes to, and what each must get."""

    assignor: str
    topics: dict[str, int]
    subscriptions: list[str]
    expected: Table

    def __str__(self) -> str:
        return f"{self.assignor}-{len(self.subscriptions)}-of-{'-'.join(map(str, self.topics.values()))}"


CASES = [
    Case(
        assignor="range",
        topics={"a": 3, "b": 3},
        subscriptions=["ab", "ab"],
        expected=[{"a": [0, 1], "b": [0, 1]}, {"a": [2], "b": [2]}],
    ),
    Case(
        assignor="range",
        topics={"a": 5},
        subscriptions=["a", "a", "a"],
        expected=[{"a": [0, 1]}, {"a": [2, 3]}, {"a": [4]}],
    ),
    Case(
        assignor="range",
        topics={"a": 2, "b": 4},
        subscriptions=["ab", "b"],
        expected=[{"a": [0, 1], "b": [0, 1]}, {"b": [2, 3]}],
    ),
    Case(
        assignor="roundrobin",
        topics={"a": 3, "b": 3},
        subscriptions=["ab", "ab"],
        expected=[{"a": [0, 2], "b": [1]}, {"a": [1], "b": [0, 2]}],
    ),
    Case(
        assignor="roundrobin",
        topics={"a": 1, "b": 2, "c": 3},
        subscriptions=["a", "ab", "abc"],
        expected=[{"a": [0]}, {"b": [0]}, {"b": [1], "c": [0, 1, 2]}],
    ),
    Case(
        assignor="sticky",
        topics={"a": 1, "b": 2, "c": 3},
        subscriptions=["a", "ab", "abc"],
        expected=[{"a": [0]}, {"b": [0, 1]}, {"c": [0, 1, 2]}],
    ),
]
ROWS = {"range": "B079", "roundrobin": "B080", "sticky": "B081"}


def cases() -> list[ParameterSet]:
    return [
        pytest.param(
            kind,
            case,
            marks=[
                pytest.mark.acceptance(ROWS[case.assignor]),
                *([NEEDS[kind.client]] if kind.client in NEEDS else []),
            ],
            id=f"{kind.name}-{case}",
        )
        for kind in CLASSIC_KINDS
        for case in CASES
        if case.assignor in kind.assignors
    ]


@pytest.mark.parametrize(("kind", "case"), cases())
def test_the_assignment_is_the_one_of_the_table(kind: Kind, case: Case, groups: Groups) -> None:
    """Each member gets exactly what the assignor of its client gives it, by the order of the members' ids."""
    topics = {letter: groups.new_topic(partitions, letter) for letter, partitions in case.topics.items()}
    group = groups.new(kind, topic=topics["a"], partition_assignment_strategy=case.assignor)
    for letters in case.subscriptions:
        group.join(topics=[topics[letter] for letter in letters])
    expected = [
        {(topics[letter], number) for letter, numbers in share.items() for number in numbers} for share in case.expected
    ]
    assert eventually(lambda: [member.owned for member in group.members], expected.__eq__) == expected


def moved(before: dict[Member, set[Partition]]) -> int:
    """How many partitions the members have lost."""
    return sum(len(owned - member.owned) for member, owned in before.items())


@pytest.mark.acceptance("B081")
@pytest.mark.parametrize("kind", parameters([JAVA, KAFKA_PYTHON]))  # aiokafka's forgets what was where
def test_the_sticky_assignor_moves_few_partitions(kind: Kind, groups: Groups) -> None:
    """With a third member only its share moves, and when it leaves the others keep all they have; yet each rebalance revokes everything."""
    group = groups.new(kind, partitions=6, partition_assignment_strategy="sticky")
    first, second = two_members(group)
    before = {first: first.owned, second: second.owned}
    third = group.join()
    group.settle(first, second, third)
    assert moved(before) == 2
    for member, owned in before.items():
        assert owned in [event.partitions for event in member.told("revoked")]
    before = {first: first.owned, second: second.owned}
    third.leave()
    group.settle(first, second)
    assert moved(before) == 0


def two_members(group: Group) -> tuple[Member, Member]:
    first, second = group.join(), group.join()
    group.settle(first, second)
    return first, second


def rebalance_that_waits(group: Group, held: Member) -> Member:
    """A member stops polling and another one joins, which is given: a rebalance has begun that cannot end."""
    held.stop_polling()
    newcomer = group.join()
    assert eventually(lambda: group.onlooker.group_state(group.name), REBALANCING.__eq__) == REBALANCING
    return newcomer


@pytest.mark.acceptance("B082", "B068")
@pytest.mark.parametrize("kind", parameters([CONFLUENT, JAVA]))  # kafka-python's poll gives nothing meanwhile
def test_a_cooperative_rebalance_lets_the_rest_flow(kind: Kind, groups: Groups) -> None:
    """While a rebalance waits for another member, a member reads on from all it keeps; in the end only what moves is revoked."""
    group = groups.new(kind, partitions=6, partition_assignment_strategy="cooperative-sticky")
    with Load(group.onlooker, group.topic, 6) as load:
        busy, held = two_members(group)
        before = {member: (member.owned, len(member.events)) for member in (busy, held)}
        newcomer = rebalance_that_waits(group, held)
        busy.wait_until_read(load.written + PER_SECOND)  # a second later: ten times as long as it takes to hear of it
        assert group.onlooker.group_state(group.name) == REBALANCING
        held.poll_again()
        group.settle(busy, held, newcomer)
    assert_only_moves_are_revoked(before)
    assert_never_shared(group.members)


@pytest.mark.acceptance("B082")
def test_kafka_python_revokes_only_what_moves(groups: Groups) -> None:
    """Its cooperative assignor, too, takes away no more than the third member gets."""
    group = groups.new(KAFKA_PYTHON, partitions=6, partition_assignment_strategy="cooperative-sticky")
    first, second = two_members(group)
    before = {member: (member.owned, len(member.events)) for member in (first, second)}
    group.settle(first, second, group.join())
    assert_only_moves_are_revoked(before)
    assert_never_shared(group.members)


def assert_only_moves_are_revoked(before: dict[Member, tuple[set[Partition], int]]) -> None:
    """Of what the members owned, and since as many events, two partitions have gone, each revoked once and nothing else."""
    assert moved({member: owned for member, (owned, _) in before.items()}) == 2
    for member, (owned, told) in before.items():
        revoked = [event.partitions for event in member.events[told:] if event.kind == "revoked" and event.partitions]
        assert revoked == [owned - member.owned]


@pytest.mark.acceptance("B083")
@pytest.mark.parametrize("kind", parameters([CONFLUENT, JAVA, KAFKA_PYTHON]))  # aiokafka hands out what it has in store
def test_an_eager_rebalance_stops_everything(kind: Kind, groups: Groups) -> None:
    """A member gives up all its partitions at once and reads nothing until the rebalance ends."""
    group = groups.new(kind, partitions=6, partition_assignment_strategy="range")
    with Load(group.onlooker, group.topic, 6) as load:
        busy, held = two_members(group)
        newcomer = rebalance_that_waits(group, held)
        busy.wait_for(lambda events: events[-1].kind == "revoked", "to give up everything")
        assert busy.events[-1].partitions == {(group.topic, number) for number in (0, 1, 2)}
        later = load.written + PER_SECOND
        assert eventually(lambda: load.written, lambda count: count >= later) >= later
        assert busy.events[-1].kind == "revoked"
        held.poll_again()
        group.settle(busy, held, newcomer)
    assert_never_shared(group.members)


@pytest.mark.java
@pytest.mark.acceptance("B068")
def test_clients_of_four_languages_share_a_group(groups: Groups) -> None:
    """librdkafka, Java, kafka-python and aiokafka in one group, whichever leads it: each gets its share, and every record is read."""
    kinds = (CONFLUENT, JAVA, KAFKA_PYTHON, AIOKAFKA)
    group = groups.new(CONFLUENT, partitions=8, partition_assignment_strategy="range")
    values = set(group.produce(80))
    for kind in kinds:
        group.join(kind=kind, commit="sync")
        group.settle(*group.members)
    remaining = list(group.members)
    for leader in group.members[:3]:  # the one that joined first leads
        leader.leave()
        remaining.remove(leader)
        group.settle(*remaining)
        values |= set(group.produce(80, prefix=f"without {leader.name} "))
        everyone = lambda: {value for member in group.members for value in member.values}  # noqa: E731
        assert eventually(everyone, values.__eq__) == values
    assert_never_shared(group.members)
