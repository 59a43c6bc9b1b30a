"""The Protobuf schema of a column: made anew, or the latest one with what the column has and it does not."""

import re
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DayTimeIntervalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from stoker.registry.formats.protobuf.elements import IMPLEMENTATION_NUMBERS, Field, Message, ProtoFile
from stoker.registry.formats.protobuf.printer import printed
from stoker.registry.formats.protobuf.text import read
from stoker.spark.errors import UnencodableColumn
from stoker.spark.formats.protobuf_descriptors import message_named
from stoker.spark.schemas import RegisteredSchema

_SCALARS: Final[dict[type[DataType], str]] = {
    ByteType: "int32",
    ShortType: "int32",
    IntegerType: "int32",
    LongType: "int64",
    FloatType: "float",
    DoubleType: "double",
    BooleanType: "bool",
    StringType: "string",
    BinaryType: "bytes",
}
_IMPORTED: Final[dict[type[DataType], tuple[str, str]]] = {
    TimestampType: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
    DayTimeIntervalType: ("google.protobuf.Duration", "google/protobuf/duration.proto"),
}
_KEYS: Final = (ByteType, ShortType, IntegerType, LongType, BooleanType, StringType)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def protobuf_of(column: DataType, name: str, latest: RegisteredSchema | None = None, message: str | None = None) -> str:
    """proto3, every field `optional`, so that null is told from 0. `name` is what the message is named after.

    Of the latest schema all stays as it is: new fields come behind, under new numbers. Raises UnencodableColumn for a type
    that Protobuf, or this way of it, does not have.
    """
    if not isinstance(column, StructType):
        raise UnencodableColumn(f"the column is {column.simpleString()}, and a Protobuf message is made of a struct")
    if latest is None:
        file = ProtoFile(syntax="proto3")
        root = Message(_message_name(name, ()))
        file.types.append(root)
    else:
        file = read(latest.text)
        root = _element_of(file, message_named(latest, message).full_name)
    _Extender(file).extend(root, column, "")
    return printed(file)


def _element_of(file: ProtoFile, full_name: str) -> Message:
    types = file.types
    found: Message | None = None
    for name in full_name.removeprefix(f"{file.package}." if file.package else "").split("."):
        found = next(each for each in types if isinstance(each, Message) and each.name == name)
        types = found.types
    assert found is not None
    return found


class _Extender:
    def __init__(self, file: ProtoFile) -> None:
        self._file = file

    def extend(self, message: Message, column: StructType, path: str) -> None:
        known = {field.name: field for field in message.fields}
        for oneof in message.oneofs:
            known.update((field.name, field) for field in oneof.fields)
        number = _highest_number(message)
        for each in column.fields:
            where = f"{path}.{each.name}".lstrip(".")
            if each.name in known:
                self._extend_known(message, known[each.name], each.dataType, where)
                continue
            if _NAME.match(each.name) is None:
                raise UnencodableColumn(f"{where!r} is no name of a Protobuf field: letters, digits and _ are")
            number += 1
            if number in IMPLEMENTATION_NUMBERS:
                number = IMPLEMENTATION_NUMBERS.stop
            label, type_name = self._type(message, each.name, each.dataType, where)
            message.fields.append(Field(label, type_name, each.name, number))

    def _extend_known(self, message: Message, field: Field, column: DataType, path: str) -> None:
        """Into messages that are declared inside; others are whose they are."""
        inner = column.elementType if isinstance(column, ArrayType) else column
        name = field.type.rpartition(".")[2]
        nested = next((each for each in message.types if isinstance(each, Message) and each.name == name), None)
        if isinstance(inner, StructType) and nested is not None:
            self.extend(nested, inner, path)

    def _type(self, message: Message, name: str, column: DataType, path: str) -> tuple[str | None, str]:
        """The label and the type as they are written."""
        if isinstance(column, ArrayType):
            return "repeated", self._one(message, name, column.elementType, f"{path}[]")
        if isinstance(column, MapType):
            if not isinstance(column.keyType, _KEYS):
                raise UnencodableColumn(
                    f"{path} has keys of {column.keyType.simpleString()}, which Protobuf does not allow"
                )
            value = self._one(message, name, column.valueType, f"{path}{{}}")
            return None, f"map<{_SCALARS[type(column.keyType)]}, {value}>"
        return "optional", self._one(message, name, column, path)

    def _one(self, message: Message, name: str, column: DataType, path: str) -> str:
        if isinstance(column, StructType):
            nested = Message(_message_name(name, [each.name for each in message.types]))
            message.types.append(nested)
            self.extend(nested, column, path)
            return nested.name
        if type(column) in _IMPORTED:
            type_name, imported = _IMPORTED[type(column)]
            if imported not in self._file.all_imports:
                self._file.imports.append(imported)
            return type_name
        scalar = _SCALARS.get(type(column))
        if scalar is None:
            raise UnencodableColumn(f"{path} is {column.simpleString()}, which Protobuf does not have: cast it")
        return scalar


def _highest_number(message: Message) -> int:
    """Of those that are taken, or were."""
    numbers = [field.number for field in message.fields]
    numbers += [field.number for oneof in message.oneofs for field in oneof.fields]
    numbers += [group.number for group in message.groups]
    ranges = [value for reserved in message.reserved for value in reserved.values]
    ranges += [value for extensions in message.extensions for value in extensions.values]
    for value in ranges:
        if isinstance(value, int):
            numbers.append(value)
        elif isinstance(value, tuple) and value[1] < 1 << 28:  # else it is all that is left
            numbers.append(value[1])
    return max(numbers, default=0)


def _message_name(name: str, taken: "list[str] | tuple[str, ...]") -> str:
    found = "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name)) or "Record"
    if not found[0].isalpha():
        found = f"Record{found}"
    while found in taken:
        found += "_"
    return found
