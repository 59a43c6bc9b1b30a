"""docs/clusters.md: no command or option of `stoker cluster` and `stoker spark` is missing. Its output: tests/clusters."""

import re
from pathlib import Path

import pytest

from stoker.cli.document import commands

PAGE = Path(__file__).resolve().parents[2] / "docs" / "clusters.md"
_COMMON = ("--help",)
"""docs/cli.md tells of it."""

OURS = [(words, command) for words, command in commands() if words.startswith(("stoker cluster ", "stoker spark "))]


def test_there_are_commands() -> None:
    assert len(OURS) == 10


@pytest.mark.parametrize(("words", "command"), OURS, ids=[words for words, _ in OURS])
def test_it_is_on_the_page(words: str, command: object) -> None:
    page = PAGE.read_text()
    assert f"$ {words}" in page, f"docs/clusters.md has no example of {words}"
    for option in (max(parameter.opts, key=len) for parameter in command.params):  # type: ignore[attr-defined]
        if option.startswith("--") and option not in _COMMON:
            assert re.search(rf"{option}(?![\w-])", page), f"docs/clusters.md tells nothing of {words} {option}"
