"""A registry without a log: what is decided is true at once."""

from collections.abc import Callable
from typing import TypeVar

from stoker.registry.registry import Change, Registry
from stoker.registry.service import NotPrimary
from stoker.registry.state import RegistryState

ReplyT = TypeVar("ReplyT")


class MemoryService:
    """Takes the writes itself, unless `primary_url` says otherwise or nobody is known to."""

    def __init__(self, *, primary_url: str | None = None, is_primary_known: bool = True) -> None:
        self.registry = Registry(RegistryState())
        self.primary_url = primary_url
        self.cluster_id = "memory"
        self.is_primary_known = is_primary_known

    async def change(self, decide: Callable[[Registry], Change[ReplyT]]) -> ReplyT:
        if not self.is_primary_known:
            raise NotPrimary(None)
        change = decide(self.registry)
        for record in change.records:
            self.registry.state.replay(record)
        return change.reply

    async def another_primary(self, than: str) -> bool:
        return self.primary_url != than
