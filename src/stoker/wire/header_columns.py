"""The headers of many records, as columns: the first header of all records that have one together, then the second.

numpy takes 0.06 s to import. Import this module where it is used, never at the start of a broker.
"""

from array import array
from typing import Final, NamedTuple

import numpy as np

from stoker.errors import CorruptRecords
from stoker.wire.batch_columns import Bytes, Integers
from stoker.wire.record_batch import decode_varint
from stoker.wire.varint_columns import PADDING, Words, read_varints, words_of, zigzag

_FEW: Final = 8
"""So few records with yet another header are read one by one: a step through many takes as long as that."""

_WRONG_LENGTH: Final = "a header has a key or a value that does not fit into its record"


class HeaderColumns(NamedTuple):
    """The headers of some records, those of one record together. Positions are in the data that was read."""

    counts: Integers
    """How many headers each record has."""
    key_starts: Integers
    key_lengths: Integers
    value_starts: Integers
    value_lengths: Integers
    """-1 for null."""


def read_headers(data: Bytes, starts: Integers, ends: Integers) -> HeaderColumns:
    """The headers of records: `starts` is where their counts are, `ends` where the records end, before any padding.

    Raises CorruptRecords if counts and lengths do not lead exactly to the end of each record.
    """
    words = words_of(data)
    counts, positions = _numbers_at(data, words, starts, ends)
    if (counts < 0).any() or (counts > (ends - positions) // 2).any():
        raise CorruptRecords("a record has another number of headers than its bytes can hold")
    columns = np.empty((4, int(counts.sum())), dtype=np.int64)
    rows = np.cumsum(counts) - counts
    going = np.flatnonzero(counts)
    number = 0
    while len(going) > _FEW:
        at, stops = positions[going], ends[going]
        key_lengths, key_starts = _numbers_at(data, words, at, stops)
        _check(key_lengths, stops - key_starts, 0)
        value_lengths, value_starts = _numbers_at(data, words, key_starts + key_lengths, stops)
        _check(value_lengths, stops - value_starts, -1)
        columns[:, rows[going] + number] = key_starts, key_lengths, value_starts, value_lengths
        positions[going] = value_starts + np.maximum(value_lengths, 0)
        number += 1
        going = going[counts[going] > number]
    for slot in going.tolist():
        begin, row = int(positions[slot]), int(rows[slot]) + number
        left = int(counts[slot]) - number
        found, size = _headers_of_one(data[begin : ends[slot]].tobytes(), left)
        columns[:, row : row + left] = found
        columns[::2, row : row + left] += begin
        positions[slot] += size
    if (positions != ends).any():
        raise CorruptRecords("the headers of a record end before it, or after")
    return HeaderColumns(counts, *columns)


def _headers_of_one(data: bytes, count: int) -> tuple[Integers, int]:
    """The four columns of so many headers at the front of `data`, and where they end."""
    found = array("q")
    position = 0
    try:
        for _ in range(count):
            key_length, key_start = decode_varint(data, position)
            if not 0 <= key_length <= len(data) - key_start:
                raise CorruptRecords(_WRONG_LENGTH)
            value_length, value_start = decode_varint(data, key_start + key_length)
            if not -1 <= value_length <= len(data) - value_start:
                raise CorruptRecords(_WRONG_LENGTH)
            found.extend((key_start, key_length, value_start, value_length))
            position = value_start + max(value_length, 0)
    except IndexError:
        raise CorruptRecords(_WRONG_LENGTH) from None
    return np.frombuffer(found, dtype=np.int64).reshape(count, 4).T, position


def _numbers_at(data: Bytes, words: Words, positions: Integers, ends: Integers) -> tuple[Integers, Integers]:
    if (positions >= ends).any() or (len(ends) and int(ends.max()) > len(data) - PADDING):
        raise CorruptRecords(_WRONG_LENGTH)
    values, following, endless = read_varints(data, words, positions)
    if len(endless):
        raise CorruptRecords("a header has a varint of more than 10 bytes")
    return zigzag(values), following


def _check(lengths: Integers, room: Integers, least: int) -> None:
    if (lengths < least).any() or (lengths > room).any():
        raise CorruptRecords(_WRONG_LENGTH)
