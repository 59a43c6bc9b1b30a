"""`stoker` run in this process, against a broker."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from stoker.cli.application import application

BOTH = pytest.mark.both_backends
"""Against Stoker, and against Apache Kafka."""


class CommandLine:
    """Runs commands; each must end with the exit code that is expected."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.stdout = ""
        self.stderr = ""

    def __call__(
        self, *arguments: str, code: int = 0, env: dict[str, str | None] | None = None, stdin: bytes | None = None
    ) -> str:
        """What it printed; `stderr` has the rest."""
        environment = {"STOKER_BOOTSTRAP_SERVER": self.address, "COLUMNS": "100"} | (env or {})
        result = CliRunner().invoke(application, list(arguments), input=stdin, env=environment, prog_name="stoker")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        self.stdout, self.stderr = result.stdout, result.stderr
        assert result.exit_code == code, self.stderr
        return self.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json"))

    def rows(self, *arguments: str) -> list[list[str]]:
        """The cells of the table, header first."""
        return [line.split() for line in self(*arguments).splitlines()]

    def fails(self, *arguments: str, code: int = 1) -> str:
        """The line on stderr of a command that fails."""
        self(*arguments, code=code)
        assert self.stdout == ""
        return self.stderr.strip().splitlines()[-1]
