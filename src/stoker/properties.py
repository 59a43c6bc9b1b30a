"""Java's properties files, as `java.util.Properties` reads them.

`name=value`, `name: value` or `name value`; `#` and `!` begin a comment line; a backslash at the end of a line continues it and elsewhere
escapes (`\\t`, `\\n`, `\\u00e9`, `\\=`). A file is read as UTF-8 and, if it is not, as Latin-1, which is all that Java expects.
"""

import re
from pathlib import Path
from typing import NamedTuple

from stoker.errors import MalformedProperties

_WHITESPACE = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_NAME_END = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_COMMENT = re.compile(r"(?:\s+#|^#\s).*$", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class Property(NamedTuple):
    """One setting of a file and the number of the line where it begins."""

    name: str
    value: str
    line: int

    def without_comment(self) -> "Property":
        """The same without ` # ...` behind the value: people paste that, and to Kafka it is a part of the value."""
        return self._replace(value=_COMMENT.sub("", self.value))


def read_properties(path: Path) -> list[Property]:
    """The properties of a file in its order; a name may come more than once. Raises OSError and MalformedProperties."""
    content = path.read_bytes()
    try:
        return parse_properties(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return parse_properties(content.decode("latin-1"))


def parse_properties(text: str) -> list[Property]:
    """The properties of a text in its order; a name may come more than once. Raises MalformedProperties."""
    found: list[Property] = []
    logical, first_line = "", 0
    for number, line in enumerate(_LINE_END.split(text), 1):
        piece = line.lstrip(_WHITESPACE)
        if not logical:
            if not piece or piece[0] in "#!":
                continue
            first_line = number
        if _ends_in_continuation(piece):
            logical += piece[:-1]
        else:
            found.append(_property(logical + piece, first_line))
            logical = ""
    if logical:
        found.append(_property(logical, first_line))
    return found


def _ends_in_continuation(line: str) -> bool:
    backslashes = len(line) - len(line.rstrip("\\"))
    return backslashes % 2 == 1


def _property(logical: str, line: int) -> Property:
    name_match = _NAME_END.match(logical)
    assert name_match is not None, "the pattern matches the empty text"
    separator = _SEPARATOR.match(logical, name_match.end())
    assert separator is not None, "the pattern matches the empty text"
    return Property(_unescape(name_match.group(), line), _unescape(logical[separator.end() :], line), line)


def _unescape(text: str, line: int) -> str:
    if "\\" not in text:
        return text

    def replacement(escape: re.Match[str]) -> str:
        letter = escape.group(1)
        if letter == "u":
            raise MalformedProperties(line, r"malformed \uxxxx encoding: four hexadecimal digits must follow \u")
        return chr(int(letter[1:], 16)) if letter[0] == "u" else _LETTERS.get(letter, letter)

    # Java writes a character beyond the first 65,536 as two.
    return _ESCAPE.sub(replacement, text).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
