"""/config."""

import pytest

from tests.registry.http.schemas import BROKEN, V1
from tests.registry.http.served import Api

RULE = {"name": "a", "kind": "TRANSFORM", "mode": "READ", "type": "CEL", "disabled": False}


def test_the_level_of_all_subjects(api: Api, subject: str) -> None:
    assert api("GET", "/config") == (200, {"compatibilityLevel": "BACKWARD"})
    try:
        assert api("PUT", "/config", {"compatibility": "full"})[0] == 200
        assert api("GET", "/config") == (200, {"compatibilityLevel": "FULL"})
        assert api("GET", f"/config/{subject}?defaultToGlobal=true") == (200, {"compatibilityLevel": "FULL"})
        assert api("GET", "/config/:.:") == (200, {"compatibilityLevel": "FULL"})
    finally:
        assert api("DELETE", "/config") == (200, {"compatibilityLevel": "FULL"})
    assert api("GET", "/config") == (200, {"compatibilityLevel": "BACKWARD"})


@pytest.mark.acceptance("C102")
def test_the_level_of_a_subject(api: Api, subject: str) -> None:
    """PUT /config/{subject} sets the level of a subject; one that does not exist is refused with 42203."""
    path = f"/config/{subject}"
    assert api.error("GET", path) == (404, 40408)
    assert api("PUT", path, {"compatibility": "BACKWARD"}) == (200, {"compatibility": "BACKWARD"})
    assert api("PUT", path, {"compatibility": "NONE"}) == (200, {"compatibility": "NONE"})
    assert api.error("PUT", path, {"compatibility": "SIDEWAYS"}) == (422, 42203)
    assert api("GET", path) == (200, {"compatibilityLevel": "NONE"})
    for schema in (V1, BROKEN):
        api.register(subject, schema)


def test_what_is_set_can_be_taken_away(api: Api, subject: str) -> None:
    path = f"/config/{subject}"
    assert api.error("DELETE", path) == (404, 40401)
    api("PUT", path, {"compatibility": "FULL"})
    assert api("DELETE", path) == (200, {"compatibilityLevel": "FULL"})
    assert api.error("GET", path) == (404, 40408)
    assert subject not in api("GET", "/subjects?deleted=true")[1], "setting a level makes no subject"


def test_the_level_of_a_context(api: Api, subject: str) -> None:
    assert api("PUT", "/config/:.relaxed:", {"compatibility": "NONE"})[0] == 200
    assert api("GET", "/contexts/relaxed/config") == (200, {"compatibilityLevel": "NONE"})
    path = f"/config/:.relaxed:{subject}?defaultToGlobal=true"
    assert api("GET", path) == (200, {"compatibilityLevel": "NONE"})
    assert api("GET", f"/contexts/.relaxed/config/{subject}?defaultToGlobal=true") == (
        200,
        {"compatibilityLevel": "NONE"},
    )


def test_other_fields_of_a_config(api: Api, subject: str) -> None:
    given = {
        "normalize": True,
        "compatibilityGroup": "major",
        "defaultMetadata": {"properties": {"team": "orders"}},
        "overrideRuleSet": {"domainRules": [RULE]},
        "unheardOf": 7,
    }
    assert api("PUT", f"/config/{subject}", given)[0] == 200
    shown = api("GET", f"/config/{subject}")[1]
    assert {name: shown[name] for name in given if name != "unheardOf"} == {
        name: value for name, value in given.items() if name != "unheardOf"
    }
    assert "unheardOf" not in shown


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({"compatibility": ""}, (422, 42203)),
        ({"compatibility": 5}, (422, 42203)),
        ({"compatibility": []}, (422, 42203)),
        ({"normalize": "perhaps"}, (422, 42203)),
        ({"defaultMetadata": []}, (422, 42203)),
        ({"overrideRuleSet": {"domainRules": [{"name": "1", "type": "CEL", "mode": "READ"}]}}, (422, 42210)),
        (b"", (422, 422)),
    ],
)
def test_configs_that_cannot_be(api: Api, subject: str, body: object, answer: tuple[int, int]) -> None:
    assert api.error("PUT", f"/config/{subject}", body) == answer
    assert api.error("PUT", "/config", body) == answer


def test_reserved_names_have_no_config(api: Api) -> None:
    assert api.error("PUT", "/config/__GLOBAL", {"compatibility": "FULL"}) == (422, 42208)
