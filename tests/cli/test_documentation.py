"""docs/cli.md: its output is real, and no command or option is missing.

python -m tests.cli.test_documentation docs/cli.md      runs the page's commands and writes what they print into it
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stoker import Broker
from stoker.cli.document import HEADING, commands, reference
from tests.faults.broker_process import STOKER

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"

_PORT = "19092"
_CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
_VARIES = re.compile(r"(?<![\w-])[\w-]{22}(?![\w-])|\(\d+\.\d s\)")
"""Ids and times."""


def replayed(page: str, address: str, directory: Path) -> str:
    """The page with what its console blocks print now, but for what varies from run to run, which stays as it is there."""
    environment = os.environ | {
        "PATH": f"{Path(STOKER).parent}{os.pathsep}{os.environ['PATH']}",
        "STOKER_BOOTSTRAP_SERVER": address,
        "COLUMNS": "110",
    }
    known = iter(_VARIES.findall("".join(_CONSOLE.findall(page))))

    def run(block: re.Match[str]) -> str:
        lines = ["```console"]
        for command in re.findall(r"^\$ (.*)$", block.group(1), re.MULTILINE):
            ran = subprocess.run(
                ["bash", "-c", command],
                env=environment,
                cwd=directory,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            output = ran.stdout.replace(address.partition(":")[2], _PORT)
            output = _VARIES.sub(lambda found: next(known, found.group()), output)
            lines += [f"$ {command}", *[line.rstrip() for line in output.splitlines()]]
        return "\n".join([*lines, "```"])

    guide, heading, rest = page.partition(HEADING)
    return _CONSOLE.sub(run, guide) + heading + rest


@pytest.fixture
def fresh_broker() -> Iterator[Broker]:
    with Broker(config={"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker


@pytest.mark.timeout(400)  # forty commands, one after the other, on a machine that may be busy
def test_output_is_real(fresh_broker: Broker, tmp_path: Path) -> None:
    page = PAGE.read_text()
    assert replayed(page, fresh_broker.bootstrap_servers, tmp_path).splitlines() == page.splitlines()


def test_the_reference_is_what_help_says() -> None:
    assert PAGE.read_text().endswith(reference()), "run `make docs`"


def test_every_command_and_option_is_in_the_guide() -> None:
    """But for those that have a page of their own: produce and consume, transactions, schemas, streams, SQL, the demo, up, config, cluster, spark and tools."""
    guide = PAGE.read_text().partition(HEADING)[0]
    examples = "\n".join(_CONSOLE.findall(guide))
    for words, command in commands():
        if words.startswith(
            (
                "stoker cluster ",
                "stoker config ",
                "stoker transactions ",
                "stoker schemas ",
                "stoker spark ",
                "stoker streams ",
                "stoker sql",
                "stoker demo",
                "stoker plan",
                "stoker tools ",
                "stoker up",
            )
        ):
            continue
        assert f"$ {words}" in examples or f"| {words}" in examples, f"docs/cli.md has no example of {words}"
        if words in ("stoker produce", "stoker consume"):
            continue
        for option in (max(parameter.opts, key=len) for parameter in command.params):
            documented = not option.startswith("--") or re.search(rf"{option}(?![\w-])", guide)
            assert documented, f"docs/cli.md tells nothing of {words} {option}"


if __name__ == "__main__":
    import tempfile

    written = Path(sys.argv[1])
    with Broker(config={"group.initial.rebalance.delay.ms": 0}) as running, tempfile.TemporaryDirectory() as temporary:
        written.write_text(replayed(written.read_text(), running.bootstrap_servers, Path(temporary)))
