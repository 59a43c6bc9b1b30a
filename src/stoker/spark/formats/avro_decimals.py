"""Decimals: whole numbers of any size, big-endian, as Arrow's numbers of 128 bits, and back."""

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stoker.spark.formats.avro_cursor import Flags
from stoker.wire.batch_columns import Bytes, Integers
from stoker.wire.varint_columns import Words

_WIDEST: Final = 16
_WORD: Final = 64


def read_decimals(
    data: Bytes, words: Words, starts: Integers, lengths: Integers, precision: int
) -> tuple[Words, Integers]:
    """The numbers, low and high word of each in a row, and which of them are none or have more digits; those are 0."""
    wrong = lengths < 1
    longer = np.flatnonzero(lengths > _WIDEST)
    if len(longer):
        starts, lengths = starts.copy(), lengths.copy()
        excess = lengths[longer] - _WIDEST
        wrong[longer] |= ~_only_extends_sign(data, starts[longer], excess)
        starts[longer] += excess
        lengths[longer] = _WIDEST
    bits = 8 * np.maximum(lengths, 1)
    first = words[starts].byteswap().view(np.int64)
    values = np.empty((len(starts), 2), dtype=np.uint64)
    low, high = values[:, 0], values[:, 1]
    is_short = bits <= _WORD
    short = first >> np.where(is_short, _WORD - bits, 0)
    low[:] = short.view(np.uint64)
    high[:] = (short >> (_WORD - 1)).view(np.uint64)
    if not is_short.all():
        wide = np.flatnonzero(~is_short)
        shift = (2 * _WORD - bits[wide]).astype(np.uint64)
        upper = first[wide]
        lower = words[starts[wide] + 8].byteswap()
        carried = np.where(shift == 0, np.uint64(0), upper.view(np.uint64) << (np.uint64(_WORD) - np.maximum(shift, 1)))
        low[wide] = (lower >> shift) | carried
        high[wide] = (upper >> shift.view(np.int64)).view(np.uint64)
    wrong |= _is_beyond(low, high, 10**precision)
    index = np.flatnonzero(wrong)
    values[index] = 0
    return values, index


def _only_extends_sign(data: Bytes, starts: Integers, excess: Integers) -> Flags:
    """Whether the bytes before the last 16 of each tell nothing but the sign."""
    within = np.arange(int(excess.sum())) - np.repeat(np.cumsum(excess) - excess, excess)
    leading = data[np.repeat(starts, excess) + within]
    sign = np.where(data[starts + excess] >= 0x80, 0xFF, 0).astype(np.uint8)
    differs = leading != np.repeat(sign, excess)
    return _flags(np.bincount(np.repeat(np.arange(len(starts)), excess)[differs], minlength=len(starts)) == 0)


def _is_beyond(low: Words, high: Words, limit: int) -> Flags:
    """Whether a number, without its sign, is the limit or more."""
    signed = high.view(np.int64)
    is_negative = signed < 0
    if limit < 1 << 63:
        number = low.view(np.int64)
        return _flags((signed != number >> (_WORD - 1)) | (number >= limit) | (number <= -limit))
    # The absolute number: complement and one, of 128 bits.
    lower = np.where(is_negative, ~low + np.uint64(1), low)
    upper = np.where(is_negative, ~high + (lower == 0).astype(np.uint64), high)
    top, bottom = np.uint64(limit >> _WORD), np.uint64(limit & ((1 << _WORD) - 1))
    return _flags((upper > top) | ((upper == top) & (lower >= bottom)))


def write_decimals(column: pa.Array, size: int | None) -> tuple[Bytes, Integers]:
    """Numbers of 128 bits as rows of bytes, big-endian, and how many bytes at the end of its row each needs at least.

    With a size the rows have that many bytes; else they have 16. The row of a null is anything.
    """
    count = len(column)
    words = np.frombuffer(column.buffers()[1], dtype=np.uint64)[2 * column.offset : 2 * (column.offset + count)]
    low, high = words[0::2], words[1::2].view(np.int64)
    width = _WIDEST if size is None else max(size, _WIDEST)
    rows = np.empty((count, width), dtype=np.uint8)
    sign = high >> (_WORD - 1)
    rows[:, :-_WIDEST] = sign.astype(np.uint8)[:, None]
    rows[:, -_WIDEST:] = np.stack([high.view(np.uint64).byteswap(), low.byteswap()], axis=1).view(np.uint8)
    upper, lower = (high ^ sign).view(np.uint64), low ^ sign.view(np.uint64)
    sizes = np.ones(count, dtype=np.int64)
    for bits in range(7, _WORD, 8):
        sizes += (upper > 0) | (lower >> np.uint64(bits) > 0)
        sizes += upper >> np.uint64(bits) > 0
    return rows if size is None else rows[:, width - size :], sizes


def _flags(found: NDArray[Any]) -> Flags:
    return found
