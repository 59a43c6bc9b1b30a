"""Processes that are known again, and strangers that are left alone."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stoker.clusters.daemon import PID_FILE, Daemon
from stoker.clusters.errors import CannotStart

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('here', flush=True); time.sleep(600)"
)
OBEDIENT = "import time; print('here', flush=True); time.sleep(600)"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    found = Daemon(tmp_path / "node-1 of mine", "node 1")
    yield found
    found.kill()


def start(daemon: Daemon, program: str) -> None:
    daemon.start([sys.executable, "-c", program, daemon.mark])
    while daemon.pid is not None and b"here" not in daemon.log_file.read_bytes():
        pass


def test_another_one_finds_it(daemon: Daemon) -> None:
    start(daemon, OBEDIENT)
    again = Daemon(daemon.directory, "node 1")
    assert again.pid == daemon.pid is not None
    assert (again.memory or 0) > 1_000_000
    again.terminate()
    assert again.wait_until_gone(30)
    assert (again.pid, again.memory) == (None, None)


def test_it_is_killed_if_it_does_not_end(daemon: Daemon) -> None:
    start(daemon, STUBBORN)
    daemon.terminate()
    assert not daemon.wait_until_gone(0.1)
    daemon.kill()
    assert daemon.pid is None


def test_another_is_started_while_it_is_killed(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who kills waits for the one that was killed, and leaves alone what a restart has started in its place."""
    start(daemon, OBEDIENT)
    killed = daemon.pid
    kill_group = os.killpg

    def kill_and_replace(group: int, number: int) -> None:
        kill_group(group, number)
        start(daemon, OBEDIENT)

    with monkeypatch.context() as patched:
        patched.setattr(os, "killpg", kill_and_replace)
        daemon.kill()
    assert daemon.pid not in (None, killed)


def test_a_pid_that_is_a_strangers_by_now(daemon: Daemon) -> None:
    daemon.directory.mkdir()
    with subprocess.Popen([sys.executable, "-c", OBEDIENT]) as stranger:
        (daemon.directory / PID_FILE).write_text(f"{stranger.pid}\n")
        assert daemon.pid is None
        daemon.kill()
        assert stranger.poll() is None, "it was none of ours"
        stranger.kill()


def test_a_copy_of_the_directory_is_not_the_process(daemon: Daemon, tmp_path: Path) -> None:
    start(daemon, OBEDIENT)
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / PID_FILE).write_text((daemon.directory / PID_FILE).read_text())
    assert Daemon(copy, "node 1").pid is None


@pytest.mark.parametrize("content", ["", "none\n"])
def test_a_pid_file_that_is_none(daemon: Daemon, content: str) -> None:
    daemon.directory.mkdir()
    (daemon.directory / PID_FILE).write_text(content)
    assert daemon.pid is None


def test_one_that_ends_at_once_says_why(daemon: Daemon) -> None:
    daemon.start([sys.executable, "-c", "raise SystemExit('no room on the disk')", daemon.mark])
    assert daemon.wait_until_gone(30)
    with pytest.raises(
        CannotStart, match=r"(?s)node 1 ended as soon as it was started.*server.log.*no room on the disk"
    ):
        daemon.raise_if_ended()
