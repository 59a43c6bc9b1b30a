"""`stoker broker` as its operator meets it: readiness, signals, locks, exit codes, log lines."""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from tests.faults.broker_process import STOKER, BrokerProcess
from tests.faults.records import create_topic, produce, topics_of, values_of

CLEAN_SHUTDOWN = ".kafka_cleanshutdown"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path / "data") as running:
        yield running


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`stoker broker` with options that must not let it start."""
    return subprocess.run(
        [STOKER, "broker", *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_one_line_says_that_it_is_ready(broker: BrokerProcess) -> None:
    line = broker.line_with("Stoker is ready")
    assert line.endswith(f"Stoker is ready on {broker.bootstrap_servers}, data in {broker.data_dir}")


@pytest.mark.acceptance("C009")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stops_cleanly(broker: BrokerProcess, number: signal.Signals) -> None:
    """SIGTERM and Ctrl-C bring everything to the disk: exit code 0, and the next start recovers nothing."""
    assert broker.data_dir is not None
    create_topic(broker.bootstrap_servers, "orders")
    produce(broker.bootstrap_servers, "orders", [b"one", b"two"])
    assert not (broker.data_dir / CLEAN_SHUTDOWN).exists()
    assert broker.stop(number) == 0
    assert "Traceback" not in broker.output
    assert broker.lines[-1].endswith("all logs are on the disk; goodbye")
    assert (broker.data_dir / CLEAN_SHUTDOWN).exists()
    broker.start()
    assert "unclean" not in broker.output
    assert values_of(broker.bootstrap_servers, "orders") == [b"one", b"two"]
    broker.kill()
    broker.start()
    broker.line_with("after an unclean shutdown")


def test_two_brokers_on_one_directory(broker: BrokerProcess) -> None:
    """The second is refused, naming the directory and what to do; the first is undisturbed."""
    second = BrokerProcess(broker.data_dir).launch()
    assert second.wait() == 1
    line = second.line_with("stoker broker:", str(broker.data_dir), "in use by another broker")
    assert "--data-dir" in line
    assert "Traceback" not in second.output
    create_topic(broker.bootstrap_servers, "orders")
    assert topics_of(broker.bootstrap_servers) == {"orders"}


def test_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        broker = BrokerProcess(tmp_path / "data", port=port).launch()
        assert broker.wait() == 1
    broker.line_with("stoker broker: Cannot listen on", f"127.0.0.1:{port}", "Address already in use", "--listen")
    assert not (tmp_path / "data" / ".lock").exists(), "the directory must not be touched"


def test_lock_goes_with_its_holder(broker: BrokerProcess) -> None:
    """After kill -9 nobody has to remove a lock file by hand."""
    assert broker.data_dir is not None
    broker.kill()
    assert (broker.data_dir / ".lock").exists()
    broker.start()


@pytest.mark.acceptance("C137")
def test_unwritable_directory_is_named(tmp_path: Path) -> None:
    """A broker runs as an unprivileged user; a directory it may not write is named, with the reason."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("changing the user needs root and setpriv")
    directory = tmp_path / "data"
    directory.mkdir()
    for parent in (directory, *directory.parents):
        if parent.stat().st_uid == 0 and str(parent).startswith("/tmp/pytest"):
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    command = [*as_nobody, STOKER, "broker", "--data-dir", str(directory), "--listen", "127.0.0.1:0"]
    if subprocess.run([*as_nobody, STOKER, "--version"], capture_output=True, check=False).returncode:
        pytest.skip("another user may not run this virtual environment")
    refused = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert refused.returncode == 1
    assert f"The data directory {directory} cannot be used: Permission denied" in refused.stderr
    os.chown(directory, 65534, 65534)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        said = list(takewhile(lambda line: "Stoker is ready" not in line, running.stderr))
        assert running.poll() is None, said
        running.terminate()
        assert running.wait(30) == 0


def test_file_in_place_of_the_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = run("--data-dir", str(tmp_path / "file"), "--listen", "127.0.0.1:0")
    assert refused.returncode == 1
    assert f"The data directory {tmp_path / 'file'} cannot be used" in refused.stderr


def test_log_lines_as_json(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data").start("--log-format", "json")
    create_topic(broker.bootstrap_servers, "orders")
    assert broker.stop() == 0
    lines = [json.loads(line) for line in broker.lines]
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)
    assert {line["level"] for line in lines} == {"info"}
    assert "created topic orders with 1 partition(s)" in [line["message"] for line in lines]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--log-format", "xml"], ["--log-format", "'xml'", "'text', 'json'"]),
        (["--log-level", "loud"], ["--log-level", "'loud'", "'debug', 'info', 'warning', 'error'"]),
        (["--listen", "nowhere"], ["listen on nowhere", "HOST:PORT"]),
        (["--config", "/no/such/file"], ["/no/such/file", "No such file"]),
        (["-o", "num.partitions"], ["num.partitions", "key=value"]),
        (["-o", "num.partitions=many"], ["num.partitions", "many"]),
        (["-o", "num.partitions=0"], ["num.partitions", "at least 1"]),
        (["-o", "log.cleanup.policy=burn"], ["log.cleanup.policy", "burn", "compact", "delete"]),
        (["--no-such-option"], ["--no-such-option"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_options(arguments: list[str], words: list[str], tmp_path: Path) -> None:
    """Exit code 2, and one message that names the thing, the cause and the choices."""
    refused = run("--data-dir", str(tmp_path / "data"), *arguments)
    assert refused.returncode == 2
    assert all(word in refused.stderr for word in words), refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "data").exists()


def test_settings_of_a_file_and_of_the_command_line(tmp_path: Path) -> None:
    """Kafka's own file is enough to start; the command line is stronger."""
    properties = tmp_path / "server.properties"
    properties.write_text(f"node.id=5\nlog.dirs={tmp_path / 'from-file'}\nnum.partitions=3\n")
    broker = BrokerProcess(None).start("--config", str(properties), "-o", "num.partitions=2")
    try:
        broker.line_with("Stoker is ready", str(tmp_path / "from-file"))
        assert "node.id=5" in (tmp_path / "from-file" / "meta.properties").read_text()
    finally:
        broker.stop()
