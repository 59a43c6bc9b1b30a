"""Processes that are known again, and strangers that are left alone."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stoker.clusters import daemon as daemon_module
from stoker.clusters.daemon import PID_FILE, Daemon
from stoker.clusters.errors import CannotStart, NodeState
from stoker.clusters.ports import is_free

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


def test_it_is_known_to_be_stopping(daemon: Daemon) -> None:
    """By others, too; what is started in its place is not."""
    start(daemon, STUBBORN)
    assert not daemon.is_stopping
    daemon.terminate()
    assert Daemon(daemon.directory, "node 1").is_stopping
    daemon.kill()
    assert not daemon.is_stopping
    start(daemon, OBEDIENT)
    assert not daemon.is_stopping


def test_it_is_stopped_though_nothing_can_be_written(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk."""
    start(daemon, OBEDIENT)

    def full(path: Path, text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        daemon.terminate()
    assert daemon.wait_until_gone(30)


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


STARTER = """
import pathlib, sys
from stoker.clusters.daemon import Daemon
daemon = Daemon(pathlib.Path(sys.argv[1]), "node 1")
daemon.start([sys.executable, "-c", sys.argv[2], daemon.mark])
"""
LARGE_SERVER = """
import socket, threading
memory = bytearray(300_000_000)
server = socket.create_server(("127.0.0.1", 0))
for _ in range(40):
    threading.Thread(target=threading.Event().wait).start()
print("port", server.getsockname()[1], "here", flush=True)
"""


def test_one_that_somebody_else_has_started_is_gone_with_its_ports(daemon: Daemon) -> None:
    """Of a large process the memory goes long before its sockets."""
    subprocess.run([sys.executable, "-c", STARTER, daemon.directory, LARGE_SERVER], check=True)
    while b"here" not in daemon.log_file.read_bytes():
        assert daemon.pid is not None
    port = int(daemon.log_file.read_text().split()[1])
    assert not is_free(port)
    daemon.kill()
    assert daemon.pid is None
    assert is_free(port)


def test_none_is_left_that_nobody_would_find(daemon: Daemon) -> None:
    """Its pid could not be written."""
    (daemon.directory / PID_FILE).mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        daemon.start([sys.executable, "-c", OBEDIENT, daemon.mark])
    (daemon.directory / PID_FILE).rmdir()
    (child,) = [each for each in daemon_module._children.values() if daemon.mark in each.args]  # type: ignore[operator]
    assert child.wait(30) == -signal.SIGKILL


def test_one_of_another_user(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    start(daemon, OBEDIENT)

    def refuse(pid: int, number: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    with monkeypatch.context() as patched:
        patched.setattr(os, "kill", refuse)
        patched.setattr(os, "killpg", refuse)
        for do in (daemon.terminate, daemon.kill):
            with pytest.raises(NodeState, match=rf"node 1 is process {daemon.pid} of another user"):
                do()


def test_one_that_ends_at_once_says_why(daemon: Daemon) -> None:
    daemon.start([sys.executable, "-c", "raise SystemExit('no room on the disk')", daemon.mark])
    assert daemon.wait_until_gone(30)
    with pytest.raises(
        CannotStart, match=r"(?s)node 1 ended as soon as it was started.*server.log.*no room on the disk"
    ):
        daemon.raise_if_ended()
