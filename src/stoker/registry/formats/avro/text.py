"""Schemas as text: character for character what Java's Schema.toString() gives, which is what Confluent's registry stores."""

import json
import math
import re
import struct
from decimal import Decimal
from typing import Final

from stoker.registry.formats.avro import defaults
from stoker.registry.formats.avro.model import (
    ABSENT,
    TYPE_NAMES,
    Array,
    Enum,
    Field,
    Fixed,
    Json,
    Map,
    Named,
    NamedType,
    Primitive,
    Properties,
    Record,
    Type,
)
from stoker.registry.formats.schema import MAX_NESTING, InvalidSchema

_encoded: Final = json.JSONEncoder(ensure_ascii=False).encode

# The first alternative takes escaped backslashes, so that a `u` after one of them is no escape.
ESCAPE: Final = re.compile(r"\\\\|\\u[0-9a-f]{4}")

LOGICAL_TYPES: Final = {
    "date": "int",
    "time-millis": "int",
    "time-micros": "long",
    "timestamp-millis": "long",
    "timestamp-micros": "long",
    "timestamp-nanos": "long",
    "local-timestamp-millis": "long",
    "local-timestamp-micros": "long",
    "local-timestamp-nanos": "long",
    "big-decimal": "bytes",
}
"""The logical types that need nothing but a type to stand on."""


class Printer:
    """Writes one schema. A named type is written in full where it comes first, and by its name after that.

    `known` names the types that are never written in full: those of references. With `normal`, what means nothing is put
    in one order and spelling, as Confluent's AvroSchema.normalize() does.

    A level of nesting takes two frames of the stack at most, so that the deepest schema takes less than half of it.
    """

    def __init__(self, known: frozenset[str], *, normal: bool = False) -> None:
        self._known = set(known)
        self._normal = normal

    def text(self, root: Type) -> str:
        text = self._type(root, None, 0)
        try:
            text.isascii() or text.encode()
        except UnicodeEncodeError as error:
            raise InvalidSchema(f"half of a surrogate pair: \\u{ord(text[error.start]):04x}") from None
        return text

    def _type(self, type_: Type, namespace: str | None, depth: int) -> str:
        if isinstance(type_, Primitive):
            if not type_.properties:
                return f'"{type_.kind}"'
            return f'{{"type":"{type_.kind}"{self._properties(type_, type_.properties)}}}'
        if depth >= MAX_NESTING:
            raise InvalidSchema(f"nested deeper than {MAX_NESTING} types when each is written where it comes first")
        if isinstance(type_, Named):
            if type_.full_name in self._known:
                return quoted(qualified(type_.full_name, type_.name, type_.namespace, namespace))
            self._known.add(type_.full_name)
            return self._named(type_, namespace, depth + 1)
        if isinstance(type_, Array):
            items = self._type(type_.items, namespace, depth + 1)
            return f'{{"type":"array","items":{items}{self._properties(type_, type_.properties)}}}'
        if isinstance(type_, Map):
            values = self._type(type_.values, namespace, depth + 1)
            return f'{{"type":"map","values":{values}{self._properties(type_, type_.properties)}}}'
        branches = []
        for branch in type_.branches:
            branches.append(self._type(branch, namespace, depth + 1))  # noqa: PERF401
        return f"[{','.join(branches)}]"

    def _named(self, type_: NamedType, namespace: str | None, depth: int) -> str:
        is_error = isinstance(type_, Record) and type_.is_error and not self._normal
        kind = "error" if is_error else type_.kind
        parts = [f'{{"type":"{kind}","name":{quoted(type_.name)}']
        if type_.namespace != namespace:
            parts.append(f',"namespace":{quoted(type_.namespace or "")}')
        if type_.doc is not None and (type_.doc or not self._normal):
            parts.append(f',"doc":{quoted(type_.doc)}')
        if isinstance(type_, Record):
            fields = []
            for field in type_.fields.values():
                written = self._type(field.type, type_.namespace, depth)
                fields.append(f'{{"name":{quoted(field.name)},"type":{written}{self._rest_of_field(field)}}}')
            parts.append(f',"fields":[{",".join(fields)}]')
        elif isinstance(type_, Enum):
            parts.append(f',"symbols":[{",".join(map(quoted, type_.symbols))}]')
            if type_.default is not None:
                parts.append(f',"default":{quoted(type_.default)}')
        else:
            parts.append(f',"size":{type_.size}')
        parts.append(self._properties(type_, type_.properties))
        if type_.aliases:
            parts.append(f',"aliases":[{",".join(map(quoted, self._aliases(type_)))}]')
        parts.append("}")
        return "".join(parts)

    def _rest_of_field(self, field: Field) -> str:
        text = ""
        if field.doc is not None:
            text += f',"doc":{quoted(field.doc)}'
        if field.default is not ABSENT:
            default = field.default
            if self._normal:
                default = defaults.normalized(field.type, default)
            text += f',"default":{self._value(default)}'
        if field.order != "ascending":
            text += f',"order":"{field.order}"'
        if field.aliases:
            aliases = sorted(field.aliases, key=_java_order) if self._normal else field.aliases
            text += f',"aliases":[{",".join(map(quoted, aliases))}]'
        if field.properties:
            text += self._properties(None, field.properties)
        return text

    def _aliases(self, type_: NamedType) -> list[str]:
        aliases = list(type_.aliases)
        if self._normal:
            # Java sorts an alias outside of all namespaces, on a type inside of one, with a dot before it.
            aliases.sort(key=lambda alias: _java_order(f".{alias}" if type_.namespace and "." not in alias else alias))
        shown = []
        for alias in aliases:
            namespace, _, name = alias.rpartition(".")
            shown.append(qualified(alias, name, namespace or None, type_.namespace))
        return shown

    def _properties(self, owner: Type | None, properties: Properties) -> str:
        if not properties:
            return ""
        names = list(properties)
        if self._normal:
            leading = () if owner is None else logical_type_properties(owner)
            names = [*leading, *sorted((name for name in names if name not in leading), key=_java_order)]
        return "".join([f",{quoted(name)}:{self._value(properties[name])}" for name in names])

    def _value(self, value: Json, depth: int = 0) -> str:
        if isinstance(value, str):
            return quoted(value)
        if value is None or isinstance(value, bool):
            return "null" if value is None else "true" if value else "false"
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return java_number(value)
        if depth >= MAX_NESTING:
            raise InvalidSchema(f"a value is nested deeper than {MAX_NESTING} arrays and objects")
        if isinstance(value, list):
            return f"[{','.join([self._value(each, depth + 1) for each in value])}]"
        keys = sorted(value, key=_java_order) if self._normal else value
        return f"{{{','.join([f'{quoted(key)}:{self._value(value[key], depth + 1)}' for key in keys])}}}"


def qualified(full_name: str, name: str, namespace: str | None, current_namespace: str | None) -> str:
    """How a named type is referred to from inside a namespace. A name that is a word of Avro's needs its namespace."""
    return name if namespace is not None and namespace == current_namespace and name not in TYPE_NAMES else full_name


def quoted(value: str) -> str:
    """A string of JSON as Jackson writes it: nothing escaped but what must be, and hexadecimal digits in upper case."""
    text = _encoded(value)
    if "\\u" in text:
        text = ESCAPE.sub(lambda match: match[0] if match[0] == "\\\\" else f"\\u{match[0][2:].upper()}", text)
    return text


def java_number(value: float) -> str:
    """A number as Java's Double.toString() or Float.toString() gives it; what is no number of JSON is a string."""
    if not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
    digits = _shortest_single(value) if isinstance(value, defaults.Single) else float.__repr__(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = format(Decimal(digits), "f")
        return text if "." in text else f"{text}.0"
    sign, figures, exponent = Decimal(digits).as_tuple()
    assert isinstance(exponent, int)
    exponent += len(figures) - 1
    mantissa = "".join(map(str, figures)).rstrip("0")
    return f"{'-' if sign else ''}{mantissa[0]}.{mantissa[1:] or '0'}E{exponent}"


def _shortest_single(value: float) -> str:
    for precision in range(1, 9):
        text = f"{value:.{precision}g}"
        try:
            if struct.unpack(">f", struct.pack(">f", float(text)))[0] == value:
                return text
        except OverflowError:
            pass  # rounded up beyond the largest one
    return f"{value:.9g}"


def logical_type_properties(type_: Type) -> tuple[str, ...]:
    """The properties that say which logical type this is, if it is a valid one; normalized schemas begin with them."""
    if not isinstance(type_, Primitive | Fixed):
        return ()
    properties = type_.properties
    logical_type = properties.get("logicalType")
    size = type_.size if isinstance(type_, Fixed) else None
    if logical_type == "decimal":
        if size is None and type_.kind != "bytes":
            return ()
        precision, scale = properties.get("precision"), properties.get("scale", 0)
        largest = (1 << 31) - 1 if size is None else math.floor(math.log10(2) * (8 * size - 1))
        if type(precision) is not int or type(scale) is not int or not 0 < precision <= largest:
            return ()
        if not 0 <= scale <= precision:
            return ()
        return ("logicalType", "precision", "scale") if scale else ("logicalType", "precision")
    if logical_type == "uuid":
        return ("logicalType",) if size == 16 or type_.kind == "string" else ()
    if logical_type == "duration":
        return ("logicalType",) if size == 12 else ()
    is_valid = isinstance(logical_type, str) and LOGICAL_TYPES.get(logical_type) == type_.kind
    return ("logicalType",) if is_valid else ()


def _java_order(text: str) -> bytes:
    """Strings of Java are compared by units of UTF-16."""
    return text.encode("utf-16-be", "surrogatepass")
