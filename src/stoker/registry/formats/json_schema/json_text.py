"""JSON as text: read with bounds, written as Confluent's registry writes it, and searched for the place of a mistake.

Confluent's registry reads and writes with Jackson, numbers with a point as Java's BigDecimal. What differs from Python's
own `json` is done here: such a number keeps its digits (`1.50`, `1E+2`), `\\u001F` has capitals, keys are sorted by UTF-16.
"""

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from stoker.registry.formats.schema import MAX_NESTING, InvalidSchema

Json = Any
"""None, bool, int, Decimal, str, list or dict: no floats."""

MAX_CHARACTERS: Final = 2 * 1024 * 1024
MAX_DIGITS: Final = 1000
"""Of one number, as in Jackson."""
_MAX_EXPONENT: Final = 2**31 - 1

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_CONTROL: Final = re.compile(r"(?<!\\)((?:\\\\)*\\u00)([0-9a-f]{2})")


def read(text: str) -> Json:
    """The value that the text says. Raises InvalidSchema with line and column, and nothing else."""
    if len(text) > MAX_CHARACTERS:
        raise InvalidSchema(f"the schema has {len(text):,} characters, more than {MAX_CHARACTERS:,}")
    _refuse_deep_nesting(text)
    try:
        return json.loads(text, parse_float=_decimal, parse_int=_integer, parse_constant=str)
    except json.JSONDecodeError as malformed:
        reason = (malformed.msg[0].lower() + malformed.msg[1:]).removesuffix(" starting at").removesuffix(" at")
        raise InvalidSchema(f"not JSON: {reason}", line=malformed.lineno, column=malformed.colno) from None
    except _UnreadableNumber as unreadable:
        raise InvalidSchema(str(unreadable), **_line_and_column(text, text.find(unreadable.token))) from None


def write(value: Json) -> str:
    """Without a blank, keys in the order in which they were read. Raises InvalidSchema for half a surrogate pair."""
    return _write(value, sort=False)


def write_sorted(value: Json) -> str:
    """As `write`, with the keys of every object sorted as Java sorts strings."""
    return _write(value, sort=True)


def place(text: str, path: tuple[str | int, ...]) -> dict[str, int]:
    """Line and column of the value at that path, for InvalidSchema; empty if it is not there."""
    here: list[str | int] = []
    is_key: list[bool] = []
    found = -1
    for token in _TOKEN.finditer(text):
        symbol = token[0]
        if symbol == ",":
            here[-1] = here[-1] + 1 if isinstance(here[-1], int) else here[-1]
            is_key[-1] = isinstance(here[-1], str)
        elif symbol == ":":
            is_key[-1] = False
        elif symbol in "}]":
            here.pop()
            is_key.pop()
        elif is_key and is_key[-1]:
            here[-1] = json.loads(symbol)
        else:
            if tuple(here) == path:
                found = token.start()
            if symbol in "{[":
                here.append("" if symbol == "{" else 0)
                is_key.append(symbol == "{")
    return _line_and_column(text, found)


def same_value(value: Json) -> Json:
    """Something hashable that is equal for equal JSON values: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, list):
        return tuple([same_value(element) for element in value])
    if isinstance(value, dict):
        return frozenset([(key, same_value(element)) for key, element in value.items()])
    return value


class _UnreadableNumber(Exception):
    def __init__(self, reason: str, token: str) -> None:
        super().__init__(reason)
        self.token = token


def _decimal(token: str) -> Decimal:
    if len(token) > MAX_DIGITS:
        raise _UnreadableNumber(f"a number of {len(token)} characters, more than {MAX_DIGITS}", token)
    try:
        number = Decimal(token)
    except InvalidOperation:
        raise _UnreadableNumber(f"the exponent of {token[:40]} is out of range", token) from None
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int), "JSON has no number that is infinite or none"
    if abs(exponent) > _MAX_EXPONENT:
        raise _UnreadableNumber(f"the exponent of {token[:40]} is out of range", token)
    return abs(number) if number.is_zero() else number  # there is no negative zero in Java's BigDecimal


def _integer(token: str) -> int:
    if len(token) > MAX_DIGITS:
        raise _UnreadableNumber(f"a number of {len(token)} digits, more than {MAX_DIGITS}", token)
    return int(token)


def _refuse_deep_nesting(text: str) -> None:
    if text.count("{") + text.count("[") <= MAX_NESTING:
        return
    depth = 0
    for bracket in _BRACKET.finditer(text):
        symbol = bracket[0]
        if symbol in "{[":
            depth += 1
            if depth > MAX_NESTING:
                where = _line_and_column(text, bracket.start())
                raise InvalidSchema(f"nested deeper than {MAX_NESTING} levels", **where)
        elif symbol in "}]":
            depth -= 1


def _line_and_column(text: str, offset: int) -> dict[str, int]:
    if offset < 0:
        return {}
    return {"line": text.count("\n", 0, offset) + 1, "column": offset - text.rfind("\n", 0, offset)}


def _write(value: Json, *, sort: bool) -> str:
    if sort:
        value = _sorted(value)
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except TypeError:  # there are numbers with a point, which the fast encoder cannot write
        pieces: list[str] = []
        _write_into(pieces, value)
        text = "".join(pieces)
    if "\\u00" in text:
        text = _CONTROL.sub(lambda escape: escape[1] + escape[2].upper(), text)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as half:
            raise InvalidSchema(f"half a surrogate pair (\\u{ord(text[half.start]):04x}) is no character") from None
    return text


def _write_into(pieces: list[str], value: Json) -> None:
    if isinstance(value, dict):
        separator = "{"
        for key, element in value.items():
            pieces += separator, json.dumps(key, ensure_ascii=False), ":"
            _write_into(pieces, element)
            separator = ","
        pieces.append("}" if value else "{}")
    elif isinstance(value, list):
        separator = "["
        for element in value:
            pieces.append(separator)
            _write_into(pieces, element)
            separator = ","
        pieces.append("]" if value else "[]")
    elif isinstance(value, Decimal):
        pieces.append(str(value))  # the same rules as BigDecimal.toString: both are from General Decimal Arithmetic
    else:
        pieces.append(json.dumps(value, ensure_ascii=False))


def _sorted(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=_utf_16)}
    if isinstance(value, list):
        return [_sorted(element) for element in value]
    return value


def _utf_16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")
