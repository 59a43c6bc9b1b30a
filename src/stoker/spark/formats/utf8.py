"""Which strings are none."""

from typing import Final

import numpy as np
import pyarrow as pa

from stoker.wire.batch_columns import Bytes, Integers

NONE: Final[Integers] = np.empty(0, dtype=np.int64)


def not_utf8(column: pa.StringArray) -> Integers:
    """Which values of a column, whose bytes were taken as they came, are not UTF-8."""
    data = column.buffers()[2]
    if data is None or not len(column):
        return NONE
    if data.size == 0 or int(np.frombuffer(data, dtype=np.int8).min()) >= 0:
        return NONE
    try:
        column.validate(full=True)
        return NONE
    except pa.ArrowInvalid:
        return _find(column)


def _find(column: pa.StringArray) -> Integers:
    offsets = np.frombuffer(column.buffers()[1], dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(column.buffers()[2], dtype=np.uint8)[offsets[0] : offsets[-1]]
    value = np.repeat(np.arange(len(column)), np.diff(offsets))
    return np.unique(value[_wrong(data, value)])


def _wrong(data: Bytes, value: Integers) -> Integers:
    """Positions of bytes that cannot stand where they do; `value` tells which string a byte is of."""
    extra = np.zeros(len(data), dtype=np.int8)
    extra[(data >= 0xC2) & (data <= 0xDF)] = 1
    extra[(data >= 0xE0) & (data <= 0xEF)] = 2
    extra[(data >= 0xF0) & (data <= 0xF4)] = 3
    follows = (data & 0xC0) == 0x80
    wrong = (data >= 0xF5) | (data == 0xC0) | (data == 0xC1)
    expected = np.zeros(len(data), dtype=np.bool_)
    for distance in (1, 2, 3):
        leads = np.flatnonzero(extra >= distance)
        has_next = leads + distance < len(data)
        wrong[leads[~has_next]] = True
        leads = leads[has_next]
        same = value[leads] == value[leads + distance]
        wrong[leads[~same]] = True
        leads = leads[same]
        wrong[leads[~follows[leads + distance]]] = True
        expected[leads + distance] = True
    wrong |= follows & ~expected
    # The second byte tells apart overlong forms, surrogates, and what is beyond Unicode.
    for lead, least, most in ((0xE0, 0xA0, 0xBF), (0xED, 0x80, 0x9F), (0xF0, 0x90, 0xBF), (0xF4, 0x80, 0x8F)):
        leads = np.flatnonzero(data[:-1] == lead)
        second = data[leads + 1]
        wrong[leads[(second < least) | (second > most)]] = True
    return np.flatnonzero(wrong)
