"""A `stoker` command that serves until it is stopped, in a process of its own, to be killed, starved and lied to."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, Self

from tests.ports import free_port

__all__ = ["STOKER", "WAIT_SECONDS", "StokerProcess", "free_port"]

STOKER: Final = str(Path(sys.executable).with_name("stoker"))
WAIT_SECONDS: Final = 30.0


class StokerProcess(ABC):
    """Started, killed and started again, its log lines kept by start."""

    ready: ClassVar[re.Pattern[str]]
    """Of the line with which it says that it serves."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._ready = threading.Event()
        self.lines: list[str] = []
        """What it has written to stderr since it was last started."""

    @abstractmethod
    def arguments(self) -> Sequence[str]:
        """The command and its options."""

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def is_ready(self) -> bool:
        return self._ready.is_set()

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def program(self) -> Sequence[str]:
        """What runs it."""
        return [STOKER]

    def environment(self) -> Mapping[str, str] | None:
        """Its environment; None: that of the tests."""
        return None

    def launch(self, *arguments: str) -> Self:
        """Start it and do not wait."""
        assert not self.is_running
        command = [*self.program(), *self.arguments()]
        self.lines = []
        self._ready.clear()
        self._process = subprocess.Popen(
            [*command, *arguments], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=self.environment()
        )
        self._reader = threading.Thread(target=self._read_lines, args=(self._process, self.lines), daemon=True)
        self._reader.start()
        return self

    def _read_lines(self, process: subprocess.Popen[str], lines: list[str]) -> None:
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line.rstrip("\n"))
            if self.ready.search(line):
                self._ready.set()

    def start(self, *arguments: str) -> Self:
        """Start it and wait until it is ready."""
        self.launch(*arguments)
        self.wait_until_ready()
        return self

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not self._ready.wait(0.02):
            assert self.is_running, f"it gave up:\n{self.output}"
            assert time.monotonic() < deadline, f"it is not ready:\n{self.output}"

    def kill(self) -> None:
        """SIGKILL: the process has no say in it."""
        assert self._process is not None
        self._process.kill()
        self.wait()

    def send_signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to stop; returns its exit code."""
        self.send_signal(by)
        return self.wait()

    def wait(self) -> int:
        """Its exit code, once it and all it wrote are there."""
        assert self._process is not None
        assert self._reader is not None
        code = self._process.wait(WAIT_SECONDS)
        self._reader.join(WAIT_SECONDS)
        assert self._process.stderr is not None
        self._process.stderr.close()
        return code

    def wait_for_line(self, *words: str) -> None:
        """Until it has logged a line with all these words."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not any(all(word in line for word in words) for line in tuple(self.lines)):
            assert time.monotonic() < deadline, f"no line with {words} in:\n{self.output}"
            time.sleep(0.02)

    def line_with(self, *words: str) -> str:
        """The one log line with all these words in it."""
        matching = [line for line in self.lines if all(word in line for word in words)]
        assert matching, f"no line with {words} in:\n{self.output}"
        return matching[0]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process is not None:
            if self.is_running:
                os.kill(self._process.pid, signal.SIGKILL)
            self.wait()
