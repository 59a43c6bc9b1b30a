"""What SQL raises on purpose. Each error says where: its text ends with the line that is meant, and a mark under it.

StokerError
└── StreamsError
    └── SqlError                    a statement that cannot be run: what is wrong, where, and the choices
        ├── SqlSyntaxError          a text that is not the language: what was found, what was expected
        ├── UnknownFunction         a function that there is not, with the names that are near
        └── UnsupportedExpression   an expression that has no counterpart in Spark
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from stoker.streams.errors import StreamsError

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

    from stoker.streams.sql.script import Name, Span
    from stoker.streams.sql.statements import Statement

ORIGIN: Final = "origin"
"""Under this key an expression's `meta` has its Origin; under `start` and `end` what of it the expression is.

Names, literals, types and the words that begin a call, CAST or CASE have a place; what is made of them is where they are."""

_WIDTH: Final = 100
_NEAR: Final = 3
_ALIKE: Final = 0.7


class SqlError(StreamsError):
    """A statement that cannot be run. `line` and `column` count from 1, and are None if nobody knows where it was written."""

    def __init__(self, message: str, at: "Expr | Name | Span | Statement | None" = None) -> None:
        span = span_of(at)
        position = span.origin.position(span.start) if span else None
        self.message = message
        self.line = position.line if position else None
        self.column = position.column if position else None
        self.statement = span.origin.text if span else None
        if span is None or position is None:
            super().__init__(message)
            return
        where = f"line {position.line}, column {position.column}"
        if position.variable is not None:
            where += f", in the value of ${{{position.variable}}}"
            length = len(position.variable) + 3
        else:
            length = span.end - span.start
        super().__init__(f"{where}: {message}\n{_pointed_at(position.text, position.column - 1, length)}")


class SqlSyntaxError(SqlError):
    """A text that is not the language. `expected` is what could have been there instead."""

    def __init__(
        self, at: "Span | None", *, found: str, expected: Sequence[str], hint: str | None = None, quoted: bool = True
    ) -> None:
        message = f"found {found!r}" if quoted else f"found {found}"
        if expected:
            message += f", expected {alternatives(expected)}"
        super().__init__(f"{message}: {hint}" if hint else message, at)
        self.found = found
        self.expected = tuple(expected)


class UnknownFunction(SqlError):
    """A function that there is not. `near` are names of some that there are."""

    def __init__(self, name: str, known: Iterable[str], at: "Expr | None" = None) -> None:
        self.name = name
        self.near = near(name, known)
        hint = f"did you mean {alternatives(self.near)}?" if self.near else "SHOW FUNCTIONS lists those there are"
        super().__init__(f"there is no function {name}: {hint}", at)


class UnsupportedExpression(SqlError):
    """An expression that has no counterpart in Spark, or not with these arguments."""


def span_of(at: "Expr | Name | Span | Statement | None") -> "Span | None":
    """What of the text an expression, a name or a statement is; None for what was not written by a person."""
    from sqlglot.expressions import Expr

    from stoker.streams.sql.script import Name, Span
    from stoker.streams.sql.statements import Statement

    if isinstance(at, Expr):
        places = [at.meta] if ORIGIN in at.meta else [node.meta for node in at.walk() if ORIGIN in node.meta]
        if not places:
            return None
        start, end = min(place["start"] for place in places), max(place["end"] for place in places)
        return Span(origin=places[0][ORIGIN], start=start, end=end)
    if isinstance(at, Name):
        return at.span
    if isinstance(at, Statement):
        return Span(origin=at.origin, start=0, end=len(at.origin.text))
    return at


def near(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Which of the known names may be meant."""
    return tuple(get_close_matches(name, sorted(known), n=_NEAR, cutoff=_ALIKE))


def alternatives(choices: Sequence[str]) -> str:
    """In words: a, b or c."""
    *most, last = choices
    return f"{', '.join(most)} or {last}" if most else last


def _pointed_at(line: str, column: int, length: int) -> str:
    """The line with a mark under what is meant; of a long line, the part around it. A tab keeps its width in both."""
    start = max(0, min(column - _WIDTH // 2, len(line) - _WIDTH))
    head, tail = "..." if start else "", "..." if len(line) > start + _WIDTH else ""
    shown = line[start : start + _WIDTH]
    before = "".join("\t" if each == "\t" else " " for each in shown[: column - start])
    mark = "^" * max(1, min(length, len(shown) - (column - start)))
    return f"  {head}{shown}{tail}\n  {' ' * len(head)}{before}{mark}"
