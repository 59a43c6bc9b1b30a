"""/compatibility."""

import pytest

from tests.registry.http.schemas import BROKEN, V1, V2, record
from tests.registry.http.served import Api


@pytest.fixture(scope="module", autouse=True)
def _orders(api: Api) -> None:
    api.register("orders-value", V1)
    api.register("orders-value", V2)
    api.register("gone-value", V1)
    api("DELETE", "/subjects/gone-value")


@pytest.mark.parametrize("version", ["versions", "versions/latest", "versions/1", "versions/2", "versions/-1"])
def test_says_whether_a_schema_could_follow(api: Api, version: str) -> None:
    path = f"/compatibility/subjects/orders-value/{version}"
    assert api("POST", path, {"schema": V2}) == (200, {"is_compatible": True})
    assert api("POST", path, {"schema": BROKEN}) == (200, {"is_compatible": False})


@pytest.mark.acceptance("C101", "C104")
def test_says_why_not_when_asked(api: Api) -> None:
    """A check against the latest version answers is_compatible; `verbose=true` adds the messages; no schema is 42201."""
    path = "/compatibility/subjects/orders-value/versions/latest?verbose=true"
    assert api("POST", path, {"schema": V2}) == (200, {"is_compatible": True, "messages": []})
    status, reply = api("POST", path, {"schemaType": "AVRO", "schema": record("Order", "id", "shop")})
    assert (status, reply["is_compatible"]) == (200, False)
    assert "shop" in reply["messages"][0]
    assert api.error("POST", path.partition("?")[0], {"schema": "..."}) == (422, 42201)


def test_what_is_no_schema_is_told_by_its_message_when_asked(api: Api) -> None:
    path = "/compatibility/subjects/orders-value/versions?verbose=true"
    status, reply = api("POST", path, {"schema": "{"})
    assert (status, reply["is_compatible"]) == (200, False)
    assert "line 1, column 2" in reply["messages"][0]


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/compatibility/subjects/unheard-of/versions", (200, {"is_compatible": True})),
        ("/compatibility/subjects/unheard-of/versions/latest", (200, {"is_compatible": True})),
        ("/compatibility/subjects/gone-value/versions/latest", (200, {"is_compatible": True})),
    ],
)
def test_any_schema_goes_with_a_subject_without_versions(api: Api, path: str, answer: tuple[int, object]) -> None:
    assert api("POST", path, {"schema": V1}) == answer


@pytest.mark.parametrize(
    ("path", "body", "answer"),
    [
        ("orders-value/versions/9", {"schema": V1}, (404, 40402)),
        ("gone-value/versions/1", {"schema": V1}, (404, 40402)),
        ("unheard-of/versions/1", {"schema": V1}, (404, 40402)),
        ("orders-value/versions/x", {"schema": V1}, (422, 42202)),
        ("orders-value/versions", {}, (422, 42201)),
        ("orders-value/versions", {"schema": "{"}, (422, 42201)),
        ("orders-value/versions", {"schema": V1, "schemaType": "XML"}, (422, 42201)),
    ],
)
def test_what_cannot_be_asked(api: Api, path: str, body: object, answer: tuple[int, int]) -> None:
    assert api.error("POST", f"/compatibility/subjects/{path}", body) == answer
