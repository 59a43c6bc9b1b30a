"""JSON texts of whole columns, put together by Arrow: no step in Python for a row, but for bytes, which are base64.

As Spark's `to_json`: fields that are null are left out, nulls in arrays and maps are written, what is no number (NaN,
Infinity) is a string. Unlike it, moments are in UTC with all their digits: `2026-01-02T03:04:05.678901Z`.
"""

import base64
import json
from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stoker.spark.errors import UnencodableColumn
from stoker.spark.formats.json_types import misfit
from stoker.spark.schemas import RegisteredSchema

_NULL: Final = pa.scalar("null", type=pa.string())
_EMPTY: Final = pa.scalar(b"", type=pa.binary())
_QUOTE: Final = '"'
_SHORT_ESCAPES: Final = {0x08: "\\b", 0x09: "\\t", 0x0A: "\\n", 0x0C: "\\f", 0x0D: "\\r"}

_Writer = Callable[[pa.Array], pa.StringArray]


class JsonEncoder:
    """With a schema, each text is behind the header that names it."""

    def __init__(self, schema: RegisteredSchema | None, arrow_type: pa.DataType) -> None:
        """Raises UnencodableColumn for a type that JSON has no form for, or that the schema does not allow."""
        self._write = _writer(arrow_type, "")
        self._header: pa.Scalar | None = None
        if schema is not None:
            problem = misfit(schema, arrow_type)
            if problem is not None:
                raise UnencodableColumn(f"{problem} (JSON Schema {schema.id})")
            self._header = pa.scalar(b"\0" + schema.id.to_bytes(4, "big"), type=pa.binary())

    def encode(self, column: pa.Array) -> pa.BinaryArray:
        texts = self._write(column).cast(pa.binary())
        return texts if self._header is None else pc.binary_join_element_wise(self._header, texts, _EMPTY)


def _writer(arrow_type: pa.DataType, path: str) -> _Writer:
    """Null for null."""
    kinds = pa.types
    if kinds.is_struct(arrow_type):
        return _struct_writer(arrow_type, path)
    if kinds.is_map(arrow_type):
        return _map_writer(arrow_type, path)
    if kinds.is_list(arrow_type) or kinds.is_large_list(arrow_type):
        return _list_writer(_writer(arrow_type.value_type, f"{path}[]"))
    for is_kind, write in _SCALARS:
        if is_kind(arrow_type):
            return write
    raise UnencodableColumn(f"{path.lstrip('.') or 'the column'} is {arrow_type}, which JSON has no form for")


def _struct_writer(arrow_type: pa.StructType, path: str) -> _Writer:
    fields = [
        (row, f",{json.dumps(field.name, ensure_ascii=False)}:", _writer(field.type, f"{path}.{field.name}"))
        for row, field in enumerate(arrow_type)
    ]

    def write(column: pa.StructArray) -> pa.StringArray:
        # Each with a comma before it, of which the first becomes a brace.
        parts = [_join(name, write_field(column.field(row))) for row, name, write_field in fields]
        if not parts:
            texts = pa.repeat("{}", len(column))
        else:
            inner = pc.binary_join_element_wise(*parts, _text(""), null_handling="replace", null_replacement="")
            opened = pc.binary_replace_slice(inner.cast(pa.binary()), 0, 1, b"{")
            texts = _join(opened.cast(pa.string(), safe=False), "}")
        return _where_valid(column, texts)

    return write


def _list_writer(write_item: _Writer) -> _Writer:
    def write(column: pa.ListArray) -> pa.StringArray:
        items = write_item(column.values).fill_null(_NULL)
        texts = pc.binary_join(pa.ListArray.from_arrays(_offsets(column), items), _text(","))
        return _where_valid(column, _join("[", texts, "]"))

    return write


def _map_writer(arrow_type: pa.MapType, path: str) -> _Writer:
    write_value = _writer(arrow_type.item_type, f"{path}[]")
    write_key = _writer(arrow_type.key_type, f"{path}{{}}")
    is_text = pa.types.is_string(arrow_type.key_type) or pa.types.is_large_string(arrow_type.key_type)
    if not is_text and (pa.types.is_nested(arrow_type.key_type) or pa.types.is_binary(arrow_type.key_type)):
        raise UnencodableColumn(f"{path.lstrip('.') or 'the column'} is {arrow_type}, whose keys JSON has no form for")

    def write(column: pa.MapArray) -> pa.StringArray:
        keys = write_key(column.keys)
        if not is_text:
            keys = _join('"', pc.replace_substring(keys, '"', ""), '"')
        entries = _join(keys, ":", write_value(column.items).fill_null(_NULL))
        texts = pc.binary_join(pa.ListArray.from_arrays(_offsets(column), entries), _text(","))
        return _where_valid(column, _join("{", texts, "}"))

    return write


def _offsets(column: pa.ListArray | pa.MapArray) -> pa.Int32Array:
    """Into all of its values, of which a slice has but some."""
    return column.offsets.cast(pa.int32())


def _where_valid(column: pa.Array, texts: pa.StringArray) -> pa.StringArray:
    if not column.null_count:
        return texts
    return pc.if_else(column.is_valid(), texts, pa.scalar(None, type=pa.string()))


@cache
def _text(value: str) -> pa.StringScalar:
    """Kept and of a type: Arrow takes longer to find out what a Python string is than to join a thousand."""
    return pa.scalar(value, type=pa.string())


def _join(*parts: pa.Array | str) -> pa.StringArray:
    """Behind one another; null if one of them is."""
    return pc.binary_join_element_wise(*(_text(part) if isinstance(part, str) else part for part in parts), _text(""))


def _strings(column: pa.Array) -> pa.StringArray:
    column = column.cast(pa.string())
    return _join(_QUOTE, _escaped(column), _QUOTE)


def _escaped(column: pa.StringArray) -> pa.StringArray:
    """Only what is in there is looked for and replaced."""
    data = column.buffers()[2]
    if data is None:
        return column
    content = np.frombuffer(data, dtype=np.uint8)
    first, last = column.offset, column.offset + len(column)
    offsets = np.frombuffer(column.buffers()[1], dtype=np.int32)
    content = content[offsets[first] : offsets[last]]
    if (content == ord("\\")).any():
        column = pc.replace_substring(column, "\\", "\\\\")
    if (content == ord('"')).any():
        column = pc.replace_substring(column, '"', '\\"')
    for code in np.unique(content[content < 0x20]).tolist():
        column = pc.replace_substring(column, chr(code), _SHORT_ESCAPES.get(code, f"\\u{code:04x}"))
    return column


def _numbers(column: pa.Array) -> pa.StringArray:
    return column.cast(pa.string())


def _floats(column: pa.Array) -> pa.StringArray:
    texts = column.cast(pa.string())
    finite = pc.is_finite(column)
    if pc.all(finite, min_count=0).as_py():
        return texts
    names = pc.if_else(pc.is_nan(column), '"NaN"', pc.if_else(pc.greater(column, 0), '"Infinity"', '"-Infinity"'))
    return pc.if_else(finite, texts, names)


def _dates(column: pa.Array) -> pa.StringArray:
    return _join(_QUOTE, column.cast(pa.string()), _QUOTE)


def _moments(column: pa.Array) -> pa.StringArray:
    is_local = column.type.tz is None
    # Of UTC whatever the zone of the column: it says how to show moments, not which they are.
    plain = column.cast(pa.timestamp("us", tz=column.type.tz)).view(pa.int64()).view(pa.timestamp("us"))
    texts = pc.replace_substring(plain.cast(pa.string()), " ", "T")
    return _join(_QUOTE, texts, _QUOTE if is_local else 'Z"')


def _bytes(column: pa.Array) -> pa.StringArray:
    texts = [None if value is None else base64.b64encode(value).decode() for value in column.to_pylist()]
    return _join(_QUOTE, pa.array(texts, type=pa.string()), _QUOTE)


_SCALARS: Final[list[tuple[Callable[[pa.DataType], bool], _Writer]]] = [
    (pa.types.is_string, _strings),
    (pa.types.is_large_string, _strings),
    (pa.types.is_boolean, _numbers),
    (pa.types.is_integer, _numbers),
    (pa.types.is_floating, _floats),
    (pa.types.is_decimal, _numbers),
    (pa.types.is_date, _dates),
    (pa.types.is_timestamp, _moments),
    (pa.types.is_binary, _bytes),
    (pa.types.is_large_binary, _bytes),
]
