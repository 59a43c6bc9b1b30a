"""Which of the records that are read `stoker consume` writes, and how many."""

import re
from collections.abc import Sequence
from typing import TypeVar

from stoker.cli.record_format import Record

R = TypeVar("R", bound=Record)


class Selection:
    """Counts what it has seen and chosen; a null value or key matches no pattern."""

    def __init__(self, *, value: str | None = None, key: str | None = None, limit: int | None = None) -> None:
        """Raises re.error."""
        self._value = None if value is None else re.compile(value)
        self._key = None if key is None else re.compile(key)
        self._limit = limit
        self.seen = 0
        self.chosen = 0

    @property
    def is_full(self) -> bool:
        return self.chosen == self._limit

    @property
    def is_choosy(self) -> bool:
        return self._value is not None or self._key is not None

    def choose(self, records: Sequence[R]) -> tuple[Sequence[R], int]:
        """The records to be written, and how many were looked at to find them: all, unless the limit came first."""
        room = len(records) if self._limit is None else self._limit - self.chosen
        if not self.is_choosy:
            chosen, looked_at = records[:room], min(room, len(records))
        else:
            chosen, looked_at = self._search(records, room)
        self.seen += looked_at
        self.chosen += len(chosen)
        return chosen, looked_at

    def _search(self, records: Sequence[R], room: int) -> tuple[list[R], int]:
        chosen: list[R] = []
        for number, record in enumerate(records, 1):
            if _matches(self._value, record.value()) and _matches(self._key, record.key()):
                chosen.append(record)
                if len(chosen) == room:
                    return chosen, number
        return chosen, len(records)


def _matches(pattern: re.Pattern[str] | None, data: bytes | None) -> bool:
    if pattern is None:
        return True
    return data is not None and pattern.search(data.decode("utf-8", "replace")) is not None
