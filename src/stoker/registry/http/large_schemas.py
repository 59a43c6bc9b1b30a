"""Schemas that take long to read are read on a thread, so that others are answered meanwhile.

What was read and compared there is kept by the registry for the one who decides, which is done in the event loop, between
two changes.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from stoker.registry.entities import SubjectVersion
from stoker.registry.registry import Registration, Registry

_LARGE: Final = 64 * 1024
"""In characters: what takes some 20 ms."""


class LargeSchemas:
    """One at a time: a schema that was read takes 30 times the memory of its text."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(1)

    async def read(self, registry: Registry, name: str, wanted: Registration) -> None:
        """Raises Unprocessable if it is no schema."""
        if len(wanted.entity.text) > _LARGE:
            await self._on_a_thread(lambda: registry.canonical(name, wanted))

    async def compare(
        self, registry: Registry, name: str, wanted: Registration, earlier: Sequence[SubjectVersion]
    ) -> None:
        """Raises Unprocessable if it is no schema."""
        if len(wanted.entity.text) > _LARGE:
            await self._on_a_thread(lambda: registry.incompatibilities(name, wanted, earlier))

    async def _on_a_thread(self, work: Callable[[], object]) -> None:
        async with self._turn:
            try:
                await asyncio.to_thread(work)
            except RuntimeError:  # the state changed meanwhile; the one who decides will see
                pass
