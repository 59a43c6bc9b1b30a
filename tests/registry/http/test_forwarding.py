"""Writes that another instance takes."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stoker.registry.http.limits import Limits
from tests.registry.http.schemas import V1, V2
from tests.registry.http.served import MODERN, Api, served
from tests.registry.http.users import basic, password_hash
from tests.registry.memory_service import MemoryService


@pytest.fixture(scope="module")
def primary() -> Iterator[Api]:
    with served() as url, Api(url) as api:
        yield api


@pytest.fixture(scope="module")
def follower(primary: Api) -> Iterator[Api]:
    """It has replayed nothing, so that what it knows comes from the primary alone."""
    with served(MemoryService(primary_url=primary.url)) as url, Api(url) as api:
        yield api


def test_writes_are_sent_on_and_answers_given_back(primary: Api, follower: Api) -> None:
    reply = follower.raw("POST", "/subjects/a%2Fb/versions?normalize=true", {"schema": V1}, MODERN)
    assert reply.status_code == 200
    assert reply.json()["version"] == 1, "the header that shows new fields went too"
    assert primary("GET", "/subjects?subjectPrefix=a/b") == (200, ["a/b"])
    assert follower("GET", "/subjects?subjectPrefix=a/b") == (200, []), "questions are answered here"
    for method, path, body in (
        ("PUT", "/config/x", {"compatibility": "FULL"}),
        ("PUT", "/mode/x?force=true", {"mode": "READONLY"}),
        ("DELETE", "/mode/x", None),
        ("DELETE", "/config/x", None),
        ("DELETE", "/config/x", None),
        ("POST", "/contexts/away/subjects/a/versions", {"schema": V1}),
        ("DELETE", "/contexts/away/subjects/a", None),
        ("DELETE", "/contexts/away/subjects/a/versions/1?permanent=true", None),
        ("DELETE", "/contexts/away", None),
    ):
        status, answer = follower(method, path, body)
        assert status < 300 or (status, answer["error_code"]) == (404, 40401), answer
    assert primary.error("GET", "/config/x") == (404, 40408)


def test_refusals_are_given_back_byte_for_byte(primary: Api, follower: Api) -> None:
    primary.register("refused", V1)
    body = {"schema": json.dumps({"type": "record", "name": "Order", "fields": [{"name": "x", "type": "int"}]})}
    here = follower.raw("POST", "/subjects/refused/versions", body, {"Accept": "application/json"})
    there = primary.raw("POST", "/subjects/refused/versions", body, {"Accept": "application/json"})
    assert here.status_code == there.status_code == 409
    assert here.content == there.content
    assert here.headers["content-type"] == there.headers["content-type"] == "application/json"


def test_what_cannot_be_is_refused_here(follower: Api) -> None:
    assert follower.error("POST", "/subjects/a/versions", {"schema": ""}) == (422, 42201)
    assert follower.error("PUT", "/config", {"compatibility": "SIDEWAYS"}) == (422, 42203)


def test_what_is_known_here_is_not_sent_on() -> None:
    service = MemoryService()
    with served(service) as url, Api(url) as api:
        schema_id = api.register("known", V1)
        service.primary_url = "http://127.0.0.1:1"
        assert api.register("known", V1) == schema_id
        assert api.error("POST", "/subjects/known/versions", {"schema": V2}) == (500, 50003)


def test_nobody_there_to_send_it_to() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with served(MemoryService(primary_url=f"http://127.0.0.1:{port}")) as url, Api(url) as api:
        status, reply = api("PUT", "/mode", {"mode": "READONLY"})
        assert (status, reply["error_code"]) == (500, 50003)
        assert f"127.0.0.1:{port}" in reply["message"]


def test_a_primary_that_does_not_answer_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        limits = Limits(forward_timeout=0.2)
        with served(MemoryService(primary_url=address), limits=limits) as url, Api(url) as api:
            assert api.error("PUT", "/mode", {"mode": "READONLY"}) == (500, 50003)


def test_a_primary_that_speaks_no_http_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as odd:

        def answer() -> None:
            connection, _ = odd.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"220 smtp.example.org\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"http://127.0.0.1:{odd.getsockname()[1]}"
        with served(MemoryService(primary_url=address)) as url, Api(url) as api:
            assert api.error("PUT", "/mode", {"mode": "READONLY"}) == (500, 50003)
        thread.join()


def test_two_that_take_each_other_for_the_primary_do_not_go_round_in_circles() -> None:
    one, other = MemoryService(), MemoryService()
    with served(one) as one_url, served(other) as other_url, Api(one_url) as api:
        one.primary_url, other.primary_url = other_url, one_url
        assert api("PUT", "/mode", {"mode": "READONLY"}) == (
            500,
            {"error_code": 50004, "message": "Leader not known."},
        )


def test_the_password_goes_too(tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text(f"ann:{password_hash('secret')}\nbob:{password_hash('secret')},read\n")
    with served(auth_file=path) as primary_url, Api(primary_url) as primary:
        service = MemoryService(primary_url=primary_url)
        with served(service, auth_file=path) as url, Api(url) as api:
            body = {"mode": "READONLY"}
            assert api("PUT", "/mode/a", body, basic("ann", "secret"))[0] == 200
            assert primary("GET", "/mode/a", headers=basic("ann", "secret")) == (200, body)
            assert api("PUT", "/mode/a", body, basic("bob", "secret"))[0] == 403
        with served(MemoryService(primary_url=primary_url)) as url, Api(url) as api:
            assert api.error("PUT", "/mode/a", body) == (401, 401), "the primary asks for one all the same"
