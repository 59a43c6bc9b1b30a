"""Backslash escapes, which reach the command line as two characters: `\\t` in single quotes is no tab."""

import re

_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"0": b"\0", b"\\": b"\\"}


def unescape(text: str) -> bytes:
    """The bytes that a text means: `\\n`, `\\t`, `\\r`, `\\0`, `\\\\` and `\\xNN` are one byte each, all else is UTF-8."""
    return _ESCAPE.sub(_replacement, text.encode("utf-8", "surrogateescape"))


def _replacement(escape: re.Match[bytes]) -> bytes:
    letter = escape.group(1)
    if len(letter) == 3:
        return bytes.fromhex(letter[1:].decode())
    return _LETTERS.get(letter, escape.group())
