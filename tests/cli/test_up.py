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
from tests.cli.up_process import UpProcess, named_up, up
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


# -- what is named is not started


def test_only_the_registry_on_a_broker_that_is_named(tmp_path: Path, stoker_address: str) -> None:
    """`stoker up` where stoker.toml names a broker runs the registry alone, which keeps its schemas there."""
    file = tmp_path / "stoker.toml"
    file.write_text(f'[kafka]\nbootstrap-servers = "{stoker_address}"\n')
    with named_up(tmp_path) as running:
        assert set(running.children()) == {"registry"}
        assert (
            running.lines[0] == f"stoker up: the broker is {stoker_address} ({file} line 2); --local starts one here."
        )
        assert running.lines[-1] == f"stoker up: ready, registry on {running.registry}; Ctrl-C stops it"
        with urllib.request.urlopen(f"{running.registry}/subjects", timeout=30) as answer:
            assert json.load(answer) == []
        listed = subprocess.run([STOKER, "topics", "list", "--names"], cwd=tmp_path, capture_output=True, check=True)
        assert b"_schemas" in listed.stdout.split()
        assert running.stop(signal.SIGINT) == 0


def test_only_the_broker_beside_a_registry_that_is_named(tmp_path: Path) -> None:
    with named_up(tmp_path, env={"STOKER_REGISTRY_URL": "http://ann:secret@registry-1:8081"}) as running:
        assert set(running.children()) == {"broker"}
        assert running.lines[0] == (
            "stoker up: the registry is http://ann:********@registry-1:8081 (STOKER_REGISTRY_URL); --local starts one here."
        )
        assert running.lines[-1] == f"stoker up: ready, broker on {running.broker}; Ctrl-C stops it"


def test_nothing_to_start(tmp_path: Path) -> None:
    file = tmp_path / "stoker.toml"
    file.write_text('[kafka]\nbootstrap-servers = "broker-1:9092"\n\n[registry]\nurl = "http://registry-1:8081"\n')
    running = UpProcess(directory=tmp_path)
    assert running.wait() == 0
    assert running.lines == [
        f"stoker up: nothing to start: the broker is broker-1:9092 ({file} line 2), the registry http://registry-1:8081 "
        f"({file} line 5). Use them as they are; --local starts both here."
    ]
    told = UpProcess("-b", "broker-2:9092", directory=tmp_path)
    assert told.wait() == 0
    assert "the broker is broker-2:9092 (--bootstrap-server), the registry" in told.output


def test_both_all_the_same(tmp_path: Path) -> None:
    """--local: what is named, and the security that goes with it, is left alone."""
    (tmp_path / "stoker.toml").write_text(
        '[kafka]\nbootstrap-servers = "broker-1:9092"\n[kafka.properties]\n"security.protocol" = "SASL_SSL"\n'
    )
    env = {"STOKER_REGISTRY_URL": "http://registry-1:8081", "STOKER_KAFKA_PROPERTIES_SASL_PASSWORD": "secret"}
    with named_up(tmp_path, "--local", env=env) as running:
        assert set(running.children()) == {"broker", "registry"}


def test_security_without_an_address_is_not_for_a_broker_of_our_own(tmp_path: Path) -> None:
    (tmp_path / "stoker.toml").write_text('[kafka.properties]\n"security.protocol" = "SASL_SSL"\n')
    with named_up(tmp_path) as running:
        assert set(running.children()) == {"broker", "registry"}


def test_a_broker_that_is_named_and_not_there(tmp_path: Path) -> None:
    """It may be on its way: the registry waits, and says for whom and for how long."""
    running = UpProcess("-b", "127.0.0.1:1", "--registry-port", "0", directory=tmp_path)
    wait_until(lambda: "waiting for the cluster, for up to 60 s: cannot connect to 127.0.0.1:1" in running.output)
    assert running.lines[0] == "stoker up: the broker is 127.0.0.1:1 (--bootstrap-server); --local starts one here."
    assert running.stop(signal.SIGINT) == 0


def test_a_file_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "stoker.toml").write_text("[kafak]")
    running = UpProcess(directory=tmp_path)
    assert running.wait() == 2
    assert running.lines[-1].startswith(f"stoker up: {tmp_path}/stoker.toml line 1: there is no table [kafak]")


def test_a_usage_that_is_wrong() -> None:
    refused = subprocess.run([STOKER, "up", "--port", "70000"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "70000 is more than 65535" in refused.stderr
