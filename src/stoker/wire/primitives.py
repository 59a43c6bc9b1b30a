"""The small pieces that generated codecs and hand-written ones share: varints, uuids, tagged fields."""

from functools import lru_cache
from struct import Struct as Layout
from uuid import UUID

from stoker.wire.schema import ZERO_UUID, Buffer


class Refused(Exception):
    """Why a value cannot be read or written; who catches it knows which field it was."""


@lru_cache(maxsize=4096)
def uuid_from_bytes(raw: bytes) -> UUID:
    """Remembers what it made: a broker sees the ids of the same topics in every request, and UUID() is slow."""
    return UUID(bytes=raw) if raw != ZERO_UUID.bytes else ZERO_UUID


@lru_cache(maxsize=1024)
def array_layout(format_: str, count: int) -> Layout:
    """The layout of `count` numbers. Counts repeat: replicas, partitions of a topic."""
    return Layout(f">{count}{format_}")


def decode_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    """An unsigned varint of at most 32 bits, and the position after it."""
    first = buffer[position]
    if first < 128:
        return first, position + 1
    return decode_long_uvarint(buffer, position + 1, first)


def decode_long_uvarint(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """The same for a varint whose first byte is already read and says that more follow."""
    value = first & 127
    for shift in (7, 14, 21, 28):
        byte = buffer[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value > 0xFFFF_FFFF:
                raise Refused("is a varint of more than 32 bits")
            return value, position
    raise Refused("is a varint of more than 5 bytes")


def encode_uvarint(value: int) -> bytes:
    """An unsigned varint."""
    if value < 0:
        raise Refused(f"cannot be {value}")
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def skip_tagged_fields(buffer: Buffer, position: int, count: int) -> int:
    """The position after tagged fields, of whose count the first byte is already read."""
    if count > 127:
        count, position = decode_long_uvarint(buffer, position, count)
    end = len(buffer)
    for _ in range(count):
        _tag, position = decode_uvarint(buffer, position)
        size, position = decode_uvarint(buffer, position)
        position += size
        if position > end:
            raise Refused("end after the end of the message")
    return position


_INT32 = Layout(">i")


def element_count(count: int, flexible: bool) -> bytes:
    """How many elements or bytes follow; a flexible version writes one more than there are, as a varint."""
    if not flexible:
        return _INT32.pack(count)
    return encode_uvarint(count + 1) if count > 126 else bytes((count + 1,))
