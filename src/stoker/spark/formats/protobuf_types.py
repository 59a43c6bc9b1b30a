"""Protobuf and Spark's types.

| Protobuf                                  | Spark
|-------------------------------------------|----------------------------------------------------------------
| int32, sint32, sfixed32, uint32, fixed32  | int; those without a sign wrap around, as in Java and in Spark
| int64, sint64, sfixed64, uint64, fixed64  | bigint, likewise
| float, double, bool, string, bytes        | float, double, boolean, string, binary
| enum                                      | string, its name; UNKNOWN_ENUM_VALUE_Color_7 for a number without one
| google.protobuf.Timestamp                 | timestamp
| google.protobuf.Duration                  | interval day to second
| another message, a wrapper too            | struct; one without fields is left out
| repeated, map                             | array, map: empty, not null
| oneof                                     | its fields, of which one at most is not null

A field that may be absent (`optional`, of a `oneof`, a message, all of proto2) is null if it is, or its declared default. A
plain one of proto3 is never null: absent means 0, "" or false there, as with `emit.default.values` of Spark's
`from_protobuf`. Fields come in the order of their numbers.
"""

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DayTimeIntervalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from stoker.spark.errors import InvalidOption, UnusableSchema
from stoker.spark.formats.protobuf_descriptors import message_named
from stoker.spark.schemas import RegisteredSchema

VARINT, FIXED64, LENGTH, START_GROUP, END_GROUP, FIXED32 = range(6)
"""How a field is on the wire."""

TIMESTAMP: Final = "google.protobuf.Timestamp"
DURATION: Final = "google.protobuf.Duration"
SECONDS_OF: Final = {TIMESTAMP: (-62_135_596_800, 253_402_300_799), DURATION: (-315_576_000_000, 315_576_000_000)}
NANOS_OF: Final = {TIMESTAMP: (0, 999_999_999), DURATION: (-999_999_999, 999_999_999)}
"""As Google's files say: moments from year 1 to year 9999."""

_SCALARS: Final[dict[int, tuple[DataType, int]]] = {
    FieldDescriptor.TYPE_DOUBLE: (DoubleType(), FIXED64),
    FieldDescriptor.TYPE_FLOAT: (FloatType(), FIXED32),
    FieldDescriptor.TYPE_INT64: (LongType(), VARINT),
    FieldDescriptor.TYPE_UINT64: (LongType(), VARINT),
    FieldDescriptor.TYPE_INT32: (IntegerType(), VARINT),
    FieldDescriptor.TYPE_FIXED64: (LongType(), FIXED64),
    FieldDescriptor.TYPE_FIXED32: (IntegerType(), FIXED32),
    FieldDescriptor.TYPE_BOOL: (BooleanType(), VARINT),
    FieldDescriptor.TYPE_STRING: (StringType(), LENGTH),
    FieldDescriptor.TYPE_BYTES: (BinaryType(), LENGTH),
    FieldDescriptor.TYPE_UINT32: (IntegerType(), VARINT),
    FieldDescriptor.TYPE_ENUM: (StringType(), VARINT),
    FieldDescriptor.TYPE_SFIXED32: (IntegerType(), FIXED32),
    FieldDescriptor.TYPE_SFIXED64: (LongType(), FIXED64),
    FieldDescriptor.TYPE_SINT32: (IntegerType(), VARINT),
    FieldDescriptor.TYPE_SINT64: (LongType(), VARINT),
}


def spark_type_of_protobuf(schema: RegisteredSchema, message: str | None = None) -> StructType:
    """Of a message, by name, or else of the first. Raises UnusableSchema for one that contains itself, or nothing."""
    return spark_type_of_message(message_named(schema, message))


def spark_type_of_message(message: Descriptor) -> StructType:
    found = _type_of_message(message, ())
    if found is None:
        raise UnusableSchema(f"the message {message.full_name} has no fields, and a column needs some")
    assert isinstance(found, StructType)
    return found


def fields_of(message: Descriptor) -> list[FieldDescriptor]:
    return sorted(message.fields, key=lambda field: field.number)


def entry_of(field: FieldDescriptor) -> Descriptor | None:
    """The message that stands for the entries, if the field is a map."""
    message = field.message_type
    return message if message is not None and message.GetOptions().map_entry else None


def wire_type(field: FieldDescriptor) -> int:
    """Of one value of the field."""
    return LENGTH if field.message_type is not None else _SCALARS[field.type][1]


def _type_of_message(message: Descriptor, around: tuple[str, ...]) -> DataType | None:
    if message.full_name in around:
        circle = " in ".join(reversed(around[around.index(message.full_name) :]))
        raise UnusableSchema(
            f"the message {message.full_name} contains itself ({circle}), and a column cannot: "
            '.schema("value struct<...>") may leave the field out'
        )
    if message.full_name == TIMESTAMP:
        return TimestampType()
    if message.full_name == DURATION:
        return DayTimeIntervalType()
    fields = []
    for field in fields_of(message):
        found = _type_of_field(field, (*around, message.full_name))
        if found is not None:
            fields.append(StructField(field.name, found))
    return StructType(fields) if fields else None


def _type_of_field(field: FieldDescriptor, around: tuple[str, ...]) -> DataType | None:
    entry = entry_of(field)
    if entry is not None:
        key, value = (_type_of_one(each, around) for each in fields_of(entry))
        return None if key is None or value is None else MapType(key, value, valueContainsNull=False)
    found = _type_of_one(field, around)
    return ArrayType(found, containsNull=False) if field.is_repeated and found is not None else found


def _type_of_one(field: FieldDescriptor, around: tuple[str, ...]) -> DataType | None:
    if field.message_type is not None:
        return _type_of_message(field.message_type, around)
    return _SCALARS[field.type][0]


class FieldPlan:
    """How one field is read. `arrow` is of the whole column, with its lists."""

    def __init__(self, field: FieldDescriptor, wanted: DataType | None, path: str) -> None:
        """`wanted` is None for a field that is only looked at because it takes the place of another (`oneof`)."""
        self.descriptor = field
        self.name = field.name
        self.type: int = field.type
        self.is_wanted = wanted is not None
        self.is_map = entry_of(field) is not None
        self.is_repeated = field.is_repeated
        around = field.containing_type
        self.is_entry_part = around is not None and around.GetOptions().map_entry
        """A key or a value of a map."""
        self.has_presence = field.has_presence and not self.is_entry_part
        self.oneof: str | None = None if field.containing_oneof is None else field.containing_oneof.name
        self.default: Any = field.default_value if field.has_default_value and not field.is_repeated else None
        self.enum = None if field.enum_type is None else EnumPlan(field.enum_type)
        self.wire = wire_type(field)
        self.is_group = field.type == FieldDescriptor.TYPE_GROUP
        self.arrow: pa.DataType = None if wanted is None else to_arrow_type(wanted, timezone="UTC")
        self.message: MessagePlan | None = None
        if wanted is not None and field.message_type is not None:
            self.message = MessagePlan(field.message_type, _inner(field, wanted, path), path)
        elif wanted is not None:
            _check(_SCALARS[field.type][0], _inner(field, wanted, path), path)

    def tags(self) -> Iterator[tuple[int, bool]]:
        """With which it begins, and whether it is then packed."""
        number = self.descriptor.number << 3
        yield number | self.wire, False
        if self.is_repeated and self.wire != LENGTH:
            yield number | LENGTH, True


class MessagePlan:
    """How the wanted fields of a message are read; the others are passed over."""

    def __init__(self, message: Descriptor, wanted: DataType, path: str = "") -> None:
        """Raises InvalidOption if the message does not have what is wanted."""
        self.descriptor = message
        self.wanted = wanted
        self.arrow: pa.DataType = to_arrow_type(wanted, timezone="UTC")
        self.special: str | None = None
        by_name = {field.name: field for field in message.fields}
        if message.full_name in (TIMESTAMP, DURATION) and not isinstance(wanted, StructType):
            _check(_type_of_message(message, ()) or wanted, wanted, path)
            self.special = message.full_name
            wanted = StructType([StructField("seconds", LongType()), StructField("nanos", IntegerType())])
        if not isinstance(wanted, StructType):
            raise InvalidOption(_wrong(path, wanted, f"the message {message.full_name}"))
        self.fields: list[FieldPlan] = []
        for given in wanted.fields:
            if given.name not in by_name:
                where = f"{path}.{given.name}".lstrip(".")
                raise InvalidOption(f"the schema asks for {where!r}, but {message.full_name} has {', '.join(by_name)}")
            self.fields.append(FieldPlan(by_name[given.name], given.dataType, f"{path}.{given.name}"))
            if not given.nullable and self.fields[-1].has_presence:
                where = f"{path}.{given.name}".lstrip(".")
                raise InvalidOption(
                    f"the schema says that {where} is never null (NOT NULL), but a message need not have it: leave NOT NULL out"
                )
        oneofs = {field.oneof for field in self.fields if field.oneof is not None}
        taken = {field.name for field in self.fields}
        for field in message.fields:
            oneof = field.containing_oneof
            if oneof is not None and oneof.name in oneofs and field.name not in taken:
                self.fields.append(FieldPlan(field, None, f"{path}.{field.name}"))
        self.has_groups: bool = any(
            each.is_group or (each.message is not None and each.message.has_groups) for each in self.fields
        )
        self.has_items: bool = any(
            each.is_repeated or (each.message is not None and each.message.has_items) for each in self.fields
        )


class EnumPlan:
    def __init__(self, enum: EnumDescriptor) -> None:
        self.name = enum.name
        self.is_closed: bool = enum.is_closed
        self.names: dict[int, str] = {}
        for value in enum.values:
            self.names.setdefault(value.number, value.name)

    def name_of(self, number: int) -> str:
        """As Java's library names what is not declared."""
        return self.names.get(number) or f"UNKNOWN_ENUM_VALUE_{self.name}_{number}"


def _inner(field: FieldDescriptor, wanted: DataType, path: str) -> DataType:
    """What is wanted of each element."""
    if entry_of(field) is not None:
        if not isinstance(wanted, MapType):
            raise InvalidOption(_wrong(path, wanted, "a map"))
        return StructType([StructField("key", wanted.keyType), StructField("value", wanted.valueType)])
    if field.is_repeated:
        if not isinstance(wanted, ArrayType):
            raise InvalidOption(_wrong(path, wanted, "repeated"))
        return wanted.elementType
    return wanted


def _check(found: DataType, wanted: DataType, path: str) -> None:
    if found != wanted:
        raise InvalidOption(_wrong(path, wanted, found.simpleString()))


def _wrong(path: str, wanted: DataType, found: str) -> str:
    return f"the schema asks for {path.lstrip('.') or 'the value'} as {wanted.simpleString()}, but it is {found}"
