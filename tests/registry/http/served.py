"""A registry's HTTP API on a socket of its own."""

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx2
import uvicorn

from stoker.registry.http.application import application
from stoker.registry.http.limits import Limits
from stoker.registry.service import Service
from tests.registry.memory_service import MemoryService

V1 = "application/vnd.schemaregistry.v1+json"
MODERN = {"Confluent-Accept-Unknown-Properties": "true"}


@contextmanager
def served(
    service: Service | None = None,
    *,
    auth_file: Path | None = None,
    read_only: bool = False,
    limits: Limits | None = None,
) -> Iterator[str]:
    """Its URL, as long as the server runs on a thread of its own."""
    config = uvicorn.Config(
        application(service or MemoryService(), auth_file=auth_file, read_only=read_only, limits=limits),
        http="httptools",
        loop="uvloop",
        log_config=None,
        access_log=False,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


class Api:
    """Asks it, and gives statuses and JSON."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        self.url = url
        self.client = httpx2.Client(base_url=url, headers={"Content-Type": V1, **(headers or {})}, timeout=30)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def __call__(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """The path goes over the wire as it is."""
        reply = self.raw(method, path, body, headers)
        return reply.status_code, reply.json() if reply.content else None

    def register(self, subject: str, schema: str, **others: object) -> int:
        status, reply = self("POST", f"/subjects/{subject}/versions", {"schema": schema, **others})
        assert status == 200, reply
        return int(reply["id"])

    def error(self, method: str, path: str, body: object = None) -> tuple[int, int]:
        """Status and code of an answer that has a message too."""
        status, reply = self(method, path, body)
        assert set(reply) == {"error_code", "message"}, reply
        assert reply["message"]
        return status, reply["error_code"]

    def raw(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        address = httpx2.URL(self.url).copy_with(raw_path=path.encode())
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.request(method, address, content=content, headers=headers)
