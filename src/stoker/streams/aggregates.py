"""Aggregate functions whose results can be carried from one micro-batch to the next.

`sum(total) / count(*) AS mean` is two functions and an expression of their results. Each function has some fields of state: how
they are made of rows (`partial`), how the state so far and that of new rows become one (`merge`), and the result (`final`).
All of it is Spark SQL.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from stoker.streams.columns import KEY, WINDOW
from stoker.streams.errors import InvalidTopology

STATE: Final = "_state"
ORDER: Final = "_order"
"""A column of rows that says which came later."""
_MOST_COLLECTED: Final = 1000
"""As in ksqlDB: what is collected has to have an end."""
_DIALECT: Final = "spark"
_OF_GROUPS: Final = (KEY, *WINDOW)
"""Columns that a group has as well as its rows."""


class Function(NamedTuple):
    """`{x}` is the argument, `{k}` a second one; `{o}` and `{n}` are a field of the old and of the new state."""

    partial: Mapping[str, str]
    merge: Mapping[str, str]
    final: str
    subtract: Mapping[str, str] = {}
    """How rows that have gone are taken out again; nothing if they cannot be."""
    meaning: str = ""


_ADD: Final = "coalesce({o} + {n}, {o}, {n})"
_LATER: Final = "CASE WHEN {o_order} IS NULL OR {n_order} > {o_order} THEN {n} ELSE {o} END"
_EARLIER: Final = "CASE WHEN {o_order} IS NULL OR {n_order} < {o_order} THEN {n} ELSE {o} END"
_LISTED: Final = f"collect_list(struct({ORDER} AS at, {{x}} AS item)) FILTER (WHERE {{x}} IS NOT NULL)"
_SORTED: Final = f"transform(array_sort({_LISTED}), each -> each.item)"
_VARIANCE: Final = "({squares} - {sum} * {sum} / {count}) / ({count} - 1)"

FUNCTIONS: Final[Mapping[str, Function]] = {
    "count": Function({"count": "count({x})"}, {"count": _ADD}, "{count}", {"count": "-count({x})"}, "how many rows, or how many that are not null"),
    "sum": Function({"sum": "sum({x})"}, {"sum": _ADD}, "{sum}", {"sum": "-sum({x})"}, "the sum"),
    "avg": Function({"sum": "sum({x})", "count": "count({x})"}, {"sum": _ADD, "count": _ADD}, "try_divide({sum}, {count})", {"sum": "-sum({x})", "count": "-count({x})"}, "the mean"),
    "min": Function({"min": "min({x})"}, {"min": "least({o}, {n})"}, "{min}", {}, "the smallest"),
    "max": Function({"max": "max({x})"}, {"max": "greatest({o}, {n})"}, "{max}", {}, "the largest"),
    "latest": Function(
        {"value": f"max_by({{x}}, {ORDER}) FILTER (WHERE {{x}} IS NOT NULL)", "order": f"max({ORDER}) FILTER (WHERE {{x}} IS NOT NULL)"},
        {"value": _LATER.replace("{n_order} >", "{n_order} >="), "order": "greatest({o}, {n})"}, "{value}", {}, "the value that came last, nulls apart"),
    "earliest": Function(
        {"value": f"min_by({{x}}, {ORDER}) FILTER (WHERE {{x}} IS NOT NULL)", "order": f"min({ORDER}) FILTER (WHERE {{x}} IS NOT NULL)"},
        {"value": _EARLIER, "order": "least({o}, {n})"}, "{value}", {}, "the value that came first, nulls apart"),
    "collect_list": Function(
        {"list": f"slice({_SORTED}, 1, {_MOST_COLLECTED})"},
        {"list": f"slice(concat(coalesce({{o}}, array()), {{n}}), 1, {_MOST_COLLECTED})"}, "{list}", {}, f"the first {_MOST_COLLECTED} values in the order in which they came, nulls apart"),
    "collect_set": Function(
        {"set": f"slice(array_sort(collect_set({{x}})), 1, {_MOST_COLLECTED})"},
        {"set": f"slice(array_distinct(concat(coalesce({{o}}, array()), {{n}})), 1, {_MOST_COLLECTED})"}, "array_sort({set})", {}, f"the first {_MOST_COLLECTED} different values, sorted"),
    "count_distinct": Function(
        {"sketch": "hll_sketch_agg({x})"}, {"sketch": "coalesce(hll_union({o}, {n}), {o}, {n})"}, "coalesce(hll_sketch_estimate({sketch}), 0)", {}, "about how many different values (HyperLogLog, within 2 %)"),
    "topk": Function(
        {"top": "slice(sort_array(collect_list({x}), false), 1, {k})"},
        {"top": "slice(sort_array(concat(coalesce({o}, array()), {n}), false), 1, {k})"}, "{top}", {}, "the k largest values"),
    "topkdistinct": Function(
        {"top": "slice(sort_array(collect_set({x}), false), 1, {k})"},
        {"top": "slice(sort_array(array_distinct(concat(coalesce({o}, array()), {n})), false), 1, {k})"}, "{top}", {}, "the k largest different values"),
    "stddev_samp": Function(
        {"count": "count({x})", "sum": "sum(double({x}))", "squares": "sum(double({x}) * double({x}))"},
        {"count": _ADD, "sum": _ADD, "squares": _ADD}, f"sqrt(CASE WHEN {{count}} > 1 THEN greatest({_VARIANCE}, 0D) END)", {}, "the standard deviation of a sample"),
}  # fmt: skip
_ALIASES: Final = {
    "mean": "avg",
    "last": "latest",
    "last_value": "latest",
    "latest_by_offset": "latest",
    "first": "earliest",
    "first_value": "earliest",
    "earliest_by_offset": "earliest",
    "array_agg": "collect_list",
    "approx_count_distinct": "count_distinct",
    "approx_distinct": "count_distinct",
    "stddev": "stddev_samp",
    "array_unique_agg": "collect_set",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One function of an aggregate; `number` tells its fields from those of others."""

    number: int
    function: Function
    argument: str
    second: str

    def field(self, name: str) -> str:
        return f"{name}_{self.number}"

    def partial(self, *, subtract: bool = False) -> dict[str, str]:
        made = self.function.subtract if subtract else self.function.partial
        return {
            self.field(name): sql.replace("{x}", self.argument).replace("{k}", self.second)
            for name, sql in made.items()
        }

    def merge(self, old: str, new: str) -> dict[str, str]:
        """`old` and `new` are structs of state."""
        merged = {}
        for name, sql in self.function.merge.items():
            for side, struct in (("o", old), ("n", new)):
                sql = sql.replace(f"{{{side}}}", f"{struct}.{self.field(name)}")
                sql = sql.replace(f"{{{side}_order}}", f"{struct}.{self.field('order')}")
            merged[self.field(name)] = sql.replace("{k}", self.second)
        return merged

    def final(self, state: str) -> str:
        sql = self.function.final
        for name in self.function.partial:
            sql = sql.replace(f"{{{name}}}", f"{state}.{self.field(name)}")
        return sql


@dataclass(frozen=True, kw_only=True, slots=True)
class Aggregation:
    """The aggregates of one node."""

    calls: tuple[Call, ...]
    results: Mapping[str, str]
    """Spark SQL of `_state`, by the name of the column."""

    def partial(self, *, subtract: bool = False) -> dict[str, str]:
        return {name: sql for call in self.calls for name, sql in call.partial(subtract=subtract).items()}

    def merge(self, old: str, new: str) -> dict[str, str]:
        return {name: sql for call in self.calls for name, sql in call.merge(old, new).items()}


def aggregation(given: Mapping[str, str], *, subtractable: bool = False) -> Aggregation:
    """Raises InvalidTopology for what is no aggregate, or one that cannot be carried on, with the choices."""
    calls: list[Call] = []
    results = {name: _result(name, sql, calls, subtractable) for name, sql in given.items()}
    return Aggregation(calls=tuple(calls), results=results)


def _result(name: str, sql: str, calls: list[Call], subtractable: bool) -> str:
    try:
        tree = sqlglot.parse_one(sql, dialect=_DIALECT)
    except SqlglotError as error:
        raise InvalidTopology(f"{name}={sql!r} is no expression: {str(error).splitlines()[0]}") from None
    known = len(calls)

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Window):
            raise InvalidTopology(
                f"{name}={sql!r}: OVER is of rows that are all there; window(...) makes windows of time"
            )
        counted = node.this if isinstance(node, exp.Filter) else node
        function = _name_of(counted)
        if function is None:
            return node
        arguments = _arguments(counted)
        if isinstance(node, exp.Filter):
            arguments = _filtered(arguments, node.expression.this)
        calls.append(_call(f"{name}={sql!r}", function, arguments, len(calls), subtractable))
        return sqlglot.parse_one(calls[-1].final(STATE), dialect=_DIALECT)

    result = tree.transform(replaced)
    if len(calls) == known:
        raise InvalidTopology(
            f"{name}={sql!r} has no aggregate function: what is it to be for the many rows of a key? "
            f"The functions are: {', '.join(FUNCTIONS)}"
        )
    alone = [each.name for each in result.find_all(exp.Column) if each.table != STATE and each.name not in _OF_GROUPS]
    if alone:
        raise InvalidTopology(
            f"{name}={sql!r}: {alone[0]} is of a row, and a key has many. Put it into an aggregate function, such as latest({alone[0]})"
        )
    return str(result.sql(dialect=_DIALECT))


def _filtered(arguments: list[exp.Expr], condition: exp.Expr) -> list[exp.Expr]:
    """`FILTER (WHERE condition)`: what does not meet it is null, which no function counts."""
    first = exp.Literal.number(1) if not arguments or isinstance(arguments[0], exp.Star) else arguments[0]
    return [exp.Case(ifs=[exp.If(this=condition.copy(), true=first.copy())]), *arguments[1:]]


def _name_of(node: exp.Expr) -> str | None:
    """The function of ours that a node calls."""
    if isinstance(node, exp.Anonymous):
        name = str(node.this).lower()
    elif isinstance(node, exp.Func):
        name = node.sql_name().lower()
    else:
        return None
    name = _ALIASES.get(name, name)
    if name in FUNCTIONS:
        return name
    if isinstance(node, exp.AggFunc):
        raise InvalidTopology(
            f"the aggregate {name} cannot be carried from one micro-batch to the next. The functions are: {', '.join(FUNCTIONS)}"
        )
    return None


def _call(where: str, function: str, arguments: list[exp.Expr], number: int, subtractable: bool) -> Call:
    if function == "count" and arguments and isinstance(arguments[0], exp.Distinct):
        function, arguments = "count_distinct", list(arguments[0].expressions)
    if arguments and isinstance(arguments[0], exp.Distinct):
        raise InvalidTopology(
            f"{where}: of different values there are count(DISTINCT ...), collect_set(...) and topkdistinct(...), not {function}"
        )
    if any(_name_of(each) for argument in arguments for each in argument.walk()):
        raise InvalidTopology(
            f"{where}: an aggregate of an aggregate needs two: to_stream() of the one, grouped again, makes the other"
        )
    if subtractable and not FUNCTIONS[function].subtract:
        able = [each for each, found in FUNCTIONS.items() if found.subtract]
        raise InvalidTopology(
            f"{where}: {function} of a table cannot take a row out again when it changes. Of tables there are: {', '.join(able)}"
        )
    if not arguments and function != "count":
        raise InvalidTopology(f"{where}: {function} needs an argument")
    texts = [each.sql(dialect=_DIALECT) for each in arguments]
    return Call(
        number=number,
        function=FUNCTIONS[function],
        argument=texts[0] if texts else "*",
        second=texts[1] if len(texts) > 1 else "1",
    )


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    return [each for each in (node.args.get("this"), *node.expressions) if isinstance(each, exp.Expr)]
