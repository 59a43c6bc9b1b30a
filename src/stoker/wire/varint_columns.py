"""Many varints at once: numbers that lie anywhere in a buffer, each read where it is, all together.

Most are short: if all of them have one byte, or at most two, little is to be done. Else a word of 8 bytes is gathered for
each. Its lowest clear top bit tells where the varint ends; what follows is masked off,
and the groups of 7 bits are moved together in three steps (SWAR). The rare varint of 9 or 10 bytes is finished apart.

numpy takes 0.06 s to import. Import this module where it is used, never at the start of a broker.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stoker.wire.batch_columns import Bytes, Integers
from stoker.wire.schema import Buffer

Words = NDArray[np.uint64]

PADDING: Final = 16
"""Bytes that must follow the last varint, so that the longest, and a word of 8 bytes, can be read wherever one begins."""
LONGEST_VARINT: Final = 10
NONE: Final[Integers] = np.empty(0, dtype=np.int64)

_TOP_BITS: Final = np.uint64(0x8080808080808080)
_ONE: Final = np.uint64(1)
_TOP_BITS_OF_PAIR, _LOW_BITS_OF_FIRST = np.uint16(0x8080), np.uint16(0x7F)
_SEVEN, _EIGHT = np.uint16(7), np.uint16(8)
_ONES: Final[dict[Any, Any]] = {np.dtype(kind): kind(1) for kind in (np.uint8, np.uint16, np.uint64)}
_SIGNED: Final[dict[Any, Any]] = {
    np.dtype(np.uint8): np.int8,
    np.dtype(np.uint16): np.int16,
    np.dtype(np.uint64): np.int64,
}
_LOW_BYTES, _HIGH_BYTES = np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00)
_LOW_PAIRS, _HIGH_PAIRS = np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000)
_LOW_HALF, _HIGH_HALF = np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000)


class Varints(NamedTuple):
    values: Words
    """Without a sign: `zigzag` gives them one, `values.view(np.int64)` is that of protobuf's int64."""
    ends: Integers
    """Where each ends."""
    endless: Integers
    """Which of them have no end within 10 bytes, in order; their values and ends mean nothing."""


class Zigzags(NamedTuple):
    """The same of signed numbers."""

    values: Integers
    ends: Integers
    endless: Integers


def words_of(data: Buffer | Bytes) -> Words:
    """The little-endian word of 8 bytes at every position, but for the last 7: a view, nothing is copied."""
    return np.ndarray(shape=(max(len(data) - 7, 0),), dtype="<u8", buffer=data, strides=(1,))


def pairs_of(data: Buffer | Bytes) -> NDArray[np.uint16]:
    """The little-endian word of 2 bytes at every position but the last: a view, nothing is copied."""
    return np.ndarray(shape=(max(len(data) - 1, 0),), dtype="<u2", buffer=data, strides=(1,))


def read_varints(data: Bytes, words: Words, positions: Integers) -> Varints:
    """The varints at these positions of `data`, whose `words_of` are given. All of them must be before the padding."""
    values, ends, endless = _read(data, words, positions)
    return Varints(values.astype(np.uint64, copy=False), ends, endless)


def read_zigzags(data: Bytes, words: Words, positions: Integers) -> Zigzags:
    """The same for varints that stand for signed numbers."""
    values, ends, endless = _read(data, words, positions)
    return Zigzags(zigzag(values), ends, endless)


def zigzag(values: NDArray[Any]) -> Integers:
    """The signed numbers that these, of any unsigned type, stand for: 0, -1, 1, -2 and so on. `values` is used up."""
    signs = values & _ONES[values.dtype]
    np.negative(signs, out=signs)
    values >>= _ONES[values.dtype]
    values ^= signs
    signed: Integers = values.view(_SIGNED[values.dtype]).astype(np.int64, copy=False)
    return signed


def _read(data: Bytes, words: Words, positions: Integers) -> tuple[NDArray[Any], Integers, Integers]:
    """Values as narrow as they may be, where they end, and which do not."""
    first = data.take(positions)
    if not len(first) or int(first.max()) < 0x80:
        return first, positions + 1, NONE
    pairs = pairs_of(data)[positions]
    if not ((pairs & _TOP_BITS_OF_PAIR) == _TOP_BITS_OF_PAIR).any():
        return _of_two_bytes(pairs, positions)
    found = words[positions]
    ending = ~found
    ending &= _TOP_BITS
    below = ending - _ONE
    np.invert(ending, out=ending)
    below &= ending  # the ones below the lowest top bit that is clear; all of them if none is
    sizes = np.bitwise_count(below)
    sizes >>= 3
    found &= below
    values = _compact(found)
    longer = np.flatnonzero(sizes == 8) if int(sizes.max()) == 8 else NONE
    sizes += 1
    ends = positions + sizes
    return values, ends, _finish(data, values, ends, longer) if len(longer) else NONE


def _of_two_bytes(pairs: NDArray[np.uint16], positions: Integers) -> tuple[NDArray[Any], Integers, Integers]:
    """Of at most two. `pairs` is used up."""
    have_second = pairs >> _SEVEN
    have_second &= _ONES[have_second.dtype]
    ends = positions + have_second
    ends += 1
    second = pairs >> _EIGHT
    second *= have_second
    second <<= _SEVEN
    pairs &= _LOW_BITS_OF_FIRST
    pairs |= second
    return pairs, ends, NONE


def _compact(found: Words) -> Words:
    """The groups of 7 bits of each word, moved together. `found` is used up; its top bits do not count."""
    high = found & _HIGH_BYTES
    high >>= np.uint64(1)
    found &= _LOW_BYTES
    found |= high
    np.bitwise_and(found, _HIGH_PAIRS, out=high)
    high >>= np.uint64(2)
    found &= _LOW_PAIRS
    found |= high
    np.bitwise_and(found, _HIGH_HALF, out=high)
    high >>= np.uint64(4)
    found &= _LOW_HALF
    found |= high
    return found


def _finish(data: Bytes, values: Words, ends: Integers, longer: Integers) -> Integers:
    """Read the ninth and tenth bytes of those that have them, and give those that go on even then."""
    ninth = data[ends[longer] - 1]
    values[longer] |= (ninth & np.uint8(0x7F)).astype(np.uint64) << np.uint64(56)
    longest = longer[ninth >= 0x80]
    tenth = data[ends[longest]]
    values[longest] |= tenth.astype(np.uint64) << np.uint64(63)
    ends[longest] += 1
    return longest[tenth >= 0x80]
