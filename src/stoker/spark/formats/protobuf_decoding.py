"""Protobuf by columns: the fields of all messages are found together, and each becomes a column, whatever their shape."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql.types import DataType

from stoker.spark.columns import ByteColumn, Decoded
from stoker.spark.errors import SchemaNotFound, UnusableSchema
from stoker.spark.formats.protobuf_columns import ColumnBuilder
from stoker.spark.formats.protobuf_descriptors import message_at, message_named
from stoker.spark.formats.protobuf_messages import MessageReader
from stoker.spark.formats.protobuf_scanning import Messages, Trouble
from stoker.spark.formats.protobuf_types import MessagePlan, spark_type_of_message
from stoker.spark.schemas import RegisteredSchema
from stoker.wire.batch_columns import Bytes, Integers
from stoker.wire.varint_columns import PADDING, Words, read_varints, words_of, zigzag

HEADER_SIZE: Final = 5
_DEEPEST_PATH: Final = 7
_BLOCK: Final = 32_768
"""So many messages are read together, so that what is kept of each step stays near."""
_BYTES_AT_ONCE: Final = 1 << 21
"""Of messages with repeated fields: to find an item takes tens of bytes for a while, and an item may have one or two."""


class ProtobufDecoder:
    """Values behind the registry's header and the place of their message in its schema.

    Fields have numbers, so a record is read by the reader's schema whatever it was written by; the writer's is asked for only
    to know that the message is the same.
    """

    def __init__(
        self,
        reader: RegisteredSchema,
        by_id: Callable[[int], RegisteredSchema],
        wanted: DataType | None = None,
        message: str | None = None,
    ) -> None:
        """Raises UnusableSchema or InvalidOption if the schema, or what is wanted of it, cannot be."""
        descriptor = message_named(reader, message)
        self._reader = reader
        self._by_id = by_id
        self._message_name = descriptor.full_name
        self._plan = MessagePlan(descriptor, spark_type_of_message(descriptor) if wanted is None else wanted)
        self._one_by_one = MessageReader(self._plan)
        self._known: dict[tuple[int, bytes], str] = {}
        self.type: pa.DataType = self._plan.arrow

    def decode(self, values: ByteColumn) -> Decoded:
        columns: list[pa.Array] = []
        reasons: dict[int, str] = {}
        for begin, end in pairwise(self._edges(values)):
            block = _narrowed(values.data, values.starts[begin:end], values.lengths[begin:end])
            column, block_reasons = self._decode_block(block)
            columns.append(column)
            reasons.update((begin + row, reason) for row, reason in block_reasons.items())
        bad = sorted(reasons)
        column = columns[0] if len(columns) == 1 else pa.concat_arrays(columns)
        return Decoded(column, np.array(bad, dtype=np.int64), [reasons[row] for row in bad])

    def _edges(self, values: ByteColumn) -> list[int]:
        """Where the blocks begin and end that are read together."""
        count = len(values)
        edges = {0, *range(_BLOCK, count, _BLOCK)}
        if self._plan.has_items:
            ends = np.cumsum(np.maximum(values.lengths, 0))
            size = int(ends[-1]) if count else 0
            cuts = np.searchsorted(ends, np.arange(_BYTES_AT_ONCE, size, _BYTES_AT_ONCE), side="left") + 1
            edges.update(cut for cut in cuts.tolist() if cut < count)
        return [*sorted(edges), count]

    def _decode_block(self, values: ByteColumn) -> tuple[pa.Array, dict[int, str]]:
        trouble = Trouble(len(values))
        bodies = self._bodies(values, trouble)
        builder = ColumnBuilder(values.data, trouble)
        ends = values.starts + np.maximum(values.lengths, 0)
        if self._plan.has_groups:
            trouble.odd[:] = bodies >= 0
        is_there = (bodies >= 0) & ~trouble.odd
        rows = np.arange(len(values)) if is_there.all() else np.flatnonzero(is_there)
        column = builder.messages(self._plan, Messages(bodies[rows], ends[rows], rows))
        odd = np.flatnonzero(trouble.odd)
        odd = odd[[row not in trouble.reasons for row in odd.tolist()]] if trouble.reasons and len(odd) else odd
        singles = self._read_one_by_one(values, bodies, odd, trouble) if len(odd) else None
        if len(rows) == len(values) and not trouble.reasons and not len(odd):
            return column, {}
        places = np.full(len(values), -1, dtype=np.int64)
        places[rows] = np.arange(len(rows))
        places[odd] = len(rows) + np.arange(len(odd))
        places[list(trouble.reasons)] = -1
        if len(odd):
            column = pa.concat_arrays([column, singles])
        return column.take(pa.array(places, mask=places < 0)), trouble.reasons

    def _read_one_by_one(self, values: ByteColumn, bodies: Integers, rows: Integers, trouble: Trouble) -> pa.Array:
        found: list[Any] = []
        for row in rows.tolist():
            end = int(values.starts[row] + values.lengths[row])
            try:
                found.append(self._one_by_one.read(values.data[int(bodies[row]) : end].tobytes()))
            except ValueError as problem:
                found.append(None)
                trouble.reasons.setdefault(row, str(problem))
        return pa.array(found, type=self.type)

    # -- headers ----------------------------------------------------------------------------------------------------

    def _bodies(self, values: ByteColumn, trouble: Trouble) -> Integers:
        """Where each message begins, behind its header; -1 for null and for what has no header of this message."""
        data, starts, lengths = values
        is_there = lengths >= 0
        headed = is_there & (lengths > HEADER_SIZE) & (data[starts] == 0)
        if not headed.all():
            trouble.bad(
                np.flatnonzero(is_there & ~headed), "it does not begin with the header of a registry (0, id, message)"
            )
        rows = np.flatnonzero(headed)
        bodies = np.full(len(values), -1, dtype=np.int64)
        if not len(rows):
            return bodies
        begins = starts[rows] + HEADER_SIZE
        ids = (words_of(data)[starts[rows]].byteswap() >> np.uint64(24)) & np.uint64(0xFFFFFFFF)
        after = self._after_path(data, begins, (starts + lengths)[rows])
        sizes = after - begins
        paths = words_of(data)[begins]
        paths &= ~np.uint64(0) >> (np.uint64(8) * np.clip(8 - sizes, 0, 7).astype(np.uint64))
        kinds, kind_of = _distinct(ids, paths, sizes)
        for number, (schema_id, path, size) in enumerate(kinds):
            some = slice(None) if len(kinds) == 1 else kind_of == number
            problem = (
                "not a path to a message" if size < 0 else self._problem(schema_id, path.to_bytes(8, "little")[:size])
            )
            if problem:
                trouble.bad(rows[some], problem)
            else:
                bodies[rows[some]] = after[some]
        return bodies

    def _after_path(self, data: Bytes, begins: Integers, ends: Integers) -> Integers:
        """Where the path to the message ends; one less than it begins if it is none. A zero is short for the first."""
        after = begins + 1
        longer = np.flatnonzero(data[begins] != 0)
        if len(longer):
            words = words_of(data)
            counts, at, endless = read_varints(data, words, begins[longer])
            left = zigzag(counts)
            left[endless] = -1
            left[(left < 1) | (left > _DEEPEST_PATH)] = -1
            while (left > 0).any():
                some = np.flatnonzero(left > 0)
                _, following, endless = read_varints(data, words, at[some])
                at[some] = following
                left[some] -= 1
                left[some[endless]] = -1
                left[some[following > ends[longer[some]]]] = -1
            wrong = (left < 0) | (at - begins[longer] > 8)
            after[longer] = np.where(wrong, begins[longer] - 1, at)
        return after

    def _problem(self, schema_id: int, path: bytes) -> str:
        """Why records of that schema and message cannot be read, if so; what may be better later is asked again."""
        if schema_id >= 1 << 31:
            return "a negative schema id"
        key = (schema_id, path)
        known = self._known.get(key)
        if known is not None:
            return known
        try:
            schema = self._reader if schema_id == self._reader.id else self._by_id(schema_id)
            if schema.type != "PROTOBUF":
                return f"schema {schema_id} is of type {schema.type}"
            message = message_at(schema, _indexes(path))
        except (SchemaNotFound, UnusableSchema) as problem:  # but not that the registry cannot be asked
            return str(problem)
        if message is None:
            problem_text = f"schema {schema_id} has no message at {list(_indexes(path))}"
        elif message.full_name != self._message_name:
            problem_text = f"it is a message {message.full_name}, and {self._message_name} is read"
        else:
            problem_text = ""
        if len(self._known) < 10_000:
            self._known[key] = problem_text
        return problem_text


def _narrowed(data: Bytes, starts: Integers, lengths: Integers) -> ByteColumn:
    """With no more bytes than the values lie in: Arrow reserves memory by what an array might have."""
    if not len(starts):
        return ByteColumn(data, starts, lengths)
    low, high = int(starts.min()), int((starts + lengths).max())
    return ByteColumn(data[low : max(high, low) + PADDING], starts - low, lengths)


def _indexes(path: bytes) -> tuple[int, ...]:
    if path == b"\0":
        return (0,)
    data = np.frombuffer(path + bytes(16), dtype=np.uint8)
    found = []
    at = np.zeros(1, dtype=np.int64)
    while int(at[0]) < len(path):
        values, at, _ = read_varints(data, words_of(data), at)
        found.append(int(zigzag(values)[0]))
    return tuple(found[1:])


def _distinct(ids: Words, paths: Words, sizes: Integers) -> tuple[list[tuple[int, int, int]], Integers]:
    """The different headers, and which of them each record has."""
    if (ids == ids[0]).all() and (paths == paths[0]).all() and (sizes == sizes[0]).all():
        return [(int(ids[0]), int(paths[0]), int(sizes[0]))], np.empty(0, dtype=np.int64)
    found, kind_of = np.unique(np.stack([ids, paths, sizes.view(np.uint64)]), axis=1, return_inverse=True)
    kinds = [(int(each[0]), int(each[1]), int(each[2].view(np.int64))) for each in found.T]
    return kinds, kind_of.ravel()
