"""The types of Avro, as the parser leaves them: a graph, since named types may contain themselves.

They are equal if they are the same object, are not changed once read, and show nothing of themselves in a repr, which might
have no end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeAlias

Json: TypeAlias = Any
"""What json.loads gives: dict, list, str, int, float, bool or None."""

Properties: TypeAlias = Mapping[str, Json]
"""The attributes of a type or field which Avro does not know, logicalType among them, in the order of the text."""

NO_PROPERTIES: Final[Properties] = {}


class Absent:
    """The default of a field that has none; None is a default too."""


ABSENT: Final = Absent()

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
TYPE_NAMES: Final = PRIMITIVES | {"record", "enum", "fixed", "array", "map", "union"}


@dataclass(slots=True, eq=False, repr=False)
class Primitive:
    kind: str
    properties: Properties


@dataclass(slots=True, eq=False, repr=False)
class Array:
    items: "Type"
    properties: Properties
    kind: ClassVar[str] = "array"


@dataclass(slots=True, eq=False, repr=False)
class Map:
    values: "Type"
    properties: Properties
    kind: ClassVar[str] = "map"


@dataclass(slots=True, eq=False, repr=False)
class Union:
    branches: list["Type"]
    kind: ClassVar[str] = "union"


@dataclass(slots=True, eq=False, repr=False)
class Field:
    name: str
    type: "Type"
    doc: str | None
    default: Json | Absent
    order: str
    """ascending, descending or ignore."""
    aliases: tuple[str, ...]
    properties: Properties


@dataclass(slots=True, eq=False, repr=False)
class Named:
    """What records, enums and fixed share."""

    name: str
    namespace: str | None
    full_name: str
    doc: str | None
    aliases: tuple[str, ...]
    """Full names."""
    properties: Properties


@dataclass(slots=True, eq=False, repr=False)
class Record(Named):
    is_error: bool
    fields: dict[str, Field] = field(default_factory=dict)
    claims: dict[str, Field] = field(default_factory=dict)
    """The field that takes what a writer wrote under another name, by that name. A name that a field of this record bears
    itself is never claimed; of several fields that claim a name, the last has it, as in Avro's own readers."""
    kind: ClassVar[str] = "record"


@dataclass(slots=True, eq=False, repr=False)
class Enum(Named):
    symbols: dict[str, None]
    """Their names, in order."""
    default: str | None
    kind: ClassVar[str] = "enum"


@dataclass(slots=True, eq=False, repr=False)
class Fixed(Named):
    size: int
    kind: ClassVar[str] = "fixed"


NamedType: TypeAlias = Record | Enum | Fixed
Type: TypeAlias = Primitive | Array | Map | Union | Record | Enum | Fixed

PLAIN: Final[Mapping[str, Primitive]] = {kind: Primitive(kind, NO_PROPERTIES) for kind in sorted(PRIMITIVES)}
"""The primitive types without properties, shared by all schemas."""


def described(type_: Type) -> str:
    """A type in a message: `record shop.Order`, `union of null, string`."""
    if isinstance(type_, Named):
        return f"{type_.kind} {type_.full_name}"
    if isinstance(type_, Union):
        shown = [branch.full_name if isinstance(branch, Named) else branch.kind for branch in type_.branches[:8]]
        return f"union of {', '.join(shown)}{', …' if len(type_.branches) > 8 else ''}"
    return type_.kind
