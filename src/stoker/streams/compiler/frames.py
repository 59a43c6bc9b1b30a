"""What table nodes give to those that are made of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stoker.streams.columns import BEFORE, DELETED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, kw_only=True)
class TableFrame:
    """A table in one micro-batch."""

    keys: list[str]
    """`_key`, and the window if it has one."""
    values: list[str]
    """The columns of the user."""
    changes: "DataFrame"
    """A row for each key that has changed: what it is now, with `_timestamp`, `_partition`, `_deleted` and `_before`."""
    before: "Callable[[DataFrame | None], DataFrame]"
    """The rows before the batch, of some keys or all: keys, values, `_timestamp`, `_partition`."""
    after: "Callable[[DataFrame | None], DataFrame]"
    rows: int = 0
    """At most so many there are."""
    is_changed: bool = True
    """False if it is known that nothing has."""
    versions: "DataFrame | None" = None
    """If each change of a key in this batch is known, and not the last one alone: all of them, as rows with `_deleted`."""

    def plain(self, frame: "DataFrame") -> "DataFrame":
        """Without the columns that only changes have."""
        return frame.drop(BEFORE, DELETED)
