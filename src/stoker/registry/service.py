"""What stands between the HTTP API and the log: who answers questions, and who takes writes."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from stoker.registry.errors import Unavailable
from stoker.registry.registry import Change, Registry

ReplyT = TypeVar("ReplyT")

_NO_PRIMARY = 50004


class NotPrimary(Unavailable):
    """This instance does not take writes; `url` is where the one that does can be reached, if that is known."""

    def __init__(self, url: str | None = None) -> None:
        super().__init__(_NO_PRIMARY, "Leader not known." if url is None else f"The leader is {url}")
        self.url = url


class Service(Protocol):
    """A registry that is kept in a log, and its place among other instances."""

    registry: Registry
    """Questions are answered from it, in the event loop."""
    primary_url: str | None
    """Of another instance, when that one is to take the writes; None when this one takes them itself."""
    cluster_id: str
    """Of the Kafka cluster that has the log."""

    async def change(self, decide: Callable[[Registry], Change[ReplyT]]) -> ReplyT:
        """Decides, writes, and waits until the records were replayed. Raises RegistryError, NotPrimary."""
        ...
