"""/mode."""

import pytest

from tests.registry.http.schemas import V1, V2
from tests.registry.http.served import Api


def test_the_mode_of_all_subjects(api: Api, subject: str) -> None:
    assert api("GET", "/mode") == (200, {"mode": "READWRITE"})
    try:
        assert api("PUT", "/mode", {"mode": "READONLY"}) == (200, {"mode": "READONLY"})
        assert api("GET", "/mode") == (200, {"mode": "READONLY"})
        assert api("GET", f"/mode/{subject}?defaultToGlobal=true") == (200, {"mode": "READONLY"})
        assert api.error("POST", f"/subjects/{subject}/versions", {"schema": V1}) == (422, 42205)
    finally:
        assert api("PUT", "/mode", {"mode": "READWRITE"}) == (200, {"mode": "READWRITE"})


def test_the_mode_of_a_subject(api: Api, subject: str) -> None:
    path = f"/mode/{subject}"
    api.register(subject, V1)
    assert api.error("GET", path) == (404, 40409)
    assert api.error("DELETE", path) == (404, 40401)
    assert api("PUT", path, {"mode": "readonly"}) == (200, {"mode": "readonly"}), "as it came, like Confluent's"
    assert api("GET", path) == (200, {"mode": "READONLY"})
    assert api.error("POST", f"/subjects/{subject}/versions", {"schema": V2}) == (422, 42205)
    assert api("POST", f"/subjects/{subject}/versions", {"schema": V1})[0] == 200, "nothing is written"
    assert api.error("DELETE", f"/subjects/{subject}") == (422, 42205)
    assert api.error("DELETE", f"/subjects/{subject}/versions/1") == (422, 42205)
    assert api("DELETE", path) == (200, {"mode": "READONLY"})
    assert api.register(subject, V2)


def test_import_mode_needs_a_subject_without_schemas(api: Api, subject: str) -> None:
    api.register(subject, V1)
    assert api.error("PUT", f"/mode/{subject}", {"mode": "IMPORT"}) == (422, 42205)
    assert api("PUT", f"/mode/{subject}?force=true", {"mode": "IMPORT"}) == (200, {"mode": "IMPORT"})


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({"mode": "SIDEWAYS"}, (422, 42204)),
        ({"mode": ""}, (422, 42204)),
        ({"mode": 1}, (422, 42204)),
        ({"mode": {}}, (422, 42204)),
        ({}, (422, 42204)),
        ([], (400, 400)),
        (b"mode", (400, 400)),
        (b"  ", (422, 422)),
    ],
)
def test_modes_that_cannot_be(api: Api, subject: str, body: object, answer: tuple[int, int]) -> None:
    assert api.error("PUT", f"/mode/{subject}", body) == answer


def test_reserved_names_have_no_mode(api: Api) -> None:
    assert api.error("PUT", "/mode/__EMPTY", {"mode": "READONLY"}) == (422, 42208)


def test_the_mode_of_a_context(api: Api, subject: str) -> None:
    assert api("PUT", "/contexts/closed/mode", {"mode": "READONLY"})[0] == 200
    assert api("GET", "/mode/:.closed:") == (200, {"mode": "READONLY"})
    assert api.error("POST", f"/contexts/closed/subjects/{subject}/versions", {"schema": V1}) == (422, 42205)


def test_the_modes_of_a_context_and_its_subjects_go_at_once(api: Api, subject: str) -> None:
    for name in (":.many:", f":.many:{subject}", f":.many:{subject}-2", subject):
        assert api("PUT", f"/mode/{name}", {"mode": "READONLY"})[0] == 200
    assert api("DELETE", "/mode/:.many:?recursive=true") == (200, {"mode": "READONLY"})
    for name in (":.many:", f":.many:{subject}", f":.many:{subject}-2"):
        assert api.error("GET", f"/mode/{name}") == (404, 40409)
    assert api("GET", f"/mode/{subject}") == (200, {"mode": "READONLY"})
    assert api("DELETE", "/mode/:.many:?recursive=true") == (200, {})


def test_null_takes_a_mode_away(api: Api, subject: str) -> None:
    api("PUT", f"/mode/{subject}", {"mode": "READONLY"})
    assert api("PUT", f"/mode/{subject}", {"mode": None}) == (200, {"mode": None})
    assert api.error("GET", f"/mode/{subject}") == (404, 40409)
