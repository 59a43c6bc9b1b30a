import json

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from stoker.registry.formats import json_schema
from stoker.spark.errors import UnencodableColumn, UnusableSchema
from stoker.spark.formats.json_types import json_schema_of, spark_type_of_json_schema
from stoker.spark.schemas import RegisteredSchema


@pytest.mark.parametrize(
    ("schema", "type_name"),
    [
        ({"type": "integer"}, "bigint"),
        ({"type": "number"}, "double"),
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "date-time"}, "string"),
        ({"type": "boolean"}, "boolean"),
        ({"type": ["string", "null"]}, "string"),
        ({"type": ["integer", "number"]}, "double"),
        ({"type": ["integer", "string"]}, "string"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "bigint"),
        (
            {"oneOf": [{"type": "null"}, {"type": "object", "properties": {"a": {"type": "integer"}}}]},
            "struct<a:bigint>",
        ),
        (
            {"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "string"}}},
            "struct<b:bigint,a:string>",
        ),
        ({"properties": {"b": {"type": "integer"}}, "required": ["b"]}, "struct<b:bigint>"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "map<string,double>"),
        ({"type": "object"}, "string"),
        ({"type": "array", "items": {"type": "integer"}}, "array<bigint>"),
        ({"type": "array", "items": [{"type": "integer"}]}, "array<string>"),
        ({"type": "array"}, "array<string>"),
        ({"enum": ["a", "b", None]}, "string"),
        ({"enum": [1, 2]}, "bigint"),
        ({"enum": [1, 2.5]}, "double"),
        ({"enum": [1, "a"]}, "string"),
        ({"type": "integer", "enum": [1, 2]}, "bigint"),
        ({"type": "string", "not": {"const": "x"}}, "string"),
        ({"type": "integer", "not": {"const": 5}, "if": {"const": 6}}, "bigint"),
        ({"const": True}, "boolean"),
        ({}, "string"),
        (True, "string"),
        ({"$ref": "#/definitions/a", "definitions": {"a": {"type": "integer"}}}, "bigint"),
        (
            {
                "allOf": [
                    {"$ref": "#/definitions/a"},
                    {"type": "object", "properties": {"y": {"type": "string"}, "x": {"type": "integer"}}},
                ],
                "definitions": {"a": {"type": "object", "properties": {"x": {"type": "integer"}}}},
            },
            "struct<x:bigint,y:string>",
        ),
        (
            {
                "$ref": "#/definitions/tree",
                "definitions": {"tree": {"properties": {"left": {"$ref": "#/definitions/tree"}}}},
            },
            "struct<left:string>",
        ),
        ({"$ref": "other.json"}, "struct<o:bigint>"),
    ],
)
def test_json_schemas_as_types(schema: object, type_name: str) -> None:
    others = {"other.json": '{"type": "object", "properties": {"o": {"type": "integer"}}}'}
    found = spark_type_of_json_schema(RegisteredSchema(1, "JSON", json.dumps(schema), others))
    assert found.simpleString() == type_name
    assert '"nullable":false' not in found.json()


def test_what_is_no_json_schema() -> None:
    with pytest.raises(UnusableSchema, match=r"schema 7 is no JSON Schema: .*'float' is no type"):
        spark_type_of_json_schema(RegisteredSchema(7, "JSON", '{"type": "float"}', {}))


COLUMN = StructType(
    [
        StructField("id", LongType()),
        StructField("when", TimestampType()),
        StructField("day", DateType()),
        StructField("price", DecimalType(10, 2)),
        StructField("raw", BinaryType()),
        StructField("tags", ArrayType(StringType(), containsNull=False)),
        StructField("notes", MapType(StringType(), LongType())),
    ]
)


def test_the_schema_of_a_column() -> None:
    assert json.loads(json_schema_of(COLUMN)) == {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "when": {"type": "string", "format": "date-time"},
            "day": {"type": "string", "format": "date"},
            "price": {"type": "number"},
            "raw": {"type": "string", "contentEncoding": "base64"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "notes": {"type": "object", "additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        },
        "additionalProperties": False,
    }


def test_a_column_may_get_more_fields() -> None:
    """By the rules of a registry that is BACKWARD, as they are from the start."""
    more = StructType([*COLUMN.fields, StructField("new", StringType())])
    old, new = (json_schema.parse(json_schema_of(each), {}) for each in (COLUMN, more))
    assert new.incompatibilities(old) == []
    assert old.incompatibilities(new) != []


def test_a_type_without_a_form() -> None:
    with pytest.raises(UnencodableColumn, match=r"a\[\] is interval day to second, which JSON has no form for"):
        json_schema_of(StructType([StructField("a", ArrayType(DayTimeIntervalType()))]))
