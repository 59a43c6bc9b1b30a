"""`schema_id_check` for large batches: numpy finds the records that are surely right; only the others are looked at.

numpy takes 0.06 s to import. Import this module where it is used, never at the start of a broker.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from stoker.broker.schema_id_check import Headers, problems_of
from stoker.broker.schema_ids import GUID_SIZE, ID_SIZE, SchemaRule, SchemaRules
from stoker.errors import CorruptRecords
from stoker.wire.batch_columns import Bytes, Integers
from stoker.wire.record_batch import headers_at
from stoker.wire.record_columns import Flags, RecordColumns, read_records

_MOST_REMEMBERED: Final = 1000
_ROWS_AT_ONCE: Final = 10_000
_PREFIX_SIZE: Final = ID_SIZE + 1
_LOOKED_AT: Final = GUID_SIZE + 1


def problems_by_columns(body: bytes, count: int, rules: SchemaRules) -> Iterator[tuple[int, str]]:
    """Index and problem of each of these records that breaks a rule. Raises CorruptRecords."""
    columns = read_records([body], np.array([count]))
    are_wrong = np.zeros(len(columns), dtype=bool)
    for rule in rules:
        if rule.header.encode() in body:
            are_wrong |= _have_headers(columns)
        are_wrong |= ~_are_right(columns, rule)
    rows = np.flatnonzero(are_wrong)
    return _look(columns, rows, body, rules) if len(rows) else iter(())


def _are_right(columns: RecordColumns, rule: SchemaRule) -> Flags:
    """Records whose key or value is null, or begins with a known id."""
    if rule.is_key:
        starts, lengths = columns.key_starts, columns.key_lengths
    else:
        starts, lengths = columns.value_starts, columns.value_lengths
    are_right: Flags = lengths < 0
    rows = np.flatnonzero(lengths > ID_SIZE)
    prefixes = _prefixes_at(columns.data, starts[rows])
    distinct = set(prefixes.tolist())
    known = [prefix for prefix in distinct if prefix.to_bytes(_PREFIX_SIZE) in rule.known.by_id]
    are_right[rows] = True if len(known) == len(distinct) else np.isin(prefixes, known)
    return are_right


def _prefixes_at(data: Bytes, starts: Integers) -> Integers:
    """The magic byte and the id at each position, as one number."""
    prefixes = np.zeros(len(starts), dtype=np.int64)
    for place in range(_PREFIX_SIZE):
        prefixes = prefixes << 8 | data[starts + place]
    return prefixes


def _have_headers(columns: RecordColumns) -> Flags:
    have: Flags = columns.data[columns.value_starts + np.maximum(columns.value_lengths, 0)] != 0
    return have


def _look(columns: RecordColumns, rows: Integers, body: bytes, rules: SchemaRules) -> Iterator[tuple[int, str]]:
    """At these records, one after the other."""
    remembered: dict[bytes, Headers] = {}
    header_starts = columns.value_starts + np.maximum(columns.value_lengths, 0)
    fields = (
        columns.key_starts,
        columns.key_lengths,
        columns.value_starts,
        columns.value_lengths,
        header_starts,
        columns.ends,
    )
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[begin : begin + _ROWS_AT_ONCE]
        for row, key_start, key_length, value_start, value_length, header_start, end in zip(
            some.tolist(), *(field[some].tolist() for field in fields), strict=True
        ):
            raw = body[header_start:end]
            headers = remembered.get(raw)
            if headers is None:
                headers = _headers(raw)
                if len(remembered) < _MOST_REMEMBERED:  # producers send the same headers again and again
                    remembered[raw] = headers
            key, value = _front(body, key_start, key_length), _front(body, value_start, value_length)
            for problem in problems_of(rules, key, value, headers):
                yield row, problem


def _front(body: bytes, start: int, length: int) -> bytes | None:
    return None if length < 0 else body[start : start + min(length, _LOOKED_AT)]


def _headers(raw: bytes) -> Headers:
    try:
        headers, end = headers_at(raw, 0, len(raw))
    except (IndexError, UnicodeDecodeError):
        raise CorruptRecords("a record has headers that cannot be read") from None
    if end != len(raw):
        raise CorruptRecords("a record has bytes after its headers")
    return headers
