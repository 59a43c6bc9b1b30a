"""A registry's HTTP API on a socket of its own."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2
import uvicorn

from stoker.registry.http.application import application
from stoker.registry.http.settings import HttpSettings
from stoker.registry.service import Service
from tests.registry.memory_service import MemoryService

V1 = "application/vnd.schemaregistry.v1+json"
MODERN = {"Confluent-Accept-Unknown-Properties": "true"}


@contextmanager
def served(service: Service | None = None, settings: HttpSettings | None = None) -> Iterator[str]:
    """Its URL, as long as the server runs on a thread of its own."""
    config = uvicorn.Config(
        application(service or MemoryService(), settings=settings),
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

    def __call__(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        """The path goes over the wire as it is."""
        reply = self.raw(method, path, body, headers)
        return reply.status_code, reply.json() if reply.content else None

    def raw(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        address = httpx2.URL(self.url).copy_with(raw_path=path.encode())
        if isinstance(body, bytes):
            return self.client.request(method, address, content=body, headers=headers)
        if body is None:
            return self.client.request(method, address, headers=headers)
        # The content type is the client's own, not that of httpx2.
        return self.client.request(method, address, json=body, headers={**self.client.headers, **(headers or {})})
