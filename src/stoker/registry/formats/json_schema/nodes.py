"""What the rules compare: a schema taken apart by the type of value that each keyword is about.

The parts are those of the library that Confluent's registry is built on, because its rules are worded in them. A schema
with `type` and `enum` is two parts that must `allOf` hold; one with several types is their `anyOf`.
"""

from abc import ABC, abstractmethod
from enum import StrEnum

from stoker.registry.formats.json_schema.json_text import Json, same_value, write


class Criterion(StrEnum):
    """How many alternatives must hold."""

    ALL = "allOf"
    ANY = "anyOf"
    ONE = "oneOf"


class Node(ABC):
    """One part. Not changed once its document is loaded."""

    __slots__ = ("has_default", "is_connect_bytes")

    def __init__(self) -> None:
        self.has_default = False
        self.is_connect_bytes = False
        """`connect.type` is `bytes`: the converters of Kafka Connect write decimals as strings or numbers."""

    @abstractmethod
    def describe(self) -> str:
        """For people: what values it stands for."""


class Anything(Node):
    """`true` or `{}`."""

    __slots__ = ()

    def describe(self) -> str:
        return "any value"


class Nothing(Node):
    """`false`."""

    __slots__ = ()

    def describe(self) -> str:
        return "no value"


class Boolean(Node):
    __slots__ = ()

    def describe(self) -> str:
        return "boolean"


class Null(Node):
    __slots__ = ()

    def describe(self) -> str:
        return "null"


class String(Node):
    __slots__ = ("max_length", "min_length", "pattern")

    def __init__(self) -> None:
        super().__init__()
        self.min_length: int | None = None
        self.max_length: int | None = None
        self.pattern: str | None = None

    def describe(self) -> str:
        return "string"


class Number(Node):
    __slots__ = ("exclusive_maximum", "exclusive_minimum", "is_integer", "maximum", "minimum", "multiple_of")

    def __init__(self) -> None:
        super().__init__()
        self.is_integer = False
        self.minimum: Json = None
        self.maximum: Json = None
        self.exclusive_minimum: Json = None
        self.exclusive_maximum: Json = None
        self.multiple_of: Json = None

    def describe(self) -> str:
        return "integer" if self.is_integer else "number"


class Array(Node):
    __slots__ = (
        "additional",
        "every_item",
        "first_items",
        "has_unique_items",
        "max_contains",
        "max_items",
        "min_contains",
        "min_items",
        "permits_additional",
        "unevaluated",
    )

    def __init__(self) -> None:
        super().__init__()
        self.every_item: Node | None = None
        self.first_items: list[Node] = []
        self.permits_additional = True
        self.additional: Node | None = None
        self.unevaluated: Node | None = None
        self.min_items: int | None = None
        self.max_items: int | None = None
        self.min_contains: int | None = None
        self.max_contains: int | None = None
        self.has_unique_items = False

    def describe(self) -> str:
        return "array"


class Object(Node):
    __slots__ = (
        "additional",
        "dependent_required",
        "dependent_schemas",
        "max_properties",
        "min_properties",
        "pattern_properties",
        "permits_additional",
        "properties",
        "required",
        "unevaluated",
    )

    def __init__(self) -> None:
        super().__init__()
        self.properties: dict[str, Node] = {}
        self.required: frozenset[str] = frozenset()
        self.permits_additional = True
        self.additional: Node | None = None
        self.unevaluated: Node | None = None
        self.pattern_properties: list[tuple[str, Node]] = []
        self.dependent_required: dict[str, frozenset[str]] = {}
        self.dependent_schemas: dict[str, Node] = {}
        self.min_properties: int | None = None
        self.max_properties: int | None = None

    def describe(self) -> str:
        return "object"


class Enumeration(Node):
    __slots__ = ("raw", "values")

    def __init__(self, raw: list[Json]) -> None:
        super().__init__()
        self.raw = raw
        self.values = frozenset([same_value(value) for value in raw])

    def describe(self) -> str:
        return "enum"


class Constant(Node):
    __slots__ = ("raw", "value")

    def __init__(self, raw: Json) -> None:
        super().__init__()
        self.raw = raw
        self.value = same_value(raw)

    def describe(self) -> str:
        return f"const {shortened(write(self.raw))}"


class Not(Node):
    __slots__ = ("refused",)

    def __init__(self, refused: Node) -> None:
        super().__init__()
        self.refused = refused

    def describe(self) -> str:
        return "not"


class Conditional(Node):
    """`if`, `then` and `else`, which no rule looks into."""

    __slots__ = ()

    def describe(self) -> str:
        return "if/then/else"


class MetaSchema(Node):
    """A schema of one draft: the value is a JSON Schema itself. Only its address is compared."""

    __slots__ = ("uri",)

    def __init__(self, uri: str) -> None:
        super().__init__()
        self.uri = uri

    def describe(self) -> str:
        return f"the meta-schema {self.uri}"


class Combined(Node):
    """`allOf`, `anyOf` or `oneOf`; several types; or a schema of several parts."""

    __slots__ = ("_distinct", "alternatives", "criterion", "spellings")

    def __init__(self, criterion: Criterion, alternatives: list[Node], spellings: list[Json]) -> None:
        super().__init__()
        self.criterion = criterion
        self.alternatives = alternatives
        self.spellings = spellings
        """What each alternative was read from."""
        self._distinct: dict[str, Node] | None = None

    @property
    def distinct(self) -> dict[str, Node]:
        """The alternatives that are not spelled alike, by their spelling."""
        if self._distinct is None:
            self._distinct = {}
            for spelling, node in zip(self.spellings, self.alternatives, strict=True):
                self._distinct.setdefault(write(spelling), node)
        return self._distinct

    def describe(self) -> str:
        kinds = ", ".join(node.describe() for node in self.alternatives[:4] if not isinstance(node, Combined))
        return f"{self.criterion} of {len(self.alternatives)}" + (f" ({kinds})" if kinds else "")


class Reference(Node):
    """`$ref`. Where it leads is known when the whole document is loaded, and is no other reference."""

    __slots__ = ("target", "text")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.target: Node | None = None

    def describe(self) -> str:
        return f"$ref {self.text}"


def followed(node: Node) -> Node:
    """What the node refers to, or the node itself."""
    if not isinstance(node, Reference):
        return node
    assert node.target is not None, f"{node.text} was not resolved"
    return node.target


def shortened(text: str) -> str:
    """So much of it as an error can show."""
    return text if len(text) <= 80 else f"{text[:77]}..."
