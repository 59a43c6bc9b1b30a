"""ksqlDB's expressions as Spark SQL: `to_spark`.

What fails in ksqlDB for one row and gives null there (a cast, a division by zero, an index outside of the array) gives null
in Spark too, whatever `spark.sql.ansi.enabled` says: one odd record must not stop a query for ever.
"""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from stoker.streams.sql.aggregate_functions import ORDER
from stoker.streams.sql.calls import WITH_LAMBDAS, Call, Function, Scope
from stoker.streams.sql.errors import UnknownFunction, UnsupportedExpression, alternatives
from stoker.streams.sql.functions import FUNCTIONS
from stoker.streams.sql.inference import INTEGRAL, Inference, TypeOf
from stoker.streams.sql.special_functions import quoted
from stoker.streams.sql.types import BYTES, INTEGER, STRING, SqlType, from_sqlglot, resolved, to_spark_type

_COMPARISONS: Final[Mapping[type[exp.Expr], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
_ARITHMETIC: Final[Mapping[type[exp.Expr], str]] = {
    exp.Add: "try_add",
    exp.Sub: "try_subtract",
    exp.Mul: "try_multiply",
    exp.Div: "try_divide",
    exp.Mod: "try_mod",
}
_ATOMS: Final[tuple[type[exp.Expr], ...]] = (
    exp.Anonymous,
    exp.Case,
    exp.Column,
    exp.Identifier,
    exp.Literal,
    exp.Null,
    exp.Boolean,
    exp.Star,
    exp.Paren,
    exp.Cast,
    exp.Dot,
    exp.Bracket,
    exp.Array,
    exp.Map,
    exp.Struct,
    *_ARITHMETIC,
)
"""What can stand beside any operator without parentheses."""


def to_spark(
    expression: exp.Expr,
    *,
    type_of: TypeOf | None = None,
    custom_types: Mapping[str, SqlType] | None = None,
    for_streams: bool = False,
    record_order: str = "ROWOFFSET",
) -> str:
    """The expression as Spark SQL, for a session that is set as SPARK_SETTINGS says.

    `type_of` gives the type of a column; where it is None or says None, `+` is of numbers and `/` gives a fraction.
    `custom_types` are those of CREATE TYPE. With `for_streams` aggregates are those of `stoker.streams`, otherwise Spark's own,
    with `record_order` for which record came later. Raises UnknownFunction and UnsupportedExpression, where.
    """
    translation = _Translation(type_of or (lambda column: None), custom_types or {}, for_streams, record_order)
    try:
        return translation.text(expression, {})
    except RecursionError:
        raise UnsupportedExpression("this expression has too many parts", expression) from None


class _Translation:
    def __init__(
        self, type_of: TypeOf, custom_types: Mapping[str, SqlType], for_streams: bool, record_order: str
    ) -> None:
        self._custom_types = custom_types
        self._for_streams = for_streams
        self._record_order = record_order
        self._inference = Inference(type_of, self._call_type)

    def text(self, node: exp.Expr, scope: Scope) -> str:
        match node:
            case exp.Column():
                return ".".join(_name(part.name) for part in node.parts)
            case exp.Identifier():
                return scope[node.name].text if node.name in scope else _name(node.name)
            case exp.Literal():
                return quoted(node.name) if node.is_string else node.name
            case exp.Null():
                return "NULL"
            case exp.Boolean():
                return "true" if node.this else "false"
            case exp.Star():
                return "*"
            case exp.Paren():
                return f"({self.text(node.this, scope)})"
            case exp.Neg():
                return f"-{self._atom(node.this, scope)}"
            case exp.Not(this=exp.Is()):
                return f"{self._atom(node.this.this, scope)} IS NOT NULL"
            case exp.Not():
                return f"NOT {self._atom(node.this, scope)}"
            case exp.And() | exp.Or():
                return self._connected(node, scope)
            case exp.DPipe():
                return f"{self._atom(node.this, scope)} || {self._atom(node.expression, scope)}"
            case exp.Anonymous():
                return self._call(node, scope)
        if type(node) in _ARITHMETIC:
            return self._arithmetic(node, scope)
        return self._predicate(node, scope)

    def _predicate(self, node: exp.Expr, scope: Scope) -> str:
        match node:
            case exp.NullSafeNEQ():
                return f"NOT ({self._atom(node.this, scope)} <=> {self._atom(node.expression, scope)})"
            case exp.Is():
                return f"{self._atom(node.this, scope)} IS NULL"
            case exp.Between():
                low, high = (self._atom(node.args[side], scope) for side in ("low", "high"))
                return f"{self._atom(node.this, scope)} BETWEEN {low} AND {high}"
            case exp.In():
                choices = ", ".join(self.text(each, scope) for each in node.expressions)
                return f"{self._atom(node.this, scope)} IN ({choices})"
            case exp.Escape():
                return self._like(node.this, node.expression, scope)
            case exp.Like():
                return self._like(node, None, scope)
        operator = _COMPARISONS.get(type(node))
        if operator:
            return f"{self._atom(node.this, scope)} {operator} {self._atom(node.expression, scope)}"
        return self._made(node, scope)

    def _made(self, node: exp.Expr, scope: Scope) -> str:
        match node:
            case exp.Cast():
                return self._cast(node, scope)
            case exp.Case():
                return self._case(node, scope)
            case exp.Dot():
                return f"{self._atom(node.this, scope)}[{quoted(node.expression.name)}]"
            case exp.Bracket():
                return self._element(node, scope)
            case exp.Array():
                return f"array({', '.join(self.text(each, scope) for each in node.expressions)})"
            case exp.Map():
                pairs = zip(node.args["keys"].expressions, node.args["values"].expressions, strict=True)
                return f"map({', '.join(self.text(each, scope) for pair in pairs for each in pair)})"
            case exp.Struct():
                fields = (f"{quoted(each.this.name)}, {self.text(each.expression, scope)}" for each in node.expressions)
                return f"named_struct({', '.join(fields)})"
            case exp.Lambda():
                raise UnsupportedExpression(f"a lambda can only be an argument of {alternatives(WITH_LAMBDAS)}", node)
            case exp.Var():
                raise UnsupportedExpression(f"the unit {node.name} can only be an argument of functions of time", node)
        raise UnsupportedExpression(f"there is no {type(node).__name__} in ksqlDB's expressions", node)

    def _atom(self, node: exp.Expr, scope: Scope) -> str:
        """As text that can stand beside any operator."""
        text = self.text(node, scope)
        return text if isinstance(node, _ATOMS) else f"({text})"

    def _connected(self, node: exp.Expr, scope: Scope) -> str:
        """Of a long chain, one operand after the other: thousands of them are no deeper than two."""
        operator = f" {type(node).__name__.upper()} "
        operands = []
        chain = type(node)
        while type(node) is chain:
            operands.append(self._atom(node.expression, scope))
            node = node.this
        return operator.join([self._atom(node, scope), *reversed(operands)])

    def _arithmetic(self, node: exp.Expr, scope: Scope) -> str:
        kinds = {self._inference.infer(side, scope) for side in (node.this, node.expression)}
        left, right = (self._atom(side, scope) for side in (node.this, node.expression))
        if isinstance(node, exp.Add) and STRING in kinds:
            return f"concat({left}, {right})"
        if isinstance(node, exp.Div) and kinds <= {*INTEGRAL}:
            quotient = f"({left} div nullif({right}, 0))"
            return f"CAST({quotient} AS INT)" if kinds == {INTEGER} else quotient
        return f"{_ARITHMETIC[type(node)]}({left}, {right})"

    def _like(self, like: exp.Expr, escape: exp.Expr | None, scope: Scope) -> str:
        """Spark's own escape is the backslash, which means nothing in ksqlDB unless it is chosen."""
        value, pattern = self._atom(like.this, scope), like.expression
        if isinstance(pattern, exp.Literal) and pattern.is_string:
            return f"{value} LIKE {quoted(_pattern(pattern, escape))}"
        text = self._atom(pattern, scope)
        if escape is not None:
            return f"{value} LIKE {text} ESCAPE {quoted(_escape(escape))}"
        return f"{value} LIKE replace({text}, '\\\\', '\\\\\\\\')"

    def _cast(self, node: exp.Cast, scope: Scope) -> str:
        to = resolved(from_sqlglot(node.to), self._custom_types, node.to)
        text = self.text(node.this, scope)
        if to == BYTES and self._inference.infer(node.this, scope) == STRING:
            return f"try_to_binary({text}, 'base64')"
        return f"try_cast({text} AS {to_spark_type(to)})"

    def _case(self, node: exp.Case, scope: Scope) -> str:
        parts = ["CASE"]
        if node.this is not None:
            parts.append(self._atom(node.this, scope))
        parts += [
            f"WHEN {self.text(each.this, scope)} THEN {self.text(each.args['true'], scope)}"
            for each in node.args["ifs"]
        ]
        if node.args.get("default") is not None:
            parts.append(f"ELSE {self.text(node.args['default'], scope)}")
        return " ".join([*parts, "END"])

    def _element(self, node: exp.Bracket, scope: Scope) -> str:
        """Counted from 1, and from the end where the index is negative; 0 is none, but an error in Spark."""
        index = node.expressions[0]
        text = self.text(index, scope)
        is_written_out = text.lstrip("-").isdigit() and text.strip("-0") != ""
        if not is_written_out and self._inference.infer(index, scope) in INTEGRAL:
            text = f"nullif({text}, 0)"
        return f"try_element_at({self.text(node.this, scope)}, {text})"

    def _call(self, node: exp.Anonymous, scope: Scope) -> str:
        text = self._function(node).text(self._as_call(node, scope), for_streams=self._for_streams)
        return text.replace(ORDER, self._record_order)

    def _call_type(self, node: exp.Anonymous, scope: Scope) -> SqlType | None:
        returns = self._function(node).returns
        return returns(self._as_call(node, scope)) if callable(returns) else returns

    def _as_call(self, node: exp.Anonymous, scope: Scope) -> Call:
        return Call(
            node=node,
            translate=lambda inner, variables: self._atom(inner, {**scope, **variables}),
            infer=lambda inner, variables: self._inference.infer(inner, {**scope, **variables}),
        )

    def _function(self, node: exp.Anonymous) -> Function:
        function = FUNCTIONS.get(node.name)
        if function is None:
            raise UnknownFunction(node.name, FUNCTIONS, node)
        return function


def _name(text: str) -> str:
    return f"`{text.replace('`', '``')}`"


def _escape(escape: exp.Expr) -> str:
    if len(escape.name) != 1:
        raise UnsupportedExpression(f"what escapes must be one character, not {escape.name!r}", escape)
    return escape.name


def _pattern(pattern: exp.Expr, escape: exp.Expr | None) -> str:
    """As Spark reads it: what is escaped is escaped by a backslash."""
    character = _escape(escape) if escape is not None else None
    found = []
    characters = iter(pattern.name)
    for each in characters:
        if each == character:
            literal = next(characters, None)
            if literal is None:
                raise UnsupportedExpression("the pattern ends with the character that escapes", pattern)
            found.append(f"\\{literal}" if literal in "%_\\" else literal)
        else:
            found.append("\\\\" if each == "\\" else each)
    return "".join(found)
