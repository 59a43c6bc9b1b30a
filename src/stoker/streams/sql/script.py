"""Cutting a text into statements and putting variables in, without losing sight of where each character was written.

Positions of tokens and expressions are offsets in the statement after its variables are in. `Origin` turns them back into
the line and column of what a person wrote.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from stoker.streams.sql.errors import SqlSyntaxError

_PIECE: Final = re.compile(
    r"""
      (?P<space>   \s++ | --[^\r\n]*+ | /\*.*?\*/ )
    | (?P<quoted>  '[^']*+(?:''[^']*+)*+' | "[^"]*+(?:""[^"]*+)*+" | `[^`]*+(?:``[^`]*+)*+` )
    | (?P<opened>  /\* )
    | (?P<end>     ; )
    | (?P<variable>\$\$?\{[A-Za-z_][A-Za-z0-9_]*\} )
    | (?P<plain>   [A-Za-z0-9_@]++ | [()\[\],.=<>+*%:|/-] | != )
    | (?P<other>   . )
    """,
    re.VERBOSE | re.DOTALL,
)
_VARIABLE: Final = re.compile(r"\$\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ONE_TOKEN: Final = re.compile(
    r"[A-Za-z_][A-Za-z0-9_@]*|-?(?:\d+\.?\d*|\.\d+)(?:[Ee][+-]?\d+)?"
    r"|'[^']*(?:''[^']*)*'|\"[^\"]*(?:\"\"[^\"]*)*\"|`[^`]*(?:``[^`]*)*`"
)
_UNFINISHED: Final = {
    "'": "a string without its closing '",
    '"': 'a quoted name without its closing "',
    "`": "a quoted name without its closing `",
    "/*": "a comment without its closing */",
}


class Position(NamedTuple):
    """Line and column are counted from 1. `text` is the line; `variable` the one in whose value this is, if it is in one."""

    line: int
    column: int
    text: str
    variable: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Replaced:
    """`[start, end)` of the statement's text is written otherwise: as the variable `name`, or as `$${...}`."""

    name: str | None
    start: int
    end: int
    written_start: int
    written_end: int


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a statement is from: the `script` as it was given, and the statement's `text`, with its variables put in."""

    script: str
    start: int = 0
    text: str
    replaced: tuple[_Replaced, ...] = ()

    def __deepcopy__(self, memo: object) -> "Origin":
        return self  # expressions hold it, and are copied often

    def position(self, offset: int) -> Position:
        """Where a character of `text` was written. What is in a variable's value is where the variable is used."""
        written = self.start + offset
        variable = None
        for each in self.replaced:
            if offset < each.start:
                break
            if offset < each.end:
                written, variable = each.written_start, each.name
                break
            written = each.written_end + offset - each.end
        before = self.script[:written]
        line_start = max(before.rfind("\n"), before.rfind("\r")) + 1
        line = re.split(r"[\r\n]", self.script[line_start:], maxsplit=1)[0]
        number = len(re.findall(r"\r\n?|\n", before)) + 1
        return Position(number, written - line_start + 1, line, variable)


@dataclass(frozen=True, kw_only=True)
class Span:
    """A stretch of a statement, to point at: `[start, end)` of its text."""

    origin: Origin
    start: int
    end: int


class Name(str):
    """A name as ksqlDB has it (upper case unless it was quoted) that knows where it was written, to point at."""

    __slots__ = ("span",)
    span: Span | None

    def __new__(cls, text: str, span: Span | None = None) -> "Name":
        name = super().__new__(cls, text)
        name.span = span
        return name


def statements_of(script: str) -> Iterator[tuple[int, int]]:
    """Where each statement begins and ends, without the comments around it and its semicolon; empty ones are left out.

    Raises SqlSyntaxError for what is in no statement: a string without end, a character that the language does not have.
    """
    start = end = -1
    for piece in _PIECE.finditer(script):
        if piece.lastgroup in ("opened", "other"):
            _refuse(script, piece)
        elif piece.lastgroup == "end":
            if start >= 0:
                yield start, end
            start = -1
        elif piece.lastgroup != "space":
            start = piece.start() if start < 0 else start
            end = piece.end()
    if start >= 0:
        yield start, end


def with_variables(script: str, start: int, end: int, variables: Mapping[str, str]) -> Origin:
    """The statement with `${name}` replaced, whose case does not matter; `$${name}` is how to write `${name}` itself.

    As in ksqlDB, a variable stands for one name or one literal and cannot bring in a piece of a statement; in quotes it
    is text, and one that is not defined is left alone there. Raises SqlSyntaxError otherwise.
    """
    values = {name.upper(): value for name, value in variables.items()}
    pieces: list[str] = []
    replaced: list[_Replaced] = []
    length, written = 0, start
    for piece in _PIECE.finditer(script, start, end):
        for part in _parts(script, piece, values):
            after, written_after = length + len(part.text), written + part.written
            if part.name is not None or len(part.text) != part.written:
                replaced.append(
                    _Replaced(name=part.name, start=length, end=after, written_start=written, written_end=written_after)
                )
            pieces.append(part.text)
            length, written = after, written_after
    return Origin(script=script, start=start, text="".join(pieces), replaced=tuple(replaced))


class _Part(NamedTuple):
    """A text, how long it is in the script, and the variable that it is the value of."""

    text: str
    written: int
    name: str | None = None


def _parts(script: str, piece: re.Match[str], values: Mapping[str, str]) -> Iterator[_Part]:
    """A piece of the statement, cut at its variables."""
    text = piece.group()
    is_quoted = piece.lastgroup == "quoted"
    done = 0
    for variable in _VARIABLE.finditer(text) if piece.lastgroup in ("quoted", "variable") else ():
        yield _Part(text[done : variable.start()], variable.start() - done)
        done = variable.end()
        name, written = variable[1], len(variable[0])
        if name is None:
            yield _Part(variable[0].removeprefix("$"), written)
        elif not is_quoted:
            yield _Part(_as_token(script, piece, name, values), written, name)
        elif name.upper() in values:
            quote = text[0]
            yield _Part(_unquoted(values[name.upper()]).replace(quote, quote * 2), written, name)
        else:
            yield _Part(variable[0], written)
    yield _Part(text[done:], len(text) - done)


def _as_token(script: str, piece: re.Match[str], name: str, values: Mapping[str, str]) -> str:
    value = values.get(name.upper())
    span = Span(origin=Origin(script=script, text=script), start=piece.start(), end=piece.end())
    if value is None:
        known = ", ".join(sorted(values)) or "none"
        raise SqlSyntaxError(span, found=piece.group(), expected=(), hint=f"it is not defined (defined: {known})")
    if not _ONE_TOKEN.fullmatch(value):
        raise SqlSyntaxError(
            span,
            found=piece.group(),
            expected=("a variable that holds one name, number or quoted string",),
            hint=f"it holds {value!r}",
        )
    return value if value.isidentifier() or value.isdigit() else f" {value} "  # -${v} must not become a comment


def _unquoted(value: str) -> str:
    """In quotes, the quotes that a value has of its own are not repeated."""
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value


def _refuse(script: str, piece: re.Match[str]) -> None:
    found = piece.group()
    span = Span(origin=Origin(script=script, text=script), start=piece.start(), end=piece.end())
    if found in _UNFINISHED:
        raise SqlSyntaxError(span, found=_UNFINISHED[found], expected=(), quoted=False)
    hint = "a name with such a character is written in back quotes" if found.isalpha() else None
    raise SqlSyntaxError(span, found=found, expected=(), hint=hint)
