"""ksqlDB's expressions and types, as trees of sqlglot.

`a->b` is Dot, `a[1]` is Bracket, a call of any function is Anonymous with its name in upper case, the variable of a lambda is
Identifier, and every Column is one of a source. `meta` of names, literals and calls has their place (errors.py).

The trees and the tokens are sqlglot's, the parser is not. sqlglot's accepts what any dialect may have and leaves out what it
does not find (`a BETWEEN 1 2`), and where its compiled build is installed (`sqlglot[c]`) no parser can be derived from it.
"""

import math
from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from stoker.streams.sql.cursor import Cursor
from stoker.streams.sql.words import TIME_UNITS

_COMPARISONS: Final[dict[TokenType, type[exp.Expr]]] = {
    TokenType.EQ: exp.EQ,
    TokenType.NEQ: exp.NEQ,
    TokenType.LT: exp.LT,
    TokenType.LTE: exp.LTE,
    TokenType.GT: exp.GT,
    TokenType.GTE: exp.GTE,
}
_TYPES: Final = {
    "BOOLEAN": exp.DType.BOOLEAN,
    "INT": exp.DType.INT,
    "INTEGER": exp.DType.INT,
    "BIGINT": exp.DType.BIGINT,
    "DOUBLE": exp.DType.DOUBLE,
    "VARCHAR": exp.DType.VARCHAR,
    "STRING": exp.DType.VARCHAR,
    "BYTES": exp.DType.VARBINARY,
    "TIME": exp.DType.TIME,
    "DATE": exp.DType.DATE,
    "TIMESTAMP": exp.DType.TIMESTAMP,
}
_TYPED_LITERALS: Final = ("DATE", "TIME", "TIMESTAMP")
_LARGEST: Final = 2**63 - 1
_WITH_UNIT: Final = ("DATEADD", "DATESUB", "TIMEADD", "TIMESUB", "TIMESTAMPADD", "TIMESTAMPSUB")
"""Functions whose first argument is a unit of time."""
MOST_DIGITS: Final = 38
"""Of Spark's decimals."""


class ExpressionParser(Cursor):
    """Parses expressions and types."""

    def condition(self) -> exp.Expr:
        """An expression, whatever its type."""
        return self.nested(self._disjunction)

    def data_type(self) -> exp.DataType:
        """A type; one that is not built in is USERDEFINED, for whoever knows CREATE TYPE."""
        token = self.current
        found = self.place(self.nested(self._type), token)
        while self.at("ARRAY", advance=True):
            found = exp.DataType(this=exp.DType.ARRAY, expressions=[found], nested=True)
        return found

    def _type(self) -> exp.DataType:
        if self.following.token_type is TokenType.LT and self.accept("ARRAY"):
            self.symbol("<")
            found = exp.DataType(this=exp.DType.ARRAY, expressions=[self.data_type()], nested=True)
            self.symbol(">")
        elif self.following.token_type is TokenType.LT and self.accept("MAP"):
            self.symbol("<")
            key = self.data_type()
            self.symbol(",")
            found = exp.DataType(this=exp.DType.MAP, expressions=[key, self.data_type()], nested=True)
            self.symbol(">")
        elif self.following.token_type is TokenType.LT and self.accept("STRUCT"):
            self.symbol("<")
            fields = [] if self.at_symbol(">") else self.listed(self._field)
            found = exp.DataType(this=exp.DType.STRUCT, expressions=fields, nested=True)
            self.symbol(">")
        elif self.following.token_type is TokenType.NEQ and self.at("STRUCT", advance=True):  # STRUCT<>
            self.advance()
            found = exp.DataType(this=exp.DType.STRUCT, expressions=[], nested=True)
        elif self.accept("DECIMAL"):
            found = self._decimal()
        else:
            found = self._simple_type()
        return found

    def _field(self) -> exp.ColumnDef:
        return exp.ColumnDef(this=self.identifier("the name of a field"), kind=self.data_type())

    def _decimal(self) -> exp.DataType:
        self.symbol("(")
        precision = self.integer("the number of digits", lowest=1, highest=MOST_DIGITS)
        self.symbol(",")
        scale = self.integer("the number of digits after the point", highest=precision)
        self.symbol(")")
        parameters = [exp.DataTypeParam(this=exp.Literal.number(each)) for each in (precision, scale)]
        return exp.DataType(this=exp.DType.DECIMAL, expressions=parameters)

    def _simple_type(self) -> exp.DataType:
        name = self.identifier("a type")
        built_in = None if name.args["quoted"] else _TYPES.get(name.name)
        if built_in is None:
            return exp.DataType(this=exp.DType.USERDEFINED, kind=name)
        if built_in is exp.DType.VARCHAR and self.accept_symbol("("):  # a length means nothing to ksqlDB either
            if not self.accept("STRING"):
                self.integer("a length")
            self.symbol(")")
        return exp.DataType(this=built_in)

    # From what binds least to what binds most.

    def _disjunction(self) -> exp.Expr:
        return self._chain(self._conjunction, {TokenType.OR: exp.Or})

    def _conjunction(self) -> exp.Expr:
        return self._chain(self._negation, {TokenType.AND: exp.And})

    def _negation(self) -> exp.Expr:
        if self.match(TokenType.NOT):
            return exp.Not(this=self.nested(self._negation))
        return self._predicate(self._value())

    def _value(self) -> exp.Expr:
        """No predicate: what can be an operand of one."""
        return self._chain(self._sum, {TokenType.DPIPE: exp.DPipe})

    def _sum(self) -> exp.Expr:
        return self._chain(self._product, {TokenType.PLUS: exp.Add, TokenType.DASH: exp.Sub})

    def _product(self) -> exp.Expr:
        operators = {TokenType.STAR: exp.Mul, TokenType.SLASH: exp.Div, TokenType.MOD: exp.Mod}
        return self._chain(self._signed, operators)

    def _signed(self) -> exp.Expr:
        if self.match(TokenType.PLUS):
            return self.nested(self._signed)
        if self.match(TokenType.DASH):
            return exp.Neg(this=self.nested(self._signed))
        return self._operand()

    def _chain(self, operand: Callable[[], exp.Expr], operators: Mapping[TokenType, type[exp.Expr]]) -> exp.Expr:
        """`a + b - c`: the operators take what is on their left first."""
        found = operand()
        while (operator := operators.get(self.current.token_type)) is not None:
            self.advance()
            found = operator(this=found, expression=operand())
        return found

    def _operand(self) -> exp.Expr:
        found = self._primary()
        while True:
            if self.match(TokenType.L_BRACKET):
                index = self.nested(self._value)
                self.symbol("]")
                found = exp.Bracket(this=found, expressions=[index], offset=1)
            elif self.current.token_type is TokenType.ARROW and self.following.token_type is not TokenType.STAR:
                self.advance()
                found = exp.Dot(this=found, expression=self.identifier("the name of a field"))
            else:
                return found

    def _predicate(self, this: exp.Expr) -> exp.Expr:
        for symbol, kind in _COMPARISONS.items():
            if self.match(symbol):
                return kind(this=this, expression=self._value())
        if self.accept("IS"):
            return self._is(this)
        negated = self.at("NOT", advance=True)
        if self.accept("BETWEEN"):
            low = self._value()
            self.word("AND")
            found: exp.Expr = exp.Between(this=this, low=low, high=self._value())
        elif self.accept("IN"):
            self.symbol("(")
            found = exp.In(this=this, expressions=self.listed(self.condition))
            self.symbol(")")
        elif self.accept("LIKE"):
            found = exp.Like(this=this, expression=self._value())
            if self.accept("ESCAPE"):
                found = exp.Escape(this=found, expression=self._string_literal("the character that escapes"))
        elif negated:
            self.fail()
        else:
            return this
        return exp.Not(this=found) if negated else found

    def _is(self, this: exp.Expr) -> exp.Expr:
        negated = self.accept("NOT")
        if self.accept("NULL"):
            found: exp.Expr = exp.Is(this=this, expression=exp.Null())
            return exp.Not(this=found) if negated else found
        self.word("DISTINCT")
        self.word("FROM")
        kind = exp.NullSafeEQ if negated else exp.NullSafeNEQ
        return kind(this=this, expression=self._value())

    def _primary(self) -> exp.Expr:
        token = self.current
        if token.token_type is TokenType.STRING:
            return self._string_literal("a string")
        if token.token_type is TokenType.NUMBER:
            return self._number(token)
        if token.token_type is TokenType.DOT and self.following.token_type is TokenType.NUMBER:
            self.advance(2)
            return self.place(exp.Literal.number(f"0.{self.previous.text}"), token, self.previous)
        if token.token_type is TokenType.L_PAREN:
            self.advance()
            found: exp.Expr = exp.Paren(this=self.condition())
            self.symbol(")")
            return found
        for word, literal in (("NULL", exp.Null()), ("TRUE", exp.true()), ("FALSE", exp.false())):
            if self.at(word, advance=True):
                return self.place(literal, token)
        if self.at("CASE", advance=True):
            return self.place(self._case(), token)
        if token.token_type not in (TokenType.VAR, TokenType.IDENTIFIER):
            self.fail("an expression")
        if self.following.token_type is TokenType.L_PAREN:
            return self._call(token)
        if self.following.token_type is TokenType.L_BRACKET and self.at("ARRAY", advance=True):
            self.symbol("[")
            elements = [] if self.at_symbol("]") else self.listed(self.condition)
            self.symbol("]")
            return self.place(exp.Array(expressions=elements), token)
        if self.following.token_type is TokenType.STRING and self.at(*_TYPED_LITERALS):
            to = self._simple_type()
            return exp.Cast(this=self._string_literal("a string"), to=self.place(to, token))
        return self._column()

    def _number(self, token: Token) -> exp.Expr:
        """Without a point it is a BIGINT at most, with one a DECIMAL, with an exponent a DOUBLE."""
        largest = _LARGEST + (self.previous.token_type is TokenType.DASH)
        if "E" in token.text.upper():
            fits = math.isfinite(float(token.text))
        elif "." in token.text:
            fits = len(token.text) <= MOST_DIGITS + 1
        else:
            fits = len(token.text) <= MOST_DIGITS and int(token.text) <= largest
        if not fits:
            self.fail("a number with fewer digits")
        self.advance()
        return self.place(exp.Literal.number(token.text), token)

    def _column(self) -> exp.Expr:
        name = self.identifier("an expression")
        if self.current.token_type is TokenType.DOT and self.following.token_type is not TokenType.STAR:
            self.advance()
            return exp.Column(this=self.identifier("the name of a column"), table=name)
        return exp.Column(this=name)

    def _case(self) -> exp.Expr:
        this = None if self.at("WHEN") else self.nested(self._value)
        ifs = []
        self.word("WHEN")
        while True:
            when = self.condition()
            self.word("THEN")
            ifs.append(exp.If(this=when, true=self.condition()))
            if not self.accept("WHEN"):
                break
        default = self.condition() if self.accept("ELSE") else None
        self.word("END")
        return exp.Case(this=this, ifs=ifs, default=default)

    def _call(self, token: Token) -> exp.Expr:
        if token.token_type is TokenType.VAR and token.text.upper() == "CAST":
            name = "CAST"
            self.advance()
        else:
            name = self.identifier("a function").name
        self.symbol("(")
        if name == "CAST":
            this = self.condition()
            self.word("AS")
            found: exp.Expr = exp.Cast(this=this, to=self.data_type())
        elif name == "STRUCT":
            found = exp.Struct(expressions=[] if self.at_symbol(")") else self.listed(self._struct_field))
        elif name == "MAP":
            entries = [] if self.at_symbol(")") else self.listed(self._map_entry)
            keys, values = ([entry[side] for entry in entries] for side in (0, 1))
            found = exp.Map(keys=exp.Array(expressions=keys), values=exp.Array(expressions=values))
        else:
            found = exp.Anonymous(this=name, expressions=self._arguments(name))
        self.symbol(")")
        return self.place(found, token)

    def _arguments(self, function: str) -> list[exp.Expr]:
        if self.at_symbol(")"):
            return []
        if self.accept_symbol("*"):
            return [self.place(exp.Star(), self.previous)]
        if function in _WITH_UNIT and self.at(*TIME_UNITS, advance=True):  # elsewhere DAY can be a column
            unit = self.place(exp.Var(this=self.previous.text.upper()), self.previous)
            return [unit, *self.listed(self._argument)] if self.accept_symbol(",") else [unit]
        return self.listed(self._argument)

    def _argument(self) -> exp.Expr:
        parameters = self._lambda_parameters()
        if not parameters:
            return self.condition()
        body = self.condition()
        names = {each.name for each in parameters}
        for column in list(body.find_all(exp.Column)):
            if not column.table and column.name in names:
                if column is body:
                    body = column.this
                column.replace(column.this)
        return exp.Lambda(this=body, expressions=parameters)

    def _lambda_parameters(self) -> list[exp.Identifier]:
        """Those before `=>`, which is passed; none if this is no lambda."""
        start = self.index
        wrapped = self.match(TokenType.L_PAREN)
        names = []
        while self.current.token_type in (TokenType.VAR, TokenType.IDENTIFIER) and not self.is_reserved():
            names.append(self.identifier("a parameter"))
            if not (wrapped and self.match(TokenType.COMMA)):
                break
        if names and (not wrapped or self.match(TokenType.R_PAREN)) and self.match(TokenType.FARROW):
            return names
        self.retreat(start)
        return []

    def _struct_field(self) -> exp.Expr:
        name = self.identifier("the name of a field")
        self.symbol(":=")
        return exp.PropertyEQ(this=name, expression=self.condition())

    def _map_entry(self) -> tuple[exp.Expr, exp.Expr]:
        key = self.condition()
        self.symbol(":=")
        return key, self.condition()

    def _string_literal(self, what: str) -> exp.Literal:
        token = self.current
        return self.place(exp.Literal.string(self.string(what)), token)
