"""How commands fail: one line, the right exit code, no traceback."""

import socket
import subprocess
import threading
from pathlib import Path

import pytest

from stoker import Broker
from stoker.cli.connection import connect
from stoker.cli.failure import did_you_mean
from tests.cli.command_line import CommandLine
from tests.faults.broker_process import STOKER


def nobody() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    "noun", [["topics", "list"], ["groups", "list"], ["transactions", "list"], ["brokers"], ["cluster-id"]]
)
def test_nobody_listens(noun: list[str]) -> None:
    run = CommandLine(nobody())
    assert run.fails(*noun) == (
        f"stoker {noun[0]}: cannot connect to {run.address}: Connection refused. Is a broker running there? "
        "--bootstrap-server or STOKER_BOOTSTRAP_SERVER names another address."
    )


def test_what_answers_is_no_broker() -> None:
    """Somebody's web server, for example; the reader is told at once, not after a minute."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        run = CommandLine(f"127.0.0.1:{listener.getsockname()[1]}")
        listener.settimeout(30)

        def serve() -> None:
            stream, _ = listener.accept()
            with stream:
                stream.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                stream.recv(65536)

        thread = threading.Thread(target=serve)
        thread.start()
        assert "does not speak Kafka's protocol" in run.fails("topics", "list")
        thread.join(30)


def test_an_advertised_address_that_is_not_reached(tmp_path: Path) -> None:
    """The classic of containers: the bootstrap server answers, and names an address that only it understands."""
    file = tmp_path / "client.properties"
    file.write_text("default.api.timeout.ms=200\n")
    with Broker(config={"advertised.listeners": "PLAINTEXT://no.such.host.invalid:9092"}) as broker:
        error = CommandLine(broker.bootstrap_servers).fails("topics", "create", "orders", "--command-config", str(file))
    assert error.startswith("stoker topics: cannot connect to no.such.host.invalid:9092, which broker 1 advertises: ")
    assert error.endswith(" The broker's advertised.listeners must be addresses that are reached from here.")


def test_the_option_is_stronger_than_the_environment_and_that_than_the_file(address: str, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(f"bootstrap.servers={address}\n")
    run = CommandLine(nobody())
    run("cluster-id", "--bootstrap-server", address)
    run("cluster-id", "-b", address)
    run("cluster-id", "--command-config", str(file), code=1)
    run("cluster-id", "--command-config", str(file), env={"STOKER_BOOTSTRAP_SERVER": None})


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ("security.protocol=TLS", "security.protocol=TLS cannot be used: the choices are PLAINTEXT, SSL"),
        ("request.timeout.ms=soon", "request.timeout.ms=soon is not a number of milliseconds, 0 to 2147483647"),
        ("a=\\u12", "line 1: malformed"),
    ],
)
def test_properties_that_cannot_be_used(run: CommandLine, tmp_path: Path, properties: str, words: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text(properties)
    assert words in run.fails("topics", "list", "--command-config", str(file), code=2)


def test_unknown_properties_are_named_and_tolerated(run: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("acks=all\nclient.id=me\n")
    run("cluster-id", "--command-config", str(file))
    assert run.stderr == f"{file}: unknown properties are ignored: acks\n"


def test_who_waits_is_told_why_once(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr("stoker.cli.connection.monotonic", lambda: now)
    with connect(address, None) as cluster:
        for now in (0.0, 1.9, 2.1, 5.0):
            cluster._on_retry(f"no coordinator after {now} s")
    assert capsys.readouterr().err == (
        "Still trying, for up to 60 s (default.api.timeout.ms): no coordinator after 2.1 s\n"
    )


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("ordrs", ["orders", "payments"], "; did you mean 'orders'?"),
        ("xyz", ["orders", "payments"], ""),
        ("x", [], ""),
    ],
)
def test_hints(name: str, known: list[str], hint: str) -> None:
    assert did_you_mean(name, known) == hint


@pytest.mark.parametrize("command", [["cluster-id"], ["topics", "list", "--json"], ["brokers"]])
def test_a_full_disk_under_the_output(stoker_address: str, command: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        finished = subprocess.run(
            [STOKER, *command, "-b", stoker_address], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert finished.stderr == f"stoker {command[0]}: standard output cannot be written: No space left on device\n"
    assert finished.returncode == 1


def test_an_output_that_is_closed(stoker_address: str) -> None:
    finished = subprocess.run(
        f"{STOKER} topics list -b {stoker_address} >&-", shell=True, stderr=subprocess.PIPE, text=True, check=False
    )
    assert (finished.returncode, finished.stderr) == (1, "stoker: standard output is closed\n")
