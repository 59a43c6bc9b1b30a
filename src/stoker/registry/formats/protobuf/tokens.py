"""Words, strings and signs of a .proto text, and where they stand.

All tokens are found in one pass of a regular expression that never goes back. Places are not kept: only an error needs
one, and then the text is gone through again.
"""

import re
from itertools import islice

from stoker.registry.formats.schema import InvalidSchema

MAX_TEXT = 5 << 18
"""Characters: more than a record of the default size, in which schemas are kept, can hold."""
MAX_TOKENS = 400_000
"""What can be read and compared in about a second."""
MAX_WORD = 512
"""Characters of one name with its package."""

END = ""

# Comments and strings that do not end take all that follows, else each quote of a hostile text would search it again.
_TOKEN = re.compile(
    r"""
    (?: \s++ | //[^\n]*+ | /\*(?:[^*]|\*(?!/))*+\*/ )*+
    ( [A-Za-z0-9_.\-]++ (?: (?<=[0-9.][eE]) \+ [0-9]++ )?
    | "(?:[^"\\\n]|\\.)*+" | '(?:[^'\\\n]|\\.)*+'
    | /\*.*+ | ["'].*+
    | . | \Z )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(rb"\\(?:[xX]([0-9a-fA-F]{1,2})|([0-7]{1,3})|(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def tokens_of(text: str) -> list[str]:
    """All tokens, and after the last one END at least once."""
    if len(text) > MAX_TEXT:
        raise InvalidSchema(f"the schema has {len(text)} characters; at most {MAX_TEXT} are read")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidSchema(f"the character {error.start + 1} of the schema is half of a surrogate pair") from None
    found = _TOKEN.findall(text)
    if len(found) > MAX_TOKENS:
        raise InvalidSchema(f"the schema has {len(found)} words and signs; at most {MAX_TOKENS} are read")
    found.append(END)
    return found


def invalid_at(text: str, token: int, reason: str) -> InvalidSchema:
    """The error with the line and column of the token of that number."""
    match = next(islice(_TOKEN.finditer(text), token, None), None)
    offset = len(text) if match is None else match.start(1)
    return InvalidSchema(reason, line=text.count("\n", 0, offset) + 1, column=offset - text.rfind("\n", 0, offset))


def unquoted(token: str) -> str:
    """What a string literal, given with its quotes, stands for. Bytes that are no UTF-8 are surrogates, as in file names."""
    inner = token[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(_unescape, inner.encode()).decode(errors="surrogateescape")


def _unescape(match: re.Match[bytes]) -> bytes:
    hexadecimal, octal, unicode, character = match.groups()
    if hexadecimal is not None:
        return bytes([int(hexadecimal, 16)])
    if octal is not None:
        return bytes([int(octal, 8) & 0xFF])
    if unicode is not None:
        code = int(unicode[1:], 16)
        return (chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\N{REPLACEMENT CHARACTER}").encode()
    return _ESCAPED.get(character, character)
