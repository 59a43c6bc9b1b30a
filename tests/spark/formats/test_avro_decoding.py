"""Avro to columns, judged by fastavro."""

import io
import struct
import tracemalloc
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import ArrayType, DataType, LongType, MapType, StructField, StructType

from stoker.spark.errors import SchemaNotFound, UnusableSchema
from stoker.spark.formats.avro_decoding import AvroDecoder
from stoker.spark.formats.avro_defaults import varint
from stoker.spark.formats.avro_encoding import AvroEncoder
from stoker.spark.formats.avro_types import spark_type_of
from stoker.spark.schemas import RegisteredSchema
from tests.spark.formats.avro_evolutions import evolved, shown
from tests.spark.formats.avro_values import (
    byte_column,
    framed,
    kinds,
    records,
    registered,
    without_logical_types,
    written,
)


def decoder(reader: Any, *writers: Any, wanted: DataType | None = None) -> AvroDecoder:
    """Of a reader's schema of id 1 and more writers' of 2 and so on."""
    by_id = {index: registered(each, index) for index, each in enumerate((reader, *writers), 1)}

    def find(schema_id: int) -> RegisteredSchema:
        if schema_id not in by_id:
            raise SchemaNotFound(f"no schema of id {schema_id}")
        return by_id[schema_id]

    return AvroDecoder(by_id[1], find, wanted)


def record(*types: Any, name: str = "r", **more: Any) -> dict[str, Any]:
    fields = [{"name": f"f{index}", "type": each} for index, each in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields, **more}


def read_by_fastavro(schema: Any, body: bytes, reader: Any = None) -> Any:
    """The value, of which nothing is left. Raises all kinds of things."""
    stream = io.BytesIO(body)
    value = fastavro.schemaless_reader(stream, schema, reader)
    if stream.tell() != len(body):
        raise EOFError
    return value


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_columns_show_what_fastavro_wrote(data: st.DataObject) -> None:
    kind = data.draw(kinds())
    values = data.draw(st.lists(kind.values, max_size=40))
    is_null = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    bodies = [framed(written(kind.schema, value.written)) for value in values]
    found = decoder(kind.schema).decode(
        byte_column([None if null else body for body, null in zip(bodies, is_null, strict=True)])
    )
    found.column.validate(full=True)
    assert found.reasons == []
    assert found.column.to_pylist() == [
        None if null else value.shown for value, null in zip(values, is_null, strict=True)
    ]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_readers_take_what_other_writers_wrote(data: st.DataObject) -> None:
    """Records of three schemas in one batch, read as the first of them."""
    kind = data.draw(records(plain=True))
    reader = data.draw(evolved(kind.schema))
    other = data.draw(evolved(kind.schema))
    values = data.draw(st.lists(kind.values, min_size=1, max_size=10))
    expected, bodies = [], []
    for value in values:
        body = written(kind.schema, value.written)
        expected.append(shown(reader, read_by_fastavro(kind.schema, body, reader)))
        bodies.append(framed(body, 2))
    again = decoder(reader, kind.schema, reader)
    first = again.decode(byte_column(bodies))
    assert first.reasons == []
    assert first.column.to_pylist() == expected
    own = AvroEncoder(registered(reader, 3), first.column.type).encode(first.column).to_pylist()
    mixed = [each for pair in zip(bodies, own, [None] * len(own), strict=True) for each in pair]
    both = again.decode(byte_column(mixed))
    assert both.reasons == []
    assert both.column.to_pylist() == [each for value in expected for each in (value, value, None)]
    assert decoder(other, kind.schema).decode(byte_column(bodies)).reasons == []


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_part_is_what_is_left_of_the_whole(data: st.DataObject) -> None:
    kind = data.draw(kinds())
    values = data.draw(st.lists(kind.values, min_size=1, max_size=30))
    column = byte_column([framed(written(kind.schema, value.written)) for value in values])
    wanted = data.draw(parts_of(spark_type_of(registered(kind.schema))))
    found = decoder(kind.schema, wanted=wanted).decode(column)
    found.column.validate(full=True)
    assert found.reasons == []
    assert found.column.to_pylist() == [cut(value.shown, wanted) for value in values]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_bad_bytes_are_bad_or_what_fastavro_reads(data: st.DataObject) -> None:
    kind = data.draw(kinds())
    body = written(kind.schema, data.draw(kind.values).written)
    broken = [data.draw(damaged(body)) for _ in range(8)]
    values = byte_column([framed(each) for bad in broken for each in (body, bad)])
    bare = without_logical_types(kind.schema)
    schema = fastavro.parse_schema(bare)
    of_logical, found = decoder(kind.schema).decode(values), decoder(bare).decode(values)
    assert set(of_logical.bad.tolist()) >= set(found.bad.tolist())
    for each in (of_logical, found):
        each.column.validate(full=True)
        assert len(each.bad) == len(each.reasons)
        good = each.column.take(pa.array(range(0, len(values), 2)))
        assert good.equals(pa.concat_arrays([each.column.slice(0, 1)] * len(broken)))
        assert not any(row % 2 == 0 for row in each.bad.tolist())
    encoder = AvroEncoder(registered(bare), found.column.type)
    for row, bad in zip(range(1, len(values), 2), broken, strict=True):
        if row in found.bad:
            assert found.column[row].as_py() is None
            continue
        theirs = read_by_fastavro(schema, bad)
        ours = encoder.encode(found.column.slice(row, 1))[0].as_py()
        if ours is not None:  # a null of a union has become one
            assert repr(read_by_fastavro(schema, ours[5:])) == repr(theirs)


@pytest.mark.parametrize("count", [1, 10, 100])
@pytest.mark.parametrize(
    "item", ["int", "string", "double", record("int", "string", name="item"), {"type": "array", "items": "int"}]
)
def test_arrays_of_many_and_of_few_items_and_in_blocks(item: Any, count: int) -> None:
    """Blocks of all sizes, some of which tell their size in bytes."""
    one = {"int": 70, "string": "x", "double": 0.5}.get(item) if isinstance(item, str) else None
    if one is None:
        one = [1, 2, 3] if item["type"] == "array" else {"f0": 1, "f1": "äöü"}
    schema = {"type": "array", "items": item}
    values, expected = [], []
    for row in range(count):
        body = b""
        for block in range(row % 4):
            items = written(item, one) * (block + row)
            size = varint(len(items)) if block % 2 else b""
            amount = -(block + row) if block % 2 else block + row
            body += varint(amount) + size + items
        values.append(framed(body + b"\0"))
        expected.append([one] * sum(block + row for block in range(row % 4)))
    for wanted in (schema, record(schema, "int")):
        if wanted is schema:
            found = decoder(schema).decode(byte_column(values))
            assert found.column.to_pylist() == expected
        else:
            skipped = StructType([StructField("f1", spark_type_of(registered("int")))])
            found = decoder(wanted, wanted=skipped).decode(byte_column([value + varint(9) for value in values]))
            assert found.column.to_pylist() == [{"f1": 9}] * count
        assert found.reasons == []


@pytest.mark.parametrize("size", [1, 20])
def test_small_blocks_are_no_reason_to_look_at_all_that_follows(size: int) -> None:
    """It would take minutes."""
    numbers = [(at * 37) % 1000 for at in range(100_000)]
    blocks = [numbers[at : at + size] for at in range(0, len(numbers), size)]
    body = b"".join(varint(len(block)) + b"".join(map(varint, block)) for block in blocks) + b"\0"
    found = decoder({"type": "array", "items": "int"}).decode(byte_column([framed(body)]))
    assert found.column.to_pylist() == [numbers]


def test_more_bytes_than_are_read_at_once() -> None:
    schema = record({"type": "array", "items": "int"}, "string", {"type": "map", "values": "long"})
    values: list[dict[str, Any]] = [
        {"f0": [1] * (row % 7 * 100), "f1": "x" * (row % 500 * 4), "f2": {str(key): key for key in range(row % 5)}}
        for row in range(1_500)
    ]
    values.append({"f0": [1] * 300_000, "f1": "", "f2": {str(key): key for key in range(3_000)}})
    bodies = [framed(written(schema, value)) for value in values]
    found = decoder(schema).decode(byte_column([*bodies, None, b"\0\0\0\0\1\2"]))
    assert found.bad.tolist() == [len(values) + 1]
    expected = [{**value, "f2": list(value["f2"].items())} for value in values]
    assert found.column.to_pylist() == [*expected, None, None]
    assert decoder(schema).decode(byte_column(bodies)).column.to_pylist() == expected


def test_of_entries_with_one_key_the_last_counts() -> None:
    entries = [("a", 1), ("b", 2), ("a", 3), ("", 4), ("a", 5)]
    body = varint(len(entries)) + b"".join(written("string", key) + varint(value) for key, value in entries) + b"\0"
    found = decoder({"type": "map", "values": "int"}).decode(byte_column([framed(b"\0"), framed(body)]))
    assert found.column.to_pylist() == [[], [("b", 2), ("", 4), ("a", 5)]]


UNREADABLE = [
    ("string", "int", "the writer's string cannot be read as int"),
    ("long", "int", "the writer's long cannot be read as int"),
    (record("int"), record("int", name="other"), "record r cannot be read as record other"),
    (record(), record("int"), "the value.f0: the writer does not have it, and it has no default"),
    (["null", "string"], "string", "the writer's null cannot be read as string"),
    (["int", "boolean"], ["null", "int"], "no type in the reader's union of null, int reads the writer's boolean"),
    (
        {"type": "fixed", "name": "f", "size": 2},
        {"type": "fixed", "name": "f", "size": 3},
        "the writer's fixed f cannot be read as fixed f",
    ),
    (
        {"type": "enum", "name": "e", "symbols": ["A", "B"]},
        {"type": "enum", "name": "e", "symbols": ["B"]},
        "a symbol of the writer's that the reader's enum has not, nor a default",
    ),
]


@pytest.mark.parametrize(("writer", "reader", "reason"), UNREADABLE, ids=str)
def test_what_cannot_be_resolved_is_bad_and_no_more(writer: Any, reader: Any, reason: str) -> None:
    last = writer[-1] if isinstance(writer, list) else writer
    kind = last if isinstance(last, str) else last["type"]
    value = {"string": "x", "long": 1, "boolean": True, "fixed": b"ab", "enum": "A"}.get(kind, {"f0": 1})
    if writer == ["null", "string"]:
        value = None
    found = decoder(reader, writer).decode(byte_column([None, framed(written(writer, value), 2)]))
    assert found.bad.tolist() == [1]
    assert reason in found.reasons[0]
    assert found.column.to_pylist() == [None, None]


def test_branches_that_nobody_took_do_no_harm() -> None:
    found = decoder("int", ["string", "int"]).decode(
        byte_column([framed(written(["string", "int"], each), 2) for each in (5, "x", 7)])
    )
    assert found.column.to_pylist() == [5, None, 7]
    assert found.bad.tolist() == [1]


BAD = [
    ("int", b"", "shorter than the header"),
    ("int", b"\0\0\0\1", "shorter than the header"),
    ("int", b"\1\0\0\0\1\2", "does not begin with the byte 0"),
    ("int", b"\0\xff\0\0\1\2", "a negative schema id"),
    ("int", b"\0\0\0\0\7\2", "no schema of id 7"),
    ("int", framed(b""), "the record ends before it"),
    ("int", framed(b"\x80"), "the record ends before it"),
    ("int", framed(b"\2\2"), "bytes after its end"),
    ("int", framed(varint(1 << 31)), "an int of more than 32 bits"),
    ("long", framed(b"\xff" * 10 + b"\1"), "a number of more than 10 bytes"),
    ("double", framed(b"\0" * 7), "the record ends before it"),
    ("boolean", framed(b"\2"), "neither 0 nor 1"),
    ("string", framed(b"\4a"), "longer than what is left"),
    ("string", framed(b"\1"), "longer than what is left"),
    ("string", framed(varint((1 << 63) - 1) + b"abc"), "longer than what is left"),
    ("bytes", framed(varint(-(1 << 63)) + b"abc"), "longer than what is left"),
    ("string", framed(b"\4\xc3\x28"), "not UTF-8"),
    ("string", framed(b"\2\xc3"), "not UTF-8"),
    ({"type": "fixed", "name": "f", "size": 30}, framed(b"\0" * 29), "the record ends before it"),
    ({"type": "enum", "name": "e", "symbols": ["A"]}, framed(b"\2"), "a symbol that its enum does not have"),
    ({"type": "enum", "name": "e", "symbols": ["A"]}, framed(b"\1"), "a symbol that its enum does not have"),
    (["null", "int"], framed(b"\4"), "a branch that its union does not have"),
    (["null", "int"], framed(b"\1"), "a branch that its union does not have"),
    ({"type": "array", "items": "int"}, framed(b"\2\2"), "the record ends before"),
    ({"type": "array", "items": "int"}, framed(varint(1 << 60) + b"\2\0"), "more items than what is left"),
    ({"type": "array", "items": "int"}, framed(varint(-(1 << 63)) + b"\0\0"), "more items than what is left"),
    ({"type": "array", "items": "int"}, framed(varint(-1) + b"\1\2\0"), "a block that is longer"),
    ({"type": "array", "items": "int"}, framed(varint(-1) + b"\4\2\0"), "a block of another size than it says"),
    ({"type": "array", "items": "float"}, framed(varint(-1) + b"\4\2\0\0\0\0"), "a block of another size than it says"),
    ({"type": "array", "items": "null"}, framed(varint(1 << 60) + b"\0"), "more items without a byte"),
    ({"type": "array", "items": "null"}, framed(varint(15) * 3 + varint(20) + b"\0"), "more items without a byte"),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 2},
        framed(b"\2\x64"),
        "not a decimal of 2 digits",
    ),
    ({"type": "bytes", "logicalType": "decimal", "precision": 2}, framed(b"\0"), "not a decimal of 2 digits"),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 38},
        framed(varint(17) + b"\1" + b"\0" * 16),
        "not a decimal of 38 digits",
    ),
    (
        {"type": "long", "logicalType": "timestamp-millis"},
        framed(varint(1 << 62)),
        "a timestamp that microseconds of 64 bits cannot tell",
    ),
]


@pytest.mark.parametrize("others", [0, 2, 40])
@pytest.mark.parametrize(("schema", "value", "reason"), BAD, ids=str)
def test_bad_records_say_why(schema: Any, value: bytes, reason: str, others: int) -> None:
    """Alone and among good ones."""
    kind = schema if isinstance(schema, str) else "union" if isinstance(schema, list) else schema["type"]
    good = {
        "int": b"\2",
        "long": b"\2",
        "double": struct.pack("<d", 1),
        "boolean": b"\1",
        "string": b"\2a",
        "bytes": b"\2\1",
        "fixed": b"\0" * 30,
        "enum": b"\0",
        "union": b"\2\2",
        "array": b"\0",
    }[kind]
    found = decoder(schema).decode(byte_column([framed(good)] * others + [value] + [framed(good)] * others))
    assert found.bad.tolist() == [others]
    assert reason in found.reasons[0]
    assert found.column.null_count == 1


@pytest.mark.parametrize(
    ("schema", "unit"),
    [
        ({"type": "array", "items": "null"}, varint(8)),
        ({"type": "array", "items": {"type": "array", "items": "null"}}, varint(1) + varint(8) + b"\0"),
        ({"type": "array", "items": record()}, varint(-8) + b"\0"),
        ({"type": "array", "items": "int"}, varint(1) + b"\0"),
        ({"type": "map", "values": "null"}, varint(1) + b"\0"),
    ],
    ids=str,
)
def test_memory_is_that_of_the_bytes(schema: Any, unit: bytes) -> None:
    """Records that are made to take much: a hundred of 10 kB."""
    column = byte_column([framed(unit * (10_000 // len(unit)) + b"\0")] * 100)
    found = decoder(schema)
    tracemalloc.start()
    found.decode(column)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200 * len(column.data)


def test_memory_for_one_large_array_is_that_of_where_its_items_are() -> None:
    """It cannot be read in pieces."""
    count = 2_000_000
    column = byte_column([framed(varint(count) + b"\1" * count + b"\0")])
    found = decoder({"type": "array", "items": "boolean"})
    tracemalloc.start()
    decoded = found.decode(column)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(decoded.column.flatten()) == count
    assert peak < 30 * count


def test_records_inside_of_themselves_can_be_left_out() -> None:
    tree = {"type": "record", "name": "t", "fields": [{"name": "next", "type": ["null", "t"]}]}
    schema = record(tree, "int")
    values = [written(schema, {"f0": {"next": {"next": {"next": None}}}, "f1": each}) for each in range(30)]
    endless = b"\2" * 100 + b"\0\0"
    wanted = StructType([StructField("f1", spark_type_of(registered("int")), False)])
    found = decoder(schema, wanted=wanted).decode(byte_column([framed(each) for each in (*values, endless)]))
    assert found.column.to_pylist() == [*({"f1": each} for each in range(30)), None]
    assert found.reasons == ["the value.f0: nested too deep"]


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (StructType([StructField("no", LongType())]), "has no field 'no'. It has: f0, f1"),
        (StructType([StructField("f0", LongType())]), "the value.f0 is int in the Avro schema, and wanted as bigint"),
        (StructType([StructField("f1", LongType(), False)]), "the value.f1 may be null in the Avro schema"),
        (LongType(), "the value is struct"),
    ],
    ids=str,
)
def test_what_is_wanted_and_cannot_be_is_refused_by_name(wanted: DataType, reason: str) -> None:
    with pytest.raises(UnusableSchema) as refused:
        decoder(record("int", ["null", "long"]), wanted=wanted)
    assert reason in str(refused.value)


def test_a_schema_of_another_kind_is_a_reason() -> None:
    found = AvroDecoder(registered("int"), lambda _: RegisteredSchema(1, "JSON", "{}", {})).decode(
        byte_column([framed(b"\2")])
    )
    assert found.reasons == ["the schema of id 1 is of type JSON, not AVRO"]


def test_what_the_registry_fails_at_is_raised() -> None:
    def fail(_: int) -> RegisteredSchema:
        raise ConnectionError("down")

    with pytest.raises(ConnectionError):
        AvroDecoder(registered("int"), fail).decode(byte_column([framed(b"\2")]))


def test_nothing_is_a_column_of_nothing() -> None:
    found = decoder(record("int")).decode(byte_column([]))
    assert found.column.type == pa.struct([pa.field("f0", pa.int32(), nullable=False)])
    assert len(found.column) == 0


@st.composite
def damaged(draw: st.DrawFn, body: bytes) -> bytes:
    changed = bytearray(body)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(changed)))
        how = draw(st.sampled_from(["flip", "cut", "insert", "remove"]))
        if how == "cut":
            del changed[at:]
        elif how == "insert":
            changed[at:at] = draw(st.binary(min_size=1, max_size=4))
        elif how == "remove":
            del changed[at : at + 1]
        elif at < len(changed):
            changed[at] ^= draw(st.integers(1, 255))
    return bytes(changed)


@st.composite
def parts_of(draw: st.DrawFn, type_: DataType) -> DataType:
    """A type with some of the fields, in any order."""
    if isinstance(type_, ArrayType):
        return ArrayType(draw(parts_of(type_.elementType)), True)
    if isinstance(type_, MapType):
        return MapType(type_.keyType, draw(parts_of(type_.valueType)), True)
    if not isinstance(type_, StructType):
        return type_
    chosen = draw(st.permutations(type_.fields))[: draw(st.integers(0, len(type_.fields)))]
    return StructType([StructField(field.name, draw(parts_of(field.dataType)), True) for field in chosen])


def cut(value: Any, type_: DataType) -> Any:
    if value is None:
        return None
    if isinstance(type_, ArrayType):
        return [cut(each, type_.elementType) for each in value]
    if isinstance(type_, MapType):
        return [(key, cut(each, type_.valueType)) for key, each in value]
    if isinstance(type_, StructType):
        return {field.name: cut(value[field.name], field.dataType) for field in type_.fields}
    return value
