"""Where references lead: in the document, to other subjects' schemas by name, or nowhere."""

import json
from typing import Any

import pytest

from stoker.registry.formats.json_schema import JsonSchema, parse
from stoker.registry.formats.schema import InvalidSchema
from tests.registry.formats.json_schema.judge import is_valid

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
STRING = {"type": "string"}
INTEGER = {"type": "integer"}


def parsed(schema: Any, **dependencies: Any) -> JsonSchema:
    return parse(json.dumps(schema), {name: json.dumps(text) for name, text in dependencies.items()})


# A schema, and what it refers to: each says, by one way or another, that the value is a string.
STRINGS_BY_REFERENCE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"$ref": "#/definitions/name", "definitions": {"name": STRING}}, {}),
    ({"$ref": "#/definitions/a~1b%20~0c", "definitions": {"a/b ~c": STRING}}, {}),
    ({"$schema": DRAFT_2020, "$ref": "#/$defs/name", "$defs": {"name": STRING}}, {}),
    ({"$schema": DRAFT_2019, "$ref": "#/$defs/name", "$defs": {"name": STRING}}, {}),
    ({"$ref": "#/definitions/one", "definitions": {"one": {"$ref": "#/definitions/two"}, "two": STRING}}, {}),
    ({"$ref": "#/allOf/0", "allOf": [STRING]}, {}),
    ({"$ref": "#name", "definitions": {"name": {"$id": "#name", **STRING}}}, {}),
    ({"$schema": DRAFT_4, "$ref": "#name", "definitions": {"name": {"id": "#name", **STRING}}}, {}),
    ({"$schema": DRAFT_2020, "$ref": "#name", "$defs": {"any": {"$anchor": "name", **STRING}}}, {}),
    ({"$schema": DRAFT_2020, "$dynamicRef": "#name", "$defs": {"any": {"$dynamicAnchor": "name", **STRING}}}, {}),
    ({"$id": "http://a/root", "allOf": [{"$ref": "b"}], "definitions": {"b": {"$id": "b", **STRING}}}, {}),
    (
        {
            "$id": "http://a/b/c.json",
            "allOf": [{"$ref": "/x.json"}],
            "definitions": {"b": {"$id": "http://a/x.json", **STRING}},
        },
        {},
    ),
    (
        {
            "allOf": [{"$ref": "http://a/inner#/definitions/name"}],
            "definitions": {
                "inner": {
                    "$id": "http://a/inner",
                    "definitions": {"name": {"$ref": "#/definitions/text"}, "text": STRING},
                },
                "text": INTEGER,
            },
        },
        {},
    ),
    ({"$ref": "name.json"}, {"name.json": STRING}),
    ({"$ref": "./name.json"}, {"name.json": STRING}),
    ({"$ref": "name.json#/definitions/text"}, {"name.json": {"definitions": {"text": STRING}}}),
    ({"$id": "http://a/b/order.json", "allOf": [{"$ref": "name.json"}]}, {"name.json": STRING}),
    ({"allOf": [{"$ref": "http://a/b/name.json"}]}, {"http://a/b/name.json": STRING}),
    ({"$id": "http://a/b/order.json", "allOf": [{"$ref": "http://a/b/name.json"}]}, {"name.json": STRING}),
    ({"allOf": [{"$ref": "http://a/b/name.json"}]}, {"name": {"$id": "http://a/b/name.json", **STRING}}),
    ({"$ref": "one"}, {"two": STRING, "one": {"$ref": "two"}}),
    ({"$ref": "one"}, {"one": {"$ref": "#/definitions/here", "definitions": {"here": STRING}}}),
    ({"$schema": DRAFT_2020, "$ref": "old"}, {"old": {"$schema": DRAFT_7, **STRING}}),
    ({"$ref": "new"}, {"new": {"$schema": DRAFT_2020, "$ref": "#/$defs/text", "$defs": {"text": STRING}}}),
    ({"$ref": "one", "type": "integer"}, {"one": STRING}),
]


@pytest.mark.parametrize(("schema", "dependencies"), STRINGS_BY_REFERENCE)
def test_references_lead_to_what_is_meant(schema: dict[str, Any], dependencies: dict[str, Any]) -> None:
    plain, referring = parsed({"allOf": [STRING]}), parsed(schema, **dependencies)

    assert [each.rule for each in referring.incompatibilities(plain)] == []
    assert [each.rule for each in plain.incompatibilities(referring)] == []
    assert parsed(INTEGER).incompatibilities(referring)


@pytest.mark.parametrize(("schema", "dependencies"), STRINGS_BY_REFERENCE)
def test_a_resolved_schema_stands_alone(schema: dict[str, Any], dependencies: dict[str, Any]) -> None:
    resolved = parsed(schema, **dependencies).formatted("resolved")

    assert parse(resolved, {}).formatted("resolved") == resolved
    assert is_valid(json.loads(resolved), "text")
    assert not is_valid(json.loads(resolved), 5)


def test_resolving_puts_what_is_referred_to_among_the_definitions() -> None:
    order = {
        "type": "object",
        "properties": {"buyer": {"$ref": "person.json"}, "seller": {"$ref": "person.json#/definitions/name"}},
        "definitions": {"person.json": INTEGER},
    }
    person = {
        "$id": "http://a/person.json",
        "properties": {"name": {"$ref": "#/definitions/name"}, "friend": {"$ref": "#"}},
        "definitions": {"name": STRING, "unused": {"$ref": "#/nowhere"}},
    }

    resolved = json.loads(parsed(order, **{"person.json": person}).formatted("resolved"))

    assert resolved == {
        "type": "object",
        "properties": {
            "buyer": {"$ref": "#/definitions/person.json_"},
            "seller": {"$ref": "#/definitions/person.json_/definitions/name"},
        },
        "definitions": {
            "person.json": INTEGER,
            "person.json_": {
                "properties": {
                    "name": {"$ref": "#/definitions/person.json_/definitions/name"},
                    "friend": {"$ref": "#/definitions/person.json_"},
                },
                "definitions": {"name": STRING, "unused": {"$ref": "#/nowhere"}},
            },
        },
    }


def test_definitions_are_found_as_defs_but_not_the_other_way_round() -> None:
    assert parsed({"$ref": "#/$defs/name", "definitions": {"name": STRING}}).incompatibilities(parsed(STRING)) == []
    with pytest.raises(InvalidSchema, match="leads nowhere in this document"):
        parsed({"$ref": "#/definitions/name", "$defs": {"name": STRING}})


def test_beside_a_reference_keywords_count_from_2019_09_on() -> None:
    old = {"$ref": "#/definitions/name", "maxLength": 5, "definitions": {"name": STRING}}
    new = {"$schema": DRAFT_2020, "$ref": "#/$defs/name", "maxLength": 5, "$defs": {"name": STRING}}

    assert parsed(old).incompatibilities(parsed(STRING)) == []
    assert [each.rule for each in parsed(new).incompatibilities(parsed(STRING))] == ["TYPE_CHANGED"]


def test_a_meta_schema_needs_no_reference() -> None:
    schema = parsed({"properties": {"schema": {"$ref": DRAFT_7}}})

    assert schema.incompatibilities(schema) == []
    other = parsed({"properties": {"schema": {"$ref": DRAFT_4}}})
    assert [(each.rule, each.path) for each in schema.incompatibilities(other)] == [
        ("TYPE_CHANGED", "#/properties/schema")
    ]


DANGLING: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"$ref": "#/definitions/name"}, {}, "#/$ref: '#/definitions/name' leads nowhere in this document"),
    ({"$ref": "#name"}, {}, "#/$ref: '#name' leads nowhere in this document"),
    ({"properties": {"a": {"$ref": "other.json"}}}, {}, "#/properties/a/$ref: 'other.json' leads nowhere"),
    ({"$ref": "other.json"}, {}, "it has no references"),
    ({"$ref": "other.json"}, {"name.json": {}, "n": {}}, "it has references named 'name.json', 'n'"),
    ({"$ref": "http://a/b"}, {}, "nothing is fetched from elsewhere"),
    ({"$ref": "http://[a"}, {}, "leads nowhere"),
    ({"$ref": "name.json#/x"}, {"name.json": {}}, "'name.json#/x' leads nowhere"),
    (
        {"$ref": "name.json"},
        {"name.json": {"$ref": "gone"}},
        "in the reference 'name.json', #/$ref: 'gone' leads nowhere",
    ),
    ({"$ref": "#/required", "required": ["a"]}, {}, "'#/required' leads to an array, which is no schema"),
    ({"$ref": "#/required/0/0", "required": ["a"]}, {}, "leads nowhere"),
    ({"$ref": 5}, {}, "$ref is a string, not a number"),
    ({"$ref": "#"}, {}, "circular reference: '#' leads to itself"),
    (
        {
            "$ref": "#/definitions/a",
            "definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}},
        },
        {},
        "circular reference",
    ),
    ({"$ref": "one"}, {"two": {"$ref": "one"}, "one": {"$ref": "two"}}, "circular reference"),
]


@pytest.mark.parametrize(("schema", "dependencies", "said"), DANGLING)
def test_a_reference_that_leads_nowhere_is_refused(
    schema: dict[str, Any], dependencies: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidSchema) as refused:
        parsed(schema, **dependencies)

    assert said in str(refused.value)


def test_a_reference_that_is_no_json_is_named() -> None:
    with pytest.raises(InvalidSchema) as refused:
        parse('{"$ref": "name.json"}', {"name.json": "{\n}}"})

    assert str(refused.value) == "in the reference 'name.json': not JSON: extra data at line 2, column 2"
