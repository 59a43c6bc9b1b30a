"""Walking over the tokens of a statement, and saying what was found and what was expected where it does not go on."""

import re
from collections.abc import Callable, Sequence
from typing import Final, NoReturn, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from stoker.streams.sql.errors import ORIGIN, SqlSyntaxError, near
from stoker.streams.sql.script import Name, Origin, Span
from stoker.streams.sql.words import NEVER_NAMES, RESERVED

T = TypeVar("T")
E = TypeVar("E", bound=exp.Expr)

_NOTHING: Final = Token(TokenType.BREAK, "")
"""Before the first token, and after the last."""
_END: Final = "the end of the statement"
_NUMBER: Final = re.compile(r"\d+")
_LONGEST_NUMBER: Final = 19
MOST_NESTED: Final = 40
"""Deeper than anybody writes, and less than what Python's stack holds."""
SYMBOLS: Final = {
    "(": TokenType.L_PAREN,
    ")": TokenType.R_PAREN,
    "[": TokenType.L_BRACKET,
    "]": TokenType.R_BRACKET,
    ",": TokenType.COMMA,
    ".": TokenType.DOT,
    "*": TokenType.STAR,
    "=": TokenType.EQ,
    "<": TokenType.LT,
    ">": TokenType.GT,
    "-": TokenType.DASH,
    "->": TokenType.ARROW,
    ":=": TokenType.COLON_EQ,
}


class Cursor:
    """The tokens of a statement, and which is next. What is asked for and is not there is remembered for the error."""

    def __init__(self, origin: Origin, tokens: Sequence[Token]) -> None:
        self.origin = origin
        self._tokens = tokens
        self.index = 0
        self._depth = 0
        self._asked: list[str] = []
        self._asked_at = -1
        self.aliased: Token | None = None
        """The last that was taken for another name, without an AS that says so."""

    @property
    def current(self) -> Token:
        return self._at(self.index)

    @property
    def following(self) -> Token:
        return self._at(self.index + 1)

    @property
    def previous(self) -> Token:
        return self._at(self.index - 1)

    def _at(self, index: int) -> Token:
        return self._tokens[index] if 0 <= index < len(self._tokens) else _NOTHING

    def advance(self, count: int = 1) -> None:
        self.index += count

    def retreat(self, index: int) -> None:
        self.index = index

    def match(self, kind: TokenType) -> bool:
        """Pass a token of that type if it is next."""
        found = self.current.token_type is kind
        if found:
            self.index += 1
        return found

    def match_pair(self, first: TokenType, second: TokenType) -> bool:
        found = self.current.token_type is first and self.following.token_type is second
        if found:
            self.index += 2
        return found

    def finish(self) -> None:
        """Raises SqlSyntaxError if something is left."""
        if self.current is not _NOTHING:
            self.fail(_END)

    def fail(self, *expected: str, hint: str | None = None) -> NoReturn:
        """Raises SqlSyntaxError: this token is not what was asked for."""
        asked = self._asked if self._asked_at == self.index else []
        choices = tuple(dict.fromkeys([*expected, *asked]))
        hint = hint or self._meant(choices)
        if self.current is _NOTHING:
            end = len(self.origin.text)
            span = Span(origin=self.origin, start=end, end=end + 1)
            raise SqlSyntaxError(span, found=_END, expected=choices, hint=hint, quoted=False)
        span = self.span(self.current)
        raise SqlSyntaxError(span, found=self.origin.text[span.start : span.end], expected=choices, hint=hint)

    def _meant(self, choices: Sequence[str]) -> str | None:
        """Whether this word, or the one before that was taken for another name, is one of the choices, misspelt."""
        for token in (self.current, self.aliased if self.aliased is self.previous else None):
            if token is not None and (close := near(token.text.upper(), choices)):
                return f"did you mean {close[0]} in place of {token.text}?"
        return None

    def span(self, first: Token, last: Token | None = None) -> Span:
        return Span(origin=self.origin, start=first.start, end=(last or first).end + 1)

    def at(self, *words: str, advance: bool = False) -> bool:
        """Whether one of these words is next. They are not remembered: this is for what may be there or not."""
        found = self.is_word() and self.current.text.upper() in words
        if found and advance:
            self.advance()
        return found

    def accept(self, *words: str) -> bool:
        """Pass these words, one after the other, if all of them are next."""
        start = self.index
        for word in words:
            if not self.at(word, advance=True):
                self.retreat(start)
                self._ask(" ".join(words))
                return False
        return True

    def word(self, *choices: str) -> str:
        """Pass one of these words. Raises SqlSyntaxError if none is next."""
        for choice in choices:
            if self.accept(choice):
                return choice
        return self.fail()

    def at_symbol(self, symbol: str) -> bool:
        found = self.current.token_type is SYMBOLS[symbol]
        if not found:
            self._ask(f"'{symbol}'")
        return found

    def accept_symbol(self, symbol: str) -> bool:
        found = self.at_symbol(symbol)
        if found:
            self.advance()
        return found

    def symbol(self, symbol: str) -> None:
        if not self.accept_symbol(symbol):
            self.fail()

    def listed(self, parse: Callable[[], T]) -> list[T]:
        """One or more, with commas between them."""
        found = [parse()]
        while self.accept_symbol(","):
            found.append(parse())
        return found

    def nested(self, parse: Callable[[], T]) -> T:
        """What is in parentheses, or otherwise a part of its like."""
        if self._depth >= MOST_NESTED:
            self.fail("something simpler", hint=f"expressions and types are nested at most {MOST_NESTED} deep")
        self._depth += 1
        found = parse()
        self._depth -= 1
        return found

    def identifier(self, what: str) -> exp.Identifier:
        """A name: in upper case unless it is quoted."""
        token = self.current
        if token.token_type is TokenType.IDENTIFIER:
            if not token.text:
                self.fail(what, hint="a name has at least one character")
            self.advance()
            return self.place(exp.Identifier(this=token.text, quoted=True), token)
        word = token.text.upper()
        if self.is_reserved() and word not in NEVER_NAMES:
            self.fail(what, hint=f"{word} is a reserved word; as a name it is written `{word}`")
        if token.token_type is not TokenType.VAR or word in NEVER_NAMES:
            self.fail(what)
        self.advance()
        return self.place(exp.Identifier(this=word, quoted=False), token)

    def name(self, what: str) -> Name:
        token = self.current
        return Name(self.identifier(what).name, self.span(token))

    def string(self, what: str) -> str:
        token = self.current
        if token.token_type is not TokenType.STRING:
            self.fail(what)
        self.advance()
        return token.text

    def integer(self, what: str, *, lowest: int = 0, highest: int = 2**63 - 1) -> int:
        token = self.current
        if token.token_type is not TokenType.NUMBER or not _NUMBER.fullmatch(token.text):
            self.fail(what)
        number = int(token.text) if len(token.text) <= _LONGEST_NUMBER else highest + 1
        if not lowest <= number <= highest:
            self.fail(f"{what} from {lowest} to {highest}")
        self.advance()
        return number

    def is_word(self) -> bool:
        """Whether an unquoted word is next, be it a name or a keyword."""
        return self.current.token_type in (TokenType.VAR, TokenType.AND, TokenType.OR, TokenType.NOT)

    def is_reserved(self) -> bool:
        return self.is_word() and self.current.text.upper() in RESERVED

    def _ask(self, what: str) -> None:
        if self._asked_at != self.index:
            self._asked, self._asked_at = [], self.index
        self._asked.append(what)

    def place(self, node: E, token: Token, last: Token | None = None) -> E:
        """The expression, which knows from now on where it is."""
        node.meta.update({ORIGIN: self.origin, "start": token.start, "end": (last or token).end + 1})
        return node
