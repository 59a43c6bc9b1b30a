"""What answers requests needs to know of the one who keeps the schemas."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from stoker.registry.errors import Unavailable
from stoker.registry.registry import Change, Registry

R = TypeVar("R")


class NotPrimary(Unavailable):
    """Another instance takes the writes, the one at `url`; None while nobody is known to."""

    def __init__(self, url: str | None = None) -> None:
        super().__init__(50004, "Leader not known.")
        self.url = url


class Service(Protocol):
    registry: Registry
    """Answers questions, in the event loop."""
    cluster_id: str

    @property
    def primary_url(self) -> str | None:
        """Of another instance, when that one is to take the writes; None when this one takes them itself."""

    @property
    def is_primary_known(self) -> bool:
        """Whether there is one to take the writes, here or elsewhere."""

    async def change(self, decide: Callable[[Registry], Change[R]]) -> R:
        """Decide, write, and wait until it is in force here. Raises RegistryError, of which NotPrimary is one."""

    async def another_primary(self, than: str) -> bool:
        """Wait until the writes belong to another one than the instance at this URL; False if that takes too long."""
