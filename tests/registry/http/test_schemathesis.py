"""Schemathesis asks what the description allows and what it does not, and compares the answers with it."""

from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.schemas import APIOperation
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


@pytest.fixture(
    params=[each.ok() for each in schemathesis.openapi.from_dict(description()).get_all_operations()],  # type: ignore[union-attr]  # an invalid one has no ok()
    ids=lambda operation: operation.label,
)
def operation(request: pytest.FixtureRequest) -> APIOperation[Any, Any, Any, Any]:
    """Each in a test of its own, by pytest: those that Schemathesis makes have all one name, of which xdist runs one."""
    found: APIOperation[Any, Any, Any, Any] = request.param
    return found


def ask(operation: APIOperation[Any, Any, Any, Any], url: str, *, examples: int) -> None:
    """What the description allows, and what it does not."""
    requests = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in GenerationMode))

    @hypothesis.given(case=requests)
    @hypothesis.settings(max_examples=examples, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
    def answer_is_as_described(case: schemathesis.Case[Any]) -> None:
        case.call_and_validate(base_url=url, checks=CHECKS)

    answer_is_as_described()


def test_answers_are_as_described(operation: APIOperation[Any, Any, Any, Any], url: str) -> None:
    ask(operation, url, examples=3)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_answers_are_as_described_at_length(operation: APIOperation[Any, Any, Any, Any], url: str) -> None:
    ask(operation, url, examples=300)
