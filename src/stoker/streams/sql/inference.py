"""The type of an expression, as far as the text for Spark depends on it: `/` of integers, `+` of strings, indexes.

None means that it is not known, and then the text is the one that is right most often.
"""

from collections.abc import Callable
from typing import Final

from sqlglot import exp

from stoker.streams.sql.calls import Scope
from stoker.streams.sql.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    STRING,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
    from_sqlglot,
)

TypeOf = Callable[[exp.Column], SqlType | None]
CallType = Callable[[exp.Anonymous, Scope], SqlType | None]

_LARGEST_INTEGER: Final = 2**31 - 1
_LONGEST_INTEGER: Final = 19
INTEGRAL: Final = (INTEGER, BIGINT)


class Inference:
    """`type_of` knows the columns, `call_type` what functions return."""

    def __init__(self, type_of: TypeOf, call_type: CallType) -> None:
        self._type_of = type_of
        self._call_type = call_type

    def infer(self, node: exp.Expr, scope: Scope) -> SqlType | None:
        match node:
            case exp.Column():
                return self._type_of(node)
            case exp.Identifier():
                return scope[node.name].type if node.name in scope else None
            case exp.Literal():
                return STRING if node.is_string else _type_of_number(node.name)
            case exp.Anonymous():
                return self._call_type(node, scope)
            case exp.Paren() | exp.Neg():
                return self.infer(node.this, scope)
            case exp.Cast():
                return from_sqlglot(node.to)
            case exp.DPipe():
                return STRING
            case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.Mod():
                return self._arithmetic(node, scope)
            case exp.Boolean() | exp.Predicate() | exp.Connector() | exp.Not() | exp.Escape():
                return BOOLEAN
            case exp.Case():
                return self._first([*(each.args["true"] for each in node.args["ifs"]), node.args.get("default")], scope)
        return self._compound(node, scope)

    def _compound(self, node: exp.Expr, scope: Scope) -> SqlType | None:
        match node:
            case exp.Dot():
                struct = self.infer(node.this, scope)
                fields = struct.fields if isinstance(struct, Struct) else ()
                return next((each.type for each in fields if each.name == node.expression.name), None)
            case exp.Bracket():
                container = self.infer(node.this, scope)
                if isinstance(container, Array):
                    return container.element
                return container.value if isinstance(container, Map) else None
            case exp.Array():
                element = self._first(node.expressions, scope)
                return Array(element) if element else None
            case exp.Map():
                key = self._first(node.args["keys"].expressions, scope)
                value = self._first(node.args["values"].expressions, scope)
                return Map(key, value) if key and value else None
            case exp.Struct():
                found = {each.this.name: self.infer(each.expression, scope) for each in node.expressions}
                known = tuple(Field(name, each) for name, each in found.items() if each)
                return Struct(known) if len(known) == len(found) else None
        return None

    def _first(self, nodes: list[exp.Expr | None], scope: Scope) -> SqlType | None:
        return next((found for node in nodes if node and (found := self.infer(node, scope))), None)

    def _arithmetic(self, node: exp.Expr, scope: Scope) -> SqlType | None:
        kinds: set[SqlType | None] = set()
        while isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)):
            kinds.add(self.infer(node.expression, scope))
            node = node.this
        kinds.add(self.infer(node, scope))
        if STRING in kinds:
            return STRING
        if DOUBLE in kinds:
            return DOUBLE
        if kinds <= {INTEGER, BIGINT}:
            return BIGINT if BIGINT in kinds else INTEGER
        return None


def _type_of_number(text: str) -> SqlType:
    if "E" in text.upper():
        return DOUBLE
    whole, point, fraction = text.partition(".")
    if point:
        whole = whole.lstrip("0")
        return Decimal(max(1, len(whole) + len(fraction)), len(fraction))
    is_small = len(text) <= _LONGEST_INTEGER and int(text) <= _LARGEST_INTEGER
    return INTEGER if is_small else BIGINT
