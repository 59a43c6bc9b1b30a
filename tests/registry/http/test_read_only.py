"""A registry that refuses every write."""

from collections.abc import Iterator

import pytest

from tests.registry.http.schemas import V1, V2
from tests.registry.http.served import Api, served
from tests.registry.memory_service import MemoryService


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    service = MemoryService()
    with served(service) as url, Api(url) as writing:
        writing.register("a", V1)
    with served(service, read_only=True) as url, Api(url) as api:
        yield api


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/subjects/b/versions", {"schema": V1}),
        ("POST", "/subjects/a/versions", {"schema": V2}),
        ("DELETE", "/subjects/a", None),
        ("DELETE", "/subjects/a/versions/1", None),
        ("PUT", "/config", {"compatibility": "NONE"}),
        ("PUT", "/config/a", {"compatibility": "NONE"}),
        ("DELETE", "/config", None),
        ("PUT", "/mode", {"mode": "READWRITE"}),
        ("PUT", "/mode/a", {"mode": "READWRITE"}),
        ("DELETE", "/mode", None),
        ("DELETE", "/contexts/:.a:", None),
    ],
)
def test_every_write_is_refused(api: Api, method: str, path: str, body: object) -> None:
    status, reply = api(method, path, body)
    assert (status, reply["error_code"]) == (422, 42205)
    assert "read-only" in reply["message"]


def test_questions_are_answered(api: Api) -> None:
    assert api("GET", "/mode") == (200, {"mode": "READONLY"})
    assert api("GET", "/mode/a") == (200, {"mode": "READONLY"})
    assert api("POST", "/subjects/a", {"schema": V1})[0] == 200
    assert api("POST", "/subjects/a/versions", {"schema": V1}) == (200, {"id": 1}), "which is there already"
    assert api("POST", "/compatibility/subjects/a/versions", {"schema": V1})[0] == 200
