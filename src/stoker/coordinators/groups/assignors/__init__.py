"""The server-side assignors of KIP-848: which member of a group is to have which partitions."""

from typing import Final

from stoker.coordinators.groups.assignors.assignor import Assignment, Assignor, GroupSpec, MemberSpec
from stoker.coordinators.groups.assignors.range import RangeAssignor
from stoker.coordinators.groups.assignors.uniform import UniformAssignor

__all__ = ["ASSIGNORS", "Assignment", "Assignor", "GroupSpec", "MemberSpec"]

ASSIGNORS: Final[dict[str, Assignor]] = {assignor.name: assignor for assignor in (UniformAssignor(), RangeAssignor())}
"""By name. The first is used where no member asks for another, as in Kafka's `group.consumer.assignors`."""
