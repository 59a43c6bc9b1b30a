"""Random schemas of Avro with values: as fastavro takes them, and as a column shows them."""

import io
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any, NamedTuple

import fastavro
import numpy as np
from hypothesis import strategies as st

from stoker.spark.columns import ByteColumn
from stoker.spark.schemas import RegisteredSchema

Schema = Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CHOICES = ("int", "long", "float", "double", "string", "bytes", "boolean")


class Value(NamedTuple):
    written: Any
    """As fastavro writes it; a branch of a union is named: (name, value)."""
    shown: Any
    """As `to_pylist` has it."""


class Kind(NamedTuple):
    schema: Schema
    values: st.SearchStrategy[Value]
    name: str
    """What fastavro calls it in a union."""


def is_empty(schema: Schema) -> bool:
    """Whether what is written by it has no bytes."""
    if isinstance(schema, dict) and schema["type"] == "record":
        return all(is_empty(field["type"]) for field in schema["fields"])
    return schema == "null" or (isinstance(schema, dict) and schema.get("size") == 0)


def same(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Value]:
    return values.map(lambda value: Value(value, value))


def decimal(unscaled: int, scale: int) -> Decimal:
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


INTS = st.integers(-(1 << 31), (1 << 31) - 1) | st.integers(-200, 200)
LONGS = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-20_000, 20_000)
PLAIN: dict[str, st.SearchStrategy[Value]] = {
    "null": same(st.none()),
    "boolean": same(st.booleans()),
    "int": same(INTS),
    "long": same(LONGS),
    "float": same(st.floats(width=32, allow_nan=False)),
    "double": same(st.floats(allow_nan=False)),
    "string": same(st.text(st.characters(exclude_categories=["Cs"]), max_size=80)),
    "bytes": same(st.binary(max_size=80)),
}
LOGICAL: list[tuple[Schema, st.SearchStrategy[Value]]] = [
    (
        {"type": "int", "logicalType": "date"},
        st.integers(-100_000, 100_000).map(lambda days: Value(days, date(1970, 1, 1) + timedelta(days))),
    ),
    (
        {"type": "long", "logicalType": "timestamp-millis"},
        st.integers(-(10**13), 10**13).map(lambda each: Value(each, EPOCH + timedelta(milliseconds=each))),
    ),
    (
        {"type": "long", "logicalType": "timestamp-micros"},
        st.integers(-(10**16), 10**16).map(lambda each: Value(each, EPOCH + timedelta(microseconds=each))),
    ),
    (
        {"type": "long", "logicalType": "local-timestamp-millis"},
        st.integers(-(10**13), 10**13).map(
            lambda each: Value(each, (EPOCH + timedelta(milliseconds=each)).replace(tzinfo=None))
        ),
    ),
    (
        {"type": "long", "logicalType": "local-timestamp-micros"},
        st.integers(-(10**16), 10**16).map(
            lambda each: Value(each, (EPOCH + timedelta(microseconds=each)).replace(tzinfo=None))
        ),
    ),
    ({"type": "int", "logicalType": "time-millis"}, st.integers(0, 86_399_999).map(lambda each: Value(each, each))),
    ({"type": "string", "logicalType": "uuid"}, st.uuids().map(lambda each: Value(str(each), str(each)))),
]


@st.composite
def decimals(draw: st.DrawFn, name: str) -> Kind:
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    logical = {"logicalType": "decimal", "precision": precision, "scale": scale}
    unscaled = st.integers(1 - 10**precision, 10**precision - 1)
    values = same(unscaled.map(lambda each: decimal(each, scale)))
    if draw(st.booleans()):
        return Kind({"type": "bytes", **logical}, values, "bytes")
    least = next(size for size in count(1) if 10**precision <= 1 << (8 * size - 1))
    size = draw(st.integers(least, least + 9))
    return Kind({"type": "fixed", "name": name, "size": size, **logical}, values, name)


@st.composite
def kinds(draw: st.DrawFn, name: str = "r", depth: int = 3, plain: bool = False) -> Kind:
    """`name` makes those of named types unique. `plain` leaves out logical types and all unions but those with null."""
    choices = ["primitive", "enum", "fixed", *(["logical", "decimal"] if not plain else [])]
    if depth:
        choices += ["record", "record", "array", "map", "nullable", *(["union"] if not plain else [])]
    choice = draw(st.sampled_from(choices))
    if choice == "primitive":
        kind = draw(st.sampled_from(CHOICES))
        return Kind(kind, PLAIN[kind], kind)
    if choice == "logical":
        schema, values = draw(st.sampled_from(LOGICAL))
        return Kind(schema, values, schema["type"])
    if choice == "decimal":
        return draw(decimals(name))
    if choice == "enum":
        symbols = draw(st.lists(st.sampled_from("ABCDEFGH"), min_size=1, unique=True))
        return Kind({"type": "enum", "name": name, "symbols": symbols}, same(st.sampled_from(symbols)), name)
    if choice == "fixed":
        size = draw(st.integers(0, 20))
        return Kind({"type": "fixed", "name": name, "size": size}, same(st.binary(min_size=size, max_size=size)), name)
    if choice == "record":
        return draw(records(name, depth, plain))
    if choice == "nullable":
        inner = draw(kinds(f"{name}_n", depth - 1, plain).filter(lambda kind: not isinstance(kind.schema, list)))
        values = st.none().map(lambda _: Value(None, None)) | inner.values.map(
            lambda value: Value((inner.name, value.written), value.shown)
        )
        return Kind(draw(st.permutations(["null", inner.schema])), values, "")
    if choice == "union":
        return draw(unions(name, depth))
    inner = draw(kinds(f"{name}_i", depth - 1, plain))
    if choice == "array":
        # Of items without bytes a record may have as many as it has bytes.
        lists = st.lists(inner.values, max_size=1 if is_empty(inner.schema) else 6)
        shown = lists.map(lambda each: Value([item.written for item in each], [item.shown for item in each]))
        return Kind({"type": "array", "items": inner.schema}, shown, "array")
    entries = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner.values, max_size=5)
    shown = entries.map(
        lambda each: Value(
            {key: value.written for key, value in each.items()}, [(key, value.shown) for key, value in each.items()]
        )
    )
    return Kind({"type": "map", "values": inner.schema}, shown, "map")


@st.composite
def records(draw: st.DrawFn, name: str = "r", depth: int = 3, plain: bool = False) -> Kind:
    fields = [draw(kinds(f"{name}{index}", depth - 1, plain)) for index in range(draw(st.integers(0, 5)))]
    schema = {
        "type": "record",
        "name": name,
        "fields": [{"name": f"f{index}", "type": kind.schema} for index, kind in enumerate(fields)],
    }
    values = st.tuples(*(kind.values for kind in fields)).map(
        lambda drawn: Value(
            {f"f{index}": value.written for index, value in enumerate(drawn)},
            {f"f{index}": value.shown for index, value in enumerate(drawn)},
        )
    )
    return Kind(schema, values, name)


@st.composite
def unions(draw: st.DrawFn, name: str, depth: int) -> Kind:
    drawn = [
        draw(kinds(f"{name}_{index}", depth - 1).filter(lambda kind: not isinstance(kind.schema, list)))
        for index in range(draw(st.integers(1, 4)))
    ]
    branches = list({kind.name: kind for kind in drawn}.values())
    names = {kind.name for kind in branches}
    is_struct = len(branches) > 1 and names not in ({"int", "long"}, {"float", "double"})
    choices = []
    for index, kind in enumerate(branches):

        def value(found: Value, index: int = index, kind: Kind = kind) -> Value:
            if len(branches) > 1 and not is_struct:  # numbers, whatever else they mean
                return Value((kind.name, found.written), found.written)
            members = {f"member{each}": found.shown if each == index else None for each in range(len(branches))}
            return Value((kind.name, found.written), members if is_struct else found.shown)

        choices.append(kind.values.map(value))
    schemas = [kind.schema for kind in branches]
    if draw(st.booleans()):
        schemas.insert(draw(st.integers(0, len(schemas))), "null")
        choices.append(st.just(Value(None, None)))
    return Kind(schemas, st.one_of(choices), "")


def without_logical_types(schema: Schema, *, but: str | None = None) -> Schema:
    if isinstance(schema, list):
        return [without_logical_types(each, but=but) for each in schema]
    if isinstance(schema, dict):
        return {
            key: without_logical_types(each, but=but)
            for key, each in schema.items()
            if key != "logicalType" or each == but
        }
    return schema


def registered(schema: Schema, schema_id: int = 1) -> RegisteredSchema:
    return RegisteredSchema(schema_id, "AVRO", json.dumps(schema), {})


def written(schema: Schema, value: Any) -> bytes:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(schema), value)
    return buffer.getvalue()


def framed(body: bytes, schema_id: int = 1) -> bytes:
    return b"\0" + schema_id.to_bytes(4) + body


def byte_column(values: Sequence[bytes | None]) -> ByteColumn:
    """With other bytes in front, between and behind, as in a batch of records."""
    data = bytearray(b"\xff\xff\xff")
    starts, lengths = [], []
    for value in values:
        starts.append(len(data))
        lengths.append(-1 if value is None else len(value))
        data += (value or b"") + b"\xff\x01"
    data += b"\xff" * 16
    return ByteColumn(
        np.frombuffer(bytes(data), np.uint8), np.array(starts, dtype=np.int64), np.array(lengths, dtype=np.int64)
    )
