"""Messages made from their own declarations: as Hypothesis strategies, and quickly from a seeded random source.

In both, only fields that the version has differ from their defaults, so that what is encoded can be decoded to an equal.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any, cast
from uuid import UUID

from hypothesis import strategies as st

from stoker.wire import group_records, messages
from stoker.wire.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from stoker.wire.metadata_records import RECORD_TYPES
from stoker.wire.schema import Field, Message, Request, Response, Struct

MessageAndVersion = tuple[type[Message], int]

INTEGER_BITS = {"int8": 8, "int16": 16, "uint16": 16, "int32": 32, "int64": 64}


def declared_messages() -> list[type[Request] | type[Response]]:
    """Every request and response that Stoker declares."""
    names = [f"{messages.__name__}.{module.name}" for module in pkgutil.iter_modules(messages.__path__)]
    return [
        value
        for module in map(importlib.import_module, names)
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Request | Response) and value.__module__ == module.__name__
    ]


def with_versions(declared: list[type[Message]]) -> list[MessageAndVersion]:
    return [
        (message, version) for message in declared for version in range(message.MIN_VERSION, message.MAX_VERSION + 1)
    ]


MESSAGES: list[MessageAndVersion] = with_versions(list(declared_messages()))
METADATA_RECORDS: list[MessageAndVersion] = with_versions(list(RECORD_TYPES.values()))
GROUP_RECORD_KEYS: list[type[Message]] = list(dict.fromkeys(group_records.KEY_TYPES.values()))
GROUP_RECORD_VALUES: list[MessageAndVersion] = with_versions(list(dict.fromkeys(group_records.VALUE_TYPES.values())))
CONSUMER_PROTOCOL: list[MessageAndVersion] = with_versions([ConsumerProtocolSubscription, ConsumerProtocolAssignment])


def name_of(message_and_version: MessageAndVersion) -> str:
    message, version = message_and_version
    return f"{message.__name__}-v{version}"


@cache
def instances(struct: type[Struct], version: int) -> st.SearchStrategy[Any]:
    """Instances whose fields have any value that this version can carry."""
    fields = {field.name: _values(field, version) for field in struct.FIELDS if field.exists_in(version)}
    return st.builds(struct, **fields)


def _values(field: Field, version: int) -> st.SearchStrategy[Any]:
    if field.kind == "array":
        values: st.SearchStrategy[Any] = st.lists(_plain_values(field.element, field, version), max_size=3)
    else:
        values = _plain_values(field.kind, field, version)
    return st.none() | values if field.is_nullable_in(version) else values


def _plain_values(kind: str, field: Field, version: int) -> st.SearchStrategy[Any]:
    if kind == "struct":
        assert field.struct is not None
        return instances(field.struct, version)
    if kind in INTEGER_BITS:
        return st.integers(*integer_range(kind))
    return {
        "bool": st.booleans(),
        "float64": st.floats(allow_nan=False),
        "uuid": st.uuids() | st.just(UUID(int=0)),
        "string": st.text(max_size=20),
        "bytes": st.binary(max_size=20),
        "records": st.binary(max_size=20),
    }[kind]


def integer_range(kind: str) -> tuple[int, int]:
    bits = INTEGER_BITS[kind]
    return (0, 2**bits - 1) if kind.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def example(struct: type[Struct], version: int, random: Random, largest: int | None = None) -> Any:
    """One instance, the same for the same state of `random`; with `largest`, no integer is negative or larger."""
    values = {
        field.name: _example_value(field, version, random, largest)
        for field in struct.FIELDS
        if field.exists_in(version)
    }
    return cast("Callable[..., Struct]", struct)(**values)


def _example_value(field: Field, version: int, random: Random, largest: int | None) -> Any:
    if field.is_nullable_in(version) and random.random() < 0.2:
        return None
    if field.kind == "array":
        return [
            _example_plain(field.element, field, version, random, largest) for _ in range(random.choice((0, 1, 1, 2)))
        ]
    return _example_plain(field.kind, field, version, random, largest)


def _example_plain(kind: str, field: Field, version: int, random: Random, largest: int | None) -> Any:
    if kind == "struct":
        assert field.struct is not None
        return example(field.struct, version, random, largest)
    if kind in INTEGER_BITS and largest is not None:
        return random.randint(0, largest)
    if kind in INTEGER_BITS:
        low, high = integer_range(kind)
        return random.choice((random.randint(low, high), random.randint(0, 100), field.default or 0))
    match kind:
        case "bool":
            return random.random() < 0.5
        case "float64":
            return random.uniform(-1e9, 1e9)
        case "uuid":
            return UUID(int=random.choice((0, random.getrandbits(128))))
        case "string":
            return random.choice(("", "orders", "Grüße-ключ-鍵-🔑", "x" * random.choice((126, 127, 128, 300))))
        case _:
            return random.randbytes(random.choice((0, 5, 127, 200)))


def examples_of(message: type[Message], version: int, count: int, largest: int | None = None) -> Iterator[Message]:
    """So many instances, the same in every run."""
    random = Random(f"{message.__name__} {version}")
    for _ in range(count):
        yield example(message, version, random, largest)
