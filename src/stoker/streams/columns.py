"""The columns that every row has beside those of its value. Names that begin with `_` are ours."""

from collections.abc import Iterable
from typing import Final

KEY: Final = "_key"
TIMESTAMP: Final = "_timestamp"
"""The event time."""
PARTITION: Final = "_partition"
OFFSET: Final = "_offset"
STREAM_TIME: Final = "_stream_time"
"""The largest event time, in milliseconds, that the partition has had up to this row."""
HEADERS: Final = "_headers"

STREAM_COLUMNS: Final = (KEY, TIMESTAMP, PARTITION, OFFSET, STREAM_TIME)

WINDOW_START: Final = "window_start"
WINDOW_END: Final = "window_end"
WINDOW: Final = (WINDOW_START, WINDOW_END)

DELETED: Final = "_deleted"
BEFORE: Final = "_before"
"""Of a change: the columns of the value as they were, null if there was no row."""
STATE: Final = "_state"

TABLE_COLUMNS: Final = (KEY, TIMESTAMP, PARTITION, DELETED, BEFORE)


def is_ours(name: str) -> bool:
    return name.startswith("_")


def quoted(name: str) -> str:
    """As SQL writes it, whatever is in it."""
    return f"`{name.replace('`', '``')}`"


def struct_of(names: Iterable[str]) -> str:
    """Columns as one, in SQL. Spark is asked once for a text, and many times for as many columns."""
    return f"struct({', '.join(map(quoted, names))})"


def values_of(names: Iterable[str]) -> list[str]:
    """Those that are the user's."""
    return [name for name in names if not is_ours(name)]
