"""Backslash escapes of the command line."""

import pytest

from stoker.cli.escapes import unescape


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", b""),
        ("plain", b"plain"),
        (r"a\tb\nc\rd\0e", b"a\tb\nc\rd\0e"),
        (r"\x41\xff\x0a", b"A\xff\n"),
        (r"\\n", b"\\n"),
        (r"\q\x4", rb"\q\x4"),
        ("\\", b"\\"),
        ("grün", "grün".encode()),
        ("\udcff", b"\xff"),
    ],
)
def test_unescape(text: str, data: bytes) -> None:
    assert unescape(text) == data
