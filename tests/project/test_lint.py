"""`make lint` has nothing to say. As tests, so that one command judges a change."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "command",
    [["ruff", "check"], ["ruff", "format", "--check"], ["lint-imports"], ["mypy"]],
    ids=" ".join,
)
def test_lint_is_clean(repository: Path, command: list[str]) -> None:
    program = Path(sys.executable).with_name(command[0])
    if not program.exists():
        pytest.skip(f"needs {command[0]}: make install")
    result = subprocess.run(
        [program, *command[1:]],
        cwd=repository,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout
