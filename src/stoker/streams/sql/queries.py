"""SELECT: its frame is ksqlDB's own (WINDOW, WITHIN, PARTITION BY, EMIT), what it selects are expressions."""

from datetime import timedelta
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from stoker.streams.sql import statements as s
from stoker.streams.sql.errors import SqlError
from stoker.streams.sql.expressions import ExpressionParser
from stoker.streams.sql.script import Name
from stoker.streams.sql.words import TIME_UNITS

_LONGEST: Final = timedelta(days=36_500)

_CLAUSES: Final = ("EMIT", "PARTITION")
"""Words that can be names, but begin a clause where there is no AS before them."""
_NOT_OURS: Final = {"ORDER": "BY", "UNION": "ALL"}
"""Those of other languages: better to stop at them than at the word after them."""


class QueryParser(ExpressionParser):
    """Parses a SELECT and its clauses."""

    def query(self) -> s.Query:
        """After SELECT."""
        items = self.listed(self._select_item)
        self.word("FROM")
        source = self._relation()
        joins = []
        while (join := self._join()) is not None:
            joins.append(join)
        return s.Query(
            items=tuple(items),
            source=source,
            joins=tuple(joins),
            window=self._window() if self.accept("WINDOW") else None,
            where=self.condition() if self.accept("WHERE") else None,
            group_by=self._grouping() if self.accept("GROUP", "BY") else (),
            partition_by=self._grouping() if self.accept("PARTITION", "BY") else (),
            having=self.condition() if self.accept("HAVING") else None,
            emit=s.Emit(self.word("CHANGES", "FINAL")) if self.accept("EMIT") else None,
            limit=self.integer("a number of rows") if self.accept("LIMIT") else None,
        )

    def _select_item(self) -> s.SelectItem:
        if self.at_symbol("*"):
            self.advance()
            return s.AllColumns()
        token = self.current
        found = self.condition()
        if self.accept_symbol("->"):
            self.symbol("*")
            return s.AllFields(struct=found)
        if isinstance(found, exp.Column) and not found.table and self.match_pair(TokenType.DOT, TokenType.STAR):
            return s.AllColumns(source=Name(found.name, self.span(token)))
        return s.Projection(expression=found, alias=self._alias())

    def _alias(self) -> Name | None:
        if self.accept("AS"):
            return self.name("another name")
        if self.current.token_type not in (TokenType.VAR, TokenType.IDENTIFIER) or self.is_reserved():
            return None
        if self.current.token_type is TokenType.VAR:
            word = self.current.text.upper()
            if word in _CLAUSES or _NOT_OURS.get(word) == self.following.text.upper():
                return None
            self.aliased = self.current
        return self.name("another name")

    def _relation(self) -> s.Relation:
        return s.Relation(name=self.name("a stream or table"), alias=self._alias())

    def _join(self) -> s.Join | None:
        for kind in s.JoinKind:
            if self.accept(kind.value):
                if kind is not s.JoinKind.INNER:
                    self.accept("OUTER")
                self.word("JOIN")
                return self._joined(kind)
        return self._joined(s.JoinKind.INNER) if self.accept("JOIN") else None

    def _joined(self, kind: s.JoinKind) -> s.Join:
        right = self._relation()
        within = self._within() if self.accept("WITHIN") else None
        self.word("ON")
        return s.Join(kind=kind, right=right, within=within, on=self.condition())

    def _within(self) -> s.Within:
        if self.accept_symbol("("):
            before = self._duration(lowest=0)
            self.symbol(",")
            after = self._duration(lowest=0)
            self.symbol(")")
        else:
            before = after = self._duration(lowest=0)
        grace = self._duration(lowest=0) if self.accept("GRACE", "PERIOD") else None
        return s.Within(before=before, after=after, grace=grace)

    def _window(self) -> s.Window:
        kind = s.WindowKind(self.word("TUMBLING", "HOPPING", "SESSION"))
        self.symbol("(")
        if kind is not s.WindowKind.SESSION:
            self.word("SIZE")
        size = self._duration()
        advance = retention = grace = None
        if kind is s.WindowKind.HOPPING:
            self.symbol(",")
            self.word("ADVANCE")
            self.word("BY")
            advance = self._duration()
        while self.accept_symbol(","):
            if retention is None and grace is None and self.accept("RETENTION"):
                retention = self._duration()
            elif grace is None and self.accept("GRACE", "PERIOD"):
                grace = self._duration(lowest=0)
            else:
                self.fail()
        self.symbol(")")
        return s.Window(kind=kind, size=size, advance=advance, retention=retention, grace=grace)

    def _duration(self, lowest: int = 1) -> timedelta:
        token = self.current
        number = self.integer("a number", lowest=lowest)
        unit = TIME_UNITS[self.word(*TIME_UNITS)]
        if number * unit > _LONGEST / timedelta(milliseconds=1):
            raise SqlError("this is longer than a hundred years", self.span(token, self.previous))
        return timedelta(milliseconds=number * unit)

    def _grouping(self) -> tuple[exp.Expr, ...]:
        """`a, b` or `(a, b)`."""
        found: list[exp.Expr] = []
        while True:
            start = self.index
            wrapped = [] if found else self._wrapped_list()
            if wrapped:
                return tuple(wrapped)
            self.retreat(start)
            found.append(self._value())
            if not self.accept_symbol(","):
                return tuple(found)

    def _wrapped_list(self) -> list[exp.Expr]:
        """Two or more in parentheses; none if it is something else that begins with one."""
        if not self.match(TokenType.L_PAREN):
            return []
        found = [self._value()]
        while self.match(TokenType.COMMA):
            found.append(self._value())
        return found if len(found) > 1 and self.match(TokenType.R_PAREN) else []
