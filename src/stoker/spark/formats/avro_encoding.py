"""A column to Avro values with Confluent's header, all rows together.

The bytes of each field are made as a column of their own, with numpy and Arrow, and Arrow joins these to records.
"""

from typing import Final

import pyarrow as pa

from stoker.registry.formats.avro.model import (
    ABSENT,
    PLAIN,
    Array,
    Enum,
    Fixed,
    Map,
    Primitive,
    Record,
    Type,
    Union,
    described,
)
from stoker.spark.errors import UnencodableColumn
from stoker.spark.formats.avro_decoding import HEADER_SIZE, MAGIC
from stoker.spark.formats.avro_defaults import InvalidDefault, encoded_default
from stoker.spark.formats.avro_nodes import validity
from stoker.spark.formats.avro_parts import joined
from stoker.spark.formats.avro_types import logical_type, member_names, parse, without_null
from stoker.spark.formats.avro_writers import (
    BooleanWriter,
    BytesWriter,
    DecimalWriter,
    FixedWriter,
    FloatingWriter,
    ListWriter,
    MapWriter,
    MembersWriter,
    NothingWriter,
    NullableWriter,
    NumberWriter,
    RecordWriter,
    SymbolWriter,
    Unwritable,
    Writer,
    nulls_of,
)
from stoker.spark.schemas import RegisteredSchema

_INTEGERS: Final = (pa.int8(), pa.int16(), pa.int32())
_STRINGS: Final = (pa.string(), pa.large_string())
_BYTES: Final = (pa.binary(), pa.large_binary())


class AvroEncoder:
    """Writes columns of one Arrow type by one schema.

    Raises UnencodableColumn if the schema cannot hold the type: if a field is missing that has no default, if one is there
    that the schema does not have, or if a type is not the one that is read for the schema's, or a narrower one.
    """

    def __init__(self, schema: RegisteredSchema, type_: pa.DataType) -> None:
        self._header = pa.scalar(bytes([MAGIC]) + schema.id.to_bytes(HEADER_SIZE - 1), pa.binary())
        self._writer = writer_for(parse(schema), type_, "the value")

    def encode(self, column: pa.Array) -> pa.BinaryArray:
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        absent = nulls_of(column)
        try:
            parts = self._writer.parts(column, absent)
        except Unwritable as error:
            raise UnencodableColumn(str(error)) from None
        found = joined([self._header, *parts], len(column))
        if absent is None:
            return found
        _, offsets, data = found.buffers()
        return pa.Array.from_buffers(pa.binary(), len(found), [validity(absent), offsets, data], offset=found.offset)


def writer_for(type_: Type, given: pa.DataType, path: str) -> Writer:
    """What writes a column of the given type. Raises UnencodableColumn."""
    if isinstance(type_, Union):
        return _union_writer(type_, given, path)
    if isinstance(type_, Record) and pa.types.is_struct(given):
        return _record_writer(type_, given, path)
    if isinstance(type_, Array) and pa.types.is_list(given):
        return ListWriter(path, writer_for(type_.items, given.value_type, f"{path}[]"))
    if isinstance(type_, Map) and pa.types.is_map(given) and given.key_type in _STRINGS:
        return MapWriter(path, writer_for(type_.values, given.item_type, f"{path}{{}}"))
    if isinstance(type_, Enum) and given in _STRINGS:
        return SymbolWriter(path, type_)
    logical = logical_type(type_)
    if isinstance(type_, Primitive | Fixed):
        writer = (_decimal_writer if logical == "decimal" else _scalar_writer)(type_, given, path)
        if writer is not None:
            return writer
    shown = described(type_) + (f" ({logical})" if logical else "")
    raise UnencodableColumn(f"{path} is {given}, and {shown} in the Avro schema: cast it to what the schema has")


def _scalar_writer(type_: Primitive | Fixed, given: pa.DataType, path: str) -> Writer | None:
    logical = logical_type(type_) or ""
    if isinstance(type_, Fixed):
        return FixedWriter(path, type_.size) if given in _BYTES else None
    kind = type_.kind
    if kind == "null" and pa.types.is_null(given):
        return NothingWriter(path)
    if kind == "boolean" and pa.types.is_boolean(given):
        return BooleanWriter(path)
    if (kind == "string" and given in _STRINGS) or (kind == "bytes" and given in _BYTES):
        return BytesWriter(path)
    if (kind == "double" and given in (pa.float32(), pa.float64())) or (kind == "float" and given == pa.float32()):
        return FloatingWriter(path, pa.float64() if kind == "double" else pa.float32())
    if logical == "date":
        return NumberWriter(path) if pa.types.is_date32(given) else None
    if logical.endswith(("timestamp-millis", "timestamp-micros")):
        is_local = logical.startswith("local")
        fits = pa.types.is_timestamp(given) and given.unit == "us" and (given.tz is None) == is_local
        return NumberWriter(path, 1000 if logical.endswith("millis") else 1) if fits else None
    if (kind == "int" and given in _INTEGERS) or (kind == "long" and given in (*_INTEGERS, pa.int64())):
        return NumberWriter(path)
    return None


def _decimal_writer(type_: Primitive | Fixed, given: pa.DataType, path: str) -> Writer | None:
    precision, scale = type_.properties["precision"], type_.properties.get("scale", 0)
    if not pa.types.is_decimal128(given) or given.scale != scale or given.precision > precision:
        return None
    return DecimalWriter(path, type_.size if isinstance(type_, Fixed) else None)


def _record_writer(record: Record, given: pa.StructType, path: str) -> Writer:
    names = [field.name for field in given]
    for name in names:
        if name not in record.fields:
            has = ", ".join(record.fields)
            raise UnencodableColumn(f"{path} has a field {name!r}, which {described(record)} has not. It has: {has}")
        if names.count(name) > 1:
            raise UnencodableColumn(f"{path} has several fields {name!r}")
    fields: list[tuple[int, Writer] | bytes] = []
    for field in record.fields.values():
        inner = f"{path}.{field.name}"
        if field.name in names:
            slot = names.index(field.name)
            fields.append((slot, writer_for(field.type, given[slot].type, inner)))
        elif field.default is ABSENT:
            raise UnencodableColumn(f"{inner} is missing, and has no default in {described(record)}")
        else:
            try:
                fields.append(encoded_default(field.type, field.default))
            except InvalidDefault as error:
                raise UnencodableColumn(f"{inner} is missing, and its default is none: {error}") from None
    return RecordWriter(path, fields)


def _union_writer(union: Union, given: pa.DataType, path: str) -> Writer:
    branches = without_null(union)
    places = {branch: index for index, branch in enumerate(union.branches)}
    null = next((index for index, branch in enumerate(union.branches) if branch.kind == "null"), None)
    names = member_names(branches)
    if names is not None and pa.types.is_struct(given) and [field.name for field in given] == names:
        members = [
            (places[branch], writer_for(branch, field.type, f"{path}.{field.name}"))
            for branch, field in zip(branches, given, strict=True)
        ]
        return MembersWriter(path, null, members)
    if null is not None and pa.types.is_null(given):
        return NullableWriter(path, null, null, NothingWriter(path))
    candidates: list[tuple[int, Type]] = [(places[branch], branch) for branch in branches]
    if names is None and len(branches) > 1:  # int and long, or float and double, which are read as bare numbers
        candidates += [(places[branch], PLAIN[branch.kind]) for branch in branches]
    reasons = []
    for place, type_ in candidates:
        try:
            writer = writer_for(type_, given, path)
        except UnencodableColumn as error:
            reasons.append(str(error))
            continue
        return NullableWriter(path, null, place, writer)
    if len(reasons) == 1:
        raise UnencodableColumn(reasons[0])
    raise UnencodableColumn(f"{path} is {given}, which is no type of the {described(union)} in the Avro schema")
