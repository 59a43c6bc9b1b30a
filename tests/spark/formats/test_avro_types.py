"""Types of Avro as types of Spark and back, judged by Spark's own SchemaConverters."""

import json
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CalendarIntervalType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from stoker.registry.formats import avro
from stoker.spark.errors import UnencodableColumn, UnusableSchema
from stoker.spark.formats.avro_types import arrow_type, parse, schema_of, spark_type, spark_type_of
from stoker.spark.schemas import RegisteredSchema
from tests.spark.formats.avro_values import registered


def logical(name: str, base: str, **properties: int) -> dict[str, Any]:
    return {"type": base, "logicalType": name, **properties}


def record(*types: Any, name: str = "r") -> dict[str, Any]:
    fields = [{"name": f"f{index}", "type": each} for index, each in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields}


SCHEMAS = [
    *("boolean", "int", "long", "float", "double", "string", "bytes", "null"),
    {"type": "enum", "name": "e", "symbols": ["A"]},
    {"type": "fixed", "name": "f", "size": 3},
    {"type": "fixed", "name": "f", "size": 16, "logicalType": "uuid"},
    {"type": "fixed", "name": "f", "size": 8, "logicalType": "decimal", "precision": 18, "scale": 4},
    {"type": "fixed", "name": "f", "size": 1, "logicalType": "decimal", "precision": 18, "scale": 4},
    logical("decimal", "bytes", precision=38, scale=10),
    logical("decimal", "bytes", precision=4, scale=10),
    logical("decimal", "long", precision=4),
    logical("date", "int"),
    logical("date", "long"),
    logical("time-millis", "int"),
    logical("timestamp-millis", "long"),
    logical("timestamp-micros", "long"),
    logical("timestamp-micros", "int"),
    logical("local-timestamp-millis", "long"),
    logical("local-timestamp-micros", "long"),
    logical("uuid", "string"),
    logical("big-decimal", "bytes"),
    logical("of our own", "long"),
    {"type": "array", "items": ["null", "int"]},
    {"type": "array", "items": "int"},
    {"type": "map", "values": ["string", "null"]},
    {"type": "map", "values": "string"},
    ["int"],
    ["int", "long"],
    [logical("date", "int"), logical("timestamp-millis", "long")],
    ["long", "null", "int"],
    ["double", "float"],
    ["int", "float"],
    ["null", "int", "string", {"type": "array", "items": "int"}],
    record(["null", record("int", name="inner")], {"type": "array", "items": "inner"}, ["null", "int", "string"]),
    record(),
]

BARE = [
    (logical("time-micros", "long"), "time(6)"),
    (logical("timestamp-nanos", "long"), "timestamp_ltz(9)"),
    (logical("local-timestamp-nanos", "long"), "timestamp_ntz(9)"),
]

COLUMNS: list[DataType] = [
    *(BooleanType(), ByteType(), ShortType(), IntegerType(), LongType(), FloatType(), DoubleType()),
    *(StringType(), BinaryType(), DateType(), TimestampType(), TimestampNTZType(), NullType()),
    *(DecimalType(precision, 1) for precision in range(1, 39)),
    ArrayType(IntegerType(), True),
    ArrayType(IntegerType(), False),
    MapType(StringType(), DecimalType(10, 2), True),
    MapType(StringType(), NullType(), True),
    StructType(
        [
            StructField("a", IntegerType(), False),
            StructField("b", DecimalType(20, 3), True),
            StructField("inner", StructType([StructField("x", ArrayType(DecimalType(9, 9), True))]), True),
            StructField("entries", MapType(StringType(), StructType([StructField("y", StringType())]), False), False),
        ]
    ),
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_types_are_those_of_from_avro(spark: SparkSession, schema: Any) -> None:
    theirs = _converters(spark).toSqlType(_avro(spark, json.dumps(schema)))
    ours = spark_type(parse(registered(schema)))
    assert ours.type.jsonValue() == json.loads(theirs.dataType().json())
    assert ours.is_nullable == theirs.nullable()


@pytest.mark.parametrize(("schema", "theirs"), BARE, ids=str)
def test_what_spark_has_new_types_for_stays_a_number(spark: SparkSession, schema: Any, theirs: str) -> None:
    assert _converters(spark).toSqlType(_avro(spark, json.dumps(schema))).dataType().sql().lower() == theirs
    assert spark_type_of(registered(schema)) == LongType()


@pytest.mark.parametrize("namespace", ["", "shop.orders"])
@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.simpleString())
def test_schemas_are_those_of_to_avro(spark: SparkSession, column: DataType, namespace: str) -> None:
    assert spark._jvm is not None
    their_type = spark._jvm.org.apache.spark.sql.types.DataType.fromJson(column.json())
    theirs = _converters(spark).toAvroType(their_type, False, "Order", namespace).toString()
    ours = schema_of(column, "Order", namespace)
    assert avro.parse(ours, {}).text == avro.parse(theirs, {}).text


@pytest.mark.parametrize(
    ("column", "named"),
    [
        (MapType(IntegerType(), StringType()), "the value is map<int,string>"),
        (StructType([StructField("at", ArrayType(CalendarIntervalType()))]), "the value.at[] is interval"),
    ],
    ids=str,
)
def test_columns_that_avro_does_not_have_are_refused_by_name(column: DataType, named: str) -> None:
    with pytest.raises(UnencodableColumn, match="which Avro does not have") as refused:
        schema_of(column)
    assert str(refused.value).startswith(named)


def test_names_that_avro_does_not_have_are_refused() -> None:
    with pytest.raises(UnencodableColumn, match=r"the value.first-name cannot be named so in Avro.*rename it"):
        schema_of(StructType([StructField("first-name", StringType())]))


def test_records_that_contain_themselves_are_refused_by_name() -> None:
    node = {"type": "record", "name": "shop.Node", "fields": [{"name": "next", "type": ["null", "shop.Node"]}]}
    with pytest.raises(UnusableSchema, match=r"record shop.Node contains itself \(r > shop.Node > shop.Node\)"):
        spark_type_of(registered(record(node)))


def test_decimals_too_wide_for_spark_are_refused() -> None:
    with pytest.raises(UnusableSchema, match="decimal of 50 digits: those of Spark have 38"):
        spark_type_of(registered(logical("decimal", "bytes", precision=50)))


def test_texts_that_are_no_schemas_are_refused_with_their_id() -> None:
    with pytest.raises(UnusableSchema, match="Avro schema of id 7 cannot be read"):
        spark_type_of(RegisteredSchema(7, "AVRO", '"no_such_type"', {}))


def test_types_of_references_are_found() -> None:
    text = '{"type": "record", "name": "r", "fields": [{"name": "f", "type": "shop.Money"}]}'
    money = '{"type": "fixed", "name": "shop.Money", "size": 4}'
    found = spark_type_of(RegisteredSchema(1, "AVRO", text, {"shop.Money": money}))
    assert found == StructType([StructField("f", BinaryType(), False)])


def test_arrow_has_timestamps_of_utc_in_microseconds() -> None:
    assert arrow_type(TimestampType()) == pa.timestamp("us", tz="UTC")


def _converters(spark: SparkSession) -> Any:
    assert spark._jvm is not None
    return spark._jvm.org.apache.spark.sql.avro.SchemaConverters


def _avro(spark: SparkSession, text: str) -> Any:
    assert spark._jvm is not None
    return spark._jvm.org.apache.avro.Schema.Parser().parse(text)
