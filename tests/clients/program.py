"""A program in a process of its own, whose lines a test waits for: for snippets that run until a signal ends them."""

import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from signal import Signals
from types import TracebackType
from typing import Self

from tests.clients.client import WAIT_SECONDS


class Program:
    """Started on entry; killed on exit if it still runs. `lines` is what it has printed, errors included."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> None:
        self._command = [str(word) for word in command]
        self._environment = os.environ | {"PYTHONUNBUFFERED": "1"} | dict(environment or {})
        self._directory = directory
        self._printed = threading.Condition()
        self.lines: list[str] = []

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environment,
            cwd=self._directory,
            text=True,
        )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._reading.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def wait_for(self, wanted: Callable[[list[str]], bool], *, seconds: float = WAIT_SECONDS) -> None:
        """Return when the lines are as wanted; fail, with all of them, when the program ends or the time is over before."""
        with self._printed:
            self._printed.wait_for(lambda: wanted(self.lines) or not self._reading.is_alive(), seconds)
            assert wanted(self.lines), "\n".join(["the program printed:", *self.lines])

    def wait(self) -> int:
        """The status with which it ends by itself."""
        status = self._process.wait(WAIT_SECONDS)
        self._reading.join()
        return status

    def signal(self, number: Signals) -> None:
        self._process.send_signal(number)

    def end_with(self, number: Signals) -> int:
        """Send the signal; the status with which the program ends."""
        self.signal(number)
        return self.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._printed:
                self.lines.append(line.rstrip("\n"))
                self._printed.notify_all()
        with self._printed:
            self._printed.notify_all()
