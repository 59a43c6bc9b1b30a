"""Deadlines of members and groups: set, moved and cancelled often, and rarely met."""

import heapq
from collections.abc import Callable, Hashable, Iterator
from itertools import count
from typing import Any, NamedTuple

from stoker.coordinators.result import Result

Action = Callable[[], "Result[Any, Any] | None"]
"""What is done when a deadline is met. None: nothing is to be written or answered."""


_SPARE = 1_000
"""Cancelled timers that are not worth looking for."""


class _Timer(NamedTuple):
    deadline_ms: int
    action: Action


class Timers:
    """One timer for each pair of a group and a key; scheduling again moves it.

    Moving a deadline to later, which every heartbeat does, touches a dictionary only: the heap is corrected when the
    earlier deadline comes up.
    """

    def __init__(self) -> None:
        self._timers: dict[tuple[str, Hashable], _Timer] = {}
        self._heap: list[tuple[int, int, tuple[str, Hashable]]] = []
        self._queued: dict[tuple[str, Hashable], int] = {}
        self._order = count()

    def schedule(self, group_id: str, key: Hashable, deadline_ms: int, action: Action) -> None:
        name = (group_id, key)
        self._timers[name] = _Timer(deadline_ms, action)
        queued = self._queued.get(name)
        if queued is None or deadline_ms < queued:
            self._queue(name, deadline_ms)

    def cancel(self, group_id: str, key: Hashable) -> None:
        """It is fine if there is no such timer."""
        if self._timers.pop((group_id, key), None) is not None and len(self._heap) > 2 * len(self._timers) + _SPARE:
            self._drop_cancelled()

    def _drop_cancelled(self) -> None:
        """Names of members that left would stay in the heap until their deadlines, of which they choose some."""
        self._queued = {name: deadline_ms for name, deadline_ms in self._queued.items() if name in self._timers}
        self._heap = [entry for entry in self._heap if self._queued.get(entry[2]) == entry[0]]
        heapq.heapify(self._heap)

    def is_scheduled(self, group_id: str, key: Hashable) -> bool:
        return (group_id, key) in self._timers

    @property
    def next_deadline_ms(self) -> int | None:
        """When `expire` is worth calling next. It may come early, never late."""
        return self._heap[0][0] if self._heap else None

    def expire(self, now_ms: int) -> Iterator[tuple[str, "Result[Any, Any]"]]:
        """Carry out what is due, the earliest first; each group with what came of it.

        The results must be applied as they come: an action sees what those before it did.
        """
        while self._heap and self._heap[0][0] <= now_ms:
            queued_ms, _, name = heapq.heappop(self._heap)
            if self._queued.get(name) != queued_ms:
                continue  # it was queued again, for earlier
            del self._queued[name]
            timer = self._timers.get(name)
            if timer is None:
                continue
            if timer.deadline_ms > now_ms:
                self._queue(name, timer.deadline_ms)
                continue
            del self._timers[name]
            result = timer.action()
            if result is not None:
                yield name[0], result

    def _queue(self, name: tuple[str, Hashable], deadline_ms: int) -> None:
        self._queued[name] = deadline_ms
        heapq.heappush(self._heap, (deadline_ms, next(self._order), name))
