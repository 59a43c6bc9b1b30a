"""Avro values with Confluent's header (a 0 and the id of the writer's schema) to a column, all records together.

Whatever is in the bytes, it is a column or a reason: a record that is no Avro of its schema is bad, the others are not.
What is not wanted is skipped, and then not looked at more closely than that needs.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.types import DataType

from stoker.registry.formats.avro.model import Type
from stoker.spark.columns import NONE_BAD, ByteColumn, Decoded
from stoker.spark.errors import SchemaNotFound, UnusableSchema
from stoker.spark.formats.avro_cursor import Cursor, Records
from stoker.spark.formats.avro_nodes import Node, Place, place_of
from stoker.spark.formats.avro_resolution import resolve
from stoker.spark.formats.avro_types import arrow_type, check_wanted, parse, spark_type
from stoker.spark.schemas import RegisteredSchema
from stoker.wire.batch_columns import Integers
from stoker.wire.varint_columns import Words, words_of

HEADER_SIZE: Final = 5
MAGIC: Final = 0
_HEADER: Final = np.uint64(0xFF_FFFF_FFFF)
_BYTES_AT_ONCE: Final = 1 << 20
"""Of records with arrays or maps: to find an item takes tens of bytes for a while, and an item may have one."""


class AvroDecoder:
    """Reads values of any writer's schema as the reader's, or as the part of it that is wanted.

    Raises UnusableSchema if there is no such column: for a reader's schema that Spark cannot hold, or a `wanted` type that
    is no part of it.
    """

    def __init__(
        self, reader: RegisteredSchema, by_id: Callable[[int], RegisteredSchema], wanted: DataType | None = None
    ) -> None:
        self._reader: Type = parse(reader)
        if wanted is None:
            wanted = spark_type(self._reader).type
        else:
            check_wanted(self._reader, wanted, True)
        self._by_id = by_id
        self._wanted = wanted
        self._type = arrow_type(wanted)
        self._plans: dict[int, Node | str] = {}

    @property
    def type(self) -> pa.DataType:
        return self._type

    def decode(self, values: ByteColumn) -> Decoded:
        count = len(values)
        reasons: dict[int, str] = {}
        columns: list[tuple[Integers, pa.Array]] = []
        groups = _by_schema(values, reasons)
        for schema_id, rows in groups:
            plan = self._plan(schema_id)
            if isinstance(plan, str):
                reasons.update(dict.fromkeys(rows.tolist(), plan))
            else:
                pieces = _pieces(values, rows) if plan.has_items else [rows]
                is_all = len(groups) == len(pieces) == 1
                place = place_of(rows, count, None) if is_all and len(rows) < count else None
                columns += [(piece, _read(plan, values, piece, place, reasons)) for piece in pieces]
        column = self._together(columns, count)
        if not reasons:
            return Decoded(column, NONE_BAD, [])
        bad = sorted(reasons)
        return Decoded(_without(column, bad), np.array(bad, dtype=np.int64), [reasons[row] for row in bad])

    def _plan(self, schema_id: int) -> Node | str:
        """What reads the values of this writer's schema, or why nothing does."""
        plan = self._plans.get(schema_id)
        if plan is None:
            try:
                writer = self._by_id(schema_id)
            except SchemaNotFound as error:
                return str(error)  # it may be there the next time
            try:
                if writer.type != "AVRO":
                    raise UnusableSchema(f"the schema of id {schema_id} is of type {writer.type}, not AVRO")
                plan = resolve(parse(writer), self._reader, self._wanted, "the value")
            except UnusableSchema as error:
                plan = str(error)
            self._plans[schema_id] = plan
        return plan

    def _together(self, groups: list[tuple[Integers, pa.Array]], count: int) -> pa.Array:
        if not groups:
            return pa.nulls(count, self._type)
        if len(groups) == 1 and len(groups[0][1]) == count:
            return groups[0][1]
        column = pa.concat_arrays([column for _, column in groups])
        rows = np.concatenate([rows for rows, _ in groups])
        if len(rows) == count and (rows[1:] > rows[:-1]).all():
            return column
        place = place_of(rows, count, None)
        where = np.zeros(count, dtype=np.int64)
        where[place.rows] = np.arange(len(place.rows))
        return column.take(pa.array(where, mask=place.absent))


def _pieces(values: ByteColumn, rows: Integers) -> list[Integers]:
    """The rows, so many at a time that they have about as many bytes as are read at once."""
    ends = np.cumsum(np.maximum(values.lengths[rows], 0))
    cuts = np.searchsorted(ends, np.arange(_BYTES_AT_ONCE, int(ends[-1]), _BYTES_AT_ONCE), side="left") + 1
    return [piece for piece in np.split(rows, np.unique(cuts)) if len(piece)]


def _without(column: pa.Array, bad: list[int]) -> pa.Array:
    """The column with nulls in these rows."""
    is_bad = np.zeros(len(column), dtype=np.bool_)
    is_bad[bad] = True
    return column.take(pa.array(np.arange(len(column)), mask=is_bad))


def _by_schema(values: ByteColumn, reasons: dict[int, str]) -> list[tuple[int, Integers]]:
    """The ids of the writers' schemas, each with the rows that have it. Nulls have none, nor what has no header."""
    count, lengths = len(values), values.lengths
    if not count:
        return []
    headers = words_of(values.data)[values.starts]
    headers &= _HEADER
    ids = _ids(headers)
    is_wrong = lengths < HEADER_SIZE
    is_wrong |= (headers & np.uint64(0xFF)) != MAGIC
    is_wrong |= ids < 0
    if is_wrong.any():
        for row in np.flatnonzero(is_wrong & (lengths >= 0)).tolist():
            if lengths[row] < HEADER_SIZE:
                reasons[row] = "shorter than the header of 5 bytes that a registry's serializers write"
            elif int(headers[row]) & 0xFF != MAGIC:
                reasons[row] = "does not begin with the byte 0 that a registry's serializers write"
            else:
                reasons[row] = "a negative schema id"
        ids[is_wrong] = -1
    elif (ids == ids[0]).all():
        return [(int(ids[0]), np.arange(count))]
    order = np.argsort(ids, kind="stable")
    distinct, firsts = np.unique(ids[order], return_index=True)
    rows = np.split(order, firsts[1:])
    return [(each, some) for each, some in zip(distinct.tolist(), rows, strict=True) if each >= 0]


def has_schema(values: ByteColumn, schema_id: int) -> NDArray[np.bool_]:
    """Which of the values were written by the schema of this id, as their headers tell."""
    header = np.uint64(int.from_bytes(bytes([MAGIC]) + schema_id.to_bytes(HEADER_SIZE - 1), "little"))
    found: NDArray[np.bool_] = (words_of(values.data)[values.starts] & _HEADER) == header
    found &= values.lengths >= HEADER_SIZE
    return found


def _ids(headers: Words) -> Integers:
    """The big-endian number behind the first byte."""
    headers = headers << np.uint64(24)
    return headers.byteswap().astype(np.uint32).view(np.int32).astype(np.int64)


def _read(plan: Node, values: ByteColumn, rows: Integers, place: Place | None, reasons: dict[int, str]) -> pa.Array:
    """The column of these rows, or of all rows that `place` has them among."""
    if len(rows) < len(values):
        values = ByteColumn(values.data, values.starts[rows], values.lengths[rows])
    records = Records(values)
    starts = values.starts
    cursor = Cursor(records, np.arange(len(rows)), starts + HEADER_SIZE, starts + values.lengths)
    column = plan.read(cursor, place)
    behind = cursor.at != cursor.ends
    if behind.any():
        records.blame(np.flatnonzero(behind), "bytes after its end")
    bad, why = records.bad()
    reasons.update(zip(rows[bad].tolist(), why, strict=True))
    return column
