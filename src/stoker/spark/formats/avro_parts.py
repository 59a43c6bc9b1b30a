"""Columns as the bytes that Avro writes for them, value by value: the parts that are put together to records.

A part is a column of bytes, in which null means nothing at all, or bytes that are the same for all rows.
"""

from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stoker.spark.formats.avro_cursor import Flags
from stoker.spark.formats.avro_defaults import varint
from stoker.spark.formats.avro_nodes import validity
from stoker.wire.batch_columns import Bytes, Integers
from stoker.wire.varint_columns import Words

Part: TypeAlias = Any
"""pa.BinaryArray, or pa.BinaryScalar."""

_NOTHING: Final = pa.scalar(b"", pa.binary())
_TABLE: Final = 1 << 14
_WIDE: Final = 16
_SHORT_LIMIT: Final = np.uint64(1 << 56)


def joined(parts: list[Part], count: int) -> pa.BinaryArray:
    """The parts of each row behind each other."""
    columns = [part for part in _merged(parts) if len(part if isinstance(part, pa.Array) else part.as_py())]
    if not columns:
        return pa.repeat(_NOTHING, count)
    if len(columns) == 1 and isinstance(columns[0], pa.Array):
        return columns[0].fill_null(b"")
    if not any(isinstance(part, pa.Array) for part in columns):
        return pa.repeat(columns[0], count)
    return pc.binary_join_element_wise(*columns, _NOTHING, null_handling="replace", null_replacement=b"")


def constant(value: bytes, count: int, absent: Flags | None) -> Part:
    """The same in each row but for those that are absent."""
    scalar = pa.scalar(value, pa.binary())
    if absent is None:
        return scalar
    return pa.array([value], pa.binary()).take(pa.array(np.zeros(count, dtype=np.int32), mask=absent))


def varints(numbers: Integers, absent: Flags | None) -> pa.BinaryArray:
    """Zigzag, as Avro writes int, long, lengths and counts."""
    if not len(numbers):
        return pa.array([], pa.binary())
    if int(numbers.min()) >= 0 and int(numbers.max()) < _TABLE:
        return _table().take(pa.array(numbers.astype(np.int32), mask=absent))
    zigzag = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    if int(zigzag.max()) < _SHORT_LIMIT:
        words, sizes = _spread(zigzag)
        return cut(words.view(np.uint8).reshape(-1, 8), np.zeros(len(sizes), dtype=np.int64), sizes, absent)
    rows = np.zeros((len(numbers), _WIDE // 8), dtype=np.uint64)
    low, sizes = _spread(zigzag & (_SHORT_LIMIT - np.uint64(1)))
    upper = zigzag >> np.uint64(56)
    is_long = upper > 0
    rows[:, 0] = np.where(is_long, _all_continued(zigzag), low)
    rows[:, 1] = np.where(upper > 0x7F, (upper & np.uint64(0x7F)) | np.uint64(0x180), upper)
    sizes = np.where(is_long, np.where(upper > 0x7F, 10, 9), sizes)
    return cut(rows.view(np.uint8), np.zeros(len(sizes), dtype=np.int64), sizes, absent)


def fixed_size(values: NDArray[Any], absent: Flags | None) -> pa.BinaryArray:
    """The bytes of each number, or of each row, as they are in memory."""
    size = values.nbytes // max(len(values), 1)
    offsets = np.arange(len(values) + 1, dtype=np.int32) * np.int32(size)
    data = pa.py_buffer(np.ascontiguousarray(values).reshape(-1).view(np.uint8))
    return pa.Array.from_buffers(pa.binary(), len(values), [validity(absent), pa.py_buffer(offsets), data])


def cut(rows: Bytes, starts: Integers, ends: Integers, absent: Flags | None) -> pa.BinaryArray:
    """From each row of a table of bytes those from a start to an end."""
    count, width = rows.shape
    begins = np.arange(0, count * width, width, dtype=np.int64)
    offsets = np.empty(2 * count + 1, dtype=np.int32)
    offsets[0:-1:2], offsets[1::2] = begins + starts, begins + ends
    offsets[-1] = count * width
    data = pa.py_buffer(np.ascontiguousarray(rows).reshape(-1))
    everything = pa.Array.from_buffers(pa.binary(), 2 * count, [None, pa.py_buffer(offsets), data])
    return everything.take(pa.array(np.arange(0, 2 * count, 2, dtype=np.int32), mask=absent))


def spans(data: pa.BinaryArray, firsts: Integers) -> pa.BinaryArray:
    """The values from each first to the next, behind each other: what the items of a list are together."""
    offsets = np.frombuffer(data.buffers()[1], dtype=np.int32)[data.offset : data.offset + len(data) + 1]
    content = data.buffers()[2] or pa.py_buffer(b"")
    return pa.Array.from_buffers(pa.binary(), len(firsts) - 1, [None, pa.py_buffer(offsets[firsts]), content])


@cache
def _table() -> pa.BinaryArray:
    return pa.array([varint(number) for number in range(_TABLE)], pa.binary())


def _spread(values: Words) -> tuple[Words, Integers]:
    """Numbers of up to 56 bits as words of up to 8 bytes, and their sizes: the reverse of how varints are read."""
    words = (values & np.uint64(0x0FFFFFFF)) | ((values & np.uint64(0x00FFFFFFF0000000)) << np.uint64(4))
    words = (words & np.uint64(0x00003FFF00003FFF)) | ((words & np.uint64(0x0FFFC0000FFFC000)) << np.uint64(2))
    words = (words & np.uint64(0x007F007F007F007F)) | ((words & np.uint64(0x3F803F803F803F80)) << np.uint64(1))
    sizes = np.ones(len(values), dtype=np.int64)
    for bits in range(7, 56, 7):
        sizes += values >> np.uint64(bits) > 0
    continued = (np.uint64(1) << ((sizes - 1) * 8).view(np.uint64)) - np.uint64(1)
    return words | (np.uint64(0x8080808080808080) & continued), sizes


def _all_continued(values: Words) -> Words:
    """The first 8 bytes of longer ones."""
    return _spread(values & (_SHORT_LIMIT - np.uint64(1)))[0] | np.uint64(0x8080808080808080)


def _merged(parts: list[Part]) -> list[Part]:
    """Neighbours that are the same for all rows are one."""
    merged: list[Part] = []
    for part in parts:
        if merged and not isinstance(part, pa.Array) and not isinstance(merged[-1], pa.Array):
            merged[-1] = pa.scalar(merged[-1].as_py() + part.as_py(), pa.binary())
        else:
            merged.append(part)
    return merged
