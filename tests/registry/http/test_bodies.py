"""Bodies of requests: what is a schema and what is none, and that no JSON whatever makes the server fail."""

import json
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies

from tests.registry.http.schemas import V1, record
from tests.registry.http.served import Api

ODD: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    1e999,
    2**31,
    2**70,
    "",
    "x",
    "é\u0000",
    [],
    [None],
    [[]],
    [1],
    {},
    {"a": {}},
]
RULE = {"name": "check", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "true"}
FULL: dict[str, Any] = {
    "schema": V1,
    "schemaType": "AVRO",
    "references": [{"name": "a", "subject": "b", "version": 1}],
    "metadata": {"tags": {"a": ["b"]}, "properties": {"a": "b"}, "sensitive": ["a"]},
    "ruleSet": {"migrationRules": [{**RULE, "mode": "UPGRADE"}], "domainRules": [RULE], "enableAt": "ALL"},
    "id": 1,
    "version": 1,
    "propagateSchemaTags": False,
}
CONFIG: dict[str, Any] = {
    "compatibility": "FULL",
    "compatibilityLevel": "FULL",
    "compatibilityGroup": "a",
    "alias": "other",
    "normalize": True,
    "validateFields": True,
    "validateRules": True,
    "defaultMetadata": FULL["metadata"],
    "overrideMetadata": FULL["metadata"],
    "defaultRuleSet": FULL["ruleSet"],
    "overrideRuleSet": FULL["ruleSet"],
}


def _replaced(value: Any, odd: Any) -> list[Any]:
    """The value with each part of it replaced in turn."""
    found = [odd]
    if isinstance(value, dict):
        found += [{**value, key: each} for key, part in value.items() for each in _replaced(part, odd)]
    elif isinstance(value, list):
        found += [[each, *value[1:]] for each in _replaced(value[0], odd)]
    return found


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_no_json_type_in_any_field_makes_the_server_fail(api: Api, odd: Any) -> None:
    for body in _replaced(FULL, odd):
        for path in ("/subjects/odd/versions", "/subjects/odd", "/compatibility/subjects/odd/versions"):
            status, reply = api("POST", path, json.dumps(body).encode())
            assert status < 500, (path, body, reply)
    for body in _replaced(CONFIG, odd):
        status, reply = api("PUT", "/config/odd", json.dumps(body).encode())
        assert status < 500, (body, reply)
    assert api("PUT", "/mode/odd", {"mode": odd})[0] < 500


json_values = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers() | strategies.floats() | strategies.text(),
    lambda inner: strategies.lists(inner, max_size=3) | strategies.dictionaries(strategies.text(), inner, max_size=3),
    max_leaves=8,
)


@hypothesis.settings(max_examples=100)
@hypothesis.given(
    strategies.fixed_dictionaries({}, optional=dict.fromkeys(FULL, json_values)),
    strategies.sampled_from(["AVRO", "JSON", "PROTOBUF"]),
    json_values,
)
def test_no_body_makes_the_server_fail(api: Api, body: dict[str, Any], schema_type: str, schema: Any) -> None:
    for each in (body, {"schemaType": schema_type, "schema": json.dumps(schema)}):
        status, reply = api("POST", "/subjects/any/versions", json.dumps(each).encode())
        assert status < 500, reply


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "Empty schema"),
        ({"schema": ""}, "Empty schema"),
        ({"schema": " \n"}, "Empty schema"),
        ({"schema": None}, "Empty schema"),
        ({"schema": "{"}, "line 1, column 2"),
        ({"schema": '{\n "type": "recod"}'}, "recod"),
        ({"schema": '{"type": "record",\n "name": 1}'}, "name"),
        ({"schema": "message A {\n  string = 1;\n}", "schemaType": "PROTOBUF"}, "line 2"),
        ({"schema": '{"type":\n "objct"}', "schemaType": "JSON"}, "objct"),
        ({"schema": "{", "schemaType": "JSON"}, "line 1, column 2"),
        ({"schema": V1, "schemaType": "XML"}, "XML"),
        ({"schema": V1, "schemaType": "avro"}, "avro"),
        ({"schema": V1, "references": [{"name": "a", "subject": "nowhere", "version": 1}]}, "nowhere"),
        ({"schema": V1, "references": [{}]}, "references[0]"),
        ({"schema": V1, "references": [{"name": "a", "subject": "b"}]}, "references[0]"),
        ({"schema": "[" * 1000, "schemaType": "AVRO"}, ""),
        ({"schema": '{"type":"array","items":' * 1000 + '"int"' + "}" * 1000}, ""),
        ({"schema": '{"items":' * 5000 + "{}" + "}" * 5000, "schemaType": "JSON"}, ""),
        ({"schema": "message A {" * 5000, "schemaType": "PROTOBUF"}, ""),
    ],
    ids=lambda value: str(value)[:60],
)
def test_schemas_that_are_none(api: Api, body: object, said: str) -> None:
    status, reply = api("POST", "/subjects/none/versions", body)
    assert (status, reply["error_code"]) == (422, 42201)
    assert said in reply["message"]


def test_references_that_lead_back(api: Api) -> None:
    """A version can only refer to what is there, so a circle can only be closed under the same name."""
    api.register("circle-a", record("A", "id"))
    reference = {"name": "A", "subject": "circle-a", "version": 1}
    body = {"schema": record("A", {"name": "other", "type": "A"}), "references": [reference]}
    assert api("POST", "/subjects/circle-b/versions", body)[0] in (200, 422)
    missing = {"name": "C", "subject": "circle-c", "version": 1}
    body = {"schema": record("C", {"name": "other", "type": "C"}), "references": [missing]}
    assert api.error("POST", "/subjects/circle-c/versions", body) == (422, 42201)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("schema", {"type": "string"}, "schema must be a string, not an object"),
        ("schemaType", [], "schemaType must be a string, not an array"),
        ("references", {}, "references must be an array, not an object"),
        ("references", ["a"], "references[0] must be an object, not a string"),
        ("references", [{"name": "a", "subject": "b", "version": "x"}], "references[0].version must be an integer"),
        ("version", 1.5, "version must be an integer, not a number"),
        ("version", True, "version must be an integer, not a boolean"),
        ("id", 2**31, "id must be between"),
        ("metadata", [], "metadata must be an object"),
        ("metadata", {"tags": {"a": "b"}}, "metadata.tags.a must be a list"),
        ("metadata", {"properties": {"a": None}}, "metadata.properties.a must be a text"),
        ("ruleSet", {"domainRules": [{"kind": "PERHAPS"}]}, "kind must be one of TRANSFORM"),
        ("ruleSet", {"enableAt": "DAWN"}, "ruleSet.enableAt must be one of ALL"),
    ],
)
def test_fields_of_the_wrong_type_are_named(api: Api, field: str, value: object, said: str) -> None:
    status, reply = api("POST", "/subjects/typed/versions", {"schema": V1, field: value})
    assert (status, reply["error_code"]) == (400, 400)
    assert said in reply["message"]


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"domainRules": [RULE, RULE]}, "duplicate name 'check'"),
        ({"domainRules": [RULE], "encodingRules": [RULE]}, "duplicate name 'check'"),
        ({"domainRules": [{**RULE, "name": "1st"}]}, "1st"),
        ({"domainRules": [{**RULE, "name": None}]}, "Missing rule name"),
        ({"domainRules": [{**RULE, "type": None}]}, "Missing rule type"),
        ({"domainRules": [{**RULE, "mode": "UPGRADE"}]}, "WRITE, READ, WRITEREAD"),
        ({"migrationRules": [RULE]}, "UPGRADE, DOWNGRADE, UPDOWN"),
        ({"domainRules": [{**RULE, "onFailure": "DLQ,NONE"}]}, "Multiple actions"),
    ],
)
def test_rules_that_contradict_themselves(api: Api, rules: object, said: str) -> None:
    status, reply = api("POST", "/subjects/ruled/versions", {"schema": V1, "ruleSet": rules})
    assert (status, reply["error_code"]) == (422, 42210)
    assert said in reply["message"]


def test_numbers_may_be_in_quotes(api: Api) -> None:
    api.register("quoted-item", record("Item", "sku"))
    reference = {"name": "Item", "subject": "quoted-item", "version": "1"}
    api.register("quoted", record("Basket", {"name": "item", "type": "Item"}), references=[reference], version=1.0)
    assert api("GET", "/subjects/quoted/versions") == (200, [1])
