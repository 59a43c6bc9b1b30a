"""The states of a KIP-848 group, and of a member on its way to its target assignment."""

from enum import Enum, IntEnum
from typing import Self


class ConsumerGroupState(Enum):
    """What a group is doing. It is not stored: it follows from epochs and members. The values are Kafka's."""

    EMPTY = "Empty"
    """No members. A member that joins makes it ASSIGNING; without offsets it may be deleted, and is DEAD."""
    ASSIGNING = "Assigning"
    """The group epoch is ahead of the target assignment. The next target makes it RECONCILING."""
    RECONCILING = "Reconciling"
    """Some member has not reached the target yet. The last one to do so makes it STABLE."""
    STABLE = "Stable"
    """Every member has its target assignment. A change of members, subscriptions or topics makes it ASSIGNING."""
    DEAD = "Dead"
    """There is no such group (any more)."""


class MemberState(IntEnum):
    """How far a member is with its reconciliation. The values are those of Kafka's records."""

    STABLE = 0
    """It has what the target of its epoch gives it. A newer target leads on to any of the three."""
    UNREVOKED_PARTITIONS = 1
    """It must give up partitions before its epoch can rise. It leaves when it no longer reports them, or is fenced at
    its rebalance time-out."""
    UNRELEASED_PARTITIONS = 2
    """It has reached the target's epoch, but some of its partitions still belong to other members. It leaves when they
    are free, or for a newer target."""
    UNKNOWN = 127
    """A state that a newer Kafka wrote. It leaves by joining again without partitions."""

    @classmethod
    def of_record(cls, value: int) -> Self:
        return cls(value if value in cls._value2member_map_ else cls.UNKNOWN)
