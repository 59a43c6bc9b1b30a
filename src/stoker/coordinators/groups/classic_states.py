"""The states of a classic group, and how one follows the other.

      Empty <------------- PreparingRebalance <-----------------+---------------+
        |   nobody is left     ^     |                          |               |
        +----------------------+     | the members have joined  |               |
          somebody joins             v                          |               |
                               CompletingRebalance -------------+               |
                                     |            a member came, went or changed|
                                     | the leader's assignments are written     |
                                     v                                          |
                                  Stable ---------------------------------------+

Every state may end in Dead.
"""

from enum import Enum


class ClassicGroupState(Enum):
    """The values are Kafka's, as DescribeGroups and ListGroups tell them."""

    EMPTY = "Empty"
    """Nobody is in the group; it lives on for its committed offsets, or because members were told to join again.

    action: a first JoinGroup is taken; SyncGroup, Heartbeat and LeaveGroup get UNKNOWN_MEMBER_ID; whoever gives no
        generation may commit offsets.
    transitions: a member joins -> PREPARING_REBALANCE; its last offset expires or it is deleted -> DEAD.
    predecessors: PREPARING_REBALANCE, when nobody was left to rejoin.
    """

    PREPARING_REBALANCE = "PreparingRebalance"
    """The members of the next generation gather.

    action: JoinGroup waits until all are there or the rebalance time-out has passed; Heartbeat and SyncGroup get
        REBALANCE_IN_PROGRESS; LeaveGroup takes members out; the generation before may still commit offsets.
    transitions: members have joined -> COMPLETING_REBALANCE; all have left -> EMPTY.
    predecessors: EMPTY, COMPLETING_REBALANCE, STABLE.
    """

    COMPLETING_REBALANCE = "CompletingRebalance"
    """The generation is made; its leader has yet to say who gets what.

    action: SyncGroup of followers waits for that of the leader; Heartbeat is taken; OffsetCommit gets
        REBALANCE_IN_PROGRESS; JoinGroup with unchanged metadata gets its answer once more.
    transitions: the leader's assignments are written -> STABLE; a member joins, changes, leaves, fails or does not
        sync in time, or the assignments cannot be written -> PREPARING_REBALANCE.
    predecessors: PREPARING_REBALANCE.
    """

    STABLE = "Stable"
    """Every member has its assignment.

    action: Heartbeat and OffsetCommit of this generation are taken; SyncGroup gets the assignment; JoinGroup of a
        follower with unchanged metadata, or of a static member come back (KIP-345), gets this generation.
    transitions: a member joins, changes, leaves, fails or does not sync in time, or the leader rejoins
        -> PREPARING_REBALANCE.
    predecessors: COMPLETING_REBALANCE.
    """

    DEAD = "Dead"
    """The group was removed, or became one of another protocol; whoever still holds it must not use it.

    action: none: requests no longer find it.
    transitions: none.
    predecessors: all.
    """

    def may_follow(self, state: "ClassicGroupState") -> bool:
        return state in _PREDECESSORS[self]


_PREDECESSORS = {
    ClassicGroupState.EMPTY: frozenset({ClassicGroupState.PREPARING_REBALANCE}),
    ClassicGroupState.PREPARING_REBALANCE: frozenset(
        {ClassicGroupState.EMPTY, ClassicGroupState.COMPLETING_REBALANCE, ClassicGroupState.STABLE}
    ),
    ClassicGroupState.COMPLETING_REBALANCE: frozenset({ClassicGroupState.PREPARING_REBALANCE}),
    ClassicGroupState.STABLE: frozenset({ClassicGroupState.COMPLETING_REBALANCE}),
    ClassicGroupState.DEAD: frozenset(ClassicGroupState),
}
