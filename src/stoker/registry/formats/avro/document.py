"""The JSON text of a schema: read as Java's parser reads it, and places in it found again for error messages."""

import json
import re
from typing import Final, NoReturn

from stoker.registry.formats.avro.model import Json
from stoker.registry.formats.schema import MAX_NESTING, InvalidSchema

Path = tuple[str | int, ...]
"""The keys and indices that lead to a place in a document."""

# A string is taken whole, so that what looks like a comment inside of it stays. What has no end goes on to that of the text:
# were it not taken at all, the next one without an end would be looked for in all of the rest again.
STRING_OR_COMMENT: Final = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
SPACE: Final = re.compile(r"[ \t\n\r]*")
NOT_A_NEWLINE: Final = re.compile(r"[^\n]")


def read(text: str) -> tuple[Json, str]:
    """The document in `text`, and the text in which its places are to be found: comments, which Avro allows, are blanks."""
    try:
        try:
            return DECODER.decode(text), text
        except json.JSONDecodeError:
            if "//" not in text and "/*" not in text:
                raise
            bare = STRING_OR_COMMENT.sub(_blank, text)
            return DECODER.decode(bare), bare
    except json.JSONDecodeError as error:
        reason = f"{error.msg[:1].lower()}{error.msg[1:]}" if text.strip() else "the text is empty"
        raise InvalidSchema(f"not JSON: {reason}", line=error.lineno, column=error.colno) from None
    except RecursionError:
        raise InvalidSchema(f"nested deeper than {MAX_NESTING} types") from None
    except ValueError as error:  # a number of thousands of digits
        raise InvalidSchema(f"not JSON that can be read: {error}") from None


def place(text: str, path: Path) -> tuple[int, int]:
    """Line and column of what `path` leads to, or of the innermost thing on the way that is there."""
    start = _after_space(text, 0)
    for step in path:
        found = _member(text, start, step) if text[start : start + 1] == "{" else _element(text, start, step)
        if found is None:
            break
        start = found
    return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)


def _member(text: str, start: int, key: str | int) -> int | None:
    found = None
    at = _after_space(text, start + 1)
    while text[at] == '"':
        name, end = DECODER.raw_decode(text, at)
        at = _after_space(text, _after_space(text, end) + 1)
        if name == key:
            found = at  # of members with one name the last one counts
        at = _after_value(text, at)
    return found


def _element(text: str, start: int, index: str | int) -> int | None:
    if text[start] != "[" or isinstance(index, str):
        return None
    at = _after_space(text, start + 1)
    for _ in range(index):
        at = _after_value(text, at)
    return at


def _after_value(text: str, start: int) -> int:
    """The place of the next member or element."""
    _, end = DECODER.raw_decode(text, start)
    end = _after_space(text, end)
    return _after_space(text, end + 1) if text[end] == "," else end


def _after_space(text: str, start: int) -> int:
    match = SPACE.match(text, start)
    assert match is not None
    return match.end()


def _blank(match: re.Match[str]) -> str:
    found = match[0]
    return found if found[0] == '"' else NOT_A_NEWLINE.sub(" ", found)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant)
