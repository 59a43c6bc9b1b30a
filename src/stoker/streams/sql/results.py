"""What statements give."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Message:
    """What was done, in a sentence. `query_id` is that of the query that was made, if one was."""

    text: str
    query_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Rows:
    """`note` says what has to be known of them, such as how old they are."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str | None = None


@dataclass(frozen=True, kw_only=True)
class Live:
    """Rows as they come: iterate over `rows`, and `close()` it when enough have come."""

    columns: Sequence[str]
    rows: Iterator[Sequence[Any]] = field(repr=False)
    end: Callable[[], None] = field(repr=False)

    def close(self) -> None:
        """Also from another thread, or a signal's handler: who iterates comes to the end soon."""
        self.end()


Result = Message | Rows | Live


def in_utc(value: Any) -> Any:
    """Spark gives moments in the time zone of the machine, without saying so; and rows where there are structs."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, dict):
        return {name: in_utc(each) for name, each in value.items()}
    if hasattr(value, "asDict"):
        return {name: in_utc(each) for name, each in value.asDict().items()}
    return [in_utc(each) for each in value] if isinstance(value, list) else value
