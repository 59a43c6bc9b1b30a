"""The servers that are asked over HTTP: the registry, and bare routes of Starlette."""

import http.client
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from datetime import datetime
from pathlib import Path

from side_by_side import processes
from side_by_side.peers import START_TIMEOUT_SECONDS, Peer, free_ports
from side_by_side.processes import LoadFailed
from side_by_side.programs import BENCHMARKS

READY = "the schema registry is ready"


class HttpServer(ABC):
    """On a port of 127.0.0.1, in a process of its own; `name` is the column it is reported in."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.directory = directory
        (self.port,) = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """The command that starts it."""

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} is not running"
        return self._process.pid

    @property
    def log(self) -> Path:
        return self.directory / f"{self.name}.log"

    def start(self, path: str) -> float:
        """Start it and ask for a path; return the seconds from exec to the answer."""
        started = time.monotonic()
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        try:
            self._wait_for_answer(path, started + START_TIMEOUT_SECONDS)
        except BaseException:
            self.stop()
            raise
        return time.monotonic() - started

    def stop(self) -> None:
        if self._process is not None:
            processes.stop(self._process)
            self._process = None

    def ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """Raises OSError and HTTPException, and LoadFailed for an answer that is no 200."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_TIMEOUT_SECONDS)
        try:
            connection.request(method, path, body)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status != http.HTTPStatus.OK:
            raise LoadFailed(f"{self.name} answered {method} {path} with {answer.status}: {content[:200]!r}")
        return content

    def last_lines(self) -> str:
        return " | ".join(self.log.read_text(errors="replace").strip().splitlines()[-3:])

    def _wait_for_answer(self, path: str, deadline: float) -> None:
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                raise LoadFailed(f"{self.name} ended with status {self._process.returncode}: {self.last_lines()}")
            try:
                self.ask("GET", path)
                return
            except (OSError, http.client.HTTPException):  # not listening yet
                time.sleep(0.002)
        raise LoadFailed(f"{self.name} gave no answer in {START_TIMEOUT_SECONDS:.0f} s: {self.last_lines()}")


class Registry(HttpServer):
    """`stoker registry`, with a topic and a group of its own."""

    def __init__(self, name: str, directory: Path, executable: Path, broker: Peer, topic: str) -> None:
        super().__init__(name, directory)
        self._executable = executable
        self._broker = broker
        self._topic = topic

    def command(self) -> list[str]:
        return [
            *(str(self._executable), "registry", "-b", self._broker.brokers, "-l", f"127.0.0.1:{self.port}"),
            *("-o", f"kafkastore.topic={self._topic}", "-o", f"schema.registry.group.id={self._topic}"),
        ]

    def ready_at(self) -> float:
        """When it said that it is ready, in seconds since the epoch."""
        for line in self.log.read_text().splitlines():
            if READY in line:
                date, time_of_day, *_ = line.split()
                return datetime.fromisoformat(f"{date} {time_of_day}").timestamp()
        raise LoadFailed(f"{self.name} did not say that it is ready: {self.last_lines()}")


class BareStarlette(HttpServer):
    """Gives the same answer to every fetch, and another to every lookup."""

    def __init__(self, name: str, directory: Path, *, fetched: bytes, found: bytes) -> None:
        super().__init__(name, directory)
        self._answers = [directory / "fetched.json", directory / "found.json"]
        for path, answer in zip(self._answers, (fetched, found), strict=True):
            path.write_bytes(answer)

    def command(self) -> list[str]:
        return [sys.executable, str(BENCHMARKS / "bare_starlette.py"), str(self.port), *map(str, self._answers)]
