"""Which columns can be written, as what."""

import re

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    CharType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from stoker.spark.errors import InvalidOption
from stoker.spark.sink_columns import SinkColumns, sink_columns
from stoker.spark.sink_options import sink_options

Columns = dict[str, DataType]

TEXT, BYTES, INT, LONG, DOUBLE, TIME = (
    StringType(),
    BinaryType(),
    IntegerType(),
    LongType(),
    DoubleType(),
    TimestampType(),
)


def struct(**fields: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in fields.items()])


HEADERS = ArrayType(struct(key=TEXT, value=BYTES))


def columns_of(columns: Columns, **options: str) -> SinkColumns:
    given = {"kafka.bootstrap.servers": "localhost:9092", "topic": "orders"} | {
        name.replace("_", "."): value for name, value in options.items()
    }
    if not given["topic"]:
        del given["topic"]
    return sink_columns(struct(**columns), sink_options(given))


ACCEPTED: dict[str, Columns] = {
    "value alone": {"value": TEXT},
    "all of them": {
        "key": BYTES,
        "value": BYTES,
        "headers": HEADERS,
        "topic": TEXT,
        "partition": INT,
        "timestamp": TIME,
    },
    "as a source gives them": {
        "key": BYTES,
        "value": BYTES,
        "topic": TEXT,
        "partition": INT,
        "offset": LONG,
        "timestamp": TIME,
        "timestampType": INT,
        "headers": HEADERS,
    },
    "a time without a zone": {"value": TEXT, "timestamp": TimestampNTZType()},
    "text of a fixed length": {"value": VarcharType(10), "key": CharType(3)},
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_columns_as_in_sparks_sink(case: str) -> None:
    assert columns_of(ACCEPTED[case]).value_fields == ()


def test_the_columns_that_are_not_the_records_own_make_the_value() -> None:
    columns: Columns = {"key": TEXT, "id": LONG, "amount": DOUBLE, "timestamp": TIME, "offset": INT}
    found = columns_of(columns, value_format="avro")
    assert found.value_fields == ("id", "amount", "offset")
    assert found.value_type.simpleString() == "struct<id:bigint,amount:double,offset:int>"


def test_a_column_value_is_the_value() -> None:
    found = columns_of({"key": struct(a=INT), "value": struct(id=LONG)}, value_format="json", key_format="json")
    assert (found.value_fields, found.value_type.simpleString()) == ((), "struct<id:bigint>")
    assert found.key_type is not None
    assert found.key_type.simpleString() == "struct<a:int>"


AVRO = {"value_format": "avro"}
REFUSED: dict[str, tuple[Columns, dict[str, str], str]] = {
    "no value": ({"key": TEXT}, {}, "no column `value`.*there are: `key`"),
    "no topic": ({"value": TEXT}, {"topic": ""}, "set the option topic, or add a column `topic`"),
    "unknown": (
        {"value": TEXT, "amount": DOUBLE, "id": INT},
        {},
        "`amount`, `id`: no part of a record. .*key, value, headers",
    ),
    "unknown beside a typed value": (
        {"value": struct(a=INT), "amount": DOUBLE},
        AVRO,
        "`amount`: not written, since there is a column `value`",
    ),
    "nothing to make a value of": ({"key": TEXT}, AVRO, "no column that could be a field"),
    "a struct without a format": ({"value": struct(a=INT)}, {}, "`value` is struct<a:int>.*value.format"),
    "a number as key": ({"key": INT, "value": TEXT}, {}, "`key` is int, it must be string or binary.*key.format"),
    "topic": ({"value": TEXT, "topic": INT}, {"topic": ""}, "`topic` is int, it must be string"),
    "partition": ({"value": TEXT, "partition": LONG}, {}, "`partition` is bigint, it must be int"),
    "timestamp": ({"value": TEXT, "timestamp": LONG}, {}, "`timestamp` is bigint, it must be timestamp"),
    "headers": (
        {"value": TEXT, "headers": MapType(TEXT, BYTES)},
        {},
        "`headers` is map.*array<struct<key:string,value:binary>>",
    ),
    "a name in another case": ({"Value": TEXT}, {}, "`Value`"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_written_is_refused_by_name(case: str) -> None:
    columns, options, message = REFUSED[case]
    with pytest.raises(InvalidOption, match=re.compile(message, re.DOTALL)):
        columns_of(columns, **options)
