"""Nodes that have nodes inside of them: records, unions, arrays and maps."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from stoker.spark.formats.avro_cursor import Cursor, Flags
from stoker.spark.formats.avro_nodes import Node, Place, Text, nulls, place_of, validity
from stoker.spark.formats.avro_skipping import Items, Skip, SkipSeveral, choices_of, find_items
from stoker.wire.batch_columns import Integers

_AT_ONCE: Final = 1 << 18


class Step(NamedTuple):
    """A field of the writer's."""

    slot: int | None
    """The field of the column that it becomes, if it is wanted."""
    what: Node | Skip


class RecordNode(Node):
    """`steps` are the fields of the writer's in their order, and `missing` those that it does not have."""

    def __init__(self, type_: pa.StructType, path: str, steps: list[Step], missing: list[tuple[int, Node]]) -> None:
        super().__init__(type_, path)
        self._steps = _merged(steps, path)
        self._missing = missing
        self.has_items = any(_has_items(step.what) for step in self._steps)

    def read(self, cursor: Cursor, place: Place | None) -> pa.Array:
        columns: list[pa.Array] = [None] * self.type.num_fields
        for slot, node in self._missing:
            columns[slot] = node.read(cursor, place)
        for step in self._steps:
            if isinstance(step.what, Skip):
                step.what.all(cursor)
            else:
                assert step.slot is not None
                columns[step.slot] = step.what.read(cursor, place)
        count, absent = (len(cursor), None) if place is None else (place.size, place.absent)
        return pa.Array.from_buffers(self.type, count, [validity(absent)], children=columns)


class Branch(NamedTuple):
    """A branch of the writer's union."""

    member: int | None
    """Which column it goes to; None if it is null, or not wanted."""
    is_null: bool
    what: Node | Skip


class UnionNode(Node):
    """What is one of several types for the writer, for the reader, or for both.

    `members` are the columns it becomes: the fields of a struct if `is_struct`, else one at most.
    """

    def __init__(
        self,
        type_: pa.DataType,
        path: str,
        branches: list[Branch],
        members: list[pa.DataType],
        *,
        is_struct: bool,
        has_choice: bool,
    ) -> None:
        super().__init__(type_, path)
        self._branches = branches
        self._members = members
        self.has_items = any(_has_items(branch.what) for branch in branches)
        self._is_struct = is_struct
        self._has_choice = has_choice
        """Whether the writer's type is a union too: its branch is told in front of it."""

    def read(self, cursor: Cursor, place: Place | None) -> pa.Array:
        if self._has_choice:
            choices = choices_of(cursor, len(self._branches), self.path)
        else:
            choices = np.zeros(len(cursor), dtype=np.int64)
        columns: list[list[tuple[Integers, pa.Array]]] = [[] for _ in self._members]
        present = [choice for choice in range(len(self._branches)) if (choices == choice).any()]
        shared = {
            member
            for member in range(len(self._members))
            if sum(self._branches[choice].member == member for choice in present) > 1
        }
        for choice in present:
            branch = self._branches[choice]
            index = np.flatnonzero(choices == choice)
            is_all = len(index) == len(cursor)
            part = cursor if is_all else cursor.part(index)
            if isinstance(branch.what, Skip):
                branch.what.all(part)
            elif branch.member is None or branch.member in shared:
                column = branch.what.read(part, None)
                if branch.member is not None:
                    columns[branch.member].append((index, column))
            else:
                within = place if is_all else place_of(index, len(cursor), place)
                columns[branch.member].append((index, branch.what.read(part, within)))
            if not is_all:
                cursor.follow(index, part)
        made = [self._member(member, columns[member], len(cursor), place) for member in range(len(self._members))]
        if not self._is_struct:
            return made[0] if made else nulls(len(cursor), self.type, place)
        absent = self._absent(choices, place)
        count = len(cursor) if place is None else place.size
        return pa.Array.from_buffers(self.type, count, [validity(absent)], children=made)

    def _member(
        self, member: int, columns: list[tuple[Integers, pa.Array]], count: int, place: Place | None
    ) -> pa.Array:
        if not columns:
            return nulls(count, self._members[member], place)
        if len(columns) == 1:
            return columns[0][1]
        index = np.concatenate([index for index, _ in columns])
        within = place_of(index, count, place)
        where = np.zeros(within.size, dtype=np.int64)
        where[within.rows] = np.arange(len(index))
        return pa.concat_arrays([column for _, column in columns]).take(pa.array(where, mask=within.absent))

    def _absent(self, choices: Integers, place: Place | None) -> Flags | None:
        is_null = choices < 0
        for choice, branch in enumerate(self._branches):
            if branch.is_null:
                is_null |= choices == choice
        if place is None:
            return is_null if is_null.any() else None
        absent = place.absent.copy()
        absent[place.rows] = is_null
        return absent


class ArrayNode(Node):
    has_items = True

    def __init__(self, type_: pa.DataType, path: str, skip: Skip, item: Node) -> None:
        super().__init__(type_, path)
        self._skip = skip
        self._item = item

    def read(self, cursor: Cursor, place: Place | None) -> pa.Array:
        items = find_items(cursor, self._skip, self.path)
        columns = [self._item.read(part, None) for part in _over(cursor, items)]
        return _lists(self.type, items, columns[0] if len(columns) == 1 else pa.concat_arrays(columns), place)


class MapNode(Node):
    """Of several entries with one key the last counts, as in Java."""

    has_items = True

    def __init__(self, type_: pa.MapType, path: str, skip: Skip, value: Node) -> None:
        super().__init__(type_, path)
        self._skip = skip
        self._key = Text(pa.string(), f"a key of {path}")
        self._value = value
        self._entries = pa.struct([type_.key_field, type_.item_field])

    def read(self, cursor: Cursor, place: Place | None) -> pa.Array:
        items = find_items(cursor, self._skip, self.path)
        columns = []
        for part in _over(cursor, items):
            entry = [self._key.read(part, None), self._value.read(part, None)]
            columns.append(pa.Array.from_buffers(self._entries, len(part), [None], children=entry))
        column = columns[0] if len(columns) == 1 else pa.concat_arrays(columns)
        kept = _last_of_each_key(items.counts, column.field(0))
        if kept is not None:
            owners = np.repeat(np.arange(len(cursor)), items.counts)[kept]
            items = Items(np.bincount(owners, minlength=len(cursor)), items.starts[kept])
            column = column.take(pa.array(kept))
        return _lists(self.type, items, column, place)


def _has_items(what: Node | Skip) -> bool:
    return isinstance(what, Node) and what.has_items


def _over(cursor: Cursor, items: Items) -> Iterator[Cursor]:
    """The items, so many at a time that what is needed for a while only does not take much more than the column."""
    if len(items.starts) <= _AT_ONCE:
        rows, ends = np.repeat(cursor.rows, items.counts), np.repeat(cursor.ends, items.counts)
        yield Cursor(cursor.records, rows, items.starts, ends, cursor.depth)
        return
    lasts = np.cumsum(items.counts)
    for first in range(0, len(items.starts), _AT_ONCE):
        starts = items.starts[first : first + _AT_ONCE]
        places = np.searchsorted(lasts, np.arange(first, first + len(starts)), side="right")
        yield Cursor(cursor.records, cursor.rows[places], starts, cursor.ends[places], cursor.depth)


def _lists(type_: pa.DataType, items: Items, column: pa.Array, place: Place | None) -> pa.Array:
    counts, absent = items.counts, None
    if place is not None:
        counts = np.zeros(place.size, dtype=np.int64)
        counts[place.rows] = items.counts
        absent = place.absent
    offsets = np.zeros(len(counts) + 1, dtype=np.int32)
    np.cumsum(counts, out=offsets[1:])
    return pa.Array.from_buffers(type_, len(counts), [validity(absent), pa.py_buffer(offsets)], children=[column])


def _last_of_each_key(counts: Integers, keys: pa.StringArray) -> Integers | None:
    """The entries to keep, in order; None if these are all."""
    if not len(counts) or int(counts.max()) < 2:
        return None
    encoded = keys.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    pairs = np.repeat(np.arange(len(counts)), counts) * len(encoded.dictionary) + codes
    backwards = pairs[::-1]
    _, last = np.unique(backwards, return_index=True)
    if len(last) == len(pairs):
        return None
    return np.sort(len(pairs) - 1 - last)


def _merged(steps: list[Step], path: str) -> list[Step]:
    """What is skipped is skipped together."""
    merged: list[Step] = []
    for step in steps:
        last = merged[-1].what if merged else None
        if isinstance(step.what, Skip) and isinstance(last, Skip):
            merged[-1] = Step(None, SkipSeveral([last, step.what], path))
        else:
            merged.append(step)
    return merged
