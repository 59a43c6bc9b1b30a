"""Colours are for terminals, and for those who want them."""

import io
import os
import pty

import pytest

from stoker.cli.colours import Colour, painted


@pytest.mark.parametrize(
    ("env", "shown"),
    [
        ({}, "\x1b[31mno\x1b[0m"),
        ({"NO_COLOR": ""}, "\x1b[31mno\x1b[0m"),
        ({"NO_COLOR": "1"}, "no"),
        ({"TERM": "dumb"}, "no"),
    ],
)
def test_a_terminal(monkeypatch: pytest.MonkeyPatch, env: dict[str, str], shown: str) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    ours, theirs = pty.openpty()
    with open(theirs, "w") as terminal:
        assert painted("no", Colour.RED, terminal) == shown
    os.close(ours)


def test_a_pipe() -> None:
    assert painted("no", Colour.RED, io.StringIO()) == "no"
