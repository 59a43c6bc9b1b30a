"""Schemas that take long to read or to compare are read on a thread, so that others are answered meanwhile."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from stoker.registry.deliberation import Patience, deliberate
from stoker.registry.entities import SchemaEntity, SubjectVersion
from stoker.registry.errors import Unavailable
from stoker.registry.registry import Registration, Registry
from stoker.registry.settings import Level
from stoker.registry.subjects import context_of

R = TypeVar("R")

_MEDIUM: Final = 64 * 1024
"""In characters to be read: what takes some 20 ms."""
_LARGE: Final = 256 * 1024
_COMPARING: Final = 8
"""How many times as long as reading it takes, at worst."""
_TIMED_OUT: Final = 50002


class LargeSchemas:
    """The largest one at a time: a schema that was read takes 30 times the memory of its text."""

    def __init__(self, patience: float) -> None:
        """That many seconds are spent on one of them, and before that as many until it has its turn."""
        self._patience = patience
        self._stopping = threading.Event()
        self._medium = asyncio.Semaphore(2)
        self._large = asyncio.Semaphore(1)

    def close(self) -> None:
        """What is being compared is given up."""
        self._stopping.set()

    async def read(self, registry: Registry, name: str, wanted: Registration, work: Callable[[], R]) -> R:
        """What `work` gives, which reads the schema and finds the version that it is."""
        characters = registry.parser.weight(wanted.entity, context_of(name))
        subject = registry.state.subjects.get(name)
        if subject is not None and not wanted.entity.references and characters <= _LARGE:
            referring = (each for each in subject.versions.values() if each.entity.references)
            characters += _weight(registry, referring)  # which may be it, with their references written out
        return await self._answer(registry, characters, work)

    async def compare(
        self,
        registry: Registry,
        name: str,
        wanted: Registration,
        earlier: Sequence[SubjectVersion],
        work: Callable[[], R],
    ) -> R:
        """What `work` gives, which reads the schema and compares it with these versions."""
        level = registry.scopes.level(name)
        compared = earlier if level.is_transitive else earlier[-1:] if level is not Level.NONE else ()
        characters = registry.parser.weight(wanted.entity, context_of(name))
        if compared:
            characters = _COMPARING * (characters + _weight(registry, compared))
        return await self._answer(registry, characters, work)

    async def format(self, registry: Registry, entity: SchemaEntity, context: str, work: Callable[[], R]) -> R:
        """What `work` gives, which reads the schema and writes it."""
        return await self._answer(registry, registry.parser.weight(entity, context), work)

    async def _answer(self, registry: Registry, characters: int, work: Callable[[], R]) -> R:
        if characters <= _MEDIUM:
            return work()
        turn = self._large if characters > _LARGE else self._medium
        try:
            async with asyncio.timeout(self._patience):
                await turn.acquire()
        except TimeoutError:
            raise Unavailable(
                _TIMED_OUT, f"Other large schemas were read or compared for {self._patience:g} s; ask again later"
            ) from None
        try:
            return await deliberate(registry.state, work, Patience(self._patience, self._stopping))
        finally:
            turn.release()


def _weight(registry: Registry, versions: Iterable[SubjectVersion]) -> int:
    """As far as it matters."""
    characters = 0
    for version in versions:
        characters += registry.parser.weight(version.entity, context_of(version.subject))
        if characters > _LARGE:
            break
    return characters
