"""What a .proto file says, as a tree. Comments are not kept: they are no part of the canonical text.

The same tree is read from text (parser.py) and from a FileDescriptorProto (from_descriptor.py). Lists keep the order in
which things were declared. `token` is where a thing stands in the text (tokens.py), -1 if it came from a descriptor; it
takes no part in comparisons.
"""

from dataclasses import dataclass, field
from enum import Enum as PythonEnum
from typing import TypeAlias

MAX_FIELD_NUMBER = (1 << 29) - 1
IMPLEMENTATION_NUMBERS = range(19000, 20000)
"""Numbers that Protobuf keeps for itself."""

SCALARS = frozenset(
    [
        "double",
        "float",
        "int32",
        "int64",
        "uint32",
        "uint64",
        "sint32",
        "sint64",
        "fixed32",
        "fixed64",
        "sfixed32",
        "sfixed64",
        "bool",
        "string",
        "bytes",
    ]
)


class OptionKind(PythonEnum):
    """How the value of an option was written."""

    STRING = "string"
    BOOLEAN = "boolean"
    NUMBER = "number"
    ENUM = "enum"
    MAP = "map"
    LIST = "list"
    OPTION = "option"
    """A dotted name: the value is the option that the rest of the name stands for."""


@dataclass(slots=True)
class Primitive:
    """A boolean, number or enum constant inside a map or list; a string there is a plain `str`."""

    kind: OptionKind
    value: str


OptionValue: TypeAlias = "str | Primitive | dict[str, OptionValue] | list[OptionValue] | Option"


@dataclass(slots=True)
class Option:
    """`option java_package = "p"`, or one of those in brackets after a field."""

    name: str
    kind: OptionKind
    value: OptionValue
    """By kind: a `dict` for MAP, a `list` for LIST, an Option for OPTION, else a `str`."""
    custom: bool = False
    """Its name is in parentheses: an extension of the options, not one of Protobuf's own."""


@dataclass(slots=True)
class Field:
    """A field of a message, oneof, group or extension."""

    label: str | None
    type: str
    """As written: `int32`, `map<string, Order>`, `.orders.Order`."""
    name: str
    number: int
    options: list[Option] = field(default_factory=list)
    default: str | None = None
    json_name: str | None = None
    token: int = field(default=-1, compare=False)


@dataclass(slots=True)
class Group:
    """A field and its message in one (proto2). It may hold fields alone, as in Wire."""

    label: str | None
    name: str
    number: int
    fields: list[Field] = field(default_factory=list)
    token: int = field(default=-1, compare=False)


@dataclass(slots=True)
class OneOf:
    name: str
    fields: list[Field] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    token: int = field(default=-1, compare=False)


Numbers = int | tuple[int, int]
"""A number, or the first and the last of a range."""


@dataclass(slots=True)
class Reserved:
    values: list[Numbers | str]


@dataclass(slots=True)
class Extensions:
    """Numbers that a message leaves to its extensions."""

    values: list[Numbers]
    options: list[Option] = field(default_factory=list)


@dataclass(slots=True)
class Extend:
    name: str
    fields: list[Field] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    token: int = field(default=-1, compare=False)


@dataclass(slots=True)
class EnumConstant:
    name: str
    number: int
    options: list[Option] = field(default_factory=list)


@dataclass(slots=True)
class Enum:
    name: str
    constants: list[EnumConstant] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    reserved: list[Reserved] = field(default_factory=list)
    token: int = field(default=-1, compare=False)


@dataclass(slots=True)
class Message:
    name: str
    fields: list[Field] = field(default_factory=list)
    oneofs: list[OneOf] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    types: "list[Message | Enum]" = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    reserved: list[Reserved] = field(default_factory=list)
    extensions: list[Extensions] = field(default_factory=list)
    extends: list[Extend] = field(default_factory=list)
    token: int = field(default=-1, compare=False)


@dataclass(slots=True)
class Rpc:
    name: str
    request: str
    response: str
    request_streams: bool = False
    response_streams: bool = False
    options: list[Option] = field(default_factory=list)
    token: int = field(default=-1, compare=False)


@dataclass(slots=True)
class Service:
    name: str
    rpcs: list[Rpc] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)


@dataclass(slots=True)
class ProtoFile:
    """One .proto file."""

    syntax: str | None = None
    """proto2, proto3, or `editions` (then `edition` says which); None if the file does not say, which means proto2."""
    edition: str | None = None
    package: str | None = None
    imports: list[str] = field(default_factory=list)
    public_imports: list[str] = field(default_factory=list)
    weak_imports: list[str] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    types: list[Message | Enum] = field(default_factory=list)
    extends: list[Extend] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)

    @property
    def all_imports(self) -> list[str]:
        return [*self.imports, *self.public_imports, *self.weak_imports]


def is_map_entry(message: Message) -> bool:
    """Whether the message stands for the entries of a map field: that is how descriptors write maps."""
    return any(option.name == "map_entry" and option.value == "true" for option in message.options)


def map_types(type_name: str) -> tuple[str, str] | None:
    """The types of key and value of `map<key, value>`; None if the type is no map."""
    if not type_name.startswith("map<"):
        return None
    key, _, value = type_name[4:-1].partition(", ")
    return key, value


def entry_types(message: Message) -> tuple[str, str] | None:
    """The types of key and value of a message that stands for the entries of a map; None if it does not."""
    if not is_map_entry(message):
        return None
    types = {each.name: each.type for each in message.fields}
    if "key" not in types or "value" not in types:
        return None
    return types["key"], types["value"]
