"""A store as one manifest has it: the rows of its parts, where a later part wins and what is deleted is left out."""

import heapq
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import groupby
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from stoker.streams.columns import DELETED, KEY, WINDOW_END, WINDOW_START
from stoker.streams.errors import InvalidQuery
from stoker.streams.state.manifest import Manifest
from stoker.streams.state.parts import Part, Row, StoreColumns, to_rows

Moment = datetime | int
"""A datetime with a time zone, or milliseconds since 1970."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SLICE_ROWS: Final = 1_000


class KeyValue(NamedTuple):
    """A row of a store without windows. `value` is a dict of its columns, or what the one that is named `value` has."""

    key: Any
    value: Any


class WindowedValue(NamedTuple):
    """A row of a store with windows."""

    key: Any
    window_start: datetime
    window_end: datetime
    value: Any


Entry = KeyValue | WindowedValue


class StoreSnapshot:
    """Every answer is of the same state. Any method may raise FileNotFoundError: compaction has removed the state since."""

    def __init__(self, store: str, manifest: Manifest, parts: Sequence[Part], columns: StoreColumns | None) -> None:
        self._store = store
        self._parts = parts
        self._columns = columns
        """None while the store has never had a row."""
        self.batch = manifest.batch
        self.as_of = datetime.fromtimestamp(manifest.committed_at, UTC)

    @property
    def has_windows(self) -> bool:
        return self._columns is not None and bool(self._columns.windows)

    def get(self, key: Any, window_start: Moment | None = None) -> Any:
        """The value of the key, None if there is none; of a store with windows that of the window, or a list of all of them."""
        columns = self._columns
        if columns is None:
            return None
        key = columns.key.checked(key)
        if window_start is not None:
            start = self._moment(window_start)
            found = [each.value for each in self.windows(key, start, start)]
            return found[0] if found else None
        if columns.windows:
            return self.windows(key)
        for part in reversed(self._parts):
            rows = to_rows(part.between(columns, key, key))
            if rows:
                return None if rows[0][DELETED] else columns.value(rows[0])
        return None

    def windows(self, key: Any, since: Moment | None = None, until: Moment | None = None) -> list[WindowedValue]:
        """The windows of a key that start from `since` to `until`, both included, in order."""
        columns = self._columns
        if columns is None:
            return []
        if not columns.windows:
            raise InvalidQuery(f"store {self._store!r} has no windows: ask for a key alone")
        key = columns.key.checked(key)
        first = None if since is None else self._moment(since)
        last = None if until is None else self._moment(until)
        return [
            _windowed(columns, row)
            for row in self._merged(columns, key, key)
            if (first is None or row[WINDOW_START] >= first) and (last is None or row[WINDOW_START] <= last)
        ]

    def range(self, first: Any = None, last: Any = None) -> Iterator[Entry]:
        """Rows with keys from `first` to `last`, both included, None for no bound; by key and window."""
        columns = self._columns
        if columns is None:
            return iter(())
        bounds = [None if each is None else columns.key.checked(each) for each in (first, last)]
        return (_entry(columns, row) for row in self._merged(columns, *bounds))

    def all(self) -> Iterator[Entry]:
        """All rows, in no order; of a large store only what has changed since its base is held in memory."""
        columns = self._columns
        if columns is None:
            return iter(())
        base, *changes = self._parts
        changed = {columns.place(row): row for part in changes for row in part.rows(columns)}
        return _unchanged_and(columns, base.rows(columns), changed)

    def count(self) -> int:
        """How many rows."""
        return self._count

    def key_of_text(self, text: str) -> Any:
        """The key that is written so, as in a URL. Raises InvalidQuery."""
        return text if self._columns is None else self._columns.key.of_text(text)

    @cached_property
    def _count(self) -> int:
        columns = self._columns
        if columns is None:
            return 0
        tables, names = zip(*[part.keys(columns) for part in self._parts], strict=True)
        deleted = tables[0][DELETED]
        if len(tables) > 1:
            # One thread alone reads the rows in the order of the parts.
            grouped = pa.concat_tables(tables, promote_options="permissive").group_by(names[0], use_threads=False)
            deleted = grouped.aggregate([(DELETED, "last")])[f"{DELETED}_last"]
        return len(deleted) - int(pc.sum(deleted).as_py() or 0)

    def _merged(self, columns: StoreColumns, first: Any, last: Any) -> Iterator[Row]:
        """Not a generator as a whole: what can fail has failed when this returns."""
        tables = [part.between(columns, first, last) for part in self._parts]
        newest_first = [_placed(columns, table) for table in reversed(tables)]
        rows = heapq.merge(*newest_first, key=lambda placed: placed[0])  # equal ones in the order of these
        latest = (next(same)[1] for _, same in groupby(rows, key=lambda placed: placed[0]))
        return (row for row in latest if not row[DELETED])

    def _moment(self, given: Moment) -> datetime:
        if isinstance(given, datetime) and given.tzinfo is not None:
            return given
        if isinstance(given, int) and not isinstance(given, bool):
            try:
                return _EPOCH + timedelta(milliseconds=given)
            except OverflowError:
                pass  # it is later than all years that Python knows
        raise InvalidQuery(
            f"windows of store {self._store!r} are asked for by a datetime with a time zone, or milliseconds since 1970: "
            f"{given!r} is neither"
        )


def _placed(columns: StoreColumns, table: pa.Table) -> Iterator[tuple[Any, Row]]:
    for start in range(0, table.num_rows, _SLICE_ROWS):
        for row in to_rows(table.slice(start, _SLICE_ROWS)):
            yield columns.place(row), row


def _unchanged_and(columns: StoreColumns, base: Iterator[Row], changed: dict[Any, Row]) -> Iterator[Entry]:
    for row in base:
        if not row[DELETED] and (not changed or columns.place(row) not in changed):
            yield _entry(columns, row)
    for row in changed.values():
        if not row[DELETED]:
            yield _entry(columns, row)


def _entry(columns: StoreColumns, row: Row) -> Entry:
    return _windowed(columns, row) if columns.windows else KeyValue(row[KEY], columns.value(row))


def _windowed(columns: StoreColumns, row: Row) -> WindowedValue:
    return WindowedValue(row[KEY], row[WINDOW_START], row[WINDOW_END], columns.value(row))
