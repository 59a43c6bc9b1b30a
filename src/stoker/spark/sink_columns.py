"""Which column of a DataFrame is which part of a record."""

from typing import Final, NamedTuple

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    CharType,
    DataType,
    IntegerType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from stoker.spark.errors import InvalidOption
from stoker.spark.sink_options import SinkOptions

KEY, VALUE, HEADERS, TOPIC, PARTITION, TIMESTAMP = "key", "value", "headers", "topic", "partition", "timestamp"
RECORD_COLUMNS: Final = (KEY, VALUE, HEADERS, TOPIC, PARTITION, TIMESTAMP)
SOURCE_ONLY: Final = ("offset", "timestampType")
"""What a source gives and nobody can write: left out, so that what was read can be written as it is."""

_TEXT: Final = (StringType, BinaryType, CharType, VarcharType)


class SinkColumns(NamedTuple):
    """The columns that there are."""

    names: frozenset[str]
    """Of RECORD_COLUMNS."""
    value_fields: tuple[str, ...]
    """What the value is made of where no column is named so."""
    value_type: DataType
    key_type: DataType | None

    def has(self, name: str) -> bool:
        return name in self.names


def sink_columns(schema: StructType, options: SinkOptions) -> SinkColumns:
    """Raises InvalidOption for columns that cannot be written, by name."""
    types = {field.name: field.dataType for field in schema}
    present = frozenset(name for name in RECORD_COLUMNS if name in types)
    others = [field for field in schema if field.name not in RECORD_COLUMNS]
    is_spread = VALUE not in types and options.value_format is not None
    if not is_spread:
        _refuse_unknown([field.name for field in others if field.name not in SOURCE_ONLY], options)
        if VALUE not in types:
            raise InvalidOption(f"there is no column `value`, which a record is made of; there are: {_listed(schema)}")
    elif not others:
        raise InvalidOption(f"there is no column that could be a field of the value; there are: {_listed(schema)}")
    if options.topic is None and TOPIC not in types:
        raise InvalidOption("nothing says which topic to write to: set the option topic, or add a column `topic`")
    _check_types(types, options)
    fields = tuple(others) if is_spread else ()
    return SinkColumns(
        names=present,
        value_fields=tuple(field.name for field in fields),
        value_type=StructType([StructField(each.name, each.dataType, each.nullable) for each in fields])
        if is_spread
        else types[VALUE],
        key_type=types.get(KEY),
    )


def _refuse_unknown(names: list[str], options: SinkOptions) -> None:
    if not names:
        return
    listed = ", ".join(f"`{name}`" for name in names)
    if options.value_format is not None:
        raise InvalidOption(
            f"{listed}: not written, since there is a column `value`; put them into it, or leave `value` out so that "
            "all columns but the record's own become fields of the value"
        )
    raise InvalidOption(
        f"{listed}: no part of a record. The columns are {', '.join(RECORD_COLUMNS)}; with value.format "
        "(avro, json, protobuf) and no column `value`, all others become fields of the value"
    )


def _check_types(types: dict[str, DataType], options: SinkOptions) -> None:
    for name, form in ((KEY, options.key_format), (VALUE, options.value_format)):
        if form is None and name in types and not isinstance(types[name], _TEXT):
            raise _wrong_type(name, types[name], f"string or binary, or anything that {name}.format can encode")
    if TOPIC in types and not isinstance(types[TOPIC], _TEXT[:1]):
        raise _wrong_type(TOPIC, types[TOPIC], "string")
    if PARTITION in types and not isinstance(types[PARTITION], IntegerType):
        raise _wrong_type(PARTITION, types[PARTITION], "int")
    if TIMESTAMP in types and not isinstance(types[TIMESTAMP], TimestampType | TimestampNTZType):
        raise _wrong_type(TIMESTAMP, types[TIMESTAMP], "timestamp")
    if HEADERS in types and not _are_headers(types[HEADERS]):
        raise _wrong_type(HEADERS, types[HEADERS], "array<struct<key:string,value:binary>>")


def _are_headers(kind: DataType) -> bool:
    if not (isinstance(kind, ArrayType) and isinstance(kind.elementType, StructType)):
        return False
    fields = {field.name: field.dataType for field in kind.elementType}
    return fields.keys() == {KEY, VALUE} and isinstance(fields[KEY], StringType) and isinstance(fields[VALUE], _TEXT)


def _wrong_type(name: str, kind: DataType, wanted: str) -> InvalidOption:
    return InvalidOption(f"column `{name}` is {kind.simpleString()}, it must be {wanted}: cast it")


def _listed(schema: StructType) -> str:
    return ", ".join(f"`{field.name}`" for field in schema) or "none"
