"""The description of the API says what the routes are, and is a description by the book."""

import re

import jsonschema
import pytest

from stoker.registry.http.openapi import ROUTES, description
from tests.registry.http.schemas import V1
from tests.registry.http.served import MODERN, Api


def test_it_names_every_route_and_no_other() -> None:
    described = {(method, path) for path, methods in description()["paths"].items() for method in methods}
    assert described == {(route.method.lower(), route.path) for route in ROUTES}
    assert len(described) == len(ROUTES)


def test_it_is_served(api: Api) -> None:
    assert api("GET", "/openapi.json") == (200, description())


def test_every_operation_has_a_name_of_its_own_and_a_summary() -> None:
    operations = [each for methods in description()["paths"].values() for each in methods.values()]
    assert len({each["operationId"] for each in operations}) == len(operations)
    for each in operations:
        assert re.fullmatch("[A-Z][^.]*", each["summary"]), each["operationId"]


def test_what_it_refers_to_is_there() -> None:
    text = repr(description())
    named = set(re.findall("#/components/schemas/([A-Za-z]+)", text))
    assert named == set(description()["components"]["schemas"])


@pytest.mark.parametrize("name", sorted(description()["components"]["schemas"]))
def test_its_schemas_are_schemas(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(description()["components"]["schemas"][name])


def test_answers_are_as_it_says(api: Api, subject: str) -> None:
    rule = {"name": "check", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "true"}
    schema_id = api.register(
        subject, V1, metadata={"properties": {"a": "b"}, "tags": {"id": ["PII"]}}, ruleSet={"domainRules": [rule]}
    )
    api("PUT", f"/config/{subject}", {"compatibility": "FULL", "normalize": True})
    api("PUT", f"/mode/{subject}", {"mode": "READWRITE"})
    guid = api("GET", f"/schemas/ids/{schema_id}", headers=MODERN)[1]["guid"]
    values = {"subject": subject, "version": "1", "id": schema_id, "guid": guid, "context": ".none"}
    for route in ROUTES:
        if route.method != "GET":
            continue
        for headers in ({}, MODERN):
            status, answer = api("GET", route.path.format(**values), headers=headers)
            if "/metadata" in route.path and status == 404:
                status, answer = api("GET", f"{route.path.format(**values)}?key=a&value=b", headers=headers)
            assert status == 200, (route.path, answer)
            content = description()["paths"][route.path]["get"]["responses"]["200"]["content"]
            schema = {**content["application/json"]["schema"], "components": description()["components"]}
            jsonschema.Draft202012Validator(schema).validate(answer)
