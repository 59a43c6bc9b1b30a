"""JSON Schema and Spark's types.

| JSON Schema                                       | Spark
|---------------------------------------------------|------------------------------------------------
| object with properties, also an `allOf` of them   | struct of them, in their order
| object with `additionalProperties` of a kind alone | map<string, that>
| array                                             | array of its items; without a kind of item, array<string>
| integer                                           | bigint
| number, or integer and number                     | double
| string, boolean                                   | string, boolean
| enum, const                                       | what their values are, if they are of one kind
| any of these or null                              | the same: every column may be null
| `$ref`                                            | what it leads to
| anything else: alternatives, objects and schemas without a kind, what contains itself | string that holds the JSON text
"""

import json
from typing import Any

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
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

from stoker.registry.formats import json_schema
from stoker.registry.formats.json_schema.nodes import (
    Array,
    Boolean,
    Combined,
    Constant,
    Criterion,
    Enumeration,
    Node,
    Null,
    Number,
    Object,
    String,
    followed,
)
from stoker.registry.formats.schema import InvalidSchema
from stoker.spark.errors import UnencodableColumn, UnusableSchema
from stoker.spark.schemas import RegisteredSchema

_ANYTHING = NullType()
"""What the schema does not say. As a column it is text."""
_WRITTEN_AS_TEXT = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_date,
    pa.types.is_timestamp,
)
_KINDS = (Array, Boolean, Combined, Number, Object, String)


def spark_type_of_json_schema(schema: RegisteredSchema) -> DataType:
    """Raises UnusableSchema if it is none, or stands for no value at all."""
    return _nullable(_declared_type(schema))


def json_schema_of(column: DataType, latest: RegisteredSchema | None = None) -> str:
    """The JSON Schema of what `JsonEncoder` writes of a column. Objects are closed: a later one may have more properties.

    Of the latest schema all stays as it is; properties that it does not have are added. Raises UnencodableColumn for a type
    that JSON has no form for.
    """
    if latest is None:
        return json.dumps({"$schema": "http://json-schema.org/draft-07/schema#", **_schema_of(column, "")})
    schema = json.loads(latest.text)
    _extend(schema, column, "")
    return json.dumps(schema)


def _extend(schema: object, column: DataType, path: str) -> None:
    """Objects that stand where they are meant; what is referred to is left alone."""
    if isinstance(column, ArrayType) and isinstance(schema, dict):
        _extend(schema.get("items"), column.elementType, f"{path}[]")
    if not isinstance(column, StructType) or not isinstance(schema, dict):
        return
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for each in column.fields:
            if each.name in properties:
                _extend(properties[each.name], each.dataType, f"{path}.{each.name}")
            else:
                properties[each.name] = _schema_of(each.dataType, f"{path}.{each.name}")


def misfit(schema: RegisteredSchema, column: pa.DataType) -> str | None:
    """Why a column may not be written by the schema, if it may not. Where the schema says nothing, all may."""
    return _misfit(_declared_type(schema), column, "")


def _declared_type(schema: RegisteredSchema) -> DataType:
    """With what is required as not null."""
    try:
        return _type_of(json_schema.parse(schema.text, schema.dependencies).root, ())
    except InvalidSchema as problem:
        raise UnusableSchema(f"schema {schema.id} is no JSON Schema: {problem}") from problem


def _type_of(node: Node, around: tuple[int, ...]) -> DataType:
    node = followed(node)
    if id(node) in around:
        return _ANYTHING
    around = (*around, id(node))
    if isinstance(node, Boolean):
        return BooleanType()
    if isinstance(node, Number):
        return LongType() if node.is_integer else DoubleType()
    if isinstance(node, Array):
        return ArrayType(_ANYTHING if node.every_item is None else _type_of(node.every_item, around))
    if isinstance(node, Object):
        return _type_of_object(node, around)
    if isinstance(node, Enumeration):
        return _common([_type_of_value(value) for value in node.raw if value is not None])
    if isinstance(node, Constant):
        return _type_of_value(node.raw)
    if isinstance(node, Combined):
        return _type_of_combined(node, around)
    return StringType() if isinstance(node, String) else _ANYTHING


def _type_of_object(node: Object, around: tuple[int, ...]) -> DataType:
    if node.properties:
        return StructType(
            [
                StructField(name, _type_of(each, around), name not in node.required)
                for name, each in node.properties.items()
            ]
        )
    if node.additional is not None and not node.pattern_properties:
        return MapType(StringType(), _type_of(node.additional, around))
    return _ANYTHING


def _type_of_combined(node: Combined, around: tuple[int, ...]) -> DataType:
    parts = [each for each in map(followed, node.alternatives) if not isinstance(each, Null)]
    if node.criterion is not Criterion.ALL:
        return _common([_type_of(each, around) for each in parts])
    # What only narrows a type down is none beside one: `enum`, `not`, `if`, more of the same.
    kinds = [each for each in parts if isinstance(each, _KINDS)] or parts
    types = [_type_of(each, around) for each in kinds]
    structs = [each for each in types if isinstance(each, StructType)]
    if len(structs) == len(types) > 1:
        fields: dict[str, StructField] = {}
        for field in (field for struct in structs for field in struct.fields):
            known = fields.setdefault(field.name, field)
            if known.dataType != field.dataType:
                fields[field.name] = StructField(field.name, _ANYTHING, known.nullable and field.nullable)
        return StructType(list(fields.values()))
    return _common(types)


def _type_of_value(value: object) -> DataType:
    if isinstance(value, bool):
        return BooleanType()
    if isinstance(value, int):
        return LongType()
    if isinstance(value, str):
        return StringType()
    return _ANYTHING if isinstance(value, list | dict) or value is None else DoubleType()


def _common(types: list[DataType]) -> DataType:
    """The one type of all, if there is one."""
    distinct = [each for row, each in enumerate(types) if each not in types[:row]]
    if len(distinct) == 1:
        return distinct[0]
    if distinct and all(isinstance(each, LongType | DoubleType) for each in distinct):
        return DoubleType()
    return _ANYTHING


def _nullable(column: DataType) -> DataType:
    if column == _ANYTHING:
        return StringType()
    if isinstance(column, StructType):
        return StructType([StructField(each.name, _nullable(each.dataType)) for each in column.fields])
    if isinstance(column, ArrayType):
        return ArrayType(_nullable(column.elementType))
    if isinstance(column, MapType):
        return MapType(_nullable(column.keyType), _nullable(column.valueType))
    return column


_SCHEMAS: dict[type[DataType], dict[str, Any]] = {
    BooleanType: {"type": "boolean"},
    ByteType: {"type": "integer"},
    ShortType: {"type": "integer"},
    IntegerType: {"type": "integer"},
    LongType: {"type": "integer"},
    FloatType: {"type": "number"},
    DoubleType: {"type": "number"},
    DecimalType: {"type": "number"},
    StringType: {"type": "string"},
    BinaryType: {"type": "string", "contentEncoding": "base64"},
    DateType: {"type": "string", "format": "date"},
    TimestampType: {"type": "string", "format": "date-time"},
    TimestampNTZType: {"type": "string"},
}


def _schema_of(column: DataType, path: str) -> dict[str, Any]:
    if isinstance(column, StructType):
        return {
            "type": "object",
            "properties": {each.name: _schema_of(each.dataType, f"{path}.{each.name}") for each in column.fields},
            "additionalProperties": False,
        }
    if isinstance(column, ArrayType):
        return {"type": "array", "items": _or_null(_schema_of(column.elementType, f"{path}[]"), column.containsNull)}
    if isinstance(column, MapType):
        values = _or_null(_schema_of(column.valueType, f"{path}[]"), column.valueContainsNull)
        return {"type": "object", "additionalProperties": values}
    known = _SCHEMAS.get(type(column))
    if known is None:
        raise UnencodableColumn(
            f"{path.lstrip('.') or 'the column'} is {column.simpleString()}, which JSON has no form for"
        )
    return known


def _or_null(schema: dict[str, Any], may_be_null: bool) -> dict[str, Any]:
    """Nulls in arrays and maps are written; those of fields are left out."""
    return {"anyOf": [schema, {"type": "null"}]} if may_be_null else schema


def _misfit(declared: DataType, column: pa.DataType, path: str) -> str | None:
    kinds = pa.types
    if isinstance(declared, StructType):
        if not kinds.is_struct(column):
            return _other(declared, column, path)
        names = {field.name for field in column}
        known = {field.name: field.dataType for field in declared.fields}
        for field in column:
            if field.name not in known:
                return f"the schema has no property {f'{path}.{field.name}'.lstrip('.')!r}: it has {', '.join(known)}"
            found = _misfit(known[field.name], field.type, f"{path}.{field.name}")
            if found is not None:
                return found
        missing = [field.name for field in declared.fields if not field.nullable and field.name not in names]
        return (
            f"the schema requires {f'{path}.{missing[0]}'.lstrip('.')!r}, and there is no such column"
            if missing
            else None
        )
    if isinstance(declared, ArrayType):
        if not (kinds.is_list(column) or kinds.is_large_list(column)):
            return _other(declared, column, path)
        return _misfit(declared.elementType, column.value_type, f"{path}[]")
    if isinstance(declared, MapType):
        if not kinds.is_map(column):
            return _other(declared, column, path)
        return _misfit(declared.valueType, column.item_type, f"{path}[]")
    if isinstance(declared, BooleanType) and not kinds.is_boolean(column):
        return _other(declared, column, path)
    if isinstance(declared, LongType) and not kinds.is_integer(column):
        return _other(declared, column, path)
    if isinstance(declared, StringType) and not any(is_kind(column) for is_kind in _WRITTEN_AS_TEXT):
        return _other(declared, column, path)
    if isinstance(declared, DoubleType) and not (
        kinds.is_integer(column) or kinds.is_floating(column) or kinds.is_decimal(column)
    ):
        return _other(declared, column, path)
    return None


def _other(declared: DataType, column: pa.DataType, path: str) -> str:
    where = path.lstrip(".") or "the column"
    return f"{where} is {column}, and the schema says {_nullable(declared).simpleString()}"
