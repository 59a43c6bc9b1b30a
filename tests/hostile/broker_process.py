"""A broker in a process of its own, and what the operating system knows of it."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.raw_connection import Address, RawConnection, address_of

_READY = "Stoker is ready on "
_START_SECONDS = 20
_STOP_SECONDS = 20


class BrokerProcess:
    """Runs `stoker broker` on a free port; stopping it checks that it was alive and never failed at a request."""

    def __init__(self, data_dir: Path, *, descriptors: int | None = None, **config: object) -> None:
        """Config names have underscores for dots here."""
        options = [f"-o{name.replace('_', '.')}={value}" for name, value in config.items()]
        self.log = data_dir / "broker.log"
        command = [sys.executable, "-c", "from stoker.cli import main; main()", "broker"]
        where = [f"--data-dir={data_dir / 'data'}", "--listen=127.0.0.1:0"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *where, *options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                preexec_fn=None if descriptors is None else lambda: _allow_descriptors(descriptors),
            )
        self.address = self._wait_until_ready()

    def _wait_until_ready(self) -> Address:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            for line in self.log.read_text().splitlines():
                if _READY in line:
                    return address_of(line.partition(_READY)[2].partition(",")[0])
            if self._process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"the broker did not start: {self.log.read_text()}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.check_health()
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
        if error is None:
            assert code == 0, self.log.read_text()[-4000:]
            self.check_log()

    def connect(self, *, timeout: float = 20, receive_buffer: int | None = None) -> RawConnection:
        return RawConnection(self.address, timeout=timeout, receive_buffer=receive_buffer)

    # -- what it is like --------------------------------------------------------------------------------------------

    @property
    def resident_bytes(self) -> int:
        return self._status("VmRSS")

    @property
    def peak_resident_bytes(self) -> int:
        return self._status("VmHWM")

    def _status(self, name: str) -> int:
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"no {name} in /proc/{self._process.pid}/status")

    def forget_peak(self) -> None:
        """Let `peak_resident_bytes` start again from what is resident now."""
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")

    @property
    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self._process.pid}/fd"))

    def log_lines(self, containing: str) -> list[str]:
        return [line for line in self.log.read_text(errors="replace").splitlines() if containing in line]

    def wait_for_log(self, containing: str, seconds: float = 10) -> list[str]:
        deadline = time.monotonic() + seconds
        while not (found := self.log_lines(containing)) and time.monotonic() < deadline:
            time.sleep(0.02)
        return found

    def check_health(self) -> None:
        assert self._process.poll() is None, f"the broker ended: {self.log.read_text(errors='replace')[-4000:]}"
        self.check_log()

    def check_log(self) -> None:
        """No request made the broker fail: that would be a bug, whatever the request was."""
        text = self.log.read_text(errors="replace")
        for sign in ("Traceback (most recent call last)", " failed"):
            found = text.find(sign)
            assert found < 0, text[max(0, found - 2000) : found + 6000]


def _allow_descriptors(wanted: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))


def allow_descriptors_here(wanted: int) -> None:
    """For a test that itself opens many connections; the limit never shrinks."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        _allow_descriptors(wanted)
