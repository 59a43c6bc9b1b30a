"""An offset that a group has committed."""

from typing import NamedTuple


class CommittedOffset(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int
    """-1: the broker's retention counts."""


StoredOffset = tuple[int, int, str, int, int]
"""A CommittedOffset while nobody asks for it: the members of a tuple that has names cost as much again."""
