"""`stoker up` in a process of its own, with the broker and the registry below it."""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.faults.stoker_process import STOKER

WAIT_SECONDS: Final = 60.0

_READY = re.compile(r"stoker up: ready, (?:broker on ([^\s,;]+))?(?:, )?(?:registry on ([^\s,;]+))?;")


class UpProcess:
    """Its lines are kept; `broker` and `registry` are the addresses that it named when it was ready."""

    def __init__(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        stderr: int = subprocess.PIPE,
        directory: Path | None = None,
    ) -> None:
        self.lines: list[str] = []
        self.broker = self.registry = ""
        self._ready = threading.Event()
        self.process = subprocess.Popen(
            [STOKER, "up", *arguments],
            stdin=subprocess.DEVNULL,
            stderr=stderr,
            text=True,
            env=os.environ | (env or {}),
            cwd=directory,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stderr or ():
            self.lines.append(line.rstrip("\n"))
            if ready := _READY.search(line):
                self.broker, self.registry = ready[1] or "", ready[2] or ""
                self._ready.set()

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not self._ready.wait(0.02):
            assert self.process.poll() is None, f"it gave up:\n{self.output}"
            assert time.monotonic() < deadline, f"it is not ready:\n{self.output}"

    def wait(self) -> int:
        """Its exit code, once all it wrote is there."""
        code = self.process.wait(WAIT_SECONDS)
        self._reader.join(WAIT_SECONDS)
        if self.process.stderr is not None:
            self.process.stderr.close()
        return code

    def stop(self, by: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(by)
        return self.wait()

    def children(self) -> dict[str, int]:
        """The process ids of its parts, by their names."""
        pids = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return {_words(pid)[_words(pid).index("stoker.cli.tethered") + 2]: int(pid) for pid in pids}


def _words(pid: str) -> Sequence[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


@contextmanager
def up(data_dir: Path, *arguments: str) -> Iterator[UpProcess]:
    """Ready, on ports of its own."""
    ports = ["--host", "127.0.0.1", "--port", "0", "--registry-port", "0"]
    process = UpProcess("--data-dir", str(data_dir), *ports, *arguments)
    try:
        process.wait_until_ready()
        yield process
    finally:
        if process.process.poll() is None:
            process.process.terminate()
        process.wait()


@contextmanager
def named_up(directory: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Iterator[UpProcess]:
    """The same in a directory, with what its stoker.toml and the environment name."""
    ports = ["--host", "127.0.0.1", "--port", "0", "--registry-port", "0", "--data-dir", str(directory / "data")]
    process = UpProcess(*ports, *arguments, env=env, directory=directory)
    try:
        process.wait_until_ready()
        yield process
    finally:
        if process.process.poll() is None:
            process.process.terminate()
        process.wait()
