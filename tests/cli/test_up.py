"""`stoker up` as its users meet it: readiness, one log, signals, parts that die, nothing left behind."""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.cli.running import wait_until
from tests.cli.up_process import UpProcess, up
from tests.faults.stoker_process import STOKER, free_port

IN_FRONT = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
"""Makes the terminal of standard input the one that Ctrl-C comes from."""


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.acceptance("C098")
def test_a_registry_beside_the_broker(tmp_path: Path) -> None:
    """`stoker up` serves the registry beside the broker, with no other command; Ctrl-C stops both, the registry first."""
    with up(tmp_path) as running:
        with urllib.request.urlopen(f"{running.registry}/subjects", timeout=30) as answer:
            assert json.load(answer) == []
        assert running.stop(signal.SIGINT) == 0
    words = [line for line in running.lines if "shutting down" in line or "goodbye" in line]
    assert [line.split(" | ")[0].strip() for line in words] == ["registry", "registry", "broker", "broker"]
    assert "Traceback" not in running.output
    assert "\x1b" not in running.output


def test_the_ports_of_kafka_and_confluent_unless_told_otherwise() -> None:
    from typer.main import get_command

    from stoker.cli.up import application

    defaults = {parameter.name: parameter.default for parameter in get_command(application).params}
    assert (defaults["port"], defaults["registry_port"]) == (9092, 8081)


@pytest.mark.parametrize("name", ["broker", "registry"])
def test_a_part_that_dies_takes_the_others_along(tmp_path: Path, name: str) -> None:
    with up(tmp_path) as running:
        children = running.children()
        os.kill(children[name], signal.SIGKILL)
        assert running.wait() == 128 + signal.SIGKILL
    assert f"stoker up: the {name} was ended by SIGKILL" in running.lines
    assert not any(is_running(pid) for pid in children.values())


def test_nothing_outlives_it(tmp_path: Path) -> None:
    """Killed, it can stop nobody: the parts see it and stop by themselves, in good order."""
    with up(tmp_path) as running:
        children = running.children()
        assert set(children) == {"broker", "registry"}
        running.process.kill()
        wait_until(lambda: not any(is_running(pid) for pid in children.values()))
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_who_cannot_wait_presses_twice(tmp_path: Path) -> None:
    with up(tmp_path) as running:
        children = running.children()
        os.kill(children["registry"], signal.SIGSTOP)  # it will not stop by itself
        running.process.send_signal(signal.SIGINT)
        wait_until(lambda: "stoker up: SIGINT came, stopping; a second one forces it" in running.lines)
        running.process.send_signal(signal.SIGINT)
        assert running.wait() == 130
    assert running.lines[-1] == "stoker up: forced to stop"
    assert not any(is_running(pid) for pid in children.values())


def test_stopped_while_it_starts(tmp_path: Path) -> None:
    running = UpProcess("--data-dir", str(tmp_path), "--host", "127.0.0.1", "--port", "0", "--registry-port", "0")
    wait_until(lambda: any("Stoker is ready" in line for line in running.lines))
    assert running.stop(signal.SIGTERM) == 0
    assert "Traceback" not in running.output


@pytest.mark.parametrize(("part", "option"), [("broker", "--port"), ("registry", "--registry-port")])
def test_an_address_in_use(tmp_path: Path, part: str, option: str) -> None:
    ports = {"--port": free_port(), "--registry-port": free_port()}
    with socket.create_server(("127.0.0.1", ports[option])):
        running = UpProcess(
            "--data-dir",
            str(tmp_path),
            "--host",
            "127.0.0.1",
            *(word for name, port in ports.items() for word in (name, str(port))),
        )
        assert running.wait() == 1
    (error,) = [line for line in running.lines if line.startswith("stoker up: ")]
    assert error.startswith(f"stoker up: the {part} ended with exit code 1: ")
    assert f"127.0.0.1:{ports[option]}" in error
    assert "Address already in use" in error
    assert option in error


def test_a_directory_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    running = UpProcess("--data-dir", str(tmp_path / "file"), "--port", "0", "--registry-port", "0")
    assert running.wait() == 1
    assert running.lines == [
        f"stoker up: the broker ended with exit code 1: The data directory {tmp_path / 'file'} cannot be used: "
        "File exists. Choose another one with --data-dir DIR."
    ]


def test_ctrl_c_at_a_terminal(tmp_path: Path) -> None:
    """The terminal sends Ctrl-C to all that are in front: the parts must not be, or they would stop in no order."""
    terminal, theirs = pty.openpty()
    ports = ["--host", "127.0.0.1", "--port", "0", "--registry-port", "0"]
    with subprocess.Popen(
        [sys.executable, "-c", IN_FRONT, STOKER, "up", "--data-dir", str(tmp_path), *ports],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "NO_COLOR": ""},
        start_new_session=True,
    ) as running:
        os.close(theirs)
        shown = b""
        while b"stoker up: ready" not in shown:
            shown += os.read(terminal, 65536)
        os.write(terminal, b"\x03")
        try:
            while piece := os.read(terminal, 65536):
                shown += piece
        except OSError:  # how Linux says that the other side has closed
            pass
    os.close(terminal)
    assert running.returncode == 0
    assert b"\x1b[36mbroker   |\x1b[0m" in shown
    assert b"shutting down: SIGINT came" not in shown, "it was for `up` alone"


def test_a_usage_that_is_wrong() -> None:
    refused = subprocess.run([STOKER, "up", "--port", "70000"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "70000 is more than 65535" in refused.stderr
