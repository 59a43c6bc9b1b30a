"""Commands of `stoker` run in this process, and what they have said, for the pages that show it."""

import json
import re
import shlex
from pathlib import Path
from typing import Any, Final, NamedTuple

from typer.testing import CliRunner

from stoker.cli.application import application

KAFKA_JARS: Final = Path(__file__).resolve().parents[2] / ".cache" / "kafka-jars"

_CONSOLE: Final = re.compile(r"```console\n(.*?)```", re.DOTALL)
_ANY_PORT: Final = re.compile(r" --(web-)?port 0\b")
"""Which pages do not show."""
_VARIES: Final = re.compile(r"\d[\d.]*")
"""Ports, pids, sizes, times, and which node is the controller, and so the last to be restarted."""

_REMARK: Final = re.compile(r"  \S|Node \d does not end by itself")
"""What is still waited for, on a machine that is busy, or was waited for in vain."""


class Said(NamedTuple):
    command: str
    output: str


class Commands:
    """`commands("stoker cluster status")` is its output, all of which is kept in `transcript`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.transcript: list[Said] = []

    def __call__(self, command: str, *, code: int = 0) -> str:
        """stdout; it must end with this exit code."""
        result = CliRunner().invoke(
            application, shlex.split(command)[1:], prog_name="stoker", env=self.environment, catch_exceptions=False
        )
        self.transcript.append(Said(_ANY_PORT.sub("", command), result.output))
        assert result.exit_code == code, result.output
        return result.stdout

    @property
    def environment(self) -> dict[str, str]:
        return {"XDG_STATE_HOME": str(self.home), "STOKER_KAFKA_JARS": str(KAFKA_JARS), "COLUMNS": "120"}

    @property
    def last(self) -> str:
        """All that the last command has said, stderr too."""
        return self.transcript[-1].output

    def rows(self, command: str) -> list[list[str]]:
        """The cells of the table, header first."""
        return [line.split() for line in self(command).splitlines()]

    def json(self, command: str) -> Any:
        return json.loads(self(f"{command} --json"))

    def not_said(self, page: Path, noun: str) -> list[Said]:
        """What the page shows of a noun and no command has said, but for numbers and for which node was which."""
        said = {(each.command, self._normal(each.output)) for each in self.transcript}
        return [each for each in _shown(page, noun) if (each.command, self._normal(each.output)) not in said]

    def _normal(self, output: str) -> tuple[tuple[str, ...], ...]:
        text = output.replace(str(self.home), "/home/you/.local/state").replace("(leader)", "")
        lines = [line for line in text.splitlines() if not _REMARK.match(line)]
        return tuple(sorted(tuple(_VARIES.sub("0", line).split()) for line in lines))


def _shown(page: Path, noun: str) -> list[Said]:
    found = []
    for block in _CONSOLE.findall(page.read_text()):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            if command.startswith(f"stoker {noun} "):
                found.append(Said(command, output))
    return found
