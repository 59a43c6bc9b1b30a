"""What a schema holds, in a form that can be shown and compared: groups (a record, a message, an object) and their members.

An outline leaves out what readers do not feel, such as comments and the order of fields.
"""

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from stoker.registry.formats.avro import AvroSchema
from stoker.registry.formats.avro import model as avro
from stoker.registry.formats.json_schema import JsonSchema
from stoker.registry.formats.protobuf.elements import Enum, Field, Group, Message, OneOf, ProtoFile
from stoker.registry.formats.protobuf.schema import ProtobufSchema
from stoker.registry.formats.schema import ParsedSchema

_WHOLE: Final = "schema"
"""The group of what has no name of its own."""
_LONGEST_VALUE: Final = 200


class Member(NamedTuple):
    """A field, property, constant or keyword. `text` is its type and all that matters beside, for people."""

    name: str
    text: str


Outline = dict[str, dict[str, Member]]
"""By the title of the group, and in it by what stays the same when a member changes: its name, or its number."""


def outline(schema: ParsedSchema) -> Outline:
    if isinstance(schema, AvroSchema):
        return _AvroOutline().of(schema.root)
    if isinstance(schema, ProtobufSchema):
        return _of_protobuf(schema.file)
    if isinstance(schema, JsonSchema):
        found: Outline = {}
        _add_json(found, "#", json.loads(schema.text), is_group=True)
        return found
    return {}


# -- Avro --------------------------------------------------------------------------------------------------------------


class _AvroOutline:
    """Every named type is a group of its own, whatever contains it."""

    def __init__(self) -> None:
        self._found: Outline = {}

    def of(self, root: avro.Type) -> Outline:
        if not isinstance(root, avro.Named):
            self._found[_WHOLE] = {"": Member("type", _avro_text(root))}
        waiting: list[avro.Type] = [root]
        while waiting:
            type_ = waiting.pop()
            if isinstance(type_, avro.Named):
                title = f"{type_.kind} {type_.full_name}"
                if title in self._found:
                    continue
                self._found[title] = dict(_avro_members(type_))
            waiting += reversed(_avro_parts(type_))
        return self._found


def _avro_members(type_: avro.Named) -> Iterator[tuple[str, Member]]:
    if isinstance(type_, avro.Record):
        for field in type_.fields.values():
            text = _avro_text(field.type)
            if field.default is not avro.ABSENT:
                text += f", default {_shown(field.default)}"
            if field.aliases:
                text += f", also {', '.join(field.aliases)}"
            yield field.name, Member(field.name, text)
    elif isinstance(type_, avro.Enum):
        for symbol in type_.symbols:
            yield symbol, Member(symbol, "symbol")
        if type_.default is not None:
            yield "default", Member("(default)", type_.default)
    elif isinstance(type_, avro.Fixed):
        yield "size", Member("size", str(type_.size))
    if type_.aliases:
        yield "aliases", Member("(aliases)", ", ".join(type_.aliases))


def _avro_parts(type_: avro.Type) -> list[avro.Type]:
    if isinstance(type_, avro.Record):
        return [field.type for field in type_.fields.values()]
    if isinstance(type_, avro.Array):
        return [type_.items]
    if isinstance(type_, avro.Map):
        return [type_.values]
    return list(type_.branches) if isinstance(type_, avro.Union) else []


def _avro_text(type_: avro.Type) -> str:
    if isinstance(type_, avro.Named):
        return type_.full_name
    if isinstance(type_, avro.Union):
        return " | ".join(map(_avro_text, type_.branches))
    if isinstance(type_, avro.Array):
        return f"array<{_avro_text(type_.items)}>"
    if isinstance(type_, avro.Map):
        return f"map<{_avro_text(type_.values)}>"
    logical = type_.properties.get("logicalType")
    if not isinstance(logical, str):
        return type_.kind
    numbers = ", ".join(str(type_.properties[name]) for name in ("precision", "scale") if name in type_.properties)
    return f"{type_.kind} {logical}({numbers})" if numbers else f"{type_.kind} {logical}"


# -- Protobuf ----------------------------------------------------------------------------------------------------------


def _of_protobuf(file: ProtoFile) -> Outline:
    heading = {"syntax": file.edition or file.syntax or "proto2", "package": file.package}
    found: Outline = {"file": {name: Member(name, value) for name, value in heading.items() if value}}
    for name in file.all_imports:
        found["file"][f"import {name}"] = Member("import", name)
    for type_ in file.types:
        _add_protobuf_type(found, type_, file.package or "")
    for service in file.services:
        found[f"service {service.name}"] = {
            rpc.name: Member(
                rpc.name,
                f"{'stream ' if rpc.request_streams else ''}{rpc.request} -> "
                f"{'stream ' if rpc.response_streams else ''}{rpc.response}",
            )
            for rpc in service.rpcs
        }
    return found


def _add_protobuf_type(found: Outline, type_: Message | Enum, scope: str) -> None:
    name = f"{scope}.{type_.name}" if scope else type_.name
    if isinstance(type_, Enum):
        found[f"enum {name}"] = {each.name: Member(each.name, f"= {each.number}") for each in type_.constants}
        return
    members = found[f"message {name}"] = {}
    places: list[tuple[Message | OneOf, str]] = [(type_, "")]
    places += [(oneof, f", in oneof {oneof.name}") for oneof in type_.oneofs]
    for holder, place in places:
        for field in holder.fields:
            members[str(field.number)] = _protobuf_member(field, place)
        for group in holder.groups:
            members[str(group.number)] = _protobuf_member(group, place)
    for inner in type_.types:
        _add_protobuf_type(found, inner, name)


def _protobuf_member(field: Field | Group, place: str) -> Member:
    type_ = "group" if isinstance(field, Group) else field.type
    default = f", default {field.default}" if isinstance(field, Field) and field.default is not None else ""
    text = f"{f'{field.label} ' if field.label else ''}{type_} = {field.number}{default}{place}"
    return Member(field.name, text)


# -- JSON Schema -------------------------------------------------------------------------------------------------------

_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS: Final = ("$defs", "definitions", "dependentSchemas", "patternProperties")
_SCHEMAS: Final = ("additionalItems", "additionalProperties", "contains", "else", "if", "items", "not", "then")
_TALK: Final = ("$comment", "$id", "$schema", "description", "examples", "id", "required", "title")
"""Keywords that say nothing of the data, or, like `required`, are told of elsewhere."""


def _add_json(found: Outline, path: str, node: Any, *, is_group: bool = False) -> None:
    """A node is a group if it has properties or a name of its own; what is below it has groups of its own."""
    for index, value in enumerate(_items(node)):  # the `items` of old drafts
        _add_json(found, f"{path}/{index}", value)
    if not isinstance(node, dict):
        if is_group:
            found[path] = {"": Member("(everything)", "allowed" if node else "forbidden")}
        return
    properties = _entries(node.get("properties"))
    if properties or is_group:
        found[path] = dict(_json_members(node, properties))
    for name, value in properties.items():
        _add_json(found, f"{path}/properties/{name}", value)
    for keyword in _SCHEMAS:
        _add_json(found, f"{path}/{keyword}", node.get(keyword))
    for keyword in _LISTS:
        _add_json(found, f"{path}/{keyword}", node.get(keyword))
    for keyword in _MAPS:
        for name, value in _entries(node.get(keyword)).items():
            _add_json(found, f"{path}/{keyword}/{name}", value, is_group=True)


def _json_members(node: dict[str, Any], properties: dict[str, Any]) -> Iterator[tuple[str, Member]]:
    required = {name for name in _items(node.get("required")) if isinstance(name, str)}
    for name, value in properties.items():
        yield name, Member(name, f"{_json_text(value)}{', required' if name in required else ''}")
    for name in sorted(required - properties.keys()):
        yield f"required {name}", Member(name, "required")
    for keyword, value in _keywords(node):
        if keyword != "type" or value != "object":
            yield f"({keyword})", Member(f"({keyword})", _shown(value))


def _entries(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _keywords(node: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Those that restrict the node itself."""
    for keyword, value in node.items():
        if keyword in _TALK or keyword == "properties" or keyword in _MAPS:
            continue
        if keyword in _SCHEMAS and not isinstance(value, bool):
            continue
        yield keyword, value


def _json_text(node: Any) -> str:
    if not isinstance(node, dict):
        return "anything" if node is True else "nothing"
    rest = dict(_keywords(node))
    type_ = rest.pop("type", None)
    words = [" | ".join(map(str, type_)) if isinstance(type_, list) else str(type_ or "")]
    if "$ref" in rest:
        words.append(str(rest.pop("$ref")))
    if isinstance(node.get("items"), dict):
        words[0] = f"array<{_json_text(node['items'])}>"
    for keyword, value in rest.items():
        if not (keyword == "additionalProperties" and node.get("properties")):
            words.append(f"{keyword} {_shown(value)}")
    return ", ".join(word for word in words if word) or "anything"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
