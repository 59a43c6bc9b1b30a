"""Protobuf to columns, judged by Google's library: whatever it reads is read the same, and what it refuses is bad."""

import struct
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.protobuf.internal.encoder import _VarintBytes  # type: ignore[attr-defined]
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, IntegerType, LongType, StringType, StructField, StructType

from stoker.spark.errors import InvalidOption, SchemaNotFound, UnusableSchema
from stoker.spark.formats.protobuf_decoding import ProtobufDecoder
from stoker.spark.formats.protobuf_messages import MessageReader
from stoker.spark.formats.protobuf_types import MessagePlan, spark_type_of_protobuf
from stoker.spark.schemas import RegisteredSchema
from tests.spark.formats.byte_columns import byte_column
from tests.spark.formats.protobuf_shapes import (
    HEADER,
    HEADER_2,
    SCHEMA,
    SCHEMA_2,
    SHAPES,
    OldMessage,
    ShapesMessage,
    old_messages,
    shapes_messages,
)


def no_other(schema_id: int) -> RegisteredSchema:
    raise SchemaNotFound(f"no schema {schema_id}")


def shapes_decoder(wanted: DataType | None = None) -> ProtobufDecoder:
    return ProtobufDecoder(SCHEMA, no_other, wanted, "Shapes")


def old_decoder() -> ProtobufDecoder:
    return ProtobufDecoder(SCHEMA_2, no_other)


def comparable(value: Any) -> Any:
    """Maps have no order, NaN is no number, and zones have several names."""
    if isinstance(value, dict):
        return {name: comparable(each) for name, each in value.items()}
    if isinstance(value, list):
        found = [comparable(each) for each in value]
        return sorted(found, key=repr) if found and isinstance(value[0], tuple) else found
    if isinstance(value, tuple):
        return tuple(map(comparable, value))
    if isinstance(value, float):
        return struct.pack("d", value) if value == value else "NaN"
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return value


def judged(reader: MessageReader, bodies: list[bytes | None]) -> tuple[list[Any], list[int]]:
    rows: list[Any] = []
    bad = []
    for row, body in enumerate(bodies):
        try:
            rows.append(None if body is None else reader.read(body))
        except ValueError:
            rows.append(None)
            bad.append(row)
    return rows, bad


def compare(decoder: ProtobufDecoder, header: bytes, bodies: list[bytes | None]) -> None:
    rows, bad = judged(MessageReader(decoder._plan), bodies)
    decoded = decoder.decode(byte_column([None if body is None else header + body for body in bodies]))
    decoded.column.validate(full=True)
    assert decoded.column.type == decoder.type
    assert comparable(decoded.column.to_pylist()) == comparable(rows)
    assert decoded.bad.tolist() == bad
    assert len(decoded.reasons) == len(bad)


@given(st.lists(st.none() | shapes_messages, max_size=12))
def test_every_shape(messages: list[Any]) -> None:
    compare(shapes_decoder(), HEADER, [None if each is None else each.SerializeToString() for each in messages])


@given(st.lists(old_messages, max_size=12))
def test_proto2(messages: list[Any]) -> None:
    compare(old_decoder(), HEADER_2, [each.SerializeToString() for each in messages])


@st.composite
def mutilated(draw: st.DrawFn, messages: st.SearchStrategy[Any]) -> bytes:
    """Cut off, changed, put together: what is written twice is merged, or the last counts."""
    body = b"".join(each.SerializePartialToString() for each in draw(st.lists(messages, min_size=1, max_size=3)))
    for _ in range(draw(st.integers(0, 2))):
        if body:
            place = draw(st.integers(0, len(body) - 1))
            body = body[:place] + draw(st.binary(max_size=2)) + body[place + draw(st.integers(0, 3)) :]
    return body


@given(st.lists(mutilated(shapes_messages) | st.binary(max_size=6), max_size=8))
def test_bytes_that_are_not_as_they_were(bodies: list[bytes | None]) -> None:
    compare(shapes_decoder(), HEADER, bodies)


@given(st.lists(mutilated(old_messages) | st.binary(max_size=6), max_size=8))
def test_bytes_of_proto2_that_are_not_as_they_were(bodies: list[bytes | None]) -> None:
    compare(old_decoder(), HEADER_2, bodies)


@given(st.lists(shapes_messages, max_size=3), st.sets(st.sampled_from(spark_type_of_protobuf(SCHEMA, "Shapes").names)))
def test_fewer_fields(messages: list[Any], names: set[str]) -> None:
    bodies = [HEADER + each.SerializeToString() for each in messages]
    whole = shapes_decoder().decode(byte_column(bodies)).column.to_pylist()
    fields = [field for field in spark_type_of_protobuf(SCHEMA, "Shapes").fields if field.name in names]
    some = shapes_decoder(StructType(fields)).decode(byte_column(bodies)).column.to_pylist()
    expected = [{field.name: row[field.name] for field in fields} for row in whole]
    assert comparable(some) == comparable(expected)


def test_what_columns_say() -> None:
    message = ShapesMessage(
        u32=2**32 - 1,
        u64=2**64 - 1,
        color=5,
        word="x",
        numbers=[1, -1],
        points=[{"x": 1.5}, {}],
        counts={"a": 1},
        moment={"seconds": 1, "nanos": 2999},
        span={"seconds": -1},
        wrapped={"value": 5},
        node={"leaf": {"last": False}},
    )
    (row,) = shapes_decoder().decode(byte_column([HEADER + message.SerializeToString()])).column.to_pylist()
    assert {name: value for name, value in row.items() if value not in (None, [], 0, "", b"", False)} == {
        "u32": -1,
        "u64": -1,
        "color": "UNKNOWN_ENUM_VALUE_Color_5",
        "word": "x",
        "numbers": [1, -1],
        "points": [{"x": 1.5, "y": 0}, {"x": 0.0, "y": 0}],
        "counts": [("a", 1)],
        "moment": datetime(1970, 1, 1, 0, 0, 1, 2, tzinfo=UTC),
        "span": timedelta(seconds=-1),
        "wrapped": {"value": 5},
        "node": {"name": "", "leaf": {"depth": 0, "last": False}, "leaves": []},
    }
    assert [name for name, value in row.items() if value is None] == [
        "point", "maybe", "maybe_text", "number", "place", "yes",
    ]  # fmt: skip
    (row,) = old_decoder().decode(byte_column([HEADER_2 + OldMessage(id=1).SerializeToString()])).column.to_pylist()
    assert row == {
        "id": 1,
        "name": "nobody",
        "many": -1,
        "color": "BLUE",
        "colors": [],
        "numbers": [],
        "raw": b"a\xff",
        "inner": None,
        "either": None,
        "or": None,
        "most": -1,
        "ratio": 0.5,
    }


def test_types() -> None:
    found = spark_type_of_protobuf(SCHEMA, "Shapes")
    assert found.simpleString().startswith("struct<i32:int,i64:bigint,u32:int,u64:bigint,s32:int,")
    by_name = {field.name: field.dataType.simpleString() for field in found.fields}
    assert "nothing" not in by_name
    assert by_name["places"] == "map<int,struct<x:double,y:int>>"
    assert by_name["moment"] == "timestamp"
    assert by_name["span"] == "interval day to second"
    assert by_name["wrapped"] == "struct<value:bigint>"
    assert by_name["colors"] == "array<string>"
    assert shapes_decoder().type == to_arrow_type(found, timezone="UTC")


def test_one_record_of_very_many_parts_among_small_ones() -> None:
    """It is read apart: the others do not wait for it, a step for each of its parts."""
    large = ShapesMessage(words=["w"] * 5000, points=[{"y": 1}] * 5000, zigzags=range(5000))
    small = ShapesMessage(words=["a", "b"])
    bodies = [small.SerializeToString()] * 50 + [large.SerializeToString()] + [small.SerializeToString()] * 50
    compare(shapes_decoder(), HEADER, bodies)


def test_many_records_in_blocks() -> None:
    bodies = [ShapesMessage(i64=number, words=["x"] * (number % 3)).SerializeToString() for number in range(70_000)]
    bodies[40_000] = b"\xff"
    decoded = shapes_decoder(StructType([StructField("i64", LongType())])).decode(
        byte_column([HEADER + each for each in bodies])
    )
    assert decoded.bad.tolist() == [40_000]
    assert decoded.column.field("i64").to_pylist() == [*range(40_000), None, *range(40_001, 70_000)] or (
        decoded.column[40_000].as_py() is None
    )
    assert decoded.column[69_999].as_py() == {"i64": 69_999}


BODY = ShapesMessage(i32=5).SerializeToString()
OTHER = RegisteredSchema(9, "PROTOBUF", SHAPES.replace("int32 i32 = 1;", "int32 i32 = 1; int32 added = 99;"), {})
AVRO = RegisteredSchema(10, "AVRO", '"int"', {})
ELSEWHERE = RegisteredSchema(11, "PROTOBUF", 'syntax="proto3"; package other; message Shapes { int32 i32 = 1; }', {})


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"\0\0\0\0\7\2\2", None),
        (b"\0\0\0\0\x09\2\2", None),
        (b"", "it does not begin with the header of a registry"),
        (b"\1\0\0\0\7\2\2", "it does not begin with the header of a registry"),
        (b"\0\0\0\0\7\0", "it is a message shapes.Empty, and shapes.Shapes is read"),
        (b"\0\0\0\0\7\4\2\0", "it is a message shapes.Shapes.Node, and shapes.Shapes is read"),
        (b"\0\0\0\0\7\2\x0c", r"schema 7 has no message at [6]"),
        (b"\0\0\0\0\7\1", "not a path to a message"),
        (b"\0\0\0\0\7\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", "not a path to a message"),
        (b"\0\0\0\0\5\2\2", "no schema 5"),
        (b"\0\xff\0\0\5\2\2", "a negative schema id"),
        (b"\0\0\0\0\x0a\0", "schema 10 is of type AVRO"),
        (b"\0\0\0\0\x0b\0", "it is a message other.Shapes, and shapes.Shapes is read"),
    ],
)
def test_headers(header: bytes, reason: str | None) -> None:
    """Beside one that is right."""
    others = {schema.id: schema for schema in (OTHER, AVRO, ELSEWHERE)}

    def by_id(schema_id: int) -> RegisteredSchema:
        return others[schema_id] if schema_id in others else no_other(schema_id)

    decoder = ProtobufDecoder(SCHEMA, by_id, StructType([StructField("i32", IntegerType())]), "Shapes")
    decoded = decoder.decode(byte_column([HEADER + BODY, header + BODY, HEADER + BODY]))
    if reason is None:
        assert decoded.column.to_pylist() == [{"i32": 5}] * 3
    else:
        assert decoded.bad.tolist() == [1]
        assert decoded.reasons[0].startswith(reason)
        assert decoded.column.to_pylist() == [{"i32": 5}, None, {"i32": 5}]


def tag(number: int, wire: int) -> bytes:
    found: bytes = _VarintBytes(number << 3 | wire)
    return found


@pytest.mark.parametrize(
    "body",
    [
        b"\0",
        tag(1, 0),
        tag(1, 0) + b"\xff" * 11,
        tag(14, 2) + b"\5abc",
        tag(14, 2) + b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\1",
        tag(14, 2) + b"\1\xff",
        tag(12, 1) + b"1234567",
        tag(1, 4),
        tag(1, 6) + b"12345678",
        tag(24, 2) + b"\2\x80\x80",
        tag(26, 2) + b"\x0512345",
        tag(17, 2) + b"\2\x09\0",
        b"\x88\x80\x80\x80\x80\x80\0\0",
        tag(36, 2) + b"\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x10\0",
    ],
)
def test_bad_ones(body: bytes) -> None:
    compare(shapes_decoder(), HEADER, [BODY, body, BODY])
    assert len(shapes_decoder().decode(byte_column([HEADER + BODY, HEADER + body])).bad) == 1


@pytest.mark.parametrize(
    "body",
    [
        tag(99, 3) + tag(1, 0) + b"\5" + tag(99, 4) + BODY,
        tag(17, 2) + b"\2\x10\2" + tag(17, 2) + b"\x09\x09" + struct.pack("d", 5.0),
        tag(22, 2) + b"\2\x10\2" + tag(23, 0) + b"\1" + tag(22, 2) + b"\0",
        tag(33, 2) + b"\5\x0a\1a\x10\1" + tag(33, 2) + b"\5\x0a\1a\x10\2",
        tag(34, 2) + b"\2\x08\1",
        tag(33, 2) + b"\0",
        tag(1, 2) + b"\1\5" + tag(14, 0) + b"\1",
        tag(24, 2) + b"\0" + tag(24, 0) + b"\1" + tag(24, 2) + b"\2\2\3",
    ],
    ids=["group", "merged", "oneof", "key twice", "no value", "no key", "other wire types", "packed or not"],
)
def test_odd_ones(body: bytes) -> None:
    compare(shapes_decoder(), HEADER, [BODY, body, BODY])


def test_groups_of_proto2() -> None:
    text = 'syntax = "proto2"; message Old { optional group Part = 1 { optional int32 a = 2; } repeated int32 b = 3; }'
    decoder = ProtobufDecoder(RegisteredSchema(8, "PROTOBUF", text, {}), no_other)
    decoded = decoder.decode(byte_column([HEADER_2 + b"\x0b\x10\5\x0c\x18\1", HEADER_2, None]))
    assert decoded.column.to_pylist() == [{"part": {"a": 5}, "b": [1]}, {"part": None, "b": []}, None]


def struct_of(name: str, column: DataType) -> StructType:
    return StructType([StructField(name, column)])


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda: shapes_decoder(struct_of("nope", LongType())),
            InvalidOption,
            "asks for 'nope', but shapes.Shapes has",
        ),
        (lambda: shapes_decoder(struct_of("i32", LongType())), InvalidOption, "asks for i32 as bigint, but it is int"),
        (
            lambda: shapes_decoder(struct_of("words", StringType())),
            InvalidOption,
            "words as string, but it is repeated",
        ),
        (lambda: shapes_decoder(struct_of("counts", StringType())), InvalidOption, "counts as string, but it is a map"),
        (lambda: shapes_decoder(struct_of("point", LongType())), InvalidOption, "but it is the message shapes.Point"),
        (
            lambda: shapes_decoder(struct_of("moment", LongType())),
            InvalidOption,
            "moment as bigint, but it is timestamp",
        ),
        (
            lambda: shapes_decoder(StructType([StructField("maybe", IntegerType(), nullable=False)])),
            InvalidOption,
            "maybe is never null .* a message need not have it",
        ),
        (
            lambda: ProtobufDecoder(SCHEMA, no_other, None, "Nope"),
            UnusableSchema,
            "no message 'Nope': it has shapes.Empty",
        ),
        (lambda: ProtobufDecoder(SCHEMA, no_other), UnusableSchema, "the message shapes.Empty has no fields"),
        (
            lambda: ProtobufDecoder(
                RegisteredSchema(
                    5, "PROTOBUF", "message Tree { optional Branch b = 1; } message Branch { repeated Tree t = 1; }", {}
                ),
                no_other,
            ),
            UnusableSchema,
            r"the message Tree contains itself \(Branch in Tree\)",
        ),
        (lambda: ProtobufDecoder(AVRO, no_other), UnusableSchema, "schema 10 is no Protobuf schema"),
    ],
)
def test_what_cannot_be_read(make: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_a_part_of_what_contains_itself() -> None:
    schema = RegisteredSchema(8, "PROTOBUF", "message Tree { optional Tree left = 1; optional int32 leaf = 2; }", {})
    wanted = StructType([StructField("left", struct_of("leaf", IntegerType()))])
    assert MessagePlan is not None
    decoded = ProtobufDecoder(schema, no_other, wanted).decode(byte_column([HEADER_2 + b"\x0a\2\x10\5"]))
    assert decoded.column.to_pylist() == [{"left": {"leaf": 5}}]


@pytest.mark.parametrize(
    "body",
    [
        ShapesMessage(numbers=[1] * 8000).SerializeToString(),
        ShapesMessage(points=[{}] * 4000).SerializeToString(),
    ],
    ids=["packed", "messages"],
)
def test_memory_is_that_of_a_few_messages(body: bytes) -> None:
    """However many there are of those that have many items: what finds an item takes many times its bytes."""
    column = byte_column([HEADER + body] * (8 * 1024 * 1024 // len(body)))
    found = shapes_decoder()
    tracemalloc.start()
    decoded = found.decode(column)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not len(decoded.bad)
    assert peak < 20 * len(column.data)


def test_many_bytes_are_read_in_pieces_that_fit_together() -> None:
    messages = [ShapesMessage(i32=row, words=["w" * 1000] * (row % 7)) for row in range(1500)]
    values: list[bytes | None] = [HEADER + each.SerializeToString() for each in messages]
    values[100], values[1400] = None, HEADER + b"\x08"
    found = shapes_decoder().decode(byte_column(values))
    assert found.bad.tolist() == [1400]
    rows = found.column.to_pylist()
    assert (rows[100], rows[1400]) == (None, None)
    assert all(row is None or (row["i32"], len(row["words"])) == (at, at % 7) for at, row in enumerate(rows))
