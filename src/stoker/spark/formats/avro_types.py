"""Types of Avro as types of Spark, as Spark's own `from_avro` has them (its SchemaConverters.toSqlType), and back.

| Avro | Spark |
|---|---|
| int, long, float, double, boolean, string, bytes | integer, long, float, double, boolean, string, binary |
| enum, uuid | string |
| fixed | binary |
| decimal (bytes or fixed) | decimal of its precision and scale |
| date | date |
| timestamp-millis, timestamp-micros | timestamp |
| local-timestamp-millis, local-timestamp-micros | timestamp_ntz |
| time-millis, time-micros, timestamp-nanos, local-timestamp-nanos and any other logical type | the bare number |
| record, array, map | struct, array, map of string |
| union with null | what the rest is, nullable |
| union of int and long, of float and double | long, double |
| any other union | struct of member0, member1, …, of which one is not null |

Spark 4.3 reads time-micros as time(6) and nanoseconds as timestamp_ltz(9) and timestamp_ntz(9), which most of what Spark
writes to cannot hold, or PySpark does not know. They stay numbers here.

The other way round (`schema_of`) it is as in Spark's `to_avro`: a nullable type is a union of it and null, in this order;
a decimal is a fixed of as many bytes as it needs; a struct is a record that is named as the field it is in, in the
namespace of the record around it.
"""

import json
from typing import Final, NamedTuple

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
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

from stoker.registry.formats import avro
from stoker.registry.formats.avro.model import Array, Enum, Fixed, Json, Map, Primitive, Record, Type, Union
from stoker.registry.formats.avro.parser import NAME
from stoker.registry.formats.avro.text import logical_type_properties
from stoker.registry.formats.schema import InvalidSchema
from stoker.spark.errors import UnencodableColumn, UnusableSchema
from stoker.spark.schemas import RegisteredSchema

LARGEST_PRECISION: Final = 38
"""Of a decimal of Spark's."""

_PRIMITIVE: Final[dict[str, DataType]] = {
    "null": NullType(),
    "boolean": BooleanType(),
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "bytes": BinaryType(),
    "string": StringType(),
}
_LOGICAL: Final[dict[str, DataType]] = {
    "date": DateType(),
    "timestamp-millis": TimestampType(),
    "timestamp-micros": TimestampType(),
    "local-timestamp-millis": TimestampNTZType(),
    "local-timestamp-micros": TimestampNTZType(),
}
_WRITTEN: Final[dict[type[DataType], Json]] = {
    NullType: "null",
    BooleanType: "boolean",
    ByteType: "int",
    ShortType: "int",
    IntegerType: "int",
    LongType: "long",
    FloatType: "float",
    DoubleType: "double",
    StringType: "string",
    BinaryType: "bytes",
    DateType: {"type": "int", "logicalType": "date"},
    TimestampType: {"type": "long", "logicalType": "timestamp-micros"},
    TimestampNTZType: {"type": "long", "logicalType": "local-timestamp-micros"},
}


class SparkType(NamedTuple):
    type: DataType
    is_nullable: bool


def parse(schema: RegisteredSchema) -> Type:
    """The root of a registered schema. Raises UnusableSchema."""
    try:
        return avro.parse(schema.text, schema.dependencies, is_new=False).root
    except InvalidSchema as error:
        raise UnusableSchema(f"the Avro schema of id {schema.id} cannot be read: {error}") from error


def spark_type_of(schema: RegisteredSchema) -> DataType:
    """What a column of this schema is in Spark. Raises UnusableSchema for what Spark cannot hold."""
    return spark_type(parse(schema)).type


def arrow_type(type_: DataType) -> pa.DataType:
    """As Spark expects it of a data source."""
    return to_arrow_type(type_, timezone="UTC")


def spark_type(type_: Type, around: tuple[str, ...] = ()) -> SparkType:
    """Raises UnusableSchema for types that contain themselves (`around` are the records it is in) and for wide decimals."""
    if isinstance(type_, Primitive | Fixed):
        return SparkType(_scalar_type(type_), type_.kind == "null")
    if isinstance(type_, Enum):
        return SparkType(StringType(), False)
    if isinstance(type_, Array):
        items = spark_type(type_.items, around)
        return SparkType(ArrayType(items.type, items.is_nullable), False)
    if isinstance(type_, Map):
        values = spark_type(type_.values, around)
        return SparkType(MapType(StringType(), values.type, values.is_nullable), False)
    if isinstance(type_, Record):
        if type_.full_name in around:
            raise UnusableSchema(
                f"the Avro record {type_.full_name} contains itself ({' > '.join((*around, type_.full_name))}), "
                "which no type of Spark does: leave the field out by a schema of your own, .schema(...)"
            )
        inside = (*around, type_.full_name)
        fields = [(field.name, spark_type(field.type, inside)) for field in type_.fields.values()]
        return SparkType(StructType([StructField(name, *found) for name, found in fields]), False)
    return _union_type(type_, around)


def logical_type(type_: Type) -> str | None:
    """The name of its logical type, if it has one that is valid for it."""
    return type_.properties["logicalType"] if not isinstance(type_, Union) and logical_type_properties(type_) else None


def without_null(union: Union) -> list[Type]:
    return [branch for branch in union.branches if branch.kind != "null"]


def member_names(branches: list[Type]) -> list[str] | None:
    """The fields of the struct that a union of these becomes; None if it becomes no struct."""
    if len(branches) < 2 or _common_type(branches) is not None:
        return None
    return [f"member{index}" for index in range(len(branches))]


def _scalar_type(type_: Primitive | Fixed) -> DataType:
    logical = logical_type(type_)
    if logical == "decimal":
        precision = type_.properties["precision"]
        if precision > LARGEST_PRECISION:
            raise UnusableSchema(
                f"an Avro decimal of {precision} digits: those of Spark have {LARGEST_PRECISION} at most"
            )
        return DecimalType(precision, type_.properties.get("scale", 0))
    if isinstance(type_, Fixed):
        return BinaryType()
    return _LOGICAL.get(logical or "", _PRIMITIVE[type_.kind])


def _union_type(union: Union, around: tuple[str, ...]) -> SparkType:
    branches = without_null(union)
    is_nullable = len(branches) < len(union.branches)
    if len(branches) < 2:
        return SparkType(spark_type(branches[0], around).type if branches else NullType(), is_nullable)
    common = _common_type(branches)
    if common is not None:
        return SparkType(_PRIMITIVE[common], is_nullable)
    types = [spark_type(branch, around).type for branch in branches]
    members = [StructField(f"member{index}", each, True) for index, each in enumerate(types)]
    return SparkType(StructType(members), is_nullable)


def _common_type(branches: list[Type]) -> str | None:
    kinds = {branch.kind for branch in branches}
    return "long" if kinds == {"int", "long"} else "double" if kinds == {"float", "double"} else None


def check_wanted(type_: Type, wanted: DataType, is_nullable: bool, path: str = "the value") -> None:
    """Whether a column of type `wanted` can be made: the type's own, of which fields may be left out and all may be null.

    Raises UnusableSchema.
    """
    if isinstance(type_, Union):
        branches = without_null(type_)
        if len(branches) < len(type_.branches) and not is_nullable:
            raise UnusableSchema(f"{path} may be null in the Avro schema, and is wanted not to be")
        names = member_names(branches)
        if len(branches) == 1:
            check_wanted(branches[0], wanted, True, path)
        elif names is not None and isinstance(wanted, StructType):
            for field in wanted.fields:
                if field.name not in names:
                    raise UnusableSchema(f"{path} has no {field.name!r}: its union has {', '.join(names)}")
                if not field.nullable:
                    raise UnusableSchema(f"{path}.{field.name} may be null: it is one of a union")
                check_wanted(branches[names.index(field.name)], field.dataType, True, f"{path}.{field.name}")
        else:
            _check_equal(spark_type(type_).type, wanted, path)
    elif isinstance(type_, Record) and isinstance(wanted, StructType):
        for field in wanted.fields:
            if field.name not in type_.fields:
                raise UnusableSchema(f"{path} has no field {field.name!r}. It has: {', '.join(type_.fields)}")
            check_wanted(type_.fields[field.name].type, field.dataType, field.nullable, f"{path}.{field.name}")
    elif isinstance(type_, Array) and isinstance(wanted, ArrayType):
        check_wanted(type_.items, wanted.elementType, wanted.containsNull, f"{path}[]")
    elif isinstance(type_, Map) and isinstance(wanted, MapType):
        _check_equal(StringType(), wanted.keyType, f"a key of {path}")
        check_wanted(type_.values, wanted.valueType, wanted.valueContainsNull, f"{path}{{}}")
    else:
        _check_equal(spark_type(type_).type, wanted, path)


def _check_equal(given: DataType, wanted: DataType, path: str) -> None:
    if given != wanted:
        raise UnusableSchema(
            f"{path} is {given.simpleString()} in the Avro schema, and wanted as {wanted.simpleString()}: "
            "ask for it as it is, and cast it"
        )


def schema_of(type_: DataType, name: str = "topLevelRecord", namespace: str = "") -> str:
    """The text of the Avro schema that `to_avro` would write a column of this type by, where it is not null.

    Raises UnencodableColumn for types that Avro, or Spark's way of it, does not have.
    """
    return json.dumps(_schema_of(type_, False, name, namespace, "the value"))


def _schema_of(type_: DataType, is_nullable: bool, name: str, namespace: str, path: str) -> Json:
    schema = _WRITTEN.get(type(type_))
    full_name = f"{namespace}.{name}" if namespace else name
    if isinstance(type_, DecimalType):
        size = _bytes_for(type_.precision)
        logical = {"logicalType": "decimal", "precision": type_.precision, "scale": type_.scale}
        schema = {"type": "fixed", "name": "fixed", "namespace": full_name, "size": size, **logical}
    elif isinstance(type_, ArrayType):
        items = _schema_of(type_.elementType, type_.containsNull, name, namespace, f"{path}[]")
        schema = {"type": "array", "items": items}
    elif isinstance(type_, MapType) and isinstance(type_.keyType, StringType):
        values = _schema_of(type_.valueType, type_.valueContainsNull, name, namespace, f"{path}{{}}")
        schema = {"type": "map", "values": values}
    elif isinstance(type_, StructType):
        fields = []
        for each in type_.fields:
            inner = f"{path}.{each.name}"
            if NAME.fullmatch(each.name) is None:
                raise UnencodableColumn(f"{inner} cannot be named so in Avro, only with A-Z, a-z, 0-9 and _: rename it")
            fields.append(
                {"name": each.name, "type": _schema_of(each.dataType, each.nullable, each.name, full_name, inner)}
            )
        schema = {"type": "record", "name": name, **({"namespace": namespace} if namespace else {}), "fields": fields}
    if schema is None:
        raise UnencodableColumn(f"{path} is {type_.simpleString()}, which Avro does not have: cast it")
    return [schema, "null"] if is_nullable and schema != "null" else schema


def _bytes_for(precision: int) -> int:
    """How many a decimal of so many digits takes at most."""
    largest: int = 10**precision
    return (largest.bit_length() + 8) // 8
