"""What holds for all requests: paths, methods, media types, bodies, and what becomes of mistakes."""

import json
import logging
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from stoker.registry.http.limits import Limits
from stoker.registry.registry import Change, Registry
from tests.registry.http.schemas import V1
from tests.registry.http.served import Api, served
from tests.registry.memory_service import MemoryService

V1_JSON = "application/vnd.schemaregistry.v1+json"
PLAIN = "application/json"
UNVERSIONED = "application/vnd.schemaregistry+json"


@pytest.mark.parametrize(
    "path", ["/nothing", "/subjects//versions", "/subjects/a/b", "/schemas/ids", "/v1", "/subjects/{}/x", "//"]
)
def test_paths_that_are_none(api: Api, path: str) -> None:
    status, reply = api("GET", path)
    if path == "//":
        assert status == 200, "slashes at the end mean nothing"
    else:
        assert (status, reply) == (404, {"error_code": 404, "message": "HTTP 404 Not Found"})


@pytest.mark.parametrize("path", ["/subjects/", "/schemas/types/", "/config//"])
def test_a_slash_at_the_end_means_nothing(api: Api, path: str) -> None:
    assert api("GET", path)[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PATCH", "/subjects", "GET,HEAD,OPTIONS"),
        ("DELETE", "/subjects", "GET,HEAD,OPTIONS"),
        ("PUT", "/subjects/a", "DELETE,OPTIONS,POST"),
        ("POST", "/config", "DELETE,GET,HEAD,OPTIONS,PUT"),
    ],
)
def test_methods_that_a_path_has_not(api: Api, method: str, path: str, allowed: str) -> None:
    reply = api.raw(method, path)
    assert (reply.status_code, reply.json()) == (
        405,
        {"error_code": 405, "message": "HTTP 405 Method Not Allowed"},
    )
    assert reply.headers["allow"] == allowed
    options = api.raw("OPTIONS", path)
    assert (options.status_code, options.headers["allow"], options.content) == (200, allowed, b"")


def test_head_is_get_without_its_content(api: Api, subject: str) -> None:
    api.register(subject, V1)
    for path in ("/subjects", f"/subjects/{subject}/versions/1", "/schemas/ids/99999"):
        got, head = api.raw("GET", path), api.raw("HEAD", path)
        assert (head.status_code, head.content) == (got.status_code, b"")
        assert head.headers["content-length"] == got.headers["content-length"]


@pytest.mark.parametrize(
    ("accept", "answered"),
    [
        (None, V1_JSON),
        ("*/*", V1_JSON),
        ("", V1_JSON),
        ("application/*", V1_JSON),
        (PLAIN, PLAIN),
        (UNVERSIONED, UNVERSIONED),
        (f"{V1_JSON}, {UNVERSIONED}, {PLAIN}", V1_JSON),
        (f"{PLAIN}, {V1_JSON}; q=0.1", PLAIN),
        ("text/html, image/gif, *; q=.2, */*; q=.2", V1_JSON),
        (f"text/html, {UNVERSIONED};q=0.5", UNVERSIONED),
        ("text/html", None),
        ("application/json;q=0", None),
        ("application/json;q=nonsense", None),
        (",;,", None),
    ],
)
def test_answers_in_the_type_that_is_wanted(api: Api, accept: str | None, answered: str | None) -> None:
    reply = api.raw("GET", "/subjects", headers={} if accept is None else {"Accept": accept})
    if answered is None:
        assert (reply.status_code, reply.json()["error_code"]) == (406, 406)
    else:
        assert (reply.status_code, reply.headers["content-type"]) == (200, answered)


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        (V1_JSON, 200),
        (UNVERSIONED, 200),
        (PLAIN, 200),
        (f"{PLAIN}; charset=utf-8", 200),
        ("Application/JSON", 200),
        ("application/octet-stream", 200),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("nonsense", 415),
    ],
)
def test_takes_json_under_four_names(api: Api, subject: str, content_type: str, status: int) -> None:
    reply = api.raw("POST", f"/subjects/{subject}/versions", {"schema": V1}, {"Content-Type": content_type})
    assert reply.status_code == status
    if status == 415:
        assert reply.json() == {"error_code": 415, "message": "HTTP 415 Unsupported Media Type"}


def test_takes_a_body_without_a_type(api: Api) -> None:
    host, port = api.url.removeprefix("http://").split(":")
    content = json.dumps({"schema": V1}).encode()
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        head = f"POST /subjects/untyped/versions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(content)}"
        connection.sendall(head.encode() + b"\r\n\r\n" + content)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "line 1 column 2"),
        (b'{"schema":\n  nonsense}', "line 2 column 3"),
        (b"\xff\xfe{}", "utf-8"),
        (b"[]", "an array"),
        (b'"text"', "a string"),
        (b"7", "a number"),
        (b"null", "null"),
        (b"true", "a boolean"),
        (b'{"schema":"\\ud800"}', "surrogate"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"version":' + b"9" * 5000 + b"}", "digits"),
        (b'{"schema":"{}"} and more', "line 1 column 17"),
    ],
)
def test_bodies_that_are_no_json_object(api: Api, content: bytes, said: str) -> None:
    status, reply = api("POST", "/subjects/a/versions", content)
    assert (status, reply["error_code"]) == (400, 400)
    assert said in reply["message"]


def test_a_body_there_must_be(api: Api) -> None:
    assert api.error("POST", "/subjects/a/versions", b"") == (422, 422)
    assert api.error("POST", "/subjects/a") == (422, 422)


def test_limits_of_size() -> None:
    limits = Limits(max_request_bytes=1000, max_address_bytes=100, max_schema_characters=500, max_references=2)
    with served(limits=limits) as url, Api(url) as api:
        assert api.error("POST", "/subjects/a/versions", b" " * 1001) == (413, 413)
        assert api.error("GET", "/subjects?" + "a" * 100) == (414, 414)
        status, reply = api("POST", "/subjects/a/versions", {"schema": " " + "x" * 500})
        assert (status, reply["error_code"]) == (422, 42209)
        assert "501" in reply["message"]
        assert "500" in reply["message"]
        references = [{"name": "a", "subject": "b", "version": 1}] * 3
        assert api.error("POST", "/subjects/a/versions", {"schema": V1, "references": references}) == (422, 42201)
        assert api.client.request("POST", "/subjects/a/versions", content=_pieces()).status_code == 413
        assert _at_once(url, b" " * 1001).startswith(b"HTTP/1.1 413 ")


def _pieces() -> Any:
    """A body that does not say how long it is."""
    return (b" " * 200 for _ in range(10))


def _at_once(url: str, body: bytes) -> bytes:
    """What is answered to such a body when its end comes with its beginning."""
    head = b"POST /subjects/a/versions HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port or 0), timeout=20) as connection:
        connection.sendall(head + f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n")
        return connection.recv(1000)


def test_a_body_that_does_not_come_is_given_up() -> None:
    with served(limits=Limits(body_timeout=0.05)) as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(b"PUT /config HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
            assert connection.recv(65536).startswith(b"HTTP/1.1 408")


def test_who_goes_away_in_the_middle_of_a_body_harms_nobody(api: Api) -> None:
    host, port = api.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(b"PUT /config HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    assert api("GET", "/config") == (200, {"compatibilityLevel": "BACKWARD"})


def test_too_many_parameters_of_a_query() -> None:
    with served(limits=Limits(max_address_bytes=100_000)) as url, Api(url) as api:
        assert api.error("GET", "/subjects?" + "a=1&" * 1001) == (400, 400)


class _Faulty(MemoryService):
    async def change(self, decide: Callable[[Registry], Change[Any]]) -> Any:
        raise ZeroDivisionError("a secret")


def test_a_mistake_of_ours_is_logged_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    with served(_Faulty()) as url, Api(url) as api, caplog.at_level(logging.ERROR):
        assert api("PUT", "/mode", {"mode": "READONLY"}) == (
            500,
            {"error_code": 500, "message": "Internal Server Error"},
        )
    (logged,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert logged.exc_info is not None
    assert repr(logged.exc_info[1]) == "ZeroDivisionError('a secret')"


@pytest.mark.parametrize("value", ["true", "TRUE", "True"])
def test_flags_are_true_or_else_false(api: Api, subject: str, value: str) -> None:
    api.register(subject, V1)
    api("DELETE", f"/subjects/{subject}")
    listing = f"/subjects?subjectPrefix={subject}"
    assert api("GET", f"{listing}&deleted={value}") == (200, [subject])
    for other in ("1", "yes", "", "truer"):
        assert api("GET", f"{listing}&deleted={other}") == (200, [])
