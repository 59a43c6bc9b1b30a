"""Schemathesis asks what the description allows and what it does not, and compares the answers with it."""

from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from stoker.registry.http.openapi import description
from tests.registry.http.schemas import JSON_SCHEMA, V1, V2
from tests.registry.http.served import Api, served

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    unsupported_method,
]
"""Not that every request by the description is taken (a text need not be a schema), nor that no other one is: like Jersey
we take any text for a flag."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served() as url, Api(url) as api:
        for subject in ("orders-value", ":.staging:orders-value"):
            api.register(subject, V1)
            api.register(subject, V2)
        api.register("orders-json", JSON_SCHEMA, schemaType="JSON")
        yield url


schema = schemathesis.openapi.from_dict(description())
short = schemathesis.openapi.from_dict(
    description(), config=schemathesis.Config.from_dict({"phases": {"coverage": {"enabled": False}}})
)


@short.parametrize()
@hypothesis.settings(max_examples=3, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
def test_answers_are_as_described(case: schemathesis.Case[Any], url: str) -> None:
    case.call_and_validate(base_url=url, checks=CHECKS)


@pytest.mark.soak
@pytest.mark.timeout(600)
@short.parametrize()
@hypothesis.settings(max_examples=300, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
def test_answers_are_as_described_at_length(case: schemathesis.Case[Any], url: str) -> None:
    case.call_and_validate(base_url=url, checks=CHECKS)
