"""Schemas that refer to themselves, and alternatives of which many refer to each other."""

import json
from typing import Any

from stoker.registry.formats.json_schema import JsonSchema, parse


def parsed(schema: Any) -> JsonSchema:
    return parse(json.dumps(schema), {})


def rules(writer: Any, reader: Any) -> list[tuple[str, str]]:
    return [(each.rule, each.path) for each in parsed(reader).incompatibilities(parsed(writer))]


def tree(value: Any, **more: Any) -> dict[str, Any]:
    children = {"type": "array", "items": {"$ref": "#"}}
    return {"type": "object", "properties": {"value": value, "children": children}, **more}


def test_a_tree_is_compared_with_itself_and_with_one_of_other_values() -> None:
    assert rules(tree({"type": "integer"}), tree({"type": "number"})) == []
    assert rules(tree({"type": "number"}), tree({"type": "integer"})) == [("TYPE_NARROWED", "#/properties/value")]


def test_recursion_by_another_way_is_the_same_schema() -> None:
    inner = tree({"type": "string"})
    inner["properties"]["children"]["items"] = {"$ref": "#/definitions/tree"}
    named = {"$ref": "#/definitions/tree", "definitions": {"tree": inner}}

    assert rules(tree({"type": "string"}), named) == []
    assert rules(named, tree({"type": "string"})) == []


def test_a_difference_is_told_at_every_place_where_a_definition_is_used() -> None:
    def order(kind: str) -> dict[str, Any]:
        address = {"type": "object", "properties": {"zip": {"type": kind}}}
        used = {"from": {"$ref": "#/definitions/address"}, "to": {"$ref": "#/definitions/address"}}
        return {"type": "object", "properties": used, "definitions": {"address": address}}

    assert rules(order("string"), order("integer")) == [
        ("TYPE_CHANGED", "#/properties/from/properties/zip"),
        ("TYPE_CHANGED", "#/properties/to/properties/zip"),
    ]


def linked(first: str, second: str, third: str) -> dict[str, Any]:
    """Three objects, of which the first and the third refer to each other, in a choice of one or two."""

    def member(kind: str, target: str) -> dict[str, Any]:
        link = {"oneOf": [{"$ref": f"#/definitions/{target}"}]}
        return {"type": "object", "properties": {"id": {"type": kind}, "link": link}}

    return {
        "type": "object",
        "properties": {"root": {"oneOf": [{"$ref": "#/definitions/first"}, {"$ref": "#/definitions/second"}]}},
        "definitions": {
            "first": member(first, "third"),
            "second": member(second, "third"),
            "third": member(third, "first"),
        },
    }


def test_what_was_assumed_of_a_circle_is_taken_back_when_it_proves_wrong() -> None:
    """(second, second) is fine by itself; only behind its link to the third and on to the first does a type change."""
    assert rules(linked("string", "string", "integer"), linked("string", "string", "integer")) == []
    assert rules(linked("string", "string", "integer"), linked("boolean", "string", "integer")) == [
        ("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "#/properties/root")
    ]


def test_twelve_types_that_all_refer_to_each_other_are_compared_in_no_time() -> None:
    names = [f"type{number}" for number in range(12)]
    choice = {"oneOf": [{"$ref": f"#/definitions/{name}"} for name in names]}

    def trade(kind: str) -> dict[str, Any]:
        properties = {"id": {"type": kind}, "underlying": choice, "reference": choice}
        return {"properties": {"product": choice}, "definitions": {name: {"properties": properties} for name in names}}

    assert rules(trade("integer"), trade("number")) == []
    assert ("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "#/properties/product") in rules(trade("number"), trade("integer"))


def test_alternatives_are_paired_off_so_that_most_find_a_partner() -> None:
    """An integer could go with the number, but then the number would be left alone."""
    writer = {"anyOf": [{"type": "integer"}, {"type": "number"}]}
    reader = {"anyOf": [{"type": "number"}, {"type": "integer"}]}

    assert rules(writer, reader) == []
    longer = {"anyOf": [{"maxLength": 1}, {"maxLength": 2}, {"maxLength": 3}]}
    shifted = {"anyOf": [{"maxLength": 3}, {"maxLength": 1}, {"maxLength": 2}]}
    assert rules(longer, shifted) == []
    assert rules(shifted, {"anyOf": [{"maxLength": 1}, {"maxLength": 1, "title": "again"}, {"maxLength": 2}]}) == [
        ("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "#/")
    ]
