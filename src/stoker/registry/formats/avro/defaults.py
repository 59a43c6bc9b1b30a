"""Default values of fields: which are valid, and how they are written when a schema is normalized."""

import struct
from collections.abc import Iterable

from stoker.registry.formats.avro.model import (
    ABSENT,
    Array,
    Enum,
    Field,
    Fixed,
    Json,
    Map,
    Primitive,
    Record,
    Type,
    Union,
)
from stoker.registry.formats.schema import MAX_NESTING


class EndlessDefault(Exception):
    """A default that contains itself, or is too deep to be made."""


class Defaults:
    """Tells whether defaults are valid as Java's parser does (`validateDefaults`): the default of a union may be of any of
    its branches, a string will do for bytes, fixed and enum, and fields that a record's default leaves out must have one.

    Of each field it is told once, so that records full of records cost no more than their size.
    """

    def __init__(self) -> None:
        self._verdicts: dict[Field, bool] = {}
        self._in_progress: set[Field] = set()

    def is_valid(self, field: Field) -> bool:
        return field.default is ABSENT or self._of_field(field, 0)

    def _of_field(self, field: Field, depth: int) -> bool:
        verdict = self._verdicts.get(field)
        if verdict is None:
            if field in self._in_progress or depth > MAX_NESTING:
                raise EndlessDefault
            self._in_progress.add(field)
            verdict = self._verdicts[field] = self._fits(field.type, field.default, depth)
            self._in_progress.remove(field)
        return verdict

    def _fits(self, type_: Type, value: Json, depth: int) -> bool:
        if isinstance(type_, Primitive):
            return fits_primitive(type_.kind, value)
        if isinstance(type_, Union):
            return any(self._fits(branch, value, depth) for branch in type_.branches)
        if isinstance(type_, Record):
            return isinstance(value, dict) and self._fits_record(type_, value, depth + 1)
        if isinstance(type_, Array):
            return isinstance(value, list) and self._fit_all(type_.items, value, depth + 1)
        if isinstance(type_, Map):
            return isinstance(value, dict) and self._fit_all(type_.values, value.values(), depth + 1)
        return isinstance(value, str)

    def _fit_all(self, type_: Type, values: Iterable[Json], depth: int) -> bool:
        if depth > MAX_NESTING:
            raise EndlessDefault
        return all(self._fits(type_, value, depth) for value in values)

    def _fits_record(self, record: Record, value: dict[str, Json], depth: int) -> bool:
        if depth > MAX_NESTING:
            raise EndlessDefault
        for field in record.fields.values():
            if field.name in value:
                if not self._fits(field.type, value[field.name], depth):
                    return False
            elif field.default is ABSENT or not self._of_field(field, depth):
                return False
        return True


def fits_primitive(kind: str, value: Json) -> bool:
    if kind == "null":
        return value is None
    if kind == "boolean":
        return isinstance(value, bool)
    if kind in ("string", "bytes"):
        return isinstance(value, str)
    if isinstance(value, bool):
        return False
    if kind == "int":
        return isinstance(value, int) and -(1 << 31) <= value < 1 << 31
    if kind == "long":
        return isinstance(value, int) and -(1 << 63) <= value < 1 << 63
    return isinstance(value, int | float)


class Single(float):
    """A number of 32 bits: written with no more digits than those need."""


def normalized(type_: Type, value: Json, depth: int = 0) -> Json:
    """The default as a value of its type: `1` of a double becomes `1.0`. A value that is not of the type stays as it is."""
    if depth > MAX_NESTING or value is None:
        return value
    if isinstance(type_, Union):
        for branch in type_.branches:
            if _looks_like(branch, value):
                return normalized(branch, value, depth + 1)
        return value
    if isinstance(type_, Primitive) and isinstance(value, int | float) and not isinstance(value, bool):
        if type_.kind == "float":
            return _single(value)
        return _double(value) if type_.kind == "double" else value
    if isinstance(value, str) and (isinstance(type_, Fixed) or type_.kind == "bytes"):
        return value.encode("latin-1", "replace").decode("latin-1")
    if isinstance(value, list) and isinstance(type_, Array):
        return [normalized(type_.items, each, depth + 1) for each in value]
    if isinstance(value, dict) and isinstance(type_, Map):
        return {key: normalized(type_.values, each, depth + 1) for key, each in value.items()}
    if isinstance(value, dict) and isinstance(type_, Record):
        types = {name: field.type for name, field in type_.fields.items()}
        return {key: normalized(types[key], each, depth + 1) if key in types else each for key, each in value.items()}
    return value


def _looks_like(type_: Type, value: Json) -> bool:
    if isinstance(type_, Primitive):
        return fits_primitive(type_.kind, value)
    if isinstance(type_, Array):
        return isinstance(value, list)
    if isinstance(type_, Map | Record):
        return isinstance(value, dict)
    return isinstance(type_, Enum | Fixed) and isinstance(value, str)


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _single(value: float) -> Single:
    value = _double(value)
    try:
        return Single(struct.unpack(">f", struct.pack(">f", value))[0])
    except OverflowError:
        return Single("inf" if value > 0 else "-inf")
