"""Hashes of whole columns of bytes: Kafka's murmur2, and a digest of rows that does not depend on their order."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from crc32c import crc32c
from numpy.typing import NDArray

from stoker.wire.batch_columns import Bytes, Integers

_Words = NDArray[np.uint64]

_MURMUR_SEED: Final = 0x9747B28C
_MURMUR_FACTOR: Final = np.uint32(0x5BD1E995)
_TAILS: Final = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF], dtype=np.uint32)
_LONG_BYTES: Final = 512
"""Columns step through all values together, a word of each at a time. Longer values would make that many small steps:
each is hashed by itself, which costs little beside moving so many bytes."""

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2: Final = np.uint64(0x94D049BB133111EB)

_BLOCK_ROWS: Final = 8192
"""So many rows at once: what is made on the way stays in the processor's cache."""
_WORDS_TOGETHER: Final = 8
_PADDING: Final = 8 * _WORDS_TOGETHER
"""So many words of each value are gathered at once."""


def murmur2(values: pa.BinaryArray) -> NDArray[np.uint32]:
    """What Java's `Utils.murmur2` gives for each value; for a null, what it gives for no bytes."""
    found = np.empty(len(values), dtype=np.uint32)
    for begin in range(0, len(values), _BLOCK_ROWS):
        found[begin : begin + _BLOCK_ROWS] = _murmur2_of_block(values[begin : begin + _BLOCK_ROWS])
    return found


def _murmur2_of_block(values: pa.BinaryArray) -> NDArray[np.uint32]:
    data, starts, lengths = _layout(values)
    words = np.ndarray(shape=(len(data) - _PADDING + 1,), dtype="<u4", buffer=data, strides=(1,))
    hashes: NDArray[np.uint32] = np.uint32(_MURMUR_SEED) ^ lengths.astype(np.uint32)
    is_long = lengths > _LONG_BYTES
    counts = np.where(is_long, 0, lengths >> 2)
    fewest, most = int(counts.min()), int(counts.max())
    for step in range(most):
        if step < fewest:
            hashes *= _MURMUR_FACTOR
            hashes ^= _murmur2_mixed(words[starts + 4 * step])
        else:
            some = np.flatnonzero(counts > step)
            hashes[some] = hashes[some] * _MURMUR_FACTOR ^ _murmur2_mixed(words[starts[some] + 4 * step])
    for row in np.flatnonzero(is_long).tolist():
        hashes[row] = _murmur2_of_long(words, int(starts[row]), int(lengths[row]))
    rest = lengths & 3
    tails = words[starts + (lengths & ~3)] & _TAILS[rest]
    hashes = np.where(rest > 0, (hashes ^ tails) * _MURMUR_FACTOR, hashes)
    hashes ^= hashes >> np.uint32(13)
    hashes *= _MURMUR_FACTOR
    hashes ^= hashes >> np.uint32(15)
    return hashes


def _murmur2_mixed(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    words = words * _MURMUR_FACTOR
    words ^= words >> np.uint32(24)
    words *= _MURMUR_FACTOR
    return words


def _murmur2_of_long(words: NDArray[np.uint32], start: int, length: int) -> int:
    """All but the tail of one value: the words are mixed together, and only their chain is gone through."""
    factor = int(_MURMUR_FACTOR)
    found = (_MURMUR_SEED ^ length) & 0xFFFF_FFFF
    for word in _murmur2_mixed(words[start : start + (length & ~3) : 4]).tolist():
        found = (found * factor & 0xFFFF_FFFF) ^ word
    return found


def digest(columns: Sequence[pa.BinaryArray]) -> int:
    """64 bits over all rows, in any order: of two digests the sum, modulo 2^64, is the digest of all their rows."""
    found = 0
    for begin in range(0, len(columns[0]), _BLOCK_ROWS):
        total = np.zeros(1, dtype=np.uint64)
        for column in columns:
            total = total * _GOLDEN + _hash64(column[begin : begin + _BLOCK_ROWS])
        found += int(_mixed(total).sum(dtype=np.uint64))
    return found & 0xFFFF_FFFF_FFFF_FFFF


def _hash64(values: pa.BinaryArray) -> _Words:
    """The sum of each value's words of 8 bytes, each times a number of its place, well mixed."""
    data, starts, lengths = _layout(values)
    words = np.ndarray(shape=(len(data) - _PADDING + 1,), dtype="<u8", buffer=data, strides=(1,))
    is_long = lengths > _LONG_BYTES
    short = np.where(is_long, 0, lengths)
    full = short >> 3
    fewest, most = int(full.min()), int(full.max())
    together = min(most, _WORDS_TOGETHER)
    rows = np.ndarray(shape=(len(words), together), dtype="<u8", buffer=data, strides=(1, 8))[starts]
    if fewest < together:
        rows *= np.arange(together) < full[:, np.newaxis]
    hashes = rows @ _FACTORS[:together]
    for step in range(together, most):
        some = np.flatnonzero(full > step)
        hashes[some] += words[starts[some] + 8 * step] * _FACTORS[step]
    rest = (short & 7).astype(np.uint64)
    tails = words[starts + (short & ~7)] & ((np.uint64(1) << (rest << np.uint64(3))) - np.uint64(1))
    hashes += tails * _FACTORS[full]
    hashes += lengths.astype(np.uint64) * _GOLDEN
    long = np.flatnonzero(is_long)
    if len(long):
        ends = (starts + lengths)[long].tolist()
        parts = (data.data[start:end] for start, end in zip(starts[long].tolist(), ends, strict=True))
        hashes[long] += np.fromiter(map(crc32c, parts), dtype=np.uint64, count=len(long)) * _GOLDEN
    if values.null_count:
        hashes[_is_null(values)] = _MIX_1
    return _mixed(hashes)


def _mixed(words: _Words) -> _Words:
    """As splitmix64 ends: every bit of a word changes half of the result's."""
    words = words ^ (words >> np.uint64(30))
    words *= _MIX_1
    words ^= words >> np.uint64(27)
    words *= _MIX_2
    words ^= words >> np.uint64(31)
    return words


_FACTORS: Final = _mixed(np.arange(1, _LONG_BYTES // 8 + 2, dtype=np.uint64) * _GOLDEN) | np.uint64(1)


def _layout(values: pa.BinaryArray) -> tuple[Bytes, Integers, Integers]:
    """The bytes of all values and some more, where each begins, and how long it is: 0 for null."""
    count = len(values)
    _validity, offsets, data = values.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[values.offset : values.offset + count + 1].astype(np.int64)
    begin, end = (int(bounds[0]), int(bounds[-1])) if count else (0, 0)
    content = np.zeros(end - begin + _PADDING, dtype=np.uint8)
    if end > begin:
        content[:-_PADDING] = np.frombuffer(data, dtype=np.uint8)[begin:end]
    starts = bounds[:-1] - begin
    lengths = np.diff(bounds)
    if values.null_count:
        lengths[_is_null(values)] = 0
    return content, starts, lengths


def _is_null(values: pa.Array) -> NDArray[np.bool_]:
    flags: NDArray[np.bool_] = values.is_null().to_numpy(zero_copy_only=False)
    return flags
