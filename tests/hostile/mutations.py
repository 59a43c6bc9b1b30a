"""Ways to spoil a request: its fields before they are encoded, or the bytes of its frame.

All draw from one seeded `Random`, so that a run can be had again.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from struct import Struct as Layout
from typing import Any
from uuid import UUID

from stoker.errors import StokerError
from stoker.wire.schema import Field, Request, Struct
from tests.raw_connection import framed, request_frame
from tests.wire.examples import INTEGER_BITS, integer_range

_INT32 = Layout(">i")
_INT16 = Layout(">h")

Frames = Sequence[bytes]
"""Frames of honest requests, the stock that others are spliced with."""


def mutated(frame: bytes, stock: Frames, random: Random) -> bytes:
    """A spoiled copy of `frame`, by one to three kinds of damage."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        frame = random.choice(_BYTE_MUTATIONS)(frame, stock, random)
    return frame


def _flip_bits(frame: bytes, stock: Frames, random: Random) -> bytes:
    spoiled = bytearray(frame)
    for _ in range(random.choice((1, 1, 2, 4, 16))):
        if spoiled:
            spoiled[_anywhere(spoiled, random)] ^= 1 << random.randrange(8)
    return bytes(spoiled)


def _set_bytes(frame: bytes, stock: Frames, random: Random) -> bytes:
    spoiled = bytearray(frame)
    for _ in range(random.choice((1, 1, 2, 4))):
        if spoiled:
            spoiled[_anywhere(spoiled, random)] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
    return bytes(spoiled)


def _set_number(frame: bytes, stock: Frames, random: Random) -> bytes:
    """What could be a length or a count becomes an interesting one."""
    layout, values = random.choice(
        (
            (_INT32, (-(2**31), -2, -1, 0, 1, 1000, 2**16, 2**24, 2**31 - 1)),
            (_INT16, (-(2**15), -2, -1, 0, 1, 300, 2**15 - 1)),
        )
    )
    if len(frame) <= 4 + layout.size:
        return frame
    spoiled = bytearray(frame)
    layout.pack_into(spoiled, random.randrange(4, len(spoiled) - layout.size + 1), random.choice(values))
    return bytes(spoiled)


def _set_length(frame: bytes, stock: Frames, random: Random) -> bytes:
    actual = len(frame) - 4
    claimed = random.choice(
        (actual - 1, actual + 1, actual * 2, 0, -1, 7, 8, 2**31 - 1, -(2**31), 100 * 1024 * 1024, 2**20)
    )
    return _INT32.pack(min(max(claimed, -(2**31)), 2**31 - 1)) + frame[4:]


def _truncate(frame: bytes, stock: Frames, random: Random) -> bytes:
    """The frame ends early, and its length says so too or does not."""
    content = frame[4 : random.randint(4, max(4, len(frame)))]
    return framed(content) if random.random() < 0.7 else frame[:4] + content


def _lengthen(frame: bytes, stock: Frames, random: Random) -> bytes:
    return framed(frame[4:] + random.randbytes(random.choice((1, 8, 200, 5000))))


def _remove(frame: bytes, stock: Frames, random: Random) -> bytes:
    content = frame[4:]
    start, stop = sorted((random.randint(0, len(content)), random.randint(0, len(content))))
    return framed(content[:start] + content[min(stop, start + 16) :])


def _repeat(frame: bytes, stock: Frames, random: Random) -> bytes:
    content = frame[4:]
    start, stop = sorted((random.randint(0, len(content)), random.randint(0, len(content))))
    return framed(content[:stop] + content[start:stop] * random.choice((1, 2, 10)) + content[stop:])


def _splice(frame: bytes, stock: Frames, random: Random) -> bytes:
    """The head of one request and the tail of another."""
    content, other = frame[4:], random.choice(stock)[4:]
    return framed(content[: random.randint(0, len(content))] + other[random.randint(0, len(other)) :])


def _change_version(frame: bytes, stock: Frames, random: Random) -> bytes:
    if len(frame) < 8:
        return frame
    return frame[:6] + _INT16.pack(random.choice((*range(20), -1, 99, 2**15 - 1))) + frame[8:]


def _random_content(frame: bytes, stock: Frames, random: Random) -> bytes:
    return framed(frame[4:14] + random.randbytes(random.choice((0, 10, 100, 3000))))


def _noise(frame: bytes, stock: Frames, random: Random) -> bytes:
    return random.randbytes(random.choice((1, 3, 4, 20, 500)))


_BYTE_MUTATIONS: tuple[Callable[[bytes, Frames, Random], bytes], ...] = (
    _flip_bits,
    _flip_bits,
    _set_bytes,
    _set_number,
    _set_number,
    _set_length,
    _truncate,
    _lengthen,
    _remove,
    _repeat,
    _splice,
    _change_version,
    _random_content,
    _noise,
)


def _anywhere(frame: bytearray, random: Random) -> int:
    """A position, after the length more often than in it."""
    return (
        random.randrange(4, len(frame)) if len(frame) > 4 and random.random() < 0.95 else random.randrange(len(frame))
    )


# -- fields -------------------------------------------------------------------------------------------------------------


_STRINGS = ("", "a" * 32767, "ü" * 16383, "../../../etc/passwd", "\0", "a b\n", ".", "..", "\N{COLLISION SYMBOL}" * 50)


def with_spoiled_field(request: Request, version: int, random: Random, keep: Sequence[str]) -> bytes | None:
    """The frame of the request with one of its fields replaced; None if the version cannot carry that."""
    spoiled = deepcopy(request)
    places = [
        (structure, field)
        for structure, field in _places(spoiled)
        if field.exists_in(version) and field.name not in keep
    ]
    if not places:
        return None
    structure, field = random.choice(places)
    setattr(structure, field.name, _extreme(field, getattr(structure, field.name), version, random))
    try:
        return request_frame(spoiled, version)
    except StokerError:
        return None


def _places(structure: Struct) -> list[tuple[Struct, Field]]:
    found = []
    for field in structure.FIELDS:
        found.append((structure, field))
        value = getattr(structure, field.name)
        for element in value if isinstance(value, list) else [value]:
            if isinstance(element, Struct):
                found += _places(element)
    return found


def _extreme(field: Field, value: Any, version: int, random: Random) -> Any:
    if field.is_nullable_in(version) and random.random() < 0.2:
        return None
    if field.kind == "array":
        return list(value or ()) * random.choice((0, 2, 3, 100))
    if field.kind in INTEGER_BITS:
        low, high = integer_range(field.kind)
        return random.choice((low, high, 0, -1, -2, 1, random.randint(low, high)))
    match field.kind:
        case "string":
            return random.choice(_STRINGS)
        case "bool":
            return not value
        case "uuid":
            return UUID(int=random.choice((0, 1, random.getrandbits(128))))
        case "bytes" | "records":
            data = bytes(value or b"")
            return random.choice((b"", data * 2, data[:-1], data[: len(data) // 2], random.randbytes(100)))
        case _:
            return value
