"""One member's way from what it has to its target."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from stoker.coordinators.groups.consumer_member import ConsumerMember
from stoker.coordinators.groups.consumer_states import MemberState
from stoker.coordinators.groups.reconciliation import Target, reconcile
from stoker.coordinators.groups.refusal import RequestRefused
from stoker.wire.messages.consumer_group_heartbeat import TopicPartitions

T1, T2 = UUID(int=1), UUID(int=2)
BOTH = frozenset({T1, T2})
STABLE, UNREVOKED, UNRELEASED = (
    MemberState.STABLE,
    MemberState.UNREVOKED_PARTITIONS,
    MemberState.UNRELEASED_PARTITIONS,
)

Since = Mapping[UUID, Mapping[int, int]]


@dataclass(frozen=True, kw_only=True)
class Case:
    """The member is at epoch 10, the target at epoch 11 unless they say otherwise."""

    state: MemberState = STABLE
    epoch: int = 10
    assigned: Since = field(default_factory=dict)
    revoking: Since = field(default_factory=dict)
    target: Mapping[UUID, frozenset[int]] = field(default_factory=dict)
    topics: frozenset[UUID] = BOTH
    target_epoch: int = 11
    reported: dict[UUID, list[int]] | None = None
    owned_by_others: frozenset[tuple[UUID, int]] = frozenset()
    subscription_changed: bool = False

    becomes: tuple[MemberState, int]
    then_assigned: Since = field(default_factory=dict)
    then_revoking: Since = field(default_factory=dict)


P1_TO_3 = {T1: {1: 9, 2: 9, 3: 9}}

CASES = {
    "at its target it stays as it is": Case(
        epoch=11, assigned=P1_TO_3, target={T1: frozenset({1})}, becomes=(STABLE, 11), then_assigned=P1_TO_3
    ),
    "a new target that changes nothing for it is a new epoch": Case(
        assigned=P1_TO_3, target={T1: frozenset({1, 2, 3})}, becomes=(STABLE, 11), then_assigned=P1_TO_3
    ),
    "it gets what is free": Case(
        assigned={T1: {1: 9}},
        target={T1: frozenset({1, 2}), T2: frozenset({1})},
        becomes=(STABLE, 11),
        then_assigned={T1: {1: 9, 2: 11}, T2: {1: 11}},
    ),
    "what it must give up keeps it at its epoch": Case(
        assigned=P1_TO_3,
        target={T1: frozenset({2, 3, 4})},
        becomes=(UNREVOKED, 10),
        then_assigned={T1: {2: 9, 3: 9}},
        then_revoking={T1: {1: 9}},
    ),
    "what it has given up before it was told is given up": Case(
        assigned=P1_TO_3,
        target={T1: frozenset({2, 3, 4})},
        reported={T1: [2, 3]},
        becomes=(STABLE, 11),
        then_assigned={T1: {2: 9, 3: 9, 4: 11}},
    ),
    "what others have it waits for": Case(
        assigned={T1: {1: 9}},
        target={T1: frozenset({1, 2, 3})},
        owned_by_others=frozenset({(T1, 3)}),
        becomes=(UNRELEASED, 11),
        then_assigned={T1: {1: 9, 2: 11}},
    ),
    "if others have everything it waits without anything": Case(
        target={T1: frozenset({1})}, owned_by_others=frozenset({(T1, 1)}), becomes=(UNRELEASED, 11)
    ),
    "as long as it does not say what it has it has not given up": Case(
        state=UNREVOKED,
        assigned={T1: {2: 9}},
        revoking={T1: {1: 9}},
        target={T1: frozenset({2, 3})},
        becomes=(UNREVOKED, 10),
        then_assigned={T1: {2: 9}},
        then_revoking={T1: {1: 9}},
    ),
    "as long as it has some of it it has not given up": Case(
        state=UNREVOKED,
        assigned={T1: {2: 9}},
        revoking={T1: {1: 9, 4: 9}},
        target={T1: frozenset({2, 3})},
        reported={T1: [2, 4]},
        becomes=(UNREVOKED, 10),
        then_assigned={T1: {2: 9}},
        then_revoking={T1: {1: 9, 4: 9}},
    ),
    "when it has given up it goes on to the target": Case(
        state=UNREVOKED,
        assigned={T1: {2: 9}},
        revoking={T1: {1: 9}},
        target={T1: frozenset({2, 3})},
        reported={T1: [2]},
        becomes=(STABLE, 11),
        then_assigned={T1: {2: 9, 3: 11}},
    ),
    "when it has given up, a newer target may ask for more": Case(
        state=UNREVOKED,
        assigned={T1: {2: 9, 3: 9}},
        revoking={T1: {1: 9}},
        target={T1: frozenset({3})},
        target_epoch=12,
        reported={T1: [2, 3]},
        becomes=(UNREVOKED, 10),
        then_assigned={T1: {3: 9}},
        then_revoking={T1: {2: 9}},
    ),
    "what it was to give up and a newer target leaves to it is its own again": Case(
        state=UNREVOKED,
        assigned={T1: {2: 9}},
        revoking={T1: {1: 9}},
        target={T1: frozenset({1, 2})},
        target_epoch=12,
        reported={T1: [2]},
        owned_by_others=frozenset({(T1, 1)}),  # by its own record: the member's revocation is not written yet
        becomes=(STABLE, 12),
        then_assigned={T1: {1: 12, 2: 9}},
    ),
    "it gets what has become free": Case(
        state=UNRELEASED,
        epoch=11,
        assigned={T1: {1: 9}},
        target={T1: frozenset({1, 2})},
        becomes=(STABLE, 11),
        then_assigned={T1: {1: 9, 2: 11}},
    ),
    "it goes on waiting": Case(
        state=UNRELEASED,
        epoch=11,
        assigned={T1: {1: 9}},
        target={T1: frozenset({1, 2})},
        owned_by_others=frozenset({(T1, 2)}),
        becomes=(UNRELEASED, 11),
        then_assigned={T1: {1: 9}},
    ),
    "while it waits a newer target may ask it to give up": Case(
        state=UNRELEASED,
        epoch=11,
        assigned={T1: {1: 9, 2: 9}},
        target={T1: frozenset({2})},
        target_epoch=12,
        becomes=(UNREVOKED, 11),
        then_assigned={T1: {2: 9}},
        then_revoking={T1: {1: 9}},
    ),
    "a topic it no longer subscribes to it gives up whatever the target says": Case(
        epoch=11,
        assigned={T1: {1: 9}, T2: {1: 9}},
        target={T1: frozenset({1}), T2: frozenset({1})},
        topics=frozenset({T1}),
        subscription_changed=True,
        becomes=(UNREVOKED, 11),
        then_assigned={T1: {1: 9}},
        then_revoking={T2: {1: 9}},
    ),
    "a topic it no longer subscribes to and does not have is just gone": Case(
        epoch=11,
        assigned={T1: {1: 9}, T2: {1: 9}},
        target={T1: frozenset({1}), T2: frozenset({1})},
        topics=frozenset({T1}),
        reported={T1: [1]},
        subscription_changed=True,
        becomes=(STABLE, 11),
        then_assigned={T1: {1: 9}},
    ),
    "another subscription with the same topics changes nothing": Case(
        epoch=11, assigned=P1_TO_3, subscription_changed=True, becomes=(STABLE, 11), then_assigned=P1_TO_3
    ),
    "while it gives up it may be told to give up more": Case(
        state=UNREVOKED,
        assigned={T1: {2: 9}, T2: {1: 9}},
        revoking={T1: {1: 9}},
        target={T1: frozenset({2}), T2: frozenset({1})},
        topics=frozenset({T1}),
        subscription_changed=True,
        becomes=(UNREVOKED, 10),
        then_assigned={T1: {2: 9}},
        then_revoking={T1: {1: 9}, T2: {1: 9}},
    ),
    "it does not get topics that it no longer subscribes to": Case(
        target={T1: frozenset({1}), T2: frozenset({1})},
        topics=frozenset({T2}),
        becomes=(STABLE, 11),
        then_assigned={T2: {1: 11}},
    ),
    "from a state nobody knows it begins anew without partitions": Case(
        state=MemberState.UNKNOWN,
        assigned={T1: {1: 9}},
        target={T1: frozenset({2})},
        reported={},
        becomes=(STABLE, 11),
        then_assigned={T1: {2: 11}},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_reconcile(case: Case) -> None:
    member = ConsumerMember(
        member_id="a", state=case.state, member_epoch=case.epoch, assigned=case.assigned, revoking=case.revoking
    )
    moved = reconcile(
        member,
        Target(epoch=case.target_epoch, assignment=dict(case.target), topics=case.topics),
        reported=topic_partitions(case.reported),
        owner_of=lambda topic_id, partition: "b" if (topic_id, partition) in case.owned_by_others else None,
        subscription_changed=case.subscription_changed,
    )
    assert (moved.state, moved.member_epoch) == case.becomes
    assert (moved.assigned, moved.revoking) == (case.then_assigned, case.then_revoking)
    assert moved is member or moved.previous_member_epoch == case.epoch


@pytest.mark.parametrize("reported", [None, {T1: [1]}], ids=["does not say", "has partitions"])
def test_from_a_state_nobody_knows_it_goes_nowhere_with_partitions(reported: dict[UUID, list[int]] | None) -> None:
    member = ConsumerMember(member_id="a", state=MemberState.UNKNOWN, member_epoch=10)
    with pytest.raises(RequestRefused):
        reconcile(
            member,
            Target(epoch=11, assignment={}, topics=BOTH),
            reported=topic_partitions(reported),
            owner_of=lambda topic_id, partition: None,
        )


def topic_partitions(reported: dict[UUID, list[int]] | None) -> list[TopicPartitions] | None:
    if reported is None:
        return None
    return [TopicPartitions(topic_id=topic_id, partitions=partitions) for topic_id, partitions in reported.items()]
