"""Questions that take long are answered on a thread, so that others are answered meanwhile.

The state belongs to the event loop, and may change while a thread looks at it: who stumbles over that looks again.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, TypeVar

from stoker.registry.errors import Unavailable
from stoker.registry.state import RegistryState

R = TypeVar("R")
_TIMED_OUT: Final = 50002
_ATTEMPTS: Final = 5


class Patience:
    """How long may be thought about one request: a level can ask for a comparison with ten thousand versions."""

    def __init__(self, seconds: float, stopping: threading.Event) -> None:
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._stopping = stopping

    def check(self) -> None:
        """Raises Unavailable when it is at an end, or the instance is."""
        if self._stopping.is_set():
            raise Unavailable(_TIMED_OUT, "The request was given up: this instance is being stopped")
        if time.monotonic() > self._deadline:
            raise Unavailable(
                _TIMED_OUT,
                f"Comparing the schema with those before it was given up after {self._seconds:g} s: they are too many, "
                "or too large",
            )


_patience: ContextVar[Patience | None] = ContextVar("patience", default=None)


def check_patience() -> None:
    """To be called between two schemas. Raises Unavailable."""
    patience = _patience.get()
    if patience is not None:
        patience.check()


async def deliberate(state: RegistryState, work: Callable[[], R], patience: Patience) -> R:
    """What `work` gives, which only looks at the state."""

    def patiently() -> R:
        _patience.set(patience)  # in the thread's copy of the context
        return work()

    for _ in range(_ATTEMPTS - 1):
        before = state.changes
        try:
            return await asyncio.to_thread(patiently)
        except (RuntimeError, LookupError):
            if state.changes == before:
                raise
    return await asyncio.to_thread(patiently)
