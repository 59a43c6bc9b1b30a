"""The one form in which a schema is stored, its normal form, and what is said of a text that is no schema."""

import json

import pytest

from stoker.registry.formats.json_schema import parse
from stoker.registry.formats.json_schema.json_text import MAX_CHARACTERS
from stoker.registry.formats.schema import InvalidSchema

TEXTS = {
    '{ "type" : "object",\n "properties" : { } }': '{"type":"object","properties":{}}',
    '{"b": 1, "a": 2}': '{"b":1,"a":2}',
    '{"a": 1, "b": 2, "a": 3}': '{"a":3,"b":2}',
    " true ": "true",
    "false": "false",
    '{"description": "caf\\u00e9 \\/ \\ud83d\\ude00"}': '{"description":"café / 😀"}',
    '{"description": "tab\\t nul\\u0000 unit\\u001f del\\u007f"}': '{"description":"tab\\t nul\\u0000 unit\\u001F del\x7f"}',
    '{"description": "\\\\u001f"}': '{"description":"\\\\u001f"}',
    '{"minimum": 1.50}': '{"minimum":1.50}',
    '{"minimum": 1e2}': '{"minimum":1E+2}',
    '{"minimum": 1.0E-10}': '{"minimum":1.0E-10}',
    '{"minimum": 0.0000001}': '{"minimum":1E-7}',
    '{"minimum": 0.000001}': '{"minimum":0.000001}',
    '{"minimum": -0.0}': '{"minimum":0.0}',
    '{"minimum": -0}': '{"minimum":0}',
    '{"minimum": 123456789012345678901234567890}': '{"minimum":123456789012345678901234567890}',
    '{"default": [0.1, {}, [], null, {"a": false}]}': '{"default":[0.1,{},[],null,{"a":false}]}',
    '{"default": NaN}': '{"default":"NaN"}',
}
"""As Jackson writes what it read: Confluent's canonicalString."""

NORMAL = {
    '{"type": "object", "properties": {"b": {}, "a": {}}}': '{"properties":{"a":{},"b":{}},"type":"object"}',
    '{"required": ["b", "a"]}': '{"required":["b","a"]}',
    '{"enum": [{"b": 1.50, "a": 1}]}': '{"enum":[{"a":1,"b":1.50}]}',
    '{"properties": {"\\uffff": {}, "\\ud83d\\ude00": {}, "z": {}, "Z": {}}}': (
        '{"properties":{"Z":{},"z":{},"😀":{},"\uffff":{}}}'
    ),
}

MISTAKES = {
    "": ("not JSON: expecting value", 1, 1),
    '{"type": "object",\n  "properties": {"a": }}': ("not JSON: expecting value", 2, 23),
    '{"type": "string"} {}': ("not JSON: extra data", 1, 20),
    '{"title": "no end': ("not JSON: unterminated string", 1, 11),
    "[]": ("a JSON Schema is an object or a boolean", 1, 1),
    '"string"': ("a JSON Schema is an object or a boolean", 1, 1),
    "null": ("a JSON Schema is an object or a boolean", 1, 1),
    '{"properties":\n {"amount": {"type": "decimal"}}}': (
        "#/properties/amount/type: 'decimal' is no type; the types are string, integer, number, boolean, null, array, object",
        2,
        22,
    ),
    '{"type": ["string", 5]}': (
        "#/type: a number is no type; the types are string, integer, number, boolean, null, array, object",
        1,
        10,
    ),
    '{"type": {}}': ("#/type: type is a string or an array, not an object", 1, 10),
    '{"properties": []}': ("#/properties: properties is an object, not an array", 1, 16),
    '{"properties": {"a": "string"}}': ("#/properties/a: a schema is an object or a boolean, not a string", 1, 22),
    '{"properties": {"a": {"required": true}}}': (
        "#/properties/a/required: required takes an array of the names of properties",
        1,
        35,
    ),
    '{"additionalProperties": 5}': ("#/additionalProperties: a schema is an object or a boolean, not a number", 1, 26),
    '{"allOf": [{}, {"maxLength": "5"}]}': ("#/allOf/1/maxLength: maxLength is a number, not a string", 1, 30),
    '{"maxLength": 1.5}': ("#/maxLength: maxLength is a whole number, not 1.5", 1, 15),
    '{"maxLength": true}': ("#/maxLength: maxLength is a number, not a boolean", 1, 15),
    '{"multipleOf": 0.0}': ("#/multipleOf: multipleOf must not be 0", 1, 16),
    '{"exclusiveMinimum": true}': ("#/exclusiveMinimum: exclusiveMinimum is a number, not a boolean", 1, 22),
    '{"anyOf": {}}': ("#/anyOf: anyOf is an array, not an object", 1, 11),
    '{"title": 5}': ("#/title: title is a string, not a number", 1, 11),
    '{"uniqueItems": "yes"}': ("#/uniqueItems: uniqueItems is a boolean, not a string", 1, 17),
    '{"items": 5}': ("#/items: a schema is an object or a boolean, not a number", 1, 11),
    '{"pattern": "[a-"}': ("#/pattern: '[a-' is no regular expression: missing ]: [a-", 1, 13),
    '{"patternProperties": {"(": {}}}': (
        "#/patternProperties/(: '(' is no regular expression: missing ): (",
        1,
        29,
    ),
    '{"pattern": "a\\\\"}': ("#/pattern: 'a\\\\' is no regular expression: trailing \\", 1, 13),
    '{"title": "\\ud800"}': ("half a surrogate pair (\\ud800) is no character", None, None),
    '{"minimum": 1e99999999999999999999}': ("the exponent of 1e99999999999999999999 is out of range", 1, 13),
}


@pytest.mark.parametrize(("given", "stored"), TEXTS.items())
def test_the_stored_text_is_that_of_confluents_registry(given: str, stored: str) -> None:
    schema = parse(given, {})

    assert schema.text == stored
    assert parse(stored, {}).text == stored
    assert schema.formatted("") == schema.formatted("resolved") == schema.formatted("of-tomorrow") == stored


@pytest.mark.parametrize(("given", "normal"), NORMAL.items())
def test_the_normal_form_has_sorted_keys(given: str, normal: str) -> None:
    schema = parse(given, {}).normalized()

    assert schema.text == normal
    assert schema.normalized().text == normal


@pytest.mark.parametrize(("text", "said"), MISTAKES.items())
def test_a_text_that_is_no_schema_is_refused_with_its_place(
    text: str, said: tuple[str, int | None, int | None]
) -> None:
    with pytest.raises(InvalidSchema) as refused:
        parse(text, {})

    assert (refused.value.reason, refused.value.line, refused.value.column) == said


def test_the_name_is_the_title() -> None:
    assert parse('{"title": "Order"}', {}).name == "Order"
    assert parse("{}", {}).name is None
    assert parse("true", {}).name is None


def test_a_text_of_more_than_the_bound_is_refused() -> None:
    with pytest.raises(InvalidSchema, match="characters, more than"):
        parse(json.dumps({"title": "a" * MAX_CHARACTERS}), {})


@pytest.mark.parametrize(
    "pattern",
    ["^\\p{IsAlphabetic}$", "(?=a)b", "(a)\\1", "a*+", "\\Qa.b\\E", "\\cA", "[\\w&&[^\\d]]", "a[]", "[^]*", "a" * 5000],
)
def test_patterns_of_other_dialects_are_left_alone(pattern: str) -> None:
    assert parse(json.dumps({"type": "string", "pattern": pattern}), {}).text
