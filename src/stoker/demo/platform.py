"""Broker, registry and pipeline as processes of their own, which end with this one."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from stoker.errors import StokerError

_READY: Final = re.compile(r"stoker up: ready, broker on (\S+), registry on (\S+);")
_FREE_PORTS: Final = ("--local", "--host", "127.0.0.1", "--port", "0", "--registry-port", "0")
_STOP_SECONDS: Final = 60


class DemoFailed(StokerError):
    """The message says what went wrong, and shows the end of a log where there is one."""


@contextmanager
def broker_and_registry(data_dir: Path) -> Iterator[tuple[str, str]]:
    """`stoker up` on free ports: their addresses. They end with this process, however it ends."""
    tether, end_of_tether = os.pipe()
    up = subprocess.Popen(
        [sys.executable, "-m", "stoker.cli.tethered", str(tether), "up", "--data-dir", str(data_dir), *_FREE_PORTS],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=[tether],
        start_new_session=True,  # Ctrl-C is for this process to handle
    )
    os.close(tether)
    assert up.stderr is not None
    try:
        lines = []
        for line in up.stderr:
            lines.append(line)
            if ready := _READY.search(line):
                threading.Thread(target=up.stderr.read, daemon=True).start()
                yield ready[1], ready[2]
                return
        raise DemoFailed(f"Stoker did not start:\n{''.join(lines)}")
    finally:
        up.terminate()
        up.wait()
        os.close(end_of_tether)


class Pipeline:
    """The process in which Spark runs."""

    def __init__(self, arguments: list[str], log: IO[str]) -> None:
        self._log = log
        self._process = subprocess.Popen(
            [sys.executable, "-m", "stoker.demo.order_pipeline", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # so that its JVM can be killed with it
        )

    def check(self) -> None:
        """Raises DemoFailed if it has ended."""
        if not self.is_running:
            last = Path(self._log.name).read_text(errors="replace").splitlines()[-30:]
            raise DemoFailed("\n".join(["The pipeline has failed. The end of its log:", *last]))

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def kill(self, *, driver_alone: bool = False) -> None:
        """SIGKILL to the driver and its JVM. Workers are left, as after any crash, to notice it themselves; `driver_alone`: the JVM too."""
        if self.is_running:
            (os.kill if driver_alone else os.killpg)(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def stop(self) -> None:
        """As Ctrl-C does."""
        if self.is_running:
            self._process.terminate()
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
