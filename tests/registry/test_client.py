"""The registry's client, where it does not talk to a registry as it should."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from stoker.registry.client import (
    InvalidRegistryUrl,
    NotARegistry,
    RegistryClient,
    RegistryClientError,
    RegistryRefused,
    RegistryUnreachable,
)
from tests.faults.stoker_process import free_port


@contextmanager
def answering(status: int, content: bytes, seen: list[Any] | None = None) -> Iterator[str]:
    """The URL of a server that gives one answer to everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if seen is not None:
                seen.append((self.path, self.headers.get("Authorization")))
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("url", ["ftp://host", "http://", "http://host:port", "http://host:99999", "http://host:0", ""])
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(InvalidRegistryUrl, match="the form is http://HOST:PORT"):
        RegistryClient(url)


def test_a_user_without_a_password() -> None:
    with pytest.raises(InvalidRegistryUrl, match="name:password"):
        RegistryClient("http://localhost:8081", user="ann")


def test_nobody_there() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with RegistryClient(url) as registry, pytest.raises(RegistryUnreachable) as raised:
        registry.subjects()
    assert str(raised.value) == f"cannot reach the registry {url}: Connection refused"


@pytest.mark.parametrize(
    ("status", "content", "error", "words"),
    [
        (404, b"<html>not here</html>", NotARegistry, "it answers 404 Not Found without JSON"),
        (200, b"<html>hello</html>", NotARegistry, "it answers 200 OK without JSON"),
        (200, b'{"error": 1}', RegistryClientError, "where a list belongs"),
        (401, b"", RegistryRefused, "Unauthorized"),
        (422, b'{"error_code": 42201, "message": "Invalid schema"}', RegistryRefused, "Invalid schema .* says 42201"),
    ],
)
def test_answers_that_are_none(status: int, content: bytes, error: type[Exception], words: str) -> None:
    with answering(status, content) as url, RegistryClient(url) as registry, pytest.raises(error, match=words):
        registry.subjects()


def test_a_password_is_sent_and_not_shown() -> None:
    seen: list[Any] = []
    with answering(200, b"[]", seen) as url, RegistryClient(f"{url.replace('//', '//ann:secret@')}/base/") as registry:
        assert registry.subjects("a&b") == []
        assert registry.url == f"{url}/base"
    assert seen == [("/base/subjects?subjectPrefix=a%26b", "Basic YW5uOnNlY3JldA==")]


def test_references_without_end() -> None:
    """A registry that lies, or a schema that refers to itself."""
    schema = {"schema": '"int"', "references": [{"name": "a", "subject": "a", "version": 1}]}
    with answering(200, json.dumps(schema).encode()) as url, RegistryClient(url) as registry:
        with pytest.raises(NotARegistry, match="have no end"):
            registry.dependencies(schema["references"])  # type: ignore[arg-type]
