"""Columns to Avro, judged by fastavro."""

import io
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.spark.errors import UnencodableColumn
from stoker.spark.formats.avro_decoding import AvroDecoder
from stoker.spark.formats.avro_defaults import varint
from stoker.spark.formats.avro_encoding import AvroEncoder
from stoker.spark.formats.avro_parts import varints
from stoker.spark.formats.avro_types import arrow_type, schema_of, spark_type_of
from tests.spark.formats.avro_values import byte_column, kinds, registered, without_logical_types, written


def record(*fields: tuple[Any, ...]) -> dict[str, Any]:
    """Of fields (type,) or (type, default), named f0, f1 and so on."""
    parts = [
        {"name": f"f{index}", "type": field[0], **({"default": field[1]} if len(field) > 1 else {})}
        for index, field in enumerate(fields)
    ]
    return {"type": "record", "name": "r", "fields": parts}


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_fastavro_reads_what_columns_became(data: st.DataObject) -> None:
    """Also of a slice, in which offsets do not begin with 0, and with nulls among the rows."""
    kind = data.draw(kinds())
    values = data.draw(st.lists(kind.values, min_size=1, max_size=40))
    shown = [None, *(value.shown for value in values), None]
    type_ = arrow_type(spark_type_of(registered(kind.schema)))
    column = pa.array(shown, type_)
    encoder = AvroEncoder(registered(kind.schema, 77), type_)
    encoded = encoder.encode(column)
    encoded.validate(full=True)
    # Decimals by their value: fastavro writes -128 in two bytes where Java and we need one.
    schema = fastavro.parse_schema(without_logical_types(kind.schema, but="decimal"))
    for value, body in zip(values, encoded.to_pylist()[1:-1], strict=True):
        assert (body is None) == (value.shown is None)
        if body is not None:
            assert body[:5] == b"\0\0\0\0\x4d"
            theirs = fastavro.schemaless_reader(io.BytesIO(written(kind.schema, value.written)), schema)
            assert repr(fastavro.schemaless_reader(io.BytesIO(body[5:]), schema)) == repr(theirs)
    cut = data.draw(st.integers(0, len(shown)))
    assert encoder.encode(column.slice(cut)).equals(encoded.slice(cut))
    assert encoder.encode(column.slice(0, cut)).equals(encoded.slice(0, cut))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_column_comes_back_by_the_schema_that_is_made_for_it(data: st.DataObject) -> None:
    kind = data.draw(kinds())
    spark_type = spark_type_of(registered(kind.schema))
    column = pa.array([value.shown for value in data.draw(st.lists(kind.values, max_size=10))], arrow_type(spark_type))
    made = registered(schema_of(spark_type))._replace(text=schema_of(spark_type))
    bodies = AvroEncoder(made, column.type).encode(column).to_pylist()
    assert AvroDecoder(made, lambda _: made).decode(byte_column(bodies)).column.to_pylist() == column.to_pylist()


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-70_000, 70_000)))
def test_varints_are_those_of_one_by_one(numbers: list[int]) -> None:
    assert varints(np.array(numbers, dtype=np.int64), None).to_pylist() == [varint(number) for number in numbers]


def test_varints_of_all_sizes() -> None:
    numbers = [sign * (1 << bits) + more for bits in range(63) for sign in (1, -1) for more in (-1, 0, 1)]
    numbers += [-(1 << 63), (1 << 63) - 1]
    assert varints(np.array(numbers, dtype=np.int64), None).to_pylist() == [varint(number) for number in numbers]


def test_missing_fields_have_their_defaults() -> None:
    schema = record(("int",), (["null", "string"], None), ({"type": "array", "items": "int"}, [1, 2]), ("double", 2))
    column = pa.array([{"f0": 5}, None, {"f0": 6}])
    column = column.cast(pa.struct([("f0", pa.int32())]))
    encoded = AvroEncoder(registered(schema), column.type).encode(column).to_pylist()
    assert encoded[1] is None
    parsed = fastavro.parse_schema(schema)
    assert [fastavro.schemaless_reader(io.BytesIO(each[5:]), parsed) for each in (encoded[0], encoded[2])] == [
        {"f0": number, "f1": None, "f2": [1, 2], "f3": 2.0} for number in (5, 6)
    ]


def test_fields_are_found_by_name() -> None:
    column = pa.array([{"f1": "x", "f0": 1}], pa.struct([("f1", pa.string()), ("f0", pa.int32())]))
    schema = record(("int",), ("string",))
    assert AvroEncoder(registered(schema), column.type).encode(column).to_pylist() == [b"\0\0\0\0\1\2\2x"]


WIDER = [
    ("long", pa.int8(), [1, -1], [1, -1]),
    ("long", pa.int32(), [1, -1], [1, -1]),
    ("int", pa.int16(), [1, -1], [1, -1]),
    ("double", pa.float32(), [0.5], [0.5]),
    ("string", pa.large_string(), ["x"], ["x"]),
    ("bytes", pa.large_binary(), [b"x"], [b"x"]),
    (["int", "null", "string"], pa.string(), ["x", None], ["x", None]),
    (["null", "long"], pa.null(), [None], [None]),
    (
        {"type": "long", "logicalType": "timestamp-millis"},
        pa.timestamp("us", tz="Europe/Prague"),
        [datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)],
        [datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC)],
    ),
    ({"type": "int", "logicalType": "date"}, pa.date32(), [date(1900, 1, 1)], [date(1900, 1, 1)]),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        pa.decimal128(5, 2),
        [Decimal("-1.28"), Decimal("1.27"), Decimal("1.28"), Decimal("0.00")],
        [Decimal("-1.28"), Decimal("1.27"), Decimal("1.28"), Decimal("0.00")],
    ),
]


@pytest.mark.parametrize(("schema", "type_", "values", "read"), WIDER, ids=str)
def test_narrower_types_fit_wider_ones(schema: Any, type_: pa.DataType, values: list[Any], read: list[Any]) -> None:
    column = pa.array([{"f0": value} for value in values], pa.struct([("f0", type_)]))
    encoded = AvroEncoder(registered(record((schema,))), column.type).encode(column).to_pylist()
    parsed = fastavro.parse_schema(record((schema,)))
    found: list[Any] = [fastavro.schemaless_reader(io.BytesIO(each[5:]), parsed) for each in encoded]
    assert found == [{"f0": value} for value in read]


REFUSED = [
    (
        record(("int",)),
        pa.struct([("f0", pa.int32()), ("more", pa.int32())]),
        "has a field 'more', which record r has not",
    ),
    (record(("int",)), pa.struct([]), "the value.f0 is missing, and has no default in record r"),
    (record(("int",)), pa.struct([("f0", pa.int64())]), "the value.f0 is int64, and int in the Avro schema"),
    (record(("int",)), pa.struct([("f0", pa.int32()), ("f0", pa.int32())]), "several fields 'f0'"),
    (
        record((["null", "int"],)),
        pa.struct([("f0", pa.string())]),
        "the value.f0 is string, and int in the Avro schema",
    ),
    ("string", pa.int32(), "the value is int32, and string in the Avro schema: cast it"),
    ({"type": "array", "items": "int"}, pa.list_(pa.string()), "the value[] is string, and int"),
    ({"type": "map", "values": "int"}, pa.map_(pa.int32(), pa.int32()), "the value is map<int32, int32>, and map"),
    ({"type": "long", "logicalType": "timestamp-micros"}, pa.timestamp("us"), "and long (timestamp-micros) in the"),
    ({"type": "long", "logicalType": "timestamp-micros"}, pa.int64(), "and long (timestamp-micros) in the"),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
        pa.decimal128(5, 2),
        "the value is decimal128(5, 2), and bytes (decimal) in the Avro schema",
    ),
    (["int", "string"], pa.bool_(), "no type of the union of int, string in the Avro schema"),
]


@pytest.mark.parametrize(("schema", "type_", "reason"), REFUSED, ids=str)
def test_types_that_do_not_fit_are_refused_before_any_row(schema: Any, type_: pa.DataType, reason: str) -> None:
    with pytest.raises(UnencodableColumn) as refused:
        AvroEncoder(registered(schema), type_)
    assert reason in str(refused.value)


BAD_ROWS = [
    (
        record(("int",)),
        pa.struct([("f0", pa.int32())]),
        [{"f0": 1}, None, {"f0": None}],
        "the value.f0 in row 2 is null",
    ),
    (
        {"type": "enum", "name": "e", "symbols": ["A", "B"]},
        pa.string(),
        ["A", None, "C"],
        "the value in row 2 is 'C', which is no symbol of enum e. It has: A, B",
    ),
    ({"type": "fixed", "name": "f", "size": 2}, pa.binary(), [b"ab", None, b"a"], "row 2 is not of 2 bytes"),
    (
        {"type": "map", "values": {"type": "array", "items": "int"}},
        pa.map_(pa.string(), pa.list_(pa.int32())),
        [[("a", [1, 2])], None, [], [("a", []), ("b", [1, None])]],
        "the value{}[] in row 3 is null",
    ),
    (
        ["int", "string"],
        pa.struct([("member0", pa.int32()), ("member1", pa.string())]),
        [{"member0": 1}, {}],
        "the value in row 1 is a union of which no member is there",
    ),
]


@pytest.mark.parametrize(("schema", "type_", "rows", "reason"), BAD_ROWS, ids=str)
def test_values_that_do_not_fit_name_the_row(schema: Any, type_: pa.DataType, rows: list[Any], reason: str) -> None:
    with pytest.raises(UnencodableColumn) as refused:
        AvroEncoder(registered(schema), type_).encode(pa.array(rows, type_))
    assert reason in str(refused.value)


def test_of_a_union_with_several_members_the_first_counts() -> None:
    type_ = pa.struct([("member0", pa.int32()), ("member1", pa.string())])
    column = pa.array([{"member0": 1, "member1": "x"}, {"member1": "y"}], type_)
    assert AvroEncoder(registered(["int", "string"]), type_).encode(column).to_pylist() == [
        b"\0\0\0\0\1\0\2",
        b"\0\0\0\0\1\2\2y",
    ]


def test_chunks_are_one_column() -> None:
    column = pa.chunked_array([[1], [2]], pa.int32())
    assert AvroEncoder(registered("int"), pa.int32()).encode(column).to_pylist() == [b"\0\0\0\0\1\2", b"\0\0\0\0\1\4"]
