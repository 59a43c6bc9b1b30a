"""Default values, which schemas write in JSON, as the bytes that Avro writes for them."""

import struct

from stoker.errors import StokerError
from stoker.registry.formats.avro.defaults import fits_primitive
from stoker.registry.formats.avro.model import ABSENT, Array, Enum, Fixed, Json, Map, Record, Type, Union
from stoker.registry.formats.schema import MAX_NESTING


class InvalidDefault(StokerError):
    """A default that is not of its type."""


def varint(number: int) -> bytes:
    """Zigzag, as Avro writes int, long, lengths, counts and choices."""
    rest = (number << 1) ^ (number >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def encoded_default(type_: Type, value: Json, depth: int = 0) -> bytes:
    """Of a union the first branch that it fits. Raises InvalidDefault."""
    if depth > MAX_NESTING:
        raise InvalidDefault("it contains itself without end")
    if isinstance(type_, Union):
        for index, branch in enumerate(type_.branches):
            try:
                return varint(index) + encoded_default(branch, value, depth + 1)
            except InvalidDefault:
                continue
        raise InvalidDefault(f"{value!r} is of no type of its union")
    if isinstance(type_, Record):
        if not isinstance(value, dict):
            raise InvalidDefault(f"{value!r} is no {type_.full_name}")
        parts = []
        for field in type_.fields.values():
            inner = value.get(field.name, field.default)
            if inner is ABSENT:
                raise InvalidDefault(f"field {field.name} of {type_.full_name} is missing")
            parts.append(encoded_default(field.type, inner, depth + 1))
        return b"".join(parts)
    if isinstance(type_, Array):
        if not isinstance(value, list):
            raise InvalidDefault(f"{value!r} is no array")
        return _block([encoded_default(type_.items, each, depth + 1) for each in value])
    if isinstance(type_, Map):
        if not isinstance(value, dict):
            raise InvalidDefault(f"{value!r} is no map")
        return _block([_text(key) + encoded_default(type_.values, each, depth + 1) for key, each in value.items()])
    if isinstance(type_, Enum):
        if value not in type_.symbols:
            raise InvalidDefault(f"{value!r} is no symbol of {type_.full_name}")
        return varint(list(type_.symbols).index(value))
    if isinstance(type_, Fixed):
        if not isinstance(value, str) or len(value) != type_.size:
            raise InvalidDefault(f"{value!r} does not have the size of {type_.full_name}")
        return _latin(value)
    return _primitive(type_.kind, value)


def _primitive(kind: str, value: Json) -> bytes:
    if not fits_primitive(kind, value):
        raise InvalidDefault(f"{value!r} is no {kind}")
    if kind == "null":
        return b""
    if kind == "boolean":
        return b"\x01" if value else b"\x00"
    if kind in ("int", "long"):
        return varint(value)
    if kind == "float":
        try:
            return struct.pack("<f", value)
        except OverflowError:
            return struct.pack("<f", float("inf") if value > 0 else float("-inf"))
    if kind == "double":
        return struct.pack("<d", value)
    if kind == "string":
        return _text(value)
    encoded = _latin(value)
    return varint(len(encoded)) + encoded


def _text(value: str) -> bytes:
    try:
        encoded = value.encode()
    except UnicodeEncodeError as error:
        raise InvalidDefault(f"{value!r} is no text: {error.reason}") from None
    return varint(len(encoded)) + encoded


def _latin(value: str) -> bytes:
    """Bytes are written as the characters of the first 256 that have their numbers."""
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        raise InvalidDefault(f"{value!r} has characters beyond U+00FF") from None


def _block(items: list[bytes]) -> bytes:
    return b"".join([varint(len(items)), *items, b"\x00"]) if items else b"\x00"
