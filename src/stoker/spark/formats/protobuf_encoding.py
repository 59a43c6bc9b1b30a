"""Columns to Protobuf with the registry's header, all rows together: the bytes of each field are a column, and Arrow joins them."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from stoker.spark.errors import UnencodableColumn
from stoker.spark.formats.avro_cursor import Flags
from stoker.spark.formats.avro_nodes import validity
from stoker.spark.formats.avro_parts import Part, constant, fixed_size, joined, spans, varints
from stoker.spark.formats.avro_writers import nulls_of
from stoker.spark.formats.protobuf_descriptors import message_named, path_of
from stoker.spark.formats.protobuf_types import DURATION, FIXED64, LENGTH, TIMESTAMP, VARINT, entry_of, wire_type
from stoker.spark.schemas import RegisteredSchema
from stoker.wire.batch_columns import Integers
from stoker.wire.varint_columns import Words, zigzag

_TABLE: Final = 1 << 14
_MICROS: Final = 1_000_000


class ProtobufEncoder:
    """Writes structs as one message of a schema: by name, or the first.

    Raises UnencodableColumn if the message does not have a field of the struct, or has it of another type. Fields that the
    struct does not have, and nulls, are left out.
    """

    def __init__(self, schema: RegisteredSchema, arrow_type: pa.DataType, message: str | None = None) -> None:
        descriptor = message_named(schema, message)
        path = path_of(descriptor)
        self._header = b"\0" + schema.id.to_bytes(4) + (b"\0" if path == (0,) else _path_bytes(path))
        self._writer = _MessageWriter(descriptor, arrow_type, "")

    def encode(self, column: pa.Array) -> pa.BinaryArray:
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        absent = nulls_of(column)
        found = joined([pa.scalar(self._header, pa.binary()), *self._writer.parts(column, absent)], len(column))
        if absent is None:
            return found
        _, offsets, data = found.buffers()
        return pa.Array.from_buffers(pa.binary(), len(found), [validity(absent), offsets, data], offset=found.offset)


def _path_bytes(path: tuple[int, ...]) -> bytes:
    """How many, and each, in zigzag."""
    return b"".join(varints(np.array([len(path), *path], dtype=np.int64), None).to_pylist())


class _MessageWriter:
    def __init__(self, message: Descriptor, arrow_type: pa.DataType, path: str) -> None:
        self._path = path
        if not pa.types.is_struct(arrow_type):
            raise UnencodableColumn(_wrong(path, arrow_type, f"the message {message.full_name}"))
        by_name = {field.name: field for field in message.fields}
        self._fields: list[_FieldWriter] = []
        for field in arrow_type:
            if field.name not in by_name:
                where = f"{path}.{field.name}".lstrip(".")
                raise UnencodableColumn(f"{message.full_name} has no field for {where!r}: it has {', '.join(by_name)}")
            self._fields.append(_FieldWriter(by_name[field.name], field.type, f"{path}.{field.name}".lstrip(".")))
        given = {field.name for field in arrow_type}
        missing = [field.name for field in message.fields if field.is_required and field.name not in given]
        if missing:
            where = f"{path}.{missing[0]}".lstrip(".")
            raise UnencodableColumn(f"{message.full_name} requires {where!r}, and there is no such column")
        oneofs: dict[str, list[int]] = {}
        for place, writer in enumerate(self._fields):
            if writer.oneof is not None:
                oneofs.setdefault(writer.oneof, []).append(place)
        self._oneofs = {name: places for name, places in oneofs.items() if len(places) > 1}

    def parts(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        columns = column.flatten()  # whose nulls are also those of the struct
        for name, places in self._oneofs.items():
            count = sum(pc.is_valid(columns[place]).to_numpy(zero_copy_only=False).astype(np.int64) for place in places)
            if (count > 1).any():
                where = f"{self._path}.{name}".lstrip(".")
                _refuse(where, count > 1, "a oneof of which more than one field is there")
        parts: list[Part] = []
        for writer, each in zip(self._fields, columns, strict=True):
            parts += writer.parts(each, absent)
        return parts

    def bodies(self, column: pa.Array, absent: Flags | None) -> pa.BinaryArray:
        return joined(self.parts(column, absent), len(column))


class _FieldWriter:
    """A field with its tag. Nothing is written of it in rows that are absent, or where it is null, or what absence means."""

    def __init__(self, field: FieldDescriptor, arrow_type: pa.DataType, path: str) -> None:
        self._path = path
        self._is_required = field.is_required
        self._is_implicit = not field.has_presence and not field.is_repeated
        self._is_repeated = field.is_repeated
        self._is_packed = field.is_packed
        self.oneof = None if field.containing_oneof is None else field.containing_oneof.name
        self._tag = _tag(field, packed=self._is_packed)
        self._entry: tuple[_ValueWriter, _ValueWriter, bytes, bytes] | None = None
        if field.type == FieldDescriptor.TYPE_GROUP:
            raise UnencodableColumn(f"{path} is a group of Protobuf, which only reading knows")
        entry = entry_of(field)
        if entry is not None:
            if not pa.types.is_map(arrow_type):
                raise UnencodableColumn(_wrong(path, arrow_type, "a map"))
            key, value = (entry.fields_by_name[name] for name in ("key", "value"))
            self._entry = (
                _ValueWriter(key, arrow_type.key_type, f"a key of {path}"),
                _ValueWriter(value, arrow_type.item_type, f"{path}{{}}"),
                _tag(key),
                _tag(value),
            )
        elif field.is_repeated:
            if not pa.types.is_list(arrow_type) and not pa.types.is_large_list(arrow_type):
                raise UnencodableColumn(_wrong(path, arrow_type, "repeated"))
            self._value = _ValueWriter(field, arrow_type.value_type, f"{path}[]")
        else:
            self._value = _ValueWriter(field, arrow_type, path)

    def parts(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        if self._is_repeated:
            return self._repeated_parts(column, absent)
        nulls = nulls_of(column)
        if nulls is not None:
            unexpected = nulls if absent is None else nulls & ~absent
            if self._is_required and unexpected.any():
                _refuse(self._path, unexpected, "null, and the message requires it")
            absent = nulls if absent is None else nulls | absent
        if self._is_implicit:
            defaults = self._value.are_defaults(column)
            if defaults.any():
                absent = defaults if absent is None else defaults | absent
        return [constant(self._tag, len(column), absent), *self._value.parts(column, absent)]

    def _repeated_parts(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        nulls = nulls_of(column)
        if nulls is not None:
            absent = nulls if absent is None else nulls | absent
        counts = np.diff(column.offsets.to_numpy()).astype(np.int64)
        if absent is not None:
            counts[absent] = 0
            column = column.filter(pa.array(~absent))
        items = self._entries(column) if self._entry is not None else self._items(column.flatten())
        firsts = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(counts, out=firsts[1:])
        together = spans(items, firsts)
        if not self._is_packed:
            return [together]
        none = counts == 0
        empty = none if none.any() else None
        lengths = pc.binary_length(together).to_numpy().astype(np.int64)
        return [constant(self._tag, len(counts), empty), _lengths(lengths, empty), together]

    def _items(self, items: pa.Array) -> pa.BinaryArray:
        _refuse_nulls(self._value.path, items)
        parts = self._value.parts(items, None)
        return joined(parts if self._is_packed else [pa.scalar(self._tag, pa.binary()), *parts], len(items))

    def _entries(self, column: pa.MapArray) -> pa.BinaryArray:
        assert self._entry is not None
        key, value, key_tag, value_tag = self._entry
        first, last = (column.offsets[0].as_py(), column.offsets[-1].as_py()) if len(column) else (0, 0)
        keys, values = column.keys.slice(first, last - first), column.items.slice(first, last - first)
        _refuse_nulls(value.path, values)
        parts = [pa.scalar(key_tag, pa.binary()), *key.parts(keys, None)]
        parts += [pa.scalar(value_tag, pa.binary()), *value.parts(values, None)]
        entries = joined(parts, len(keys))
        lengths = pc.binary_length(entries).to_numpy().astype(np.int64)
        return joined([pa.scalar(self._tag, pa.binary()), _lengths(lengths, None), entries], len(keys))


class _ValueWriter:
    """One value, without its tag."""

    def __init__(self, field: FieldDescriptor, arrow_type: pa.DataType, path: str) -> None:
        self.path = path
        self._field = field
        self._write: Callable[[pa.Array, Flags | None], list[Part]]
        kinds = pa.types
        if field.message_type is not None:
            self._write = self._message_writer(field.message_type, arrow_type)
        elif field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
            is_text = field.type == FieldDescriptor.TYPE_STRING
            allowed = (kinds.is_string, kinds.is_large_string) if is_text else (kinds.is_binary, kinds.is_large_binary)
            self._check(arrow_type, *allowed)
            self._write = self._bytes
        elif field.enum_type is not None:
            self._check(arrow_type, kinds.is_string, kinds.is_large_string, kinds.is_signed_integer)
            self._enum_name = field.enum_type.full_name
            self._numbers = {value.name: value.number for value in field.enum_type.values}
            self._write = self._enum
        else:
            number_kinds = {
                FieldDescriptor.TYPE_BOOL: kinds.is_boolean,
                FieldDescriptor.TYPE_FLOAT: kinds.is_floating,
                FieldDescriptor.TYPE_DOUBLE: kinds.is_floating,
            }
            self._check(arrow_type, number_kinds.get(field.type, kinds.is_signed_integer))
            self._write = self._number

    def parts(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        """Of the rows that are not absent, in which there is no null."""
        return self._write(column, absent)

    def are_defaults(self, column: pa.Array) -> Flags:
        """Where a value is 0, false or empty, which a plain field of proto3 does not write; what a null is does not matter."""
        if wire_type(self._field) == LENGTH:
            return _filled(pc.binary_length(column), 0).to_numpy() == 0  # type: ignore[no-any-return]
        are_zero: Flags = self._words(column) == 0
        return are_zero

    def _check(self, arrow_type: pa.DataType, *kinds: Callable[[pa.DataType], bool]) -> None:
        if not any(is_kind(arrow_type) for is_kind in kinds):
            raise UnencodableColumn(_wrong(self.path, arrow_type, _TYPE_NAMES[self._field.type]))

    def _message_writer(
        self, message: Descriptor, arrow_type: pa.DataType
    ) -> Callable[[pa.Array, Flags | None], list[Part]]:
        if message.full_name == TIMESTAMP and pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None:
            kind = pa.timestamp("us", tz=arrow_type.tz)
            return lambda column, absent: self._moments(column.cast(kind), absent, one_sign=False)
        if message.full_name == DURATION and pa.types.is_duration(arrow_type):
            return lambda column, absent: self._moments(column.cast(pa.duration("us")), absent, one_sign=True)
        writer = _MessageWriter(message, arrow_type, self.path)
        return lambda column, absent: _with_length(writer.bodies(column, absent), absent)

    def _moments(self, column: pa.Array, absent: Flags | None, *, one_sign: bool) -> list[Part]:
        """Seconds and nanoseconds, both of one sign in durations."""
        micros = _filled(column.view(pa.int64()), 0).to_numpy()
        seconds, rest = micros // _MICROS, micros % _MICROS
        if one_sign:
            below = (seconds < 0) & (rest > 0)
            seconds, rest = np.where(below, seconds + 1, seconds), np.where(below, rest - _MICROS, rest)
        parts: list[Part] = []
        for tag, values in ((b"\x08", seconds), (b"\x10", rest * 1000)):
            none = values == 0
            if absent is not None:
                none |= absent
            parts += [constant(tag, len(values), none), _varints(values.view(np.uint64), none)]
        return _with_length(joined(parts, len(column)), absent)

    def _bytes(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        return _with_length(column.cast(pa.binary()), absent)

    def _number(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        words = self._words(column)
        wire = wire_type(self._field)
        if wire == VARINT:
            return [_varints(words, absent)]
        return [fixed_size(words if wire == FIXED64 else words.astype(np.uint32), absent)]

    def _words(self, column: pa.Array) -> Words:
        """The bits of each number as they are written; 0 for null."""
        kind = self._field.type
        if kind == FieldDescriptor.TYPE_ENUM:
            return self._enum_numbers(column).view(np.uint64)
        if kind == FieldDescriptor.TYPE_BOOL:
            return _filled(column, False).to_numpy(zero_copy_only=False).astype(np.uint64)  # type: ignore[no-any-return]
        if kind == FieldDescriptor.TYPE_DOUBLE:
            return _filled(column.cast(pa.float64()), 0.0).to_numpy().view(np.uint64)  # type: ignore[no-any-return]
        if kind == FieldDescriptor.TYPE_FLOAT:
            floats = _filled(column.cast(pa.float32(), safe=False), 0.0).to_numpy()
            return floats.view(np.uint32).astype(np.uint64)  # type: ignore[no-any-return]
        numbers: Integers = _filled(column, 0).to_numpy().astype(np.int64)
        if kind in _BITS_32:
            most = 2**32 if kind in _UNSIGNED_32 else 2**31
            wrong = (numbers < -(2**31)) | (numbers >= most)
            if wrong.any():
                _refuse(self.path, wrong, f"{numbers[wrong][0]}, which {_TYPE_NAMES[kind]} cannot hold")
            if kind in _UNSIGNED_32:
                return numbers.astype(np.uint32).astype(np.uint64)
        if kind in (FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SINT64):
            return ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
        return numbers.view(np.uint64)

    def _enum(self, column: pa.Array, absent: Flags | None) -> list[Part]:
        return [_varints(self._enum_numbers(column).view(np.uint64), absent)]

    def _enum_numbers(self, column: pa.Array) -> Integers:
        if pa.types.is_integer(column.type):
            return _filled(column, 0).to_numpy().astype(np.int64)  # type: ignore[no-any-return]
        names = list(self._numbers)
        found = pc.index_in(column.cast(pa.string()), value_set=pa.array(names, type=pa.string()))
        places = _filled(found, -1).to_numpy().astype(np.int64)
        wrong = (places < 0) & column.is_valid().to_numpy(zero_copy_only=False)
        if wrong.any():
            value = column[int(np.argmax(wrong))].as_py()
            _refuse(
                self.path,
                wrong,
                f"{value!r}, which is no constant of {self._enum_name}. It has: {', '.join(names[:20])}",
            )
        numbers = np.array([*self._numbers.values(), 0], dtype=np.int64)  # the last is for null
        found_numbers: Integers = numbers[places]
        return found_numbers


def _tag(field: FieldDescriptor, *, packed: bool = False) -> bytes:
    wire = LENGTH if packed else wire_type(field)
    found: bytes = _varints(np.array([field.number << 3 | wire], dtype=np.uint64), None)[0].as_py()
    return found


def _with_length(column: pa.BinaryArray, absent: Flags | None) -> list[Part]:
    lengths = _filled(pc.binary_length(column), 0).to_numpy().astype(np.int64)
    if absent is not None:
        column = pc.if_else(pa.array(absent), pa.scalar(None, pa.binary()), column)
    return [_lengths(lengths, absent), column]


def _lengths(lengths: Integers, absent: Flags | None) -> pa.BinaryArray:
    return _varints(lengths.view(np.uint64), absent)


def _varints(values: Words, absent: Flags | None) -> pa.BinaryArray:
    """Without a sign."""
    if len(values) and int(values.max()) < _TABLE:
        return _table().take(pa.array(values.astype(np.int32), mask=absent))
    return varints(zigzag(values.copy()), absent)


@cache
def _table() -> pa.BinaryArray:
    return varints(zigzag(np.arange(_TABLE, dtype=np.uint64)), None)


def _filled(column: pa.Array, value: object) -> pa.Array:
    return column.fill_null(value) if column.null_count else column


def _refuse_nulls(path: str, items: pa.Array) -> None:
    nulls = nulls_of(items)
    if nulls is not None:
        _refuse(path, nulls, "null, which Protobuf does not have in lists and maps")


def _refuse(path: str, wrong: Any, reason: str) -> NoReturn:
    raise UnencodableColumn(f"{path} in row {int(np.argmax(wrong))} is {reason}")


def _wrong(path: str, arrow_type: pa.DataType, found: str) -> str:
    return f"{path or 'the column'} is {arrow_type}, and the Protobuf schema says {found}"


_INTEGERS: Final = tuple(f"{kind}{bits}" for kind in ("int", "uint", "sint", "fixed", "sfixed") for bits in (32, 64))
_TYPE_NAMES: Final = {
    getattr(FieldDescriptor, f"TYPE_{name.upper()}"): name
    for name in ("double", "float", "bool", "string", "bytes", "enum", *_INTEGERS)
}
_UNSIGNED_32: Final = (FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32)
_BITS_32: Final = (
    FieldDescriptor.TYPE_INT32,
    FieldDescriptor.TYPE_SINT32,
    FieldDescriptor.TYPE_SFIXED32,
    *_UNSIGNED_32,
)
