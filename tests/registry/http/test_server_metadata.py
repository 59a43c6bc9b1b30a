"""/v1/metadata and what else tells of the server."""

from importlib.metadata import version

from tests.registry.http.served import Api, served
from tests.registry.memory_service import MemoryService


def test_tells_who_it_is(api: Api) -> None:
    clusters = {"kafka-cluster": "memory", "schema-registry-cluster": "schema-registry"}
    assert api("GET", "/v1/metadata/id") == (200, {"id": "", "scope": {"path": [], "clusters": clusters}})
    assert api("GET", "/v1/metadata/version") == (200, {"version": version("stoker"), "commitId": ""})
    assert api("GET", "/") == (200, {})
    assert api("POST", "/", {"a": "b"}) == (200, {})


def test_tells_how_it_does(api: Api) -> None:
    status, health = api("GET", "/_health")
    assert (status, health["schema_registry_ready"], health["schema_registry_is_primary"]) == (200, True, True)
    assert api("GET", "/master_available") == (200, {"master_available": True})


def test_tells_that_nobody_takes_the_writes() -> None:
    with served(MemoryService(is_primary_known=False)) as url, Api(url) as api:
        assert api("GET", "/master_available") == (200, {"master_available": False})
        assert api("GET", "/_health")[1]["schema_registry_is_primary"] is False
        assert api.error("PUT", "/mode", {"mode": "READONLY"}) == (500, 50004)
        assert api("GET", "/subjects") == (200, []), "questions are answered all the same"
