"""Keys of a store: which Python values they are, in which order they come, and how they are found in Parquet files."""

import base64
import binascii
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from stoker.streams.columns import KEY
from stoker.streams.errors import InvalidQuery

_PYTHON: Final = (
    (pa.types.is_boolean, (bool,)),
    (pa.types.is_integer, (int,)),
    (pa.types.is_floating, (float, int)),
    (pa.types.is_decimal, (Decimal, int)),
    (pa.types.is_string, (str,)),
    (pa.types.is_large_string, (str,)),
    (pa.types.is_binary, (bytes,)),
    (pa.types.is_timestamp, (datetime,)),
    (pa.types.is_date, (date,)),
)
_LAST: Final = (2,)
_NOT_A_NUMBER: Final = (1,)


class KeyType:
    """Of the keys of one store; a struct, if it is grouped by several columns, is a dict or a tuple of its fields."""

    def __init__(self, store: str, type_: pa.DataType) -> None:
        self._store = store
        self._type = type_
        self._is_struct = pa.types.is_struct(type_)
        self._is_plain = not self._is_struct and not pa.types.is_floating(type_)

    def __str__(self) -> str:
        return str(self._type)

    def checked(self, key: Any) -> Any:
        """The key as rows have it. Raises InvalidQuery, which says the type, if it cannot be one."""
        found = _as_type(key, self._type)
        if found is None:
            raise InvalidQuery(
                f"the keys of store {self._store!r} are of type {self}: {key!r} ({type(key).__name__}) is none"
            )
        return found

    def of_text(self, text: str) -> Any:
        """The key that is written so: a struct as JSON, bytes as base64, moments by ISO 8601. Raises InvalidQuery."""
        try:
            return self.checked(_parsed(text, self._type))
        except (ValueError, InvalidOperation, binascii.Error) as error:
            form = " (write it as JSON)" if self._is_struct else ""
            raise InvalidQuery(
                f"the keys of store {self._store!r} are of type {self}: {text!r} is none{form}"
            ) from error

    def place(self, key: Any) -> Any:
        """What keys are told apart and compared by, in the order that Arrow sorts them in."""
        return key if self._is_plain else _place(key)

    def condition(self, first: Any, last: Any) -> pc.Expression | None:
        """By which files are read; more rows than those between may meet it, but all of them do. None is for all."""
        if self._is_struct:
            return _is_equal((), first, self._type) if first is not None and first == last else None
        if first is not None and first == last:
            return _column((), self._type) == pa.scalar(first, self._type)
        if _is_nan(first) or _is_nan(last):
            return None
        column = _column((), self._type)
        bounds = []
        if first is not None:
            bounds.append(column >= pa.scalar(first, self._type))
            if pa.types.is_floating(self._type) and last is None:
                bounds[0] = bounds[0] | pc.is_nan(column)  # which Spark, too, has after all numbers
        if last is not None:
            bounds.append(column <= pa.scalar(last, self._type))
        return bounds[0] & bounds[1] if len(bounds) == 2 else bounds[0] if bounds else None


def flat_keys(table: pa.Table, name: str) -> tuple[pa.Table, list[str]]:
    """The table with the fields of a key that is a struct as columns of their own, and the names of these; else the key's."""
    if not pa.types.is_struct(table.schema.field(name).type):
        return table, [name]
    added = []
    for number, field in enumerate(table.schema.field(name).type):
        column = pc.struct_field(table[name], number)
        nested, names = flat_keys(pa.table({f"{name}.{field.name}": column}), f"{name}.{field.name}")
        for each in names:
            table = table.append_column(each, nested[each])
        added += names
    return table, added


def _as_type(value: Any, type_: pa.DataType) -> Any:
    """None if it is none."""
    if pa.types.is_struct(type_):
        return _as_struct(value, type_)
    kinds = next((kinds for is_it, kinds in _PYTHON if is_it(type_)), ())
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        return None
    if isinstance(value, datetime) and (pa.types.is_date(type_) or (type_.tz is None) != (value.tzinfo is None)):
        return None
    try:
        return pa.scalar(value, type_).as_py()
    except (pa.ArrowInvalid, OverflowError):
        return None


def _as_struct(value: Any, type_: pa.StructType) -> dict[str, Any] | None:
    names = [field.name for field in type_]
    if isinstance(value, Sequence) and not isinstance(value, str | bytes) and len(value) == len(names):
        value = dict(zip(names, value, strict=True))
    if not isinstance(value, Mapping) or set(value) != set(names):
        return None
    found = {}
    for field in type_:
        given = value[field.name]
        found[field.name] = None if given is None else _as_type(given, field.type)
        if given is not None and found[field.name] is None:
            return None
    return found


def _parsed(text: str, type_: pa.DataType) -> Any:
    if pa.types.is_struct(type_):
        return _of_json(json.loads(text), type_)
    if pa.types.is_boolean(type_):
        return {"true": True, "false": False}.get(text.lower(), text)
    if pa.types.is_integer(type_):
        return int(text)
    if pa.types.is_floating(type_):
        return float(text)
    if pa.types.is_decimal(type_):
        return Decimal(text)
    if pa.types.is_binary(type_):
        return base64.b64decode(text, validate=True)
    if pa.types.is_timestamp(type_):
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None and type_.tz is not None else moment
    return date.fromisoformat(text) if pa.types.is_date(type_) else text


def _of_json(value: Any, type_: pa.DataType) -> Any:
    """Texts in JSON stand for what JSON has no form for."""
    if pa.types.is_struct(type_) and isinstance(value, dict) and {field.name for field in type_} == set(value):
        return {field.name: _of_json(value[field.name], field.type) for field in type_}
    if pa.types.is_struct(type_) and isinstance(value, list) and len(value) == type_.num_fields:
        return [_of_json(each, field.type) for each, field in zip(value, type_, strict=True)]
    return _parsed(value, type_) if isinstance(value, str) else value


def _place(value: Any) -> Any:
    if value is None:
        return _LAST
    if isinstance(value, dict):
        return (0, tuple(_place(each) for each in value.values()))
    return _NOT_A_NUMBER if _is_nan(value) else (0, value)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_equal(path: tuple[str, ...], value: Any, type_: pa.StructType) -> pc.Expression:
    """Of a struct, field by field; what is no number is left to the one who reads."""
    condition = pc.scalar(True)
    for field in type_:
        at, each = (*path, field.name), value[field.name]
        if isinstance(each, dict):
            condition = condition & _is_equal(at, each, field.type)
        elif not _is_nan(each):
            column = _column(at, field.type)
            condition = condition & (column.is_null() if each is None else column == pa.scalar(each, field.type))
    return condition


def _column(path: tuple[str, ...], type_: pa.DataType) -> pc.Expression:
    """In files, moments may have another type than they are read as."""
    column = pc.field(KEY, *path)
    return column.cast(type_) if pa.types.is_timestamp(type_) else column
