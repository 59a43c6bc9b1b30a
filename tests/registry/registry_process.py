"""A registry in a process of its own, on a cluster of the test's choice."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import httpx2

from tests.faults.stoker_process import StokerProcess, free_port


class RegistryProcess(StokerProcess):
    """`stoker registry`; asked over HTTP."""

    ready = re.compile(r"the schema registry is ready on (\S+), schemas in ")

    def __init__(
        self, bootstrap_servers: str, *, port: int | None = None, options: Mapping[str, object] | None = None
    ) -> None:
        super().__init__()
        self._bootstrap_servers = bootstrap_servers
        self.port = port or free_port()
        # Registries on one topic are in one group, and those on another topic are not.
        topic = (options or {}).get("kafkastore.topic", "_schemas")
        self._options = {"schema.registry.group.id": f"registry-of-{topic}", **(options or {})}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def arguments(self) -> Sequence[str]:
        command = ["registry", "-b", self._bootstrap_servers, "--listen", f"127.0.0.1:{self.port}"]
        for name, value in self._options.items():
            command += ["-o", f"{name}={value}"]
        return command

    def ask(self, method: str, path: str, *, json: object = None, timeout: float = 30.0) -> httpx2.Response:
        return httpx2.request(method, self.url + path, json=json, timeout=timeout)

    def register(self, subject: str, schema: str, **fields: Any) -> int:
        answer = self.ask("POST", f"/subjects/{subject}/versions", json={"schema": schema, **fields})
        assert answer.status_code == 200, answer.text
        return int(answer.json()["id"])
