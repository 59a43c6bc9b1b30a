"""How columns are written: a tree of writers, one for each type of a schema's, each makes its part of all rows at once.

What is absent, because the record around it is null or because a union is something else there, makes no bytes.
"""

from abc import ABC, abstractmethod
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stoker.registry.formats.avro.model import Enum, described
from stoker.spark.formats.avro_cursor import Flags
from stoker.spark.formats.avro_decimals import write_decimals
from stoker.spark.formats.avro_defaults import varint
from stoker.spark.formats.avro_parts import Part, constant, cut, fixed_size, joined, spans, varints
from stoker.wire.batch_columns import Integers


class Unwritable(Exception):
    """What is at `path` in one row, for a reason that begins with what it is."""

    def __init__(self, path: str, row: int, reason: str) -> None:
        super().__init__(f"{path} in row {row} is {reason}")
        self.path = path
        self.row = row
        self.reason = reason


class Writer(ABC):
    """Makes the parts of one type's values."""

    def __init__(self, path: str) -> None:
        self._path = path

    @abstractmethod
    def parts(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        """Of the rows that are not absent. Raises Unwritable, also for a null in one of these."""

    def _refuse_nulls(self, column: pa.Array, absent: Flags | None) -> None:
        if column.null_count:
            nulls = nulls_of(column)
            assert nulls is not None
            unexpected = nulls if absent is None else nulls & ~absent
            if unexpected.any():
                self._refuse(unexpected, "null, which the Avro schema does not allow")

    def _refuse(self, wrong: Flags, reason: str) -> NoReturn:
        raise Unwritable(self._path, int(np.argmax(wrong)), reason)


class NumberWriter(Writer):
    """`divisor` makes milliseconds of microseconds."""

    def __init__(self, path: str, divisor: int = 1) -> None:
        super().__init__(path)
        self._divisor = divisor

    def parts(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        self._refuse_nulls(column, absent)
        numbers = _integers(column)
        return [varints(numbers if self._divisor == 1 else numbers // self._divisor, absent)]


class FloatingWriter(Writer):
    def __init__(self, path: str, type_: pa.DataType) -> None:
        super().__init__(path)
        self._type = type_

    def parts(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        self._refuse_nulls(column, absent)
        return [fixed_size(_filled(column.cast(self._type), 0.0).to_numpy(zero_copy_only=False), absent)]


class BooleanWriter(Writer):
    def parts(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        self._refuse_nulls(column, absent)
        return [fixed_size(_filled(column, False).to_numpy(zero_copy_only=False).view(np.uint8), absent)]


class BytesWriter(Writer):
    """Strings, too."""

    def parts(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        self._refuse_nulls(column, absent)
        lengths = _filled(pc.binary_length(column), 0).to_numpy().astype(np.int64)
        return [varints(lengths, absent), _without(column.cast(pa.binary()), absent)]


class FixedWriter(Writer):
    def __init__(self, path: str, size: int) -> None:
        super().__init__(path)
        self._size = size

    def parts(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        self._refuse_nulls(column, absent)
        wrong = _filled(pc.binary_length(column), self._size).to_numpy() != self._size
        if absent is not None:
            wrong &= ~absent
        if wrong.any():
            self._refuse(wrong, f"not of {self._size} bytes, which the Avro schema says it is")
        return [_without(column.cast(pa.binary()), absent)]


class DecimalWriter(Writer):
    """Of bytes, or of a fixed of so many."""

    def __init__(self, path: str, size: int | None) -> None:
        super().__init__(path)
        self._size = size

    def parts(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        self._refuse_nulls(column, absent)
        rows, sizes = write_decimals(column, self._size)
        if self._size is not None:
            return [fixed_size(rows, absent) if len(rows) else constant(b"", 0, None)]
        width = np.full(len(rows), rows.shape[1], dtype=np.int64)
        return [varints(sizes, absent), cut(rows, width - sizes, width, absent)]


class SymbolWriter(Writer):
    def __init__(self, path: str, enum: Enum) -> None:
        super().__init__(path)
        self._symbols = pa.array(list(enum.symbols), pa.string())
        self._enum = enum

    def parts(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        self._refuse_nulls(column, absent)
        found = _filled(pc.index_in(column, value_set=self._symbols), -1).to_numpy().astype(np.int64)
        wrong = found < 0
        if absent is not None:
            wrong &= ~absent
        if wrong.any():
            value = column[int(np.argmax(wrong))].as_py()
            shown = ", ".join(list(self._enum.symbols)[:20])
            self._refuse(wrong, f"{value!r}, which is no symbol of {described(self._enum)}. It has: {shown}")
        return [varints(np.maximum(found, 0), absent)]


class NothingWriter(Writer):
    def parts(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        return []


class RecordWriter(Writer):
    """`fields` in the schema's order: the field of the column and its writer, or the bytes of a default."""

    def __init__(self, path: str, fields: list[tuple[int, Writer] | bytes]) -> None:
        super().__init__(path)
        self._fields = fields

    def parts(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        self._refuse_nulls(column, absent)
        inner = column.flatten()
        parts: list[Part] = []
        for field in self._fields:
            if isinstance(field, bytes):
                parts.append(constant(field, len(column), absent))
            else:
                slot, writer = field
                parts += writer.parts(inner[slot], absent)
        return parts


class NullableWriter(Writer):
    """One branch of a union, and null if the union has it."""

    def __init__(self, path: str, null: int | None, other: int, writer: Writer) -> None:
        super().__init__(path)
        self._null = None if null is None else varint(null)
        self._other = varint(other)
        self._writer = writer

    def parts(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        if self._null is None:
            self._refuse_nulls(column, absent)
        nulls = nulls_of(column)
        if nulls is None:
            return [constant(self._other, len(column), absent), *self._writer.parts(column, absent)]
        table = pa.array([self._other, self._null], pa.binary())
        choice = table.take(pa.array(nulls.astype(np.int32), mask=absent))
        return [choice, *self._writer.parts(column, nulls if absent is None else nulls | absent)]


class MembersWriter(Writer):
    """A union of several types, from a struct of which one field is not null; the first counts."""

    def __init__(self, path: str, null: int | None, members: list[tuple[int, Writer]]) -> None:
        super().__init__(path)
        self._null = null
        self._members = members

    def parts(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        if self._null is None:
            self._refuse_nulls(column, absent)
        count = len(column)
        rest = np.ones(count, dtype=np.bool_) if absent is None else ~absent
        choices = np.full(count, -1 if self._null is None else self._null, dtype=np.int64)
        nulls = nulls_of(column)
        is_null = np.zeros(count, dtype=np.bool_) if nulls is None else nulls
        taken: list[tuple[Flags, pa.Array, Writer]] = []
        rest &= ~is_null
        for inner, (branch, writer) in zip(column.flatten(), self._members, strict=True):
            here = rest & pc.is_valid(inner).to_numpy(zero_copy_only=False)
            choices[here] = branch
            rest &= ~here
            taken.append((here, inner, writer))
        if rest.any():
            self._refuse(rest, "a union of which no member is there")
        parts: list[Part] = [varints(np.maximum(choices, 0), absent)]
        for here, inner, writer in taken:
            if here.any():
                parts += writer.parts(inner, ~here)
        return parts


class ListWriter(Writer):
    """Arrays: all items in one block."""

    def __init__(self, path: str, item: Writer) -> None:
        super().__init__(path)
        self._item = item

    def parts(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        self._refuse_nulls(column, absent)
        counts = np.diff(column.offsets.to_numpy()).astype(np.int64)
        if absent is not None:
            counts[absent] = 0
            column = column.filter(pa.array(~absent))
        try:
            items = self._items(column)
        except Unwritable as error:
            row = int(np.searchsorted(np.cumsum(counts), error.row, side="right"))
            raise Unwritable(error.path, row, error.reason) from None
        return _blocks(counts, items, absent)

    def _items(self, column: pa.Array) -> pa.BinaryArray:
        items = column.flatten()
        return joined(self._item.parts(items, None), len(items))


class MapWriter(ListWriter):
    def __init__(self, path: str, value: Writer) -> None:
        super().__init__(path, value)
        self._key = BytesWriter(f"a key of {path}")

    def _items(self, column: pa.Array) -> pa.BinaryArray:
        first, last = (column.offsets[0].as_py(), column.offsets[-1].as_py()) if len(column) else (0, 0)
        keys, values = column.keys.slice(first, last - first), column.items.slice(first, last - first)
        return joined([*self._key.parts(keys, None), *self._item.parts(values, None)], len(keys))


def nulls_of(column: pa.Array) -> Flags | None:
    """Which rows are null; None if none is."""
    return pc.is_null(column).to_numpy(zero_copy_only=False) if column.null_count else None


def _filled(column: pa.Array, value: object) -> pa.Array:
    return column.fill_null(value) if column.null_count else column


def _integers(column: pa.Array) -> Integers:
    """Numbers, dates and timestamps as the numbers they are; 0 for null."""
    if pa.types.is_date32(column.type):
        column = column.view(pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = column.view(pa.int64())
    numbers: Integers = _filled(column, 0).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return numbers


def _without(column: pa.BinaryArray, absent: Flags | None) -> pa.BinaryArray:
    """With null for all that is absent."""
    if absent is None:
        return column
    nulls = nulls_of(column)
    remaining = absent if nulls is None else absent & ~nulls
    return pc.if_else(pa.array(absent), pa.scalar(None, pa.binary()), column) if remaining.any() else column


def _blocks(counts: Integers, items: pa.BinaryArray, absent: Flags | None) -> list[Part]:
    """The items of each row as one block and the end, or as the end alone."""
    firsts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=firsts[1:])
    has_none = counts == 0
    front = varints(counts, has_none) if has_none.any() else varints(counts, None)
    return [front, spans(items, firsts), constant(b"\0", len(counts), absent)]
