"""What the compatibility levels mean for JSON Schemas: who reads whose data, and what people are told when it is refused."""

import json
from typing import Any

import pytest

from stoker.registry.formats.json_schema import JsonSchema, parse
from stoker.registry.formats.schema import Incompatibility
from tests.registry.formats.json_schema.judge import can_read, is_valid
from tests.registry.formats.json_schema.rule_cases import Schema, closed, opened, partial

STRING: dict[str, Any] = {"type": "string"}
INTEGER: dict[str, Any] = {"type": "integer"}
WITH_DEFAULT: dict[str, Any] = {"type": "string", "default": "EU"}
ID = {"required": ["id"]}
BOTH = {"required": ["id", "region"]}


def parsed(schema: Any) -> JsonSchema:
    return parse(json.dumps(schema), {})


def refusals(writer: Any, reader: Any) -> list[Incompatibility]:
    return parsed(reader).incompatibilities(parsed(writer))


# The change from an old schema to a new one: whether new readers read old data (BACKWARD), and old readers new data
# (FORWARD). FULL is both.
CHANGES: dict[str, tuple[Schema, Schema, bool, bool]] = {
    "nothing": (closed(id=STRING), closed(id=STRING), True, True),
    "closed: optional added": (closed(id=STRING) | ID, closed(id=STRING, region=STRING) | ID, True, False),
    "closed: required added": (closed(id=STRING) | ID, closed(id=STRING, region=STRING) | BOTH, False, False),
    "closed: required with default added": (
        closed(id=STRING) | ID,
        closed(id=STRING, region=WITH_DEFAULT) | BOTH,
        True,
        False,
    ),
    "closed: optional removed": (closed(id=STRING, region=STRING) | ID, closed(id=STRING) | ID, False, True),
    "closed: required removed": (closed(id=STRING, region=STRING) | BOTH, closed(id=STRING) | ID, False, False),
    "open: optional added": (opened(id=STRING) | ID, opened(id=STRING, region=STRING) | ID, False, True),
    "open: any value added": (opened(id=STRING) | ID, opened(id=STRING, region={}) | ID, True, True),
    "open: optional removed": (opened(id=STRING, region=STRING) | ID, opened(id=STRING) | ID, True, False),
    "open, then closed: optional added": (
        opened(id=STRING) | ID,
        closed(id=STRING, region=STRING) | ID,
        False,
        True,
    ),
    "closed, then open: optional added": (
        closed(id=STRING) | ID,
        opened(id=STRING, region=STRING) | ID,
        True,
        False,
    ),
    "strings: string added": (partial(STRING, id=STRING), partial(STRING, id=STRING, region=STRING), True, True),
    "strings: integer added": (partial(STRING, id=STRING), partial(STRING, id=STRING, age=INTEGER), False, False),
    "renamed": (closed(user_id=STRING), closed(userId=STRING), False, False),
    "type changed": (closed(id=INTEGER), closed(id=STRING), False, False),
    "integer, then number": (closed(id=INTEGER), closed(id={"type": "number"}), True, False),
    "now required": (closed(id=STRING), closed(id=STRING) | ID, False, True),
    "now may be null": (closed(id=STRING), closed(id={"type": ["string", "null"]}), True, False),
}


@pytest.mark.acceptance("B110", "B111", "B112", "B122", "B123", "B125")
@pytest.mark.parametrize(("old", "new", "backward", "forward"), CHANGES.values(), ids=CHANGES)
def test_changes_are_judged_by_who_reads_whose_data(old: Schema, new: Schema, backward: bool, forward: bool) -> None:
    """Of a changed JSON Schema: whether new readers read old data, and old readers new data"""
    assert (refusals(writer=old, reader=new) == []) is backward
    assert (refusals(writer=new, reader=old) == []) is forward


@pytest.mark.acceptance("B123")
def test_a_required_property_without_default_is_named_with_the_rule() -> None:
    """A new JSON property that is required and has no default breaks BACKWARD, and the message names it"""
    (refusal,) = refusals(*CHANGES["closed: required added"][:2])

    assert refusal == (
        "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL",
        "#/properties/region",
        "property 'region' is required in the reader's schema, has no default, and is not declared in the writer's "
        "(additionalProperties is false)",
    )


def test_an_optional_property_is_refused_with_the_reason_and_a_way_out() -> None:
    (refusal,) = refusals(*CHANGES["open: optional added"][:2])

    assert refusal == (
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "#/properties/region",
        "optional property 'region' (string) is in the reader's schema only, and the writer's content model is open "
        "(additionalProperties is not false), so that data may already hold any other value under this name; close it "
        "first (additionalProperties: false), or let the property be any value ({})",
    )


MESSAGES: list[tuple[Any, Any, list[str]]] = [
    (STRING, INTEGER, ["the value is integer in the reader's schema and string in the writer's"]),
    (
        opened(a=opened(b={"type": "array", "items": STRING})),
        opened(a=opened(b={"type": "array", "items": {"type": "string", "maxLength": 5}})),
        ["property 'a.b[]' has maxLength 5 in the reader's schema and no maxLength in the writer's"],
    ),
    (
        {"type": "number", "minimum": 1},
        {"type": "number", "minimum": 2.5},
        ["the value has minimum 2.5 in the reader's schema, more than 1 in the writer's"],
    ),
    (
        {"enum": ["a", "b"]},
        {"enum": ["a"]},
        ['the value lacks values in the reader\'s schema, ["a"], that are in the writer\'s, ["a","b"]'],
    ),
    (
        closed(a=STRING),
        closed(),
        [
            "property 'a' is in the writer's schema only, and the reader's content model is closed to it "
            "(additionalProperties is false)"
        ],
    ),
    (
        partial(STRING, a=INTEGER),
        partial(STRING),
        [
            "property 'a' is in the writer's schema only, and the reader's partially open content model does not accept "
            "all its values (additionalProperties is a schema (string))",
            "property 'a' is string in the reader's schema and integer in the writer's",
        ],
    ),
    (
        opened(a={"type": ["string", "null"]}),
        opened(a={"type": ["string", "integer"]}),
        [
            "property 'a': the alternatives cannot be paired off, the reader's (anyOf of 2 (string, integer)) "
            "with the writer's (anyOf of 2 (string, null))"
        ],
    ),
    (
        opened(a={"const": 1}),
        opened(a={"const": {"x": "y" * 100}}),
        [
            f"""property 'a' has const {{"x":"{"y" * 71}... in the reader's schema and 1 in the writer's""",
        ],
    ),
]


@pytest.mark.parametrize(("writer", "reader", "messages"), MESSAGES)
def test_messages_name_the_property_and_what_each_side_has(writer: Any, reader: Any, messages: list[str]) -> None:
    assert [refusal.message for refusal in refusals(writer, reader)] == messages


# What Confluent's rules do not look at, and so let pass although a datum is lost.
NOT_LOOKED_AT: dict[str, tuple[Any, Any, Any]] = {
    "required, not declared": ({"type": "object"}, {"type": "object", "required": ["a"]}, {}),
    "propertyNames": ({"type": "object"}, {"type": "object", "propertyNames": {"maxLength": 1}}, {"ab": 1}),
    "patternProperties": (
        {"type": "object", "patternProperties": {"^a": STRING}},
        {"type": "object", "patternProperties": {"^a": INTEGER}},
        {"a": "x"},
    ),
    "contains": (
        {"type": "array", "contains": {"type": "number"}},
        {"type": "array", "contains": INTEGER},
        [1.5],
    ),
    "if": ({"if": STRING, "then": {"minLength": 1}}, {"if": STRING, "then": {"minLength": 2}}, "a"),
    "type": ({"maxLength": 5}, {"type": "string", "maxLength": 5}, 5),
    "overlapping oneOf": (
        {"oneOf": [STRING, INTEGER]},
        {"oneOf": [STRING, INTEGER, {"type": "number"}]},
        1,
    ),
    "exclusiveMaximum of draft 4": (
        {"$schema": "http://json-schema.org/draft-04/schema#", "type": "number", "maximum": 5},
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "type": "number",
            "maximum": 5,
            "exclusiveMaximum": True,
        },
        5,
    ),
}


@pytest.mark.parametrize(("writer", "reader", "datum"), NOT_LOOKED_AT.values(), ids=NOT_LOOKED_AT)
def test_what_the_rules_do_not_look_at_is_let_pass(writer: Any, reader: Any, datum: Any) -> None:
    """As in Confluent's registry, so that what was registered there can be registered here."""
    assert refusals(writer, reader) == []
    assert is_valid(writer, datum)
    assert not can_read(reader, datum)


def test_decimals_of_kafka_connect_may_change_from_string_to_number() -> None:
    written = {"type": "string", "connect.type": "bytes"}
    read = {"type": "number", "connect.type": "bytes"}

    assert refusals(written, read) == []
    assert refusals({"type": "string"}, read) != []
