"""What changes between two schemas, who reads whom, who upgrades first."""

import json
from typing import Any

import pytest

from stoker.registry.evolution import Change, UpgradeOrder, evolution
from stoker.registry.formats import avro, json_schema, protobuf
from stoker.registry.formats.schema import ParsedSchema

ADDED, REMOVED, CHANGED = Change.ADDED, Change.REMOVED, Change.CHANGED


def record(*fields: dict[str, Any]) -> ParsedSchema:
    return avro.parse(json.dumps({"type": "record", "name": "shop.Order", "fields": fields}), {})


def field(name: str, type_: Any = "int", **rest: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, **rest}


def obj(properties: dict[str, Any], **rest: Any) -> ParsedSchema:
    return json_schema.parse(json.dumps({"type": "object", "properties": properties, **rest}), {})


def proto(body: str) -> ParsedSchema:
    return protobuf.parse(f'syntax = "proto3"; package shop; {body}', {})


def changes(old: ParsedSchema, new: ParsedSchema) -> list[tuple[str, Change, str, str | None, str | None]]:
    return [tuple(each) for each in evolution(old, new).differences]  # type: ignore[misc]


ORDER, LINE, STATUS = "record shop.Order", "record shop.Line", "enum shop.Status"
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
LINES = {"type": "array", "items": {"type": "record", "name": "Line", "fields": [field("order", "Order")]}}


def status(*symbols: str) -> dict[str, Any]:
    return field("status", {"type": "enum", "name": "Status", "symbols": symbols})


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ([field("a")], [field("a")], []),
        ([field("a")], [field("a", doc="why")], []),
        ([field("a")], [field("a", "long")], [(ORDER, CHANGED, "a", "int", "long")]),
        ([field("a")], [field("a", default=1)], [(ORDER, CHANGED, "a", "int", "int, default 1")]),
        (
            [field("a"), field("b", DECIMAL)],
            [field("a"), field("c", ["null", "string"], default=None)],
            [
                (ORDER, ADDED, "c", None, "null | string, default null"),
                (ORDER, REMOVED, "b", "bytes decimal(10, 2)", None),
            ],
        ),
        ([field("a")], [field("b", aliases=["a"])], [(ORDER, ADDED, "b", None, "int, also a"), (ORDER, REMOVED, "a", "int", None)]),
        ([status("NEW")], [status("NEW", "PAID")], [(STATUS, ADDED, "PAID", None, "symbol")]),
        (
            [field("a")],
            [field("a"), field("lines", LINES)],
            [
                (ORDER, ADDED, "lines", None, "array<shop.Line>"),
                (LINE, ADDED, "", None, LINE),
                (LINE, ADDED, "order", None, "shop.Order"),
            ],
        ),
    ],
)  # fmt: skip
def test_avro(old: list[dict[str, Any]], new: list[dict[str, Any]], found: list[Any]) -> None:
    assert changes(record(*old), record(*new)) == found


def test_avro_without_a_name() -> None:
    old, new = avro.parse('"int"', {}), avro.parse('{"type": "map", "values": "long"}', {})
    assert changes(old, new) == [("schema", CHANGED, "type", "int", "map<long>")]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (obj({"a": {"type": "string"}}), obj({"a": {"type": "string", "description": "x"}}), []),
        (
            obj({"a": {"type": "string"}}),
            obj({"a": {"type": ["string", "null"], "maxLength": 5}}, required=["a"], additionalProperties=False),
            [
                ("#", CHANGED, "a", "string", "string | null, maxLength 5, required"),
                ("#", ADDED, "(additionalProperties)", None, "false"),
            ],
        ),
        (
            obj({"a": {"$ref": "#/definitions/A"}}, definitions={"A": {"type": "integer"}}),
            obj({"a": {"$ref": "#/definitions/A"}}, definitions={"A": {"type": "number"}}),
            [("#/definitions/A", CHANGED, "(type)", '"integer"', '"number"')],
        ),
        (
            obj({"list": {"type": "array", "items": {"type": "object", "properties": {"x": {}}}}}),
            obj({"list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "null"}}}}}),
            [("#/properties/list/items", CHANGED, "x", "anything", "null")],
        ),
        (json_schema.parse("true", {}), json_schema.parse("false", {}), [("#", CHANGED, "(everything)", "allowed", "forbidden")]),
    ],
)  # fmt: skip
def test_json_schema(old: ParsedSchema, new: ParsedSchema, found: list[Any]) -> None:
    assert changes(old, new) == found


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (
            "message Order { int32 id = 1; }",
            "message Order { int64 number = 1; repeated string tags = 2; }",
            [
                ("message shop.Order", CHANGED, "id -> number", "int32 = 1", "int64 = 1"),
                ("message shop.Order", ADDED, "tags", None, "repeated string = 2"),
            ],
        ),
        (
            "message Order { oneof paid { string card = 1; } enum Kind { A = 0; } }",
            "message Order { string card = 1; enum Kind { A = 0; B = 1; } } service S { rpc Get(Order) returns (stream Order); }",
            [
                ("message shop.Order", CHANGED, "card", "string = 1, in oneof paid", "string = 1"),
                ("enum shop.Order.Kind", ADDED, "B", None, "= 1"),
                ("service S", ADDED, "", None, "service S"),
                ("service S", ADDED, "Get", None, "Order -> stream Order"),
            ],
        ),
    ],
)
def test_protobuf(old: str, new: str, found: list[Any]) -> None:
    assert changes(proto(old), proto(new)) == found


BASE = record(field("a"))


@pytest.mark.parametrize(
    ("old", "new", "order", "levels"),
    [
        (BASE, record(field("a"), field("b", default=0)), UpgradeOrder.ANY, {"NONE", "BACKWARD", "FORWARD", "FULL"}),
        (BASE, record(field("a", "long")), UpgradeOrder.CONSUMERS_FIRST, {"NONE", "BACKWARD"}),
        (BASE, record(field("a"), field("b")), UpgradeOrder.PRODUCERS_FIRST, {"NONE", "FORWARD"}),
        (BASE, record(field("a", "string")), UpgradeOrder.NEITHER, {"NONE"}),
        (BASE, proto("message Order { int32 a = 1; }"), UpgradeOrder.NEITHER, {"NONE"}),
    ],
)
def test_who_upgrades_first(old: ParsedSchema, new: ParsedSchema, order: UpgradeOrder, levels: set[str]) -> None:
    found = evolution(old, new)
    assert found.order is order
    assert {level.name for level in found.levels if not level.is_transitive} == levels


def test_deep_schemas() -> None:
    """As deep as the formats let them be."""
    nested: Any = "int"
    for _ in range(190):
        nested = {"type": "array", "items": nested}
    deep = avro.parse(json.dumps(nested), {})
    assert changes(deep, avro.parse('"int"', {}))[0][1] is CHANGED
    objects: Any = {}
    for _ in range(90):
        objects = {"properties": {"a": objects}}
    parsed = json_schema.parse(json.dumps(objects), {})
    assert len(changes(json_schema.parse("{}", {}), parsed)) > 90
