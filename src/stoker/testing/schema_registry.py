"""A schema registry for tests, in a process of its own."""

import os
import re
import subprocess
import sys
import threading
from types import TracebackType
from typing import Final, Self

from stoker.errors import StokerError
from stoker.settings.current import environment_without_cluster

_READY: Final = re.compile(r"the schema registry is ready on (\S+),")
_LAST_LINES: Final = 20


class RegistryCannotStart(StokerError):
    """The message ends with what the registry said."""


class SchemaRegistry:
    """`with SchemaRegistry(broker.bootstrap_servers) as registry: ... registry.url`. It ends with the one who started it."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self.url = ""

    def __enter__(self) -> Self:
        tether_reader, self._tether_writer = os.pipe()
        arguments = ["registry", "-b", self._bootstrap_servers, "-l", "127.0.0.1:0"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "stoker.cli.tethered", str(tether_reader), *arguments],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment_without_cluster(),
            pass_fds=[tether_reader],
            text=True,
        )
        os.close(tether_reader)
        try:
            self._wait_until_ready()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop()

    def _wait_until_ready(self) -> None:
        assert self._process.stderr is not None
        lines = []
        for line in self._process.stderr:
            lines.append(line)
            found = _READY.search(line)
            if found is not None:
                self.url = found[1]
                # What it writes later is read too: a full pipe would stop it.
                threading.Thread(target=self._process.stderr.read, daemon=True).start()
                return
        raise RegistryCannotStart(f"the registry did not start:\n{''.join(lines[-_LAST_LINES:])}")

    def _stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        os.close(self._tether_writer)
