"""Reads schemas, as strictly as Confluent's registry does: names of ASCII letters, digits and underscores, valid defaults.

As in Avro 1.12, a type may be referred to before it is defined, and be defined again if that changes nothing but
documentation and aliases.
"""

import re
from typing import Final, NoReturn

from stoker.registry.formats.avro import document
from stoker.registry.formats.avro.defaults import Defaults, EndlessDefault
from stoker.registry.formats.avro.model import (
    ABSENT,
    NO_PROPERTIES,
    PLAIN,
    PRIMITIVES,
    Array,
    Enum,
    Field,
    Fixed,
    Json,
    Map,
    NamedType,
    Primitive,
    Properties,
    Record,
    Type,
    Union,
)
from stoker.registry.formats.avro.redefinition import Redefinitions
from stoker.registry.formats.schema import MAX_NESTING, InvalidSchema

MAX_NAMED_TYPES: Final = 10_000
MAX_FIXED_SIZE: Final = (1 << 31) - 9
"""Java's largest array."""

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LENIENT_NAME: Final = re.compile(r"[^\W\d]\w*")
DECIMAL_NUMBER: Final = re.compile(
    r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fFdD]?\s*|\s*([+-]?)(NaN|Infinity)\s*"
)

TYPE_RESERVED: Final = frozenset(
    {"doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases"}
)
ENUM_RESERVED: Final = TYPE_RESERVED | {"default"}
FIELD_RESERVED: Final = frozenset({"default", "doc", "name", "order", "type", "aliases"})
ORDERS: Final = frozenset({"ascending", "descending", "ignore"})


class Fault(Exception):
    """What is wrong, and where in the document."""

    def __init__(self, reason: str, path: document.Path) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path


class Forward(Primitive):
    """Stands where a type is referred to that may yet be defined, until all is read."""

    __slots__ = ("full_name", "path")

    def __init__(self, full_name: str, path: document.Path) -> None:
        super().__init__("forward", NO_PROPERTIES)
        self.full_name = full_name
        self.path = path


class Parser:
    """Reads one schema after another; each may refer to the named types of those before it.

    A level of nesting takes two frames of the stack. With `is_new` false, what older registries let in is read as well: letters of all scripts in names, any namespace, and
    defaults that are not of their type.
    """

    def __init__(self, *, is_new: bool = True) -> None:
        self._is_new = is_new
        self._name = NAME if is_new else LENIENT_NAME
        self._types: dict[str, NamedType] = {}
        self._defaults = Defaults()
        self._redefinitions = Redefinitions()
        self._start()

    def _start(self) -> None:
        self._path: list[str | int] = []
        self._unfinished: set[str] = set()
        self._forward: list[tuple[Field | Array | Map | list[Type], int, Forward]] = []
        self._with_default: list[tuple[Field, document.Path]] = []
        self._twice: list[tuple[NamedType, NamedType, document.Path]] = []

    def parse(self, text: str) -> Type:
        content, text = document.read(text)
        self._start()
        try:
            root = self._type(content, None, 1)
            self._resolve()
            if isinstance(root, Forward):
                root = self._target(root)
            self._check()
        except Fault as fault:
            line, column = document.place(text, fault.path)
            raise InvalidSchema(fault.reason, line=line, column=column) from None
        return root

    def _type(self, node: Json, namespace: str | None, depth: int) -> Type:
        if depth > MAX_NESTING:
            self._fail(f"nested deeper than {MAX_NESTING} types")
        if isinstance(node, str):
            return PLAIN.get(node) or self._find(node, namespace)
        if isinstance(node, dict):
            kind = node.get("type")
            if not isinstance(kind, str):
                self._fail('a type must have a "type" that is a string' if "type" in node else 'a type has no "type"')
            if kind in PRIMITIVES:
                properties = self._properties(node, TYPE_RESERVED)
                return Primitive(kind, properties) if properties else PLAIN[kind]
            if kind == "record" or kind == "error":
                return self._record(node, namespace, depth)
            if kind == "array" or kind == "map":
                return self._container(node, kind, namespace, depth)
            if kind == "enum":
                return self._enum(node, namespace)
            if kind == "fixed":
                return self._fixed(node, namespace)
            return self._find(kind, namespace, "type")
        if isinstance(node, list):
            return self._union(node, namespace, depth)
        shown = "null" if node is None else str(node).lower()[:40]
        reason = f'{shown} is no type: a type is a name, an object with a "type", or the array of a union'
        raise Fault(reason, tuple(self._path))

    def _find(self, name: str, namespace: str | None, *place: str) -> Type:
        full_name = name if namespace is None or "." in name else f"{namespace}.{name}"
        found = self._types.get(full_name) or self._types.get(name)
        return found if found is not None else Forward(full_name, (*self._path, *place))

    def _container(self, node: dict[str, Json], kind: str, namespace: str | None, depth: int) -> Type:
        key = "items" if kind == "array" else "values"
        if key not in node:
            self._fail(f'the {kind} has no "{key}"')
        self._path.append(key)
        content = self._type(node[key], namespace, depth + 1)
        self._path.pop()
        properties = self._properties(node, TYPE_RESERVED)
        container = Array(content, properties) if kind == "array" else Map(content, properties)
        if isinstance(content, Forward):
            self._forward.append((container, 0, content))
        return container

    def _union(self, node: list[Json], namespace: str | None, depth: int) -> Union:
        branches: list[Type] = []
        seen = set()
        self._path.append(0)
        for index, each in enumerate(node):
            self._path[-1] = index
            branch = self._type(each, namespace, depth + 1)
            if isinstance(branch, Union):
                self._fail("a union may not contain a union immediately")
            if isinstance(branch, Forward):
                self._forward.append((branches, index, branch))
            name: str = getattr(branch, "full_name", branch.kind)
            if name in seen:
                self._fail(f"the union contains {name} twice")
            seen.add(name)
            branches.append(branch)
        self._path.pop()
        return Union(branches)

    def _record(self, node: dict[str, Json], namespace: str | None, depth: int) -> NamedType:
        name, namespace, full_name, doc, aliases = self._named(node, "record", namespace)
        record = Record(
            name, namespace, full_name, doc, aliases, self._properties(node, TYPE_RESERVED), node["type"] == "error"
        )
        entries = node.get("fields")
        if not isinstance(entries, list):
            self._fail(f'record {full_name} has no "fields", which is an array')
        defined = self._define(record)
        self._unfinished.add(full_name)
        path = self._path
        path += ("fields", 0)
        for index, entry in enumerate(entries):
            path[-1] = index
            field_name = self._field_name(entry, record)
            path.append("type")
            type_ = self._type(entry["type"], namespace, depth + 1)
            path.pop()
            record.fields[field_name] = self._field(field_name, type_, entry)
        del path[-2:]
        for field in record.fields.values():
            for alias in field.aliases:
                if alias not in record.fields:
                    record.claims[alias] = field
        self._unfinished.remove(full_name)
        return defined

    def _field_name(self, entry: Json, record: Record) -> str:
        """Checks what a field must have, and gives its name."""
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            self._fail(f'a field of record {record.full_name} has no "name" that is a string')
        if self._name.fullmatch(name) is None:
            self._fail(f"{name!r} cannot be the name of a field: {self._allowed()}", "name")
        if name in record.fields:
            self._fail(f"record {record.full_name} has two fields named {name}", "name")
        if "type" not in entry:
            self._fail(f'field {name} of record {record.full_name} has no "type"')
        return name

    def _field(self, name: str, type_: Type, entry: dict[str, Json]) -> Field:
        doc, default, order = entry.get("doc"), entry.get("default", ABSENT), "ascending"
        if isinstance(default, str) and (type_.kind == "double" or type_.kind == "float"):
            default = self._number(name, default)
        if "order" in entry:
            order = str(entry["order"]).lower()
            if order not in ORDERS:
                self._fail(f"field {name} has the order {entry['order']!r}: choose one of {sorted(ORDERS)}", "order")
        aliases = self._alias_names(entry) if "aliases" in entry else ()
        properties = self._properties(entry, FIELD_RESERVED)
        field = Field(name, type_, doc if isinstance(doc, str) else None, default, order, aliases, properties)
        if default is not ABSENT:
            self._with_default.append((field, (*self._path, "default")))
        if isinstance(type_, Forward):
            self._forward.append((field, 0, type_))
        return field

    def _enum(self, node: dict[str, Json], namespace: str | None) -> NamedType:
        name, namespace, full_name, doc, aliases = self._named(node, "enum", namespace)
        symbols = node.get("symbols")
        if not isinstance(symbols, list):
            self._fail(f'enum {full_name} has no "symbols", which is an array')
        ordered: dict[str, None] = {}
        for index, symbol in enumerate(symbols):
            if not isinstance(symbol, str) or self._name.fullmatch(symbol) is None:
                self._fail(f"{symbol!r} cannot be a symbol of enum {full_name}: {self._allowed()}", "symbols", index)
            if symbol in ordered:
                self._fail(f"enum {full_name} has the symbol {symbol} twice", "symbols", index)
            ordered[symbol] = None
        default = node.get("default")
        if not isinstance(default, str):
            default = None
        elif default not in ordered:
            self._fail(f"the default {default!r} of enum {full_name} is none of its symbols", "default")
        properties = self._properties(node, ENUM_RESERVED)
        return self._define(Enum(name, namespace, full_name, doc, aliases, properties, ordered, default))

    def _fixed(self, node: dict[str, Json], namespace: str | None) -> NamedType:
        name, namespace, full_name, doc, aliases = self._named(node, "fixed", namespace)
        size = node.get("size")
        if type(size) is not int or not 0 <= size <= MAX_FIXED_SIZE:
            self._fail(f'fixed {full_name} has no "size" from 0 to {MAX_FIXED_SIZE}', "size")
        properties = self._properties(node, TYPE_RESERVED)
        return self._define(Fixed(name, namespace, full_name, doc, aliases, properties, size))

    def _named(
        self, node: dict[str, Json], kind: str, namespace: str | None
    ) -> tuple[str, str | None, str, str | None, tuple[str, ...]]:
        """Its name, namespace, full name, doc and aliases."""
        name, given, doc = node.get("name"), node.get("namespace"), node.get("doc")
        if not isinstance(name, str):
            self._fail(f'a type of kind {kind} has no "name" that is a string')
        if isinstance(given, str):
            namespace = given
        if "." in name:
            namespace, _, name = name.rpartition(".")
        namespace = namespace or None
        if self._name.fullmatch(name) is None:
            self._fail(f"{name!r} cannot be the name of a type: {self._allowed()}", "name")
        if namespace is not None and self._is_new:
            for part in namespace.split("."):
                if self._name.fullmatch(part) is None:
                    self._fail(f"{part!r} in the namespace {namespace!r} is no name: {self._allowed()}", "namespace")
        full_name = name if namespace is None else f"{namespace}.{name}"
        if full_name in PRIMITIVES:
            self._fail(f"a type may not be named {full_name}, which is a type of Avro's", "name")
        aliases = self._type_aliases(node, namespace) if "aliases" in node else ()
        return name, namespace, full_name, doc if isinstance(doc, str) else None, aliases

    def _type_aliases(self, node: dict[str, Json], namespace: str | None) -> tuple[str, ...]:
        full_names: dict[str, None] = {}
        for alias in self._alias_names(node):
            space, name = namespace, alias
            if "." in alias:
                space, _, name = alias.rpartition(".")
            if self._is_new and self._name.fullmatch(name) is None:
                self._fail(f"{alias!r} cannot be an alias: {self._allowed()}", "aliases")
            full_names[f"{space}.{name}" if space else name] = None
        return tuple(full_names)

    def _alias_names(self, node: dict[str, Json]) -> tuple[str, ...]:
        aliases = node["aliases"]
        if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
            self._fail('"aliases" is not an array of strings', "aliases")
        return tuple(dict.fromkeys(aliases))

    def _properties(self, node: dict[str, Json], reserved: frozenset[str]) -> Properties:
        if node.keys() <= reserved:
            return NO_PROPERTIES
        return {name: value for name, value in node.items() if name not in reserved}

    def _number(self, name: str, text: str) -> float:
        """A default that is written as a string, which is how Java reads and writes NaN."""
        match = DECIMAL_NUMBER.fullmatch(text)
        if match is None:
            self._fail(f"the default {text!r} of field {name} is no number", "default")
        return float(match[1] or f"{match[2]}{match[3]}")

    def _define(self, type_: NamedType) -> NamedType:
        """The type of that name: the one given, or the one before it that must be equal."""
        earlier = self._types.get(type_.full_name)
        if earlier is None:
            if len(self._types) >= MAX_NAMED_TYPES:
                self._fail(f"more than {MAX_NAMED_TYPES:,} named types")
            self._types[type_.full_name] = type_
            return type_
        if type_.full_name in self._unfinished:
            self._fail(f"{type_.full_name} is defined inside of itself")
        self._twice.append((earlier, type_, tuple(self._path)))
        return earlier

    def _resolve(self) -> None:
        for holder, index, forward in self._forward:
            target = self._target(forward)
            if isinstance(holder, list):
                holder[index] = target
            elif isinstance(holder, Array):
                holder.items = target
            elif isinstance(holder, Map):
                holder.values = target
            else:
                holder.type = target

    def _target(self, forward: Forward) -> NamedType:
        target = self._types.get(forward.full_name)
        if target is None:
            raise Fault(f"the type {forward.full_name!r} is not defined here nor in a reference", forward.path)
        return target

    def _check(self) -> None:
        for earlier, later, path in self._twice:
            if not self._redefinitions.are_equal(earlier, later):
                raise Fault(f"{later.full_name} is defined twice, and differently", path)
        if self._is_new:
            for field, path in self._with_default:
                try:
                    is_valid = self._defaults.is_valid(field)
                except EndlessDefault:
                    raise Fault(f"the default of field {field.name} contains itself without end", path) from None
                if not is_valid:
                    raise Fault(f"the default of field {field.name} is not a {_kinds(field.type)}", path)

    def _allowed(self) -> str:
        letters = "A-Z, a-z" if self._is_new else "letters"
        return f"names consist of {letters}, digits and _, and do not begin with a digit"

    def _fail(self, reason: str, *place: str | int) -> NoReturn:
        raise Fault(reason, (*self._path, *place))


def _kinds(type_: Type) -> str:
    return " or ".join([branch.kind for branch in type_.branches]) if isinstance(type_, Union) else type_.kind
