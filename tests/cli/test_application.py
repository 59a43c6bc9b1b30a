"""`stoker` as a whole: what it loads, what it lists, what the shell completes, and how it ends."""

import os
import pty
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stoker.cli.application import ENTRIES, application
from tests.cli.command_line import CommandLine
from tests.faults.broker_process import STOKER

HEAVY = ("asyncio", "confluent_kafka", "httpx2", "pydantic", "rich", "stoker.broker", "uvloop")
"""Modules that take longer to load than a broker takes to answer."""


def environment(address: str) -> dict[str, str]:
    return os.environ | {"STOKER_BOOTSTRAP_SERVER": address}


def test_help_names_every_command(run: CommandLine) -> None:
    listed = run("--help")
    for name, entry in ENTRIES.items():
        assert f"  {name}  " in listed
        assert entry.explanation[:40] in listed


@pytest.mark.parametrize(
    "command",
    [
        "topics list",
        "groups list",
        "transactions list",
        "configs describe --broker 1",
        "brokers",
        "schemas list --help",
        "streams list",
        "--help",
    ],
)
def test_a_command_loads_nothing_heavy(run: CommandLine, command: str) -> None:
    program = f"""
import sys
from stoker.cli import main
sys.argv = ["stoker", *{command.split()!r}]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print(*[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment(run.address), capture_output=True, text=True, check=True
    )
    assert ran.stderr.splitlines()[-1] == ""


def complete(run: CommandLine, *words: str) -> list[str]:
    """What bash offers after these words, the last of which is not finished."""
    env = {
        "_STOKER_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["stoker", *words]),
        "COMP_CWORD": str(len(words)),
        "STOKER_BOOTSTRAP_SERVER": run.address,
    }
    return CliRunner().invoke(application, [], env=env, prog_name="stoker").stdout.split()


def test_completion(run: CommandLine, topic: str) -> None:
    group = f"{topic}-group"
    run("groups", "reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
    assert complete(run, "top") == ["topics"]
    assert complete(run, "topics", "de") == ["describe", "delete"]
    assert complete(run, "topics", "list", "--int") == ["--internal"]
    assert complete(run, "topics", "describe", topic[:-1]) == [topic]
    assert complete(run, "groups", "describe", group[:-1]) == [group]
    assert complete(run, "configs", "describe", "--topic", topic[:-1]) == [topic]
    assert complete(run, "topics", "describe", "--bootstrap-server", "127.0.0.1:1", topic[:-1]) == []


def test_ctrl_c_while_it_waits() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with subprocess.Popen(
            [STOKER, "topics", "list"], env=environment(address), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as command:
            stream, _ = listener.accept()
            command.send_signal(signal.SIGINT)
            assert command.communicate(timeout=30) == (b"", b"")
            stream.close()
        assert command.returncode == 130


def test_a_reader_that_goes_away_is_no_error(run: CommandLine, topic: str) -> None:
    with subprocess.Popen(
        [STOKER, "topics", "list"], env=environment(run.address), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        command.stdout.close()
        assert command.stderr.read() == b""
    assert command.returncode == 141


def at_a_terminal(address: str, answer: bytes, *arguments: str) -> tuple[int, str]:
    """The exit code, and what was shown, of a command whose input and output are a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [STOKER, *arguments], env=environment(address), stdin=theirs, stdout=theirs, stderr=theirs
    ) as command:
        os.close(theirs)
        os.write(ours, answer)
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:  # how Linux says that the other side has closed
            pass
    os.close(ours)
    return command.returncode, shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("arguments", "question"),
    [
        (["topics", "delete", "{topic}"], "Delete topic '{topic}' with all records? [y/N]"),
        (["groups", "delete", "{topic}-group"], "Delete group '{topic}-group' with the committed offsets? [y/N]"),
        (["records", "delete", "{topic}:1", "--all"], "Delete the records of {topic}-1 before the end? [y/N]"),
    ],
)
def test_a_person_is_asked(run: CommandLine, topic: str, arguments: list[str], question: str) -> None:
    run("groups", "reset-offsets", "--group", f"{topic}-group", "--topic", topic, "--to-earliest", "--execute")
    command = [argument.format(topic=topic) for argument in arguments]
    code, shown = at_a_terminal(run.address, b"n\n", *command)
    assert question.format(topic=topic) in shown
    assert "Nothing was changed." in shown
    assert code == 1
    assert topic in run("topics", "list", "--names").split()
    assert f"{topic}-group" in run("groups", "list", "--names").split()
    code, shown = at_a_terminal(run.address, b"", *command, "--yes")
    assert "[y/N]" not in shown
    assert code == 0


def test_a_terminal_gets_a_table_within_its_width(run: CommandLine, topic: str) -> None:
    _, shown = at_a_terminal(run.address, b"", "topics", "list")
    assert "\x1b[1mTOPIC" in shown
    assert topic in shown


def test_the_installed_command_is_this_one(tmp_path: Path) -> None:
    version = subprocess.run([STOKER, "--version"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert version.stdout == "stoker 0.1.0\n"
