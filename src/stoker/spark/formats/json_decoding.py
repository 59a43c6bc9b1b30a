"""JSON by columns: Arrow's reader takes thousands of values at once, and Python the few that it does not take.

Each value is a line. Arrow would read on where a value is cut short, or see two where there is one, so only values that begin
with `{` and end with `}` are given to it: JSON allows no line feed in a string and no `} {` anywhere else, so each of them has
one object or several, and as many objects as values means one each.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType

from stoker.spark.columns import ByteColumn, Decoded, byte_array
from stoker.spark.formats.json_values import json_value_reader
from stoker.spark.formats.utf8 import not_utf8
from stoker.wire.batch_columns import Integers

HEADER_SIZE: Final = 5
"""A zero, with which no JSON begins, and the id of a schema."""

_CHUNK_ROWS: Final = 4096
_CHUNK_BYTES: Final = 4 * 1024 * 1024
_CHUNK_BYTES_APART: Final = 512 * 1024
"""Of what Python reads: its objects take tens of times as much."""
_MOST_EFFORT: Final = 64
"""When so much was spent on a chunk to find those that are refused, Python takes what is left of it."""
_LEAST_EFFORT: Final = 4
"""... after a chunk that was not worth it: most of a topic is like the rest of it."""
_EFFORT_TOLD, _EFFORT_GUESSED = 1, 4
"""Spent for one that the reader told, and for one that is looked for in either half."""
_FEW: Final = 8
_MOST_DIGITS: Final = 76
"""Of Arrow's widest decimal."""
_ROW: Final = re.compile(r" in row (\d+)$")
_WHITE: Final = np.isin(np.arange(256), np.frombuffer(b" \t\r\n", dtype=np.uint8))
_LONGEST_WHITE: Final = 4
"""So many blanks at either end are cut off together; Python takes those that have more."""

_LineReader = Callable[[pa.Buffer], pa.StructArray]


class JsonDecoder:
    """Values with the registry's header or without, each as it is; ids are not looked up, since JSON says itself what it is."""

    def __init__(self, column: DataType) -> None:
        """Raises InvalidOption for a type that JSON has no form for."""
        self._read_one = json_value_reader(column)
        self.type: pa.DataType = to_arrow_type(column, timezone="UTC")
        self._patience = _MOST_EFFORT
        self._read_many: _LineReader | None = None
        if pa.types.is_struct(self.type) and _is_readable(self.type):
            self._read_many = _line_reader(self.type)

    def decode(self, values: ByteColumn) -> Decoded:
        rows = np.flatnonzero(values.lengths >= 0)
        texts = _texts(values, rows)
        pieces = _Pieces(self.type, self._read_one, self._patience)
        if self._read_many is None:
            pieces.read_one_by_one(rows, byte_array(texts, pa.binary()))
        else:
            apart = _are_apart(texts)
            if len(apart):
                pieces.read_one_by_one(rows[apart], byte_array(_some(texts, apart), pa.binary()))
                others = np.delete(np.arange(len(rows)), apart)
                rows, texts = rows[others], _some(texts, others)
            for chunk in _chunks(texts.lengths, _CHUNK_BYTES):
                pieces.read_together(rows[chunk], _lines(_some(texts, chunk)), self._read_many)
        self._patience = pieces.patience
        return pieces.joined(len(values))


class _Pieces:
    """Columns of some rows each, as they were read."""

    def __init__(self, arrow_type: pa.DataType, read_one: Callable[[bytes], Any], patience: int) -> None:
        self.patience = patience
        """How much may be spent on the next chunk."""
        self._type = arrow_type
        self._read_one = read_one
        self._rows: list[Integers] = []
        self._columns: list[pa.Array] = []
        self._bad: list[int] = []
        self._reasons: list[str] = []

    def read_one_by_one(self, rows: Integers, texts: pa.BinaryArray) -> None:
        for some in _chunks(pc.binary_length(texts).to_numpy(), _CHUNK_BYTES_APART):
            found: list[Any] = []
            for row, text in zip(rows[some].tolist(), texts[some].to_pylist(), strict=True):
                try:
                    found.append(self._read_one(text))
                except ValueError as problem:
                    found.append(None)
                    self._bad.append(row)
                    self._reasons.append(str(problem))
            self._add(rows[some], pa.array(found, type=self._type))

    def read_together(self, rows: Integers, lines: pa.BinaryArray, read: _LineReader) -> None:
        """Texts that begin with `{` and end with `}`, and the end of a line behind each.

        What cannot be read together is taken apart: where the reader says that it met it, or in the middle.
        """
        odd = _odd(lines)
        if len(odd):
            self.read_one_by_one(rows[odd], lines.take(pa.array(2 * odd)))
            others = np.delete(np.arange(2 * len(rows)), np.concatenate([2 * odd, 2 * odd + 1]))
            rows, lines = np.delete(rows, odd), lines.take(pa.array(others))
        if not len(rows):
            return
        _, offsets, data = lines.buffers()
        ends = np.frombuffer(offsets, dtype=np.int32)[::2]

        def read_apart(start: int, end: int) -> None:
            texts = lines.take(pa.array(np.arange(2 * start, 2 * end, 2)))
            self.read_one_by_one(rows[start:end], texts)

        effort = 0
        pieces = [(0, len(rows))]
        while pieces:
            start, end = pieces.pop()
            if effort and (end - start <= _FEW or effort > self.patience):
                if start < end:
                    read_apart(start, end)
                continue
            try:
                first, last = int(ends[start]), int(ends[end])
                column = read(data.slice(first, last - first))
            except pa.ArrowInvalid as problem:
                told = _ROW.search(str(problem))
            else:
                if len(column) == end - start:
                    self._add(rows[start:end], column)
                    continue
                told = None  # some value is several
            if told is not None and start + int(told[1]) < end:
                effort += _EFFORT_TOLD
                at = start + int(told[1])
                read_apart(at, at + 1)
                pieces += ((at + 1, end), (start, at))
            else:
                effort += _EFFORT_GUESSED
                middle = (start + end) // 2
                pieces += ((middle, end), (start, middle))
        self.patience = _MOST_EFFORT if effort <= self.patience else _LEAST_EFFORT

    def _add(self, rows: Integers, column: pa.Array) -> None:
        self._rows.append(rows)
        self._columns.append(column)

    def joined(self, count: int) -> Decoded:
        bad = np.array(self._bad, dtype=np.int64)
        order = np.argsort(bad)
        reasons = [self._reasons[place] for place in order.tolist()]
        if not self._columns:
            return Decoded(pa.nulls(count, self._type), bad, reasons)
        rows = np.concatenate(self._rows)
        column = self._columns[0] if len(self._columns) == 1 else pa.concat_arrays(self._columns)
        if len(rows) != count or (len(rows) > 1 and (rows[1:] < rows[:-1]).any()):
            places = np.full(count, -1, dtype=np.int64)
            places[rows] = np.arange(len(rows))
            column = column.take(pa.array(places, mask=places < 0))
        return Decoded(column, bad[order], reasons)


def _line_reader(arrow_type: pa.StructType) -> _LineReader:
    """Reads objects, however many there are; raises ArrowInvalid."""
    read_type = _read_type(arrow_type)
    parse_options = pj.ParseOptions(explicit_schema=pa.schema(list(read_type)), unexpected_field_behavior="ignore")
    needs_cast = read_type != arrow_type

    def read(lines: pa.Buffer) -> pa.StructArray:
        options = pj.ReadOptions(use_threads=False, block_size=lines.size + 1)
        table = pj.read_json(pa.BufferReader(lines), read_options=options, parse_options=parse_options)
        columns = [column.combine_chunks() for column in table.columns]
        if not columns:
            return pa.StructArray.from_buffers(arrow_type, table.num_rows, [None])
        found = pa.StructArray.from_arrays(columns, fields=list(read_type))
        return found.cast(arrow_type) if needs_cast else found

    return read


def _read_type(arrow_type: pa.DataType) -> pa.DataType:
    """What Arrow reads: dates only as numbers, so they are read as text and cast.

    Of decimals it counts the digits before it moves the point, and what is too large by then is another number. So they
    are read with room for all zeros that may come, and cast, which is refused if they have too many digits.
    """
    if pa.types.is_struct(arrow_type):
        return pa.struct([field.with_type(_read_type(field.type)) for field in arrow_type])
    if pa.types.is_list(arrow_type):
        return pa.list_(arrow_type.value_field.with_type(_read_type(arrow_type.value_type)))
    if pa.types.is_decimal(arrow_type):
        return pa.decimal256(_MOST_DIGITS - arrow_type.scale, arrow_type.scale)
    return pa.string() if pa.types.is_date(arrow_type) else arrow_type


def _is_readable(arrow_type: pa.DataType) -> bool:
    """Whether Arrow reads it: not objects as maps, and not bytes from base64."""
    if pa.types.is_struct(arrow_type):
        return all(_is_readable(field.type) for field in arrow_type)
    if pa.types.is_list(arrow_type):
        return _is_readable(arrow_type.value_type)
    return not pa.types.is_map(arrow_type) and not pa.types.is_binary(arrow_type)


def _texts(values: ByteColumn, rows: Integers) -> ByteColumn:
    """The values of these rows, without the header and without blanks around them."""
    if len(rows) < len(values):
        values = _some(values, rows)
    data, starts, lengths = values
    headed = np.where((data[starts] == 0) & (lengths >= HEADER_SIZE), HEADER_SIZE, 0)
    starts, lengths = starts + headed, lengths - headed
    for _ in range(_LONGEST_WHITE):
        white = _WHITE[data[starts]] & (lengths > 0)
        if not white.any():
            break
        starts, lengths = starts + white, lengths - white
    for _ in range(_LONGEST_WHITE):
        white = _WHITE[data[starts + np.maximum(lengths - 1, 0)]] & (lengths > 0)
        if not white.any():
            break
        lengths = lengths - white
    return ByteColumn(data, starts, lengths)


def _some(values: ByteColumn, rows: Integers | slice) -> ByteColumn:
    return ByteColumn(values.data, values.starts[rows], values.lengths[rows])


def _chunks(lengths: Integers, most_bytes: int) -> Iterator[slice]:
    """Rows that are read together: not more than stay near, and a large one alone."""
    ends = np.concatenate(([0], np.cumsum(lengths)))
    start = 0
    while start < len(lengths):
        end = int(np.searchsorted(ends, ends[start] + most_bytes, side="right")) - 1
        end = min(max(end, start + 1), start + _CHUNK_ROWS, len(lengths))
        yield slice(start, end)
        start = end


def _are_apart(texts: ByteColumn) -> Integers:
    """Which are no objects at the first look."""
    last = texts.starts + np.maximum(texts.lengths - 1, 0)
    objects = (texts.data[texts.starts] == ord("{")) & (texts.data[last] == ord("}")) & (texts.lengths > 1)
    return np.flatnonzero(~objects)


def _lines(texts: ByteColumn) -> pa.BinaryArray:
    """Each text and, as a value of its own, the end of a line: all of it one behind the other in one buffer."""
    count = len(texts)
    low, high = int(texts.starts.min()), int((texts.starts + texts.lengths).max())
    if count == 1:  # which may be large, and needs no end
        whole = pa.py_buffer(texts.data[low:high])
        bounds = np.array([0, high - low, high - low], dtype=np.int32)
        return pa.Array.from_buffers(pa.binary(), 2, [None, pa.py_buffer(bounds), whole])
    data = np.append(texts.data[low:high], np.uint8(ord("\n")))
    offsets = np.empty(2 * count + 2, dtype=np.int32)
    offsets[0:-2:2] = texts.starts - low
    offsets[1:-2:2] = texts.starts - low + texts.lengths
    offsets[-2:] = high - low, high - low + 1
    everything = pa.Array.from_buffers(pa.binary(), 2 * count + 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    order = np.full(2 * count, 2 * count, dtype=np.int32)
    order[::2] = np.arange(0, 2 * count, 2)
    return everything.take(pa.array(order))


def _odd(lines: pa.BinaryArray) -> Integers:
    """Which have bytes that Arrow's reader does not see as JSON does: none of UTF-8, and zeros, at which it ends."""
    odd = not_utf8(lines.view(pa.string())) // 2
    _, offsets, data = lines.buffers()
    zeros = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == 0)
    if len(zeros):
        ends = np.frombuffer(offsets, dtype=np.int32)[: len(lines) + 1]
        found = np.searchsorted(ends, zeros, side="right") - 1
        odd = np.union1d(odd, found[found < len(lines)] // 2)
    return odd
