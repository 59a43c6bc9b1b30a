"""What an assignor is given and what it promises."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol
from uuid import UUID

Assignment = dict[UUID, frozenset[int]]
"""The partitions of each topic that a member has any of."""


class MemberSpec(NamedTuple):
    """`topics` are those it subscribes to, `assigned` is what the last target assignment gave it."""

    instance_id: str | None
    rack_id: str | None
    topics: frozenset[UUID]
    assigned: Mapping[UUID, frozenset[int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupSpec:
    """`homogeneous` says that all members subscribe to the same topics; a topic without a count does not exist."""

    members: Mapping[str, MemberSpec]
    homogeneous: bool
    partition_counts: Mapping[UUID, int]


class Assignor(Protocol):
    """A function of the group alone: equal groups have equal assignments, whatever the order of their members."""

    @property
    def name(self) -> str:
        """What a member puts in `group.remote.assignor`."""
        ...

    def assign(self, spec: GroupSpec) -> dict[str, Assignment]:
        """For every member its partitions: each partition of a subscribed topic goes to exactly one subscriber."""
        ...
