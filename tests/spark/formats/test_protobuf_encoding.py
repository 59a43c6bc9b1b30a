"""Columns to Protobuf, judged by Google's library: it reads what the columns say."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from stoker.registry.formats import protobuf
from stoker.spark.errors import UnencodableColumn
from stoker.spark.formats.protobuf_decoding import ProtobufDecoder
from stoker.spark.formats.protobuf_encoding import ProtobufEncoder
from stoker.spark.formats.protobuf_schemas import protobuf_of
from stoker.spark.formats.protobuf_types import spark_type_of_protobuf
from stoker.spark.schemas import RegisteredSchema
from tests.spark.formats.byte_columns import byte_column
from tests.spark.formats.protobuf_shapes import (
    HEADER,
    HEADER_2,
    SCHEMA,
    SCHEMA_2,
    OldMessage,
    ShapesMessage,
    old_messages,
    shapes_messages,
)
from tests.spark.formats.test_protobuf_decoding import no_other

COLORS = {0, 1, 7, -1}


def plain(message: Any) -> Any:
    """What a column can hold of it: constants that have a name, moments to the microsecond, no empty messages."""
    message.ClearField("nothing")
    if message.color not in COLORS:
        message.ClearField("color")
    message.colors[:] = [each for each in message.colors if each in COLORS]
    for key in [key for key, each in message.by_flag.items() if each not in COLORS]:
        del message.by_flag[key]
    for moment in [*message.moments, *([message.moment] if message.HasField("moment") else [])]:
        moment.nanos = moment.nanos // 1000 * 1000
    return message


def written(message: Any) -> bytes:
    """For comparing: NaN is not equal to itself."""
    found: bytes = message.SerializeToString(deterministic=True)
    return found


def without(header: bytes, encoded: list[bytes | None]) -> list[bytes | None]:
    assert all(each is None or each.startswith(header) for each in encoded)
    return [None if each is None else each.removeprefix(header) for each in encoded]


@given(st.lists(st.none() | shapes_messages.map(plain), max_size=10))
def test_every_shape(messages: list[Any]) -> None:
    bodies = [None if each is None else HEADER + each.SerializeToString() for each in messages]
    decoder = ProtobufDecoder(SCHEMA, no_other, None, "Shapes")
    column = decoder.decode(byte_column(bodies)).column
    encoder = ProtobufEncoder(SCHEMA, column.type, "Shapes")
    encoded = without(HEADER, encoder.encode(column).to_pylist())
    found = [None if each is None else written(ShapesMessage.FromString(each)) for each in encoded]
    assert found == [None if each is None else written(each) for each in messages]
    assert without(HEADER, encoder.encode(column.slice(1)).to_pylist()) == encoded[1:]


@given(st.lists(old_messages, max_size=10))
def test_proto2(messages: list[Any]) -> None:
    """Defaults that were declared are read as values, and so they are written."""
    column = (
        ProtobufDecoder(SCHEMA_2, no_other).decode(byte_column([HEADER_2 + written(each) for each in messages])).column
    )
    encoded = without(HEADER_2, ProtobufEncoder(SCHEMA_2, column.type).encode(column).to_pylist())
    for message, body in zip(messages, encoded, strict=True):
        found = OldMessage.FromString(body)
        for field in message.DESCRIPTOR.fields:
            assert repr(getattr(found, field.name)) == repr(getattr(message, field.name))


def test_google_writes_the_same() -> None:
    """Byte for byte, where the order of fields is that of their numbers."""
    message = ShapesMessage(i32=-5, u32=7, s64=-7, dbl=1.5, text="ž", color=-1, numbers=[1, 300], zigzags=[-1, 1])
    column = ProtobufDecoder(SCHEMA, no_other, None, "Shapes").decode(byte_column([HEADER + written(message)])).column
    assert ProtobufEncoder(SCHEMA, column.type, "Shapes").encode(column).to_pylist() == [HEADER + written(message)]


def field_of(name: str, *values: object, kind: pa.DataType | None = None) -> pa.StructArray:
    return pa.StructArray.from_arrays([pa.array(values, type=kind)], names=[name])


@pytest.mark.parametrize(
    ("schema", "column", "words"),
    [
        (SCHEMA, pa.array([1]), "the column is int64, and the Protobuf schema says the message shapes.Shapes"),
        (SCHEMA, field_of("nope", 1), "shapes.Shapes has no field for 'nope': it has"),
        (SCHEMA, field_of("i32", "a"), "i32 is string, and the Protobuf schema says int32"),
        (SCHEMA, field_of("i32", 1, 2**31), "i32 in row 1 is 2147483648, which int32 cannot hold"),
        (SCHEMA, field_of("u32", -(2**31) - 1), "u32 in row 0 is -2147483649, which uint32 cannot hold"),
        (SCHEMA, field_of("text", b"a"), "text is binary, and the Protobuf schema says string"),
        (SCHEMA, field_of("raw", "a"), "raw is string, and the Protobuf schema says bytes"),
        (
            SCHEMA,
            field_of("color", None, "PINK"),
            r"color in row 1 is 'PINK', which is no constant of shapes.Color\. It has",
        ),
        (SCHEMA, field_of("words", "a"), "words is string, and the Protobuf schema says repeated"),
        (SCHEMA, field_of("counts", "a"), "counts is string, and the Protobuf schema says a map"),
        (SCHEMA, field_of("point", {"z": 1}), "shapes.Point has no field for 'point.z': it has x, y"),
        (
            SCHEMA,
            field_of("numbers", [1, None]),
            r"numbers\[\] in row 1 is null, which Protobuf does not have in lists",
        ),
        (
            SCHEMA,
            field_of("moment", 5),
            "moment is int64, and the Protobuf schema says the message google.protobuf.Timestamp",
        ),
        (SCHEMA, pa.array([{"yes": None, "word": "a"}, {"yes": True, "word": "a"}]), "choice in row 1 is a oneof"),
        (SCHEMA_2, field_of("name", "a"), "shapes.Old requires 'id', and there is no such column"),
        (SCHEMA_2, field_of("id", 1, None), "id in row 1 is null, and the message requires it"),
    ],
)
def test_columns_that_are_refused(schema: RegisteredSchema, column: pa.Array, words: str) -> None:
    with pytest.raises(UnencodableColumn, match=words):
        ProtobufEncoder(schema, column.type, "Shapes" if schema is SCHEMA else None).encode(column)


ORDER = StructType(
    [
        StructField("id", LongType()),
        StructField("paid", BooleanType()),
        StructField("when", TimestampType()),
        StructField("took", DayTimeIntervalType()),
        StructField("raw", BinaryType()),
        StructField("ship_to", StructType([StructField("city", StringType()), StructField("zip", IntegerType())])),
        StructField("lines", ArrayType(StructType([StructField("price", DoubleType())]), containsNull=False)),
        StructField("notes", MapType(StringType(), LongType(), valueContainsNull=False)),
    ]
)


def test_the_schema_of_a_column() -> None:
    text = protobuf_of(ORDER, "new-orders")
    assert text == (
        'syntax = "proto3";\n\n'
        'import "google/protobuf/timestamp.proto";\nimport "google/protobuf/duration.proto";\n\n'
        "message NewOrders {\n"
        "  optional int64 id = 1;\n"
        "  optional bool paid = 2;\n"
        "  optional google.protobuf.Timestamp when = 3;\n"
        "  optional google.protobuf.Duration took = 4;\n"
        "  optional bytes raw = 5;\n"
        "  optional ShipTo ship_to = 6;\n"
        "  repeated Lines lines = 7;\n"
        "  map<string, int64> notes = 8;\n\n"
        "  message ShipTo {\n    optional string city = 1;\n    optional int32 zip = 2;\n  }\n"
        "  message Lines {\n    optional double price = 1;\n  }\n"
        "}\n"
    )
    schema = RegisteredSchema(1, "PROTOBUF", text, {})
    assert spark_type_of_protobuf(schema).simpleString() == ORDER.simpleString()
    column = pa.array(
        [
            None,
            {"id": 0, "ship_to": {"zip": 0}, "lines": [{"price": None}, {"price": 0.0}], "notes": [("a", 0)]},
            {"lines": [], "notes": []},
        ],
        type=to_arrow_type(ORDER, timezone="UTC"),
    )
    encoded = ProtobufEncoder(schema, column.type).encode(column)
    decoded = ProtobufDecoder(schema, no_other).decode(byte_column(encoded.to_pylist()))
    assert decoded.column.to_pylist() == column.to_pylist()


def test_a_column_may_get_more_fields() -> None:
    """They come into the latest schema, in which all else stays."""
    latest = RegisteredSchema(
        1,
        "PROTOBUF",
        'syntax = "proto3";\npackage shop;\n\nmessage Other {}\nmessage Order {\n  reserved 9;\n'
        "  int64 id = 1;\n  Inner inner = 4;\n\n  message Inner {\n    string a = 1;\n  }\n}\n",
        {},
    )
    column = StructType(
        [
            StructField("inner", StructType([StructField("a", StringType()), StructField("b", StringType())])),
            StructField("new", LongType()),
        ]
    )
    text = protobuf_of(column, "any", latest, "Order")
    assert "  int64 id = 1;\n" in text
    assert "  optional int64 new = 10;\n" in text
    assert "    optional string b = 2;\n" in text
    old, new = (protobuf.parse(each, {}) for each in (latest.text, text))
    assert new.incompatibilities(old) == []
    ProtobufEncoder(latest._replace(text=text), to_arrow_type(column), "shop.Order")


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (LongType(), "the column is bigint, and a Protobuf message is made of a struct"),
        (StructType([StructField("a b", LongType())]), "'a b' is no name of a Protobuf field"),
        (StructType([StructField("a", DateType())]), "a is date, which Protobuf does not have: cast it"),
        (StructType([StructField("a", ArrayType(ArrayType(LongType())))]), r"a\[\] is array<bigint>, which Protobuf"),
        (StructType([StructField("a", MapType(DoubleType(), LongType()))]), "a has keys of double"),
    ],
)
def test_columns_without_a_schema(column: DataType, words: str) -> None:
    with pytest.raises(UnencodableColumn, match=words):
        protobuf_of(column, "a")
