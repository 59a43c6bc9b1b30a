"""How columns are read: a tree of nodes, one for each type of a reader's, each reads its part of all records at once.

A node may be asked for a column that has more rows than there are values, with nulls in between (`Place`), so that what
is nullable, or one of a union, gets its nulls while the column is made and not by making it twice.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stoker.spark.columns import ByteColumn, byte_array
from stoker.spark.formats.avro_cursor import Cursor, Flags
from stoker.spark.formats.avro_decimals import read_decimals
from stoker.spark.formats.utf8 import not_utf8
from stoker.wire.batch_columns import Integers

_SINGLE_BITS: Final = np.uint64(0xFFFFFFFF)
_MOST_MILLIS: Final = (1 << 63) // 1000


class Place(NamedTuple):
    """Which rows of a column of so many have a value, in order; the others are null."""

    size: int
    rows: Integers
    absent: Flags


def place_of(index: Integers, count: int, around: Place | None) -> Place:
    """Of those of `count` values, which lie in the rows of `around`, that the index names."""
    if around is not None:
        index, count = around.rows[index], around.size
    absent = np.ones(count, dtype=np.bool_)
    absent[index] = False
    return Place(count, index, absent)


class Node(ABC):
    has_items: bool = False
    """Whether there is an array or a map in it."""

    def __init__(self, type_: pa.DataType, path: str) -> None:
        self.type = type_
        self.path = path

    @abstractmethod
    def read(self, cursor: Cursor, place: Place | None) -> pa.Array:
        """The column of what is at each place of the cursor, which moves behind it."""


class Integer(Node):
    """An int or a long, as any number it may be read as; a date and a timestamp are numbers too."""

    def __init__(
        self, type_: pa.DataType, path: str, *, is_int: bool, as_type: type[np.generic], is_millis: bool
    ) -> None:
        super().__init__(type_, path)
        self._is_int = is_int
        self._as_type = as_type
        self._is_millis = is_millis

    def read(self, cursor: Cursor, place: Place | None) -> pa.Array:
        numbers = cursor.numbers(self.path)
        if self._is_int:
            narrow = numbers.astype(np.int32)
            wrong = narrow != numbers
            if wrong.any():
                cursor.fail(np.flatnonzero(wrong), f"{self.path}: an int of more than 32 bits")
                numbers[wrong] = 0
        if self._is_millis:
            if len(numbers) and (int(numbers.max()) > _MOST_MILLIS or int(numbers.min()) < -_MOST_MILLIS):
                index = np.flatnonzero((numbers > _MOST_MILLIS) | (numbers < -_MOST_MILLIS))
                cursor.fail(index, f"{self.path}: a timestamp that microseconds of 64 bits cannot tell")
                numbers[index] = 0
            numbers *= 1000
        return fixed_width(numbers.astype(self._as_type, copy=False), self.type, place)


class Floating(Node):
    """A float or a double."""

    def __init__(self, type_: pa.DataType, path: str, *, is_float: bool) -> None:
        super().__init__(type_, path)
        self._is_float = is_float

    def read(self, cursor: Cursor, place: Place | None) -> pa.Array:
        starts = cursor.step(4 if self._is_float else 8, self.path)
        words = cursor.records.words[starts]
        if not self._is_float:
            return fixed_width(words.view(np.float64), self.type, place)
        singles = (words & _SINGLE_BITS).astype(np.uint32).view(np.float32)
        return fixed_width(singles.astype(self.type.to_pandas_dtype(), copy=False), self.type, place)


class Boolean(Node):
    def read(self, cursor: Cursor, place: Place | None) -> pa.Array:
        found = cursor.records.data[cursor.step(1, self.path)]
        if len(found) and int(found.max()) > 1:
            cursor.fail(np.flatnonzero(found > 1), f"{self.path}: a boolean that is neither 0 nor 1")
        values, absent = _placed(found == 1, place)
        return pa.array(values, mask=absent)


class Text(Node):
    """A string or bytes, as either of them."""

    def read(self, cursor: Cursor, place: Place | None) -> pa.Array:
        starts, lengths = cursor.lengths(self.path)
        return self._column(cursor, starts, lengths, place)

    def _column(self, cursor: Cursor, starts: Integers, lengths: Integers, place: Place | None) -> pa.Array:
        column = _bytes(cursor, starts, lengths, self.type, place)
        if self.type != pa.string():
            return column
        wrong = not_utf8(column)
        if not len(wrong):
            return column
        wrong = wrong if place is None else np.searchsorted(place.rows, wrong)
        cursor.fail(wrong, f"{self.path}: not UTF-8")
        lengths[wrong] = 0
        return _bytes(cursor, starts, lengths, self.type, place)


class FixedBytes(Node):
    def __init__(self, type_: pa.DataType, path: str, size: int) -> None:
        super().__init__(type_, path)
        self._size = size

    def read(self, cursor: Cursor, place: Place | None) -> pa.Array:
        starts = cursor.step(self._size, self.path)
        # Of a bad record too: as many bytes as there are after its end are shown to nobody.
        lengths = np.minimum(self._size, cursor.ends - starts)
        return _bytes(cursor, starts, lengths, self.type, place)


class DecimalNumber(Node):
    """Of bytes, or of a fixed of so many."""

    def __init__(self, type_: pa.DataType, path: str, size: int | None) -> None:
        super().__init__(type_, path)
        self._size = size

    def read(self, cursor: Cursor, place: Place | None) -> pa.Array:
        if self._size is None:
            starts, lengths = cursor.lengths(self.path)
        else:
            starts = cursor.step(self._size, self.path)
            lengths = np.minimum(self._size, cursor.ends - starts)
        values, wrong = read_decimals(cursor.records.data, cursor.records.words, starts, lengths, self.type.precision)
        if len(wrong):
            cursor.fail(wrong, f"{self.path}: not a decimal of {self.type.precision} digits")
        count = len(values)
        absent = None
        if place is not None:
            full = np.zeros((place.size, 2), dtype=np.uint64)
            full[place.rows] = values
            count, values, absent = place.size, full, place.absent
        return pa.Array.from_buffers(self.type, count, [validity(absent), pa.py_buffer(np.ascontiguousarray(values))])


class Symbol(Node):
    """An enum. `symbols` are the reader's, for each of the writer's: None if it has none for it."""

    def __init__(self, type_: pa.DataType, path: str, symbols: Sequence[str | None]) -> None:
        super().__init__(type_, path)
        self._symbols = pa.array(symbols, pa.string())
        self._unknown = np.array([symbol is None for symbol in symbols], dtype=np.bool_)

    def read(self, cursor: Cursor, place: Place | None) -> pa.Array:
        choices = cursor.numbers(self.path)
        wrong = (choices < 0) | (choices >= len(self._unknown))
        if wrong.any():
            index = np.flatnonzero(wrong)
            cursor.fail(index, f"{self.path}: a symbol that its enum does not have")
            choices[index] = 0
        if len(self._unknown) == 0:
            return nulls(len(cursor), self.type, place)
        unknown = self._unknown[choices]
        if unknown.any():
            index = np.flatnonzero(unknown)
            names = "a symbol of the writer's that the reader's enum has not, nor a default"
            cursor.fail(index, f"{self.path}: {names}")
        values, absent = _placed(choices, place)
        return self._symbols.take(pa.array(values, mask=absent))


class Nothing(Node):
    """A null."""

    def read(self, cursor: Cursor, place: Place | None) -> pa.Array:
        return nulls(len(cursor), self.type, place)


class Constant(Node):
    """What the writer does not have: the reader's default, as a column of one."""

    def __init__(self, value: pa.Array, path: str) -> None:
        super().__init__(value.type, path)
        self._value = value

    def read(self, cursor: Cursor, place: Place | None) -> pa.Array:
        values, absent = _placed(np.zeros(len(cursor), dtype=np.int64), place)
        return self._value.take(pa.array(values, mask=absent))


class Unreadable(Node):
    """What the writer has and the reader cannot take. A record that has it is bad."""

    def __init__(self, type_: pa.DataType, path: str, reason: str) -> None:
        super().__init__(type_, path)
        self.reason = reason

    def read(self, cursor: Cursor, place: Place | None) -> pa.Array:
        cursor.fail(np.arange(len(cursor)), f"{self.path}: {self.reason}")
        return nulls(len(cursor), self.type, place)


def nulls(count: int, type_: pa.DataType, place: Place | None) -> pa.Array:
    return pa.nulls(count if place is None else place.size, type_)


def validity(absent: Flags | None) -> pa.Buffer | None:
    """Arrow's bitmap of what is there."""
    return None if absent is None else pa.py_buffer(np.packbits(~absent, bitorder="little"))


def fixed_width(values: NDArray[Any], type_: pa.DataType, place: Place | None) -> pa.Array:
    values, absent = _placed(values, place)
    return pa.Array.from_buffers(type_, len(values), [validity(absent), pa.py_buffer(np.ascontiguousarray(values))])


def _placed(values: NDArray[Any], place: Place | None) -> tuple[NDArray[Any], Flags | None]:
    if place is None:
        return values, None
    full = np.zeros(place.size, dtype=values.dtype)
    full[place.rows] = values
    return full, place.absent


def _bytes(cursor: Cursor, starts: Integers, lengths: Integers, type_: pa.DataType, place: Place | None) -> pa.Array:
    if place is not None:
        full_starts = np.zeros(place.size, dtype=np.int64)
        full_lengths = np.full(place.size, -1, dtype=np.int64)
        full_starts[place.rows], full_lengths[place.rows] = starts, lengths
        starts, lengths = full_starts, full_lengths
    return byte_array(ByteColumn(cursor.records.data, starts, lengths), type_)
