"""From JSON to the parts that the rules compare (nodes.py), every reference resolved.

What a keyword must be is checked on the way, for all that can be reached from the root: definitions that nobody refers to
are not looked at, as in Confluent's registry. Unknown keywords are ignored.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Final

from stoker.registry.formats.json_schema import patterns
from stoker.registry.formats.json_schema.drafts import Draft, draft_of_meta_schema
from stoker.registry.formats.json_schema.json_text import Json
from stoker.registry.formats.json_schema.nodes import (
    Anything,
    Array,
    Boolean,
    Combined,
    Conditional,
    Constant,
    Criterion,
    Enumeration,
    MetaSchema,
    Node,
    Not,
    Nothing,
    Null,
    Number,
    Object,
    Reference,
    String,
)
from stoker.registry.formats.json_schema.references import Documents, Scope, Target, join
from stoker.registry.formats.schema import InvalidSchema

MAX_SCHEMAS: Final = 100_000
"""In one, with those behind its references: half a second."""
MAX_SCHEMA_DEPTH: Final = 100
"""Of schemas in schemas, without those behind a reference: seven calls each, of the thousand that Python has."""

_NUMBER_KEYWORDS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_STRING_KEYWORDS: Final = frozenset({"minLength", "maxLength", "pattern"})
_OBJECT_KEYWORDS: Final = frozenset(
    {"properties", "required", "minProperties", "maxProperties", "patternProperties", "additionalProperties"}
)
_ARRAY_KEYWORDS: Final = frozenset({"items", "minItems", "maxItems", "uniqueItems"})
_CONDITIONAL_KEYWORDS: Final = ("if", "then", "else")
_REFERENCE_KEYWORDS: Final = ("$ref", "$dynamicRef", "$recursiveRef")


class _Keywords:
    """Which keywords a draft has for each type of value."""

    __slots__ = ("array", "number", "object", "string")

    def __init__(self, draft: Draft) -> None:
        self.number = _NUMBER_KEYWORDS
        # From 2019-09 on a format asserts nothing.
        self.string = _STRING_KEYWORDS if draft.is_modern else _STRING_KEYWORDS | {"format"}
        self.object = _OBJECT_KEYWORDS
        self.array = _ARRAY_KEYWORDS
        if draft >= Draft.DRAFT_6:
            self.object |= {"propertyNames"}
            self.array |= {"contains"}
        if draft.is_modern:
            self.object |= {"dependentRequired", "dependentSchemas", "unevaluatedProperties"}
            self.array |= {"unevaluatedItems"}
        else:
            self.object |= {"dependencies"}
        self.array |= {"prefixItems"} if draft is Draft.DRAFT_2020_12 else {"additionalItems"}


_KEYWORDS: Final = {draft: _Keywords(draft) for draft in Draft}


class Loader:
    """Loads one schema. `references` then says where each `$ref` that was met leads, by the identity of its subschema."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._nodes: dict[int, Node] = {}
        self._depth = 0
        self._schemas = 0
        self._waiting: list[tuple[Reference, Target]] = []
        self.references: dict[int, Target] = {}

    def load(self) -> Node:
        """The root. Raises InvalidSchema."""
        scope = self._documents.root.root()
        root = self._schema(scope.raw, scope)
        met: list[Reference] = []
        # In turn and not one in another: a chain of a thousand references is a list, not a thousand calls deep.
        while self._waiting:
            reference, target = self._waiting.pop()
            met.append(reference)
            reference.target = self._nodes.get(id(target.raw)) or self._schema(target.raw, target.scope)
        for reference in met:
            _shorten_chain(reference)
        return root

    def _schema(self, raw: Json, scope: Scope) -> Node:
        if raw is True:
            return Anything()
        if raw is False:
            return Nothing()
        if not isinstance(raw, dict):
            raise InvalidSchema(f"a schema is an object or a boolean, not {_kind(raw)}")
        self._schemas += 1
        if self._schemas > MAX_SCHEMAS:
            raise InvalidSchema(f"the schema is made of more than {MAX_SCHEMAS:,} schemas")
        scope = scope.entered(raw)
        if "$ref" in raw and not scope.document.draft.is_modern:
            node: Node = self._reference(raw, "$ref", scope)  # up to draft 7 what stands beside it is ignored
        else:
            parts = self._parts(raw, scope)
            if len(parts) == 1:
                node = next(iter(parts.values()))
            elif parts:
                node = Combined(Criterion.ALL, list(parts.values()), list(parts))
            else:
                node = Anything()
        node.has_default = "default" in raw
        node.is_connect_bytes = raw.get("connect.type") == "bytes"
        for keyword in ("title", "description"):
            if keyword in raw and not isinstance(raw[keyword], str):
                raise _unexpected(raw, scope, keyword, "a string")
        self._nodes[id(raw)] = node
        return node

    def _parts(self, raw: dict[str, Json], scope: Scope) -> dict[str, Node]:
        """By the keyword or the type that each is about."""
        draft = scope.document.draft
        keywords = _KEYWORDS[draft]
        parts: dict[str, Node] = {}
        if draft.is_modern:
            for keyword in _REFERENCE_KEYWORDS:
                if keyword in raw:
                    parts[keyword] = self._reference(raw, keyword, scope)
        if "enum" in raw:
            parts["enum"] = Enumeration(_list(raw, scope, "enum"))
        for criterion in Criterion:
            if criterion in raw:
                subschemas = _list(raw, scope, criterion)
                alternatives = [
                    self._child(schema, raw, scope, criterion, index) for index, schema in enumerate(subschemas)
                ]
                parts[criterion] = Combined(criterion, alternatives, subschemas)
        if "not" in raw:
            parts["not"] = Not(self._child(raw["not"], raw, scope, "not"))
        if "const" in raw and draft is not Draft.DRAFT_4:
            parts["const"] = Constant(raw["const"])
        covered: frozenset[str] = frozenset()
        if "type" in raw:
            parts["type"], covered = self._typed(raw, scope)
        present = raw.keys()
        if "array" not in covered and not keywords.array.isdisjoint(present):
            parts["array"] = self._array(raw, scope)
        if "object" not in covered and not keywords.object.isdisjoint(present):
            parts["object"] = self._object(raw, scope)
        if "number" not in covered and not keywords.number.isdisjoint(present):
            parts["number"] = self._number(raw, scope)
        if "string" not in covered and not keywords.string.isdisjoint(present):
            parts["string"] = self._string(raw, scope)
        if draft >= Draft.DRAFT_7:
            branches = [self._child(raw[word], raw, scope, word) for word in _CONDITIONAL_KEYWORDS if word in raw]
            if branches:
                parts["if"] = Conditional()
        return parts

    def _typed(self, raw: dict[str, Json], scope: Scope) -> tuple[Node, frozenset[str]]:
        """With the types whose keywords are taken up."""
        declared = raw["type"]
        if isinstance(declared, str):
            return self._of_type(declared, raw, scope), frozenset([_FAMILIES.get(declared, declared)])
        if not isinstance(declared, list):
            raise _unexpected(raw, scope, "type", "a string or an array")
        alternatives = [self._of_type(name, raw, scope) for name in declared]
        names: list[str] = declared
        covered = frozenset([_FAMILIES.get(name, name) for name in names])
        return Combined(Criterion.ANY, alternatives, declared), covered

    def _of_type(self, name: Json, raw: dict[str, Json], scope: Scope) -> Node:
        build = _TYPES.get(name) if isinstance(name, str) else None
        if build is None:
            known = ", ".join(_TYPES)
            shown = repr(name) if isinstance(name, str) else _kind(name)
            raise scope.document.malformed(f"{shown} is no type; the types are {known}", raw, "type")
        return build(self, raw, scope)

    def _integer(self, raw: dict[str, Json], scope: Scope) -> Node:
        node = self._number(raw, scope)
        node.is_integer = True
        return node

    def _number(self, raw: dict[str, Json], scope: Scope) -> Number:
        node = Number()
        node.minimum = _number(raw, scope, "minimum")
        node.maximum = _number(raw, scope, "maximum")
        if scope.document.draft is Draft.DRAFT_4:
            for keyword in ("exclusiveMinimum", "exclusiveMaximum"):  # of draft 4, which no rule looks at
                _boolean(raw, scope, keyword)
        else:
            node.exclusive_minimum = _number(raw, scope, "exclusiveMinimum")
            node.exclusive_maximum = _number(raw, scope, "exclusiveMaximum")
        node.multiple_of = _number(raw, scope, "multipleOf")
        if node.multiple_of == 0:
            raise scope.document.malformed("multipleOf must not be 0", raw, "multipleOf")
        return node

    def _string(self, raw: dict[str, Json], scope: Scope) -> String:
        node = String()
        node.min_length = _count(raw, scope, "minLength")
        node.max_length = _count(raw, scope, "maxLength")
        for keyword in ("pattern", "format"):
            if keyword in raw and not isinstance(raw[keyword], str):
                raise _unexpected(raw, scope, keyword, "a string")
        node.pattern = raw.get("pattern")
        if node.pattern is not None:
            _refuse_malformed_pattern(node.pattern, raw, scope, "pattern")
        return node

    def _array(self, raw: dict[str, Json], scope: Scope) -> Array:
        node = Array()
        draft = scope.document.draft
        node.min_items = _count(raw, scope, "minItems")
        node.max_items = _count(raw, scope, "maxItems")
        node.has_unique_items = _boolean(raw, scope, "uniqueItems")
        if draft is Draft.DRAFT_2020_12:
            self._items_after_prefix(node, raw, scope)
        else:
            self._items_or_tuple(node, raw, scope)
        if "contains" in raw and draft is not Draft.DRAFT_4:
            self._child(raw["contains"], raw, scope, "contains")
            if draft.is_modern:
                least = _count(raw, scope, "minContains")
                node.min_contains = 1 if least is None else least
                node.max_contains = _count(raw, scope, "maxContains")
        if "unevaluatedItems" in raw and draft.is_modern:
            node.unevaluated = self._child(raw["unevaluatedItems"], raw, scope, "unevaluatedItems")
        return node

    def _items_after_prefix(self, node: Array, raw: dict[str, Json], scope: Scope) -> None:
        if "prefixItems" in raw:
            node.first_items = [
                self._child(schema, raw, scope, "prefixItems", index)
                for index, schema in enumerate(_list(raw, scope, "prefixItems"))
            ]
        items = raw.get("items", True)
        if items is False:
            node.permits_additional = False
        elif items is not True:
            rest = self._child(items, raw, scope, "items")
            if node.first_items:
                node.additional = rest
            else:
                node.every_item = rest

    def _items_or_tuple(self, node: Array, raw: dict[str, Json], scope: Scope) -> None:
        items = raw.get("items")
        if isinstance(items, list):
            node.first_items = [self._child(schema, raw, scope, "items", index) for index, schema in enumerate(items)]
        elif "items" in raw:
            node.every_item = self._child(items, raw, scope, "items")
        additional = raw.get("additionalItems", True)
        if not isinstance(additional, bool):
            node.additional = self._child(additional, raw, scope, "additionalItems")
        else:
            # Beside a schema for every item the keyword means nothing.
            node.permits_additional = additional or node.every_item is not None

    def _object(self, raw: dict[str, Json], scope: Scope) -> Object:
        node = Object()
        draft = scope.document.draft
        node.min_properties = _count(raw, scope, "minProperties")
        node.max_properties = _count(raw, scope, "maxProperties")
        if "properties" in raw:
            for name, schema in _dict(raw, scope, "properties").items():
                if name == draft.id_keyword and isinstance(schema, str):
                    continue  # somebody's `$id` in the wrong place, which Confluent's registry lets pass
                node.properties[name] = self._child(schema, raw, scope, "properties", name)
        if "required" in raw:
            node.required = _names(raw["required"], raw, scope, "required")
        additional = raw.get("additionalProperties", True)
        if isinstance(additional, bool):
            node.permits_additional = additional
        else:
            node.additional = self._child(additional, raw, scope, "additionalProperties")
        if "patternProperties" in raw:
            for pattern, schema in _dict(raw, scope, "patternProperties").items():
                _refuse_malformed_pattern(pattern, raw, scope, "patternProperties", pattern)
                child = self._child(schema, raw, scope, "patternProperties", pattern)
                node.pattern_properties.append((pattern, child))
        if "propertyNames" in raw and draft is not Draft.DRAFT_4:
            self._child(raw["propertyNames"], raw, scope, "propertyNames")
        if draft.is_modern:
            self._dependent(node, raw, scope, "dependentRequired", required=True, schemas=False)
            self._dependent(node, raw, scope, "dependentSchemas", required=False, schemas=True)
            if "unevaluatedProperties" in raw:
                node.unevaluated = self._child(raw["unevaluatedProperties"], raw, scope, "unevaluatedProperties")
        else:
            self._dependent(node, raw, scope, "dependencies", required=True, schemas=True)
        return node

    def _dependent(
        self, node: Object, raw: dict[str, Json], scope: Scope, keyword: str, *, required: bool, schemas: bool
    ) -> None:
        if keyword not in raw:
            return
        for name, needs in _dict(raw, scope, keyword).items():
            if required and (isinstance(needs, list) or not schemas):
                names = _names(needs, raw, scope, keyword, name)
                if names:
                    node.dependent_required[name] = names
            else:
                node.dependent_schemas[name] = self._child(needs, raw, scope, keyword, name)

    def _child(self, schema: Json, raw: dict[str, Json], scope: Scope, *inner: str | int) -> Node:
        if not isinstance(schema, dict | bool):
            reason = f"a schema is an object or a boolean, not {_kind(schema)}"
            raise scope.document.malformed(reason, raw, *inner)
        self._depth += 1
        if self._depth > MAX_SCHEMA_DEPTH:
            raise scope.document.malformed(f"nested deeper than {MAX_SCHEMA_DEPTH} schemas", raw, *inner)
        node = self._schema(schema, scope)
        self._depth -= 1
        return node

    def _reference(self, raw: dict[str, Json], keyword: str, scope: Scope) -> Node:
        text = raw[keyword]
        if not isinstance(text, str):
            raise _unexpected(raw, scope, keyword, "a string")
        target = self._documents.resolve(text, scope)
        if target is None:
            uri = join(scope.uri, text)
            if draft_of_meta_schema(uri) is not None:
                return MetaSchema(uri.removesuffix("#"))
            raise scope.document.malformed(self._dangling(text), raw, keyword)
        if not isinstance(target.raw, dict | bool):
            reason = f"{text!r} leads to {_kind(target.raw)}, which is no schema"
            raise scope.document.malformed(reason, raw, keyword)
        self.references[id(raw)] = target
        reference = Reference(text)
        self._waiting.append((reference, target))
        return reference

    def _dangling(self, text: str) -> str:
        if text.startswith("#"):
            return f"{text!r} leads nowhere in this document"
        names = self._documents.names()
        known = f"it has references named {', '.join(map(repr, names))}" if names else "it has no references"
        return (
            f"{text!r} leads nowhere: nothing is fetched from elsewhere, so the schema that is meant must be "
            f"registered, and given as a reference of that name ({known})"
        )


def _shorten_chain(reference: Reference) -> None:
    """Lets it, and those on its way, lead to the end at once. Raises InvalidSchema if there is none."""
    chain: dict[int, Reference] = {}
    node: Node | None = reference
    while isinstance(node, Reference):
        if id(node) in chain:
            raise InvalidSchema(f"circular reference: {reference.text!r} leads to itself, and nothing is on the way")
        chain[id(node)] = node
        node = node.target
    for link in chain.values():
        link.target = node


_TYPES: Final[dict[str, Callable[[Loader, dict[str, Json], Scope], Node]]] = {
    "string": Loader._string,
    "integer": Loader._integer,
    "number": Loader._number,
    "boolean": lambda _loader, _raw, _scope: Boolean(),
    "null": lambda _loader, _raw, _scope: Null(),
    "array": Loader._array,
    "object": Loader._object,
}
_FAMILIES: Final[dict[str, str]] = {"integer": "number"}


def _refuse_malformed_pattern(pattern: str, raw: dict[str, Json], scope: Scope, *inner: str) -> None:
    mistake = patterns.mistake(pattern)
    if mistake is not None:
        raise scope.document.malformed(f"{pattern!r} is no regular expression: {mistake}", raw, *inner)


def _unexpected(raw: dict[str, Json], scope: Scope, keyword: str, expected: str) -> InvalidSchema:
    return scope.document.malformed(f"{keyword} is {expected}, not {_kind(raw[keyword])}", raw, keyword)


def _kind(value: Json) -> str:
    if isinstance(value, bool):
        return "a boolean"
    names = {type(None): "null", int: "a number", Decimal: "a number", str: "a string", list: "an array"}
    return names.get(type(value), "an object")


def _list(raw: dict[str, Json], scope: Scope, keyword: str) -> list[Json]:
    value = raw[keyword]
    if not isinstance(value, list):
        raise _unexpected(raw, scope, keyword, "an array")
    return value


def _dict(raw: dict[str, Json], scope: Scope, keyword: str) -> dict[str, Json]:
    value = raw[keyword]
    if not isinstance(value, dict):
        raise _unexpected(raw, scope, keyword, "an object")
    return value


def _names(value: Json, raw: dict[str, Json], scope: Scope, *inner: str) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise scope.document.malformed(f"{inner[0]} takes an array of the names of properties", raw, *inner)
    return frozenset(value)


def _number(raw: dict[str, Json], scope: Scope, keyword: str) -> Json:
    value = raw.get(keyword)
    if keyword in raw and (isinstance(value, bool) or not isinstance(value, int | Decimal)):
        raise _unexpected(raw, scope, keyword, "a number")
    return value


def _count(raw: dict[str, Json], scope: Scope, keyword: str) -> int | None:
    value = _number(raw, scope, keyword)
    if isinstance(value, Decimal):
        if value.adjusted() > 20 or value != value.to_integral_value():
            raise scope.document.malformed(f"{keyword} is a whole number, not {value}", raw, keyword)
        return int(value)
    return value  # type: ignore[no-any-return]  # an integer or nothing, as was checked


def _boolean(raw: dict[str, Json], scope: Scope, keyword: str) -> bool:
    value = raw.get(keyword, False)
    if not isinstance(value, bool):
        raise _unexpected(raw, scope, keyword, "a boolean")
    return value
