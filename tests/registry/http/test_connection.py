"""Clients that send too much, or too slowly: they are let go, and nobody else notices."""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from stoker.registry.http.connection import Connection
from stoker.registry.http.limits import Limits
from tests.registry.http.served import Api, served


class Impatient(Connection):
    head_seconds = 0.5


@contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as client:
        yield client


def answer(client: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    received = b""
    try:
        while chunk := client.recv(65536):
            received += chunk
    except ConnectionResetError:  # while there was more to be sent
        pass
    return received


@pytest.mark.parametrize(
    "begun",
    {
        "nothing": b"",
        "a line break": b"\r\n",
        "half a request line": b"GET /subj",
        "half of the headers": b"GET /subjects HTTP/1.1\r\nHost: x\r\n",
    }.items(),
    ids=lambda case: case[0],
)
def test_a_request_that_does_not_come_is_not_waited_for(begun: tuple[str, bytes]) -> None:
    with served(connection=Impatient) as url, connected(url) as client:
        client.sendall(begun[1])
        answer(client)  # ends


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    """Not even its first byte."""
    with served(limits=Limits(body_timeout=0.2)) as url, connected(url) as client:
        client.sendall(
            b"POST /subjects/a/versions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 9\r\n\r\n"
        )
        assert answer(client).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("part", [b"GET /" + b"a" * 5000, b"GET / HTTP/1.1\r\nX: " + b"a" * 5000])
def test_headers_have_a_limit(part: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "stoker.registry"), served() as url, connected(url) as client:
        try:
            client.sendall(part)
            for _ in range(1000):
                client.sendall(b"a" * 10_000)
        except OSError:
            pass
        reply = answer(client)
        assert not reply or b"larger than 65536 bytes" in reply
        with Api(url) as api:
            assert api("GET", "/subjects")[0] == 200
    assert "larger than 65536 bytes" in caplog.text


def test_who_sends_too_large_a_body_hears_of_it(api: Api) -> None:
    """Though it is answered before all of it was sent, and the connection is good for the next request."""
    with connected(api.url) as client:
        client.sendall(b"POST /subjects/a/versions HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 413 ")
        client.sendall(b" " * 20_000_000)
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert b"HTTP/1.1 200 " in answer(client), "perhaps after the rest of the first answer"


def test_an_upgrade_is_not_made_and_no_reason_to_complain(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    headers = {"Upgrade": "websocket", "Connection": "Upgrade"}
    assert api("GET", "/subjects", headers=headers)[0] == 200
    assert not caplog.records


def test_requests_one_after_the_other_without_waiting(api: Api) -> None:
    with connected(api.url) as client:
        asked = b"GET /schemas/types HTTP/1.1\r\nHost: x\r\n\r\n" * 500
        client.sendall(asked + b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert answer(client).count(b"HTTP/1.1 200 ") == 501
