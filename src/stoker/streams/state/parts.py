"""Parts of stores as they are read without Spark: from their files, or from memory if they are asked often.

A part never changes. So what was read of one is right as long as a manifest names it, and a new micro-batch makes only its
own rows be read.
"""

import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import dataset, fs, parquet

from stoker.streams.columns import DELETED, KEY, WINDOW, values_of
from stoker.streams.state.directory import PartFile, StateDirectory
from stoker.streams.state.keys import KeyType, flat_keys
from stoker.streams.state.manifest import StoreFiles

Row = dict[str, Any]

_SMALL_ROWS: Final = 100_000
"""To have so many in memory takes about as long as to look for one of them in the files."""
_OFTEN: Final = 8
"""To have more rows in memory, in order, takes about as long as to look for one in the files so often."""
_MOST_BYTES: Final = 256 * 2**20
"""Of rows in memory."""
_MOST_STORES: Final = 200
_CELL_BYTES: Final = 16
"""That a value takes in memory, roughly: to know before whether a part is too large."""
_BATCH_ROWS: Final = 16_384
_UTC: Final = "+00:00"
"""By this name Arrow gives datetimes of `datetime.UTC`."""


class StoreColumns(NamedTuple):
    """What the rows of a store are made of."""

    key: KeyType
    windows: tuple[str, ...]
    """The columns of the window; none if the store has no windows."""
    values: tuple[str, ...]

    @property
    def all(self) -> list[str]:
        return [KEY, *self.windows, *self.values, DELETED]

    def place(self, row: Row) -> tuple[Any, ...]:
        """What rows are told apart by, in their order."""
        return (self.key.place(row[KEY]), *[row[name] for name in self.windows])

    def value(self, row: Row) -> Any:
        if self.values == ("value",):
            return row["value"]
        return {name: row[name] for name in self.values}


def store_columns(store: str, schema: pa.Schema, files: StoreFiles) -> StoreColumns | None:
    """None if the rows are for the application itself: they have no key, or nothing that is the user's.

    The columns of a window may also be a value's: of a table whose topic another application has written.
    """
    windows = tuple(name for name in WINDOW if name in (files.keys or schema.names))
    values = tuple(name for name in values_of(schema.names) if name not in windows)
    if KEY not in schema.names or not values:
        return None
    return StoreColumns(KeyType(store, schema.field(KEY).type), windows, values)


class Part:
    """Rows as they are in its files, also those that are deleted. Every method may raise FileNotFoundError: it was removed."""

    def __init__(self, files: fs.FileSystem, found: tuple[PartFile, ...], rows: int, most_bytes: int) -> None:
        self._files = files
        self._paths = [each.path for each in found]
        self._rows = rows
        self._most_bytes = most_bytes
        self._lookups = 0
        self._sorted: _SortedRows | None = None
        self._lock = threading.Lock()
        if not found:
            raise FileNotFoundError(f"a part of {rows} rows has no files")
        self._dataset = dataset.dataset(self._paths, filesystem=files, format="parquet")
        if self._dataset.count_rows() != rows:
            raise FileNotFoundError(f"a part of {rows} rows has only some of its files: {self._paths}")
        self.schema = _with_moments(self._dataset.schema)

    @property
    def bytes_in_memory(self) -> int:
        kept = self._sorted
        return 0 if kept is None else kept.bytes

    def between(self, columns: StoreColumns, first: Any, last: Any) -> pa.Table:
        """Rows with keys from `first` to `last`, both included, None for no bound; by key and window."""
        if self._sorted is None:
            self._load_if_worth_it(columns)
        kept = self._sorted
        if kept is None:
            kept = _SortedRows(self._read(columns.all, columns.key.condition(first, last)), columns)
        return kept.between(first, last)

    def _load_if_worth_it(self, columns: StoreColumns) -> None:
        with self._lock:
            self._lookups += 1
            is_worth_it = self._rows <= _SMALL_ROWS or self._lookups > _OFTEN
            is_bearable = self._rows * len(columns.all) * _CELL_BYTES <= self._most_bytes
            if self._sorted is None and is_worth_it and is_bearable:
                self._sorted = _SortedRows(self._read(columns.all, None), columns)

    def keys(self, columns: StoreColumns) -> tuple[pa.Table, list[str]]:
        """All keys and windows with `_deleted`, and the names of the columns that tell them apart."""
        kept = self._sorted
        names = [KEY, *columns.windows]
        table = self._read([*names, DELETED], None) if kept is None else kept.table.select([*names, DELETED])
        flat, keys = flat_keys(table, KEY)
        return flat, [*keys, *columns.windows]

    def table(self) -> pa.Table:
        """All of them, with all columns."""
        return self._read(self.schema.names, None)

    def rows(self, columns: StoreColumns) -> Iterator[Row]:
        """All of them, in no order. The files are open when this returns, so that to remove them does no harm."""
        kept = self._sorted
        if kept is not None:
            return _rows_of(kept.table.to_batches(_BATCH_ROWS))
        return _rows_of_files([self._files.open_input_file(path) for path in self._paths], columns)

    def _read(self, names: list[str], condition: pc.Expression | None) -> pa.Table:
        table = self._dataset.to_table(columns=names, filter=condition)
        return table.cast(_with_moments(table.schema))


class _SortedRows:
    """In memory, by key and window."""

    def __init__(self, table: pa.Table, columns: StoreColumns) -> None:
        flat, keys = flat_keys(table, KEY)
        order = pc.sort_indices(flat, sort_keys=[(name, "ascending") for name in (*keys, *columns.windows)])
        self.table = table.take(order).combine_chunks()
        keys_in_order = self.table[KEY]
        self._keys = keys_in_order.chunk(0) if keys_in_order.num_chunks == 1 else keys_in_order
        self._place = columns.key.place
        self.bytes = int(self.table.nbytes)

    def between(self, first: Any, last: Any) -> pa.Table:
        everything = range(len(self._keys))
        start = 0 if first is None else bisect_left(everything, self._place(first), key=self._place_at)
        end = len(self._keys)
        if last is not None:
            end = bisect_right(everything, self._place(last), lo=start, key=self._place_at)
        return self.table.slice(start, max(0, end - start))

    def _place_at(self, index: int) -> Any:
        return self._place(self._keys[index].as_py())


class Parts:
    """Those of the stores that were read lately, so that whoever reads one again finds them. Safe to be used by many threads."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._stores: OrderedDict[tuple[str, str], dict[tuple[PartFile, ...], Part]] = OrderedDict()
        """By directory and name, the one used last at the end."""
        self._lock = threading.Lock()

    def of_store(self, directory: StateDirectory, store: str, files: StoreFiles) -> tuple[Part, ...]:
        """In order, the base first. Raises FileNotFoundError if one of them is gone."""
        place = (directory.uri, store)
        with self._lock:
            known = self._stores.get(place, {})
        found = {}
        for name, rows in zip(files.parts, files.rows, strict=True):
            identity = directory.part_files(store, name)
            found[identity] = known.get(identity) or Part(directory.files, identity, rows, self._most_bytes)
        with self._lock:
            self._stores[place] = found
            self._stores.move_to_end(place)
        return tuple(found.values())

    def used(self, directory: StateDirectory, store: str) -> None:
        """Let go of the stores that were not used for longest, if all of them are too much."""
        with self._lock:
            if (directory.uri, store) in self._stores:
                self._stores.move_to_end((directory.uri, store))
            sizes = {each: sum(part.bytes_in_memory for part in parts.values()) for each, parts in self._stores.items()}
            total = sum(sizes.values())
            for oldest in list(self._stores)[:-1]:
                if total <= self._most_bytes and len(self._stores) <= _MOST_STORES:
                    break
                total -= sizes[oldest]
                del self._stores[oldest]


PARTS: Final = Parts()
"""Of this process."""


def _rows_of(batches: list[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        yield from to_rows(batch)


def _rows_of_files(opened: list[pa.NativeFile], columns: StoreColumns) -> Iterator[Row]:
    for file in opened:
        with closing(file), parquet.ParquetFile(file) as source:
            for batch in source.iter_batches(_BATCH_ROWS, columns=columns.all):
                yield from to_rows(batch.cast(_with_moments(batch.schema)))


def to_rows(table: pa.Table | pa.RecordBatch) -> list[Row]:
    """As Python values; maps are dicts."""
    rows: list[Row] = table.to_pylist(maps_as_pydicts="strict")
    return rows


def _with_moments(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_type(_with_zone(field.type)) for field in schema])


def _with_zone(type_: pa.DataType) -> pa.DataType:
    """Spark writes moments as INT96, which Arrow reads as nanoseconds of no zone; they are of UTC."""
    if pa.types.is_timestamp(type_):
        is_moment = type_.tz is not None or type_.unit == "ns"
        return pa.timestamp("us", _UTC if is_moment else None)
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_with_zone(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(_with_zone(type_.key_type), _with_zone(type_.item_type))
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_with_zone(type_.value_type)))
    return type_
