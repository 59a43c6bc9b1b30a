"""ksqlDB's aggregate functions: as Spark has them, and as the aggregates of `stoker.streams`, which keep their state.

`{order}` is what tells which record came later.
"""

from typing import Final

from sqlglot import exp

from stoker.streams.sql.calls import Build, Call, Function, FunctionKind, Returns, filled
from stoker.streams.sql.types import BIGINT, DOUBLE, INTEGER, STRING, Array, Map, SqlType

ORDER: Final = "{order}"
_WITH_NULLS: Final = "transform({function}(named_struct('v', {0})), __e -> __e.v)"
_COUNTED: Final = (
    "map_from_entries(transform(slice(array_distinct(collect_list({0})), 1, 1000), __k -> named_struct("
    "'k', CAST(__k AS STRING), 'v', CAST(array_size(filter(collect_list({0}), __v -> __v = __k)) AS BIGINT))))"
)


def _first(call: Call) -> SqlType | None:
    return call.types[0] if call.types else None


def _many(call: Call) -> SqlType | None:
    kind = _first(call)
    return Array(kind) if kind else None


def _one(call: Call) -> SqlType | None:
    return _first(call) if len(call.arguments) == 1 else None


def _sum(call: Call) -> SqlType | None:
    kind = _first(call)
    return BIGINT if kind in (INTEGER, BIGINT) else kind if kind == DOUBLE else None


def _by_order(function: str, in_order: str) -> Build:
    """EARLIEST_BY_OFFSET and LATEST_BY_OFFSET; `in_order` puts several in the order in which they came."""

    def build(call: Call) -> str:
        count, nulls_too = _options(call)
        value = call.texts[0]
        found = f"{function}({value}, {ORDER}, {count})" if count else f"{function}({value}, {ORDER})"
        if not nulls_too:
            found += f" FILTER (WHERE {value} IS NOT NULL)"
        return in_order.replace("{found}", found) if count else found

    return build


def _by_order_for_streams(function: str) -> Build:
    def build(call: Call) -> str:
        count, nulls_too = _options(call)
        if count or nulls_too:
            call.refuse("a running query can only keep one value that is not null")
        return f"{function}({call.texts[0]})"

    return build


def _options(call: Call) -> tuple[int | None, bool]:
    """How many values, if not one; and whether those count that are null. After the value: [count][, ignore nulls]."""
    options = list(range(1, len(call.arguments)))
    nulls_too = False
    if options and isinstance(call.arguments[options[-1]], exp.Boolean):
        nulls_too = not call.arguments[options.pop()].this
    if len(options) > 1:
        call.refuse("what is after the count must be TRUE or FALSE", options[-1])
    count = call.integer(1, "the count") if options else None
    if count is not None and count < 1:
        call.refuse("the count must be at least 1", 1)
    return count, nulls_too


def _top(template: str) -> Build:
    """TOPK(value[, other, ...], count): with others, structs of them and of the value, which is `sort_col`."""

    def build(call: Call) -> str:
        value, *others, count = call.texts
        call.integer(len(call.arguments) - 1, "the count")
        if others:
            fields = "".join(f", 'col{number}', {other}" for number, other in enumerate(others))
            value = f"CASE WHEN {value} IS NOT NULL THEN named_struct('sort_col', {value}{fields}) END"
        return filled(template, [value, count])

    return build


def _of(
    name: str,
    arguments: str,
    spark: str | tuple[str, ...] | Build,
    streams: str | tuple[str, ...] | Build | None,
    returns: Returns,
    description: str,
    counts: tuple[int, int | None] | None = None,
) -> Function:
    return Function(
        name=name, arguments=arguments, spark=spark, streams=streams, returns=returns, description=description,
        kind=FunctionKind.AGGREGATE, counts=counts,
    )  # fmt: skip


AGGREGATES: Final = (
    _of("AVG", "number", "try_avg({0})", "avg({0})", DOUBLE, "The mean."),
    _of("COLLECT_LIST", "value", _WITH_NULLS.replace("{function}", "collect_list"), "collect_list({0})", _many, "All values, as an array."),
    _of("COLLECT_SET", "value", _WITH_NULLS.replace("{function}", "collect_set"), "collect_set({0})", _many, "All values, each once, as an array."),
    _of("CORRELATION", "x, y", "corr({0}, {1})", None, DOUBLE, "Pearson's correlation of two numbers."),
    _of("COUNT", "* or value", ("count(*)", "count({0})"), ("count(*)", "count({0})"), BIGINT, "How many rows there are, or how many whose value is not null."),
    _of("COUNT_DISTINCT", "value", "approx_count_distinct({0})", "count_distinct({0})", BIGINT, "About how many different values there are."),
    _of("EARLIEST_BY_OFFSET", "value[, count][, ignore nulls]", _by_order("min_by", "{found}"), _by_order_for_streams("earliest"), _one, "The value that came first, or so many of them; nulls are left out unless the last argument is FALSE.", (1, 3)),
    _of("HISTOGRAM", "value", _COUNTED, None, Map(STRING, BIGINT), "How often each value occurs, as a map; for the first 1000 values."),
    _of("LATEST_BY_OFFSET", "value[, count][, ignore nulls]", _by_order("max_by", "reverse({found})"), _by_order_for_streams("latest"), _one, "The value that came last, or so many of them; nulls are left out unless the last argument is FALSE.", (1, 3)),
    _of("MAX", "value", "max({0})", "max({0})", _first, "The largest value."),
    _of("MIN", "value", "min({0})", "min({0})", _first, "The smallest value."),
    _of("STDDEV_SAMP", "number", "stddev_samp({0})", "stddev_samp({0})", DOUBLE, "The standard deviation of a sample (ksqlDB's is the square of it, by mistake)."),
    _of("STDDEV_SAMPLE", "number", "stddev_samp({0})", "stddev_samp({0})", DOUBLE, "The standard deviation of a sample."),
    _of("SUM", "number", "try_sum({0})", "sum({0})", _sum, "The sum."),
    _of("TOPK", "value[, other, ...], count", _top("slice(sort_array(collect_list({0}), false), 1, {1})"), _top("topk({0}, {1})"), lambda call: _many(call) if len(call.arguments) == 2 else None, "The largest values, so many of them; with others, structs of them.", (2, None)),
    _of("TOPKDISTINCT", "value, count", "slice(sort_array(collect_set({0}), false), 1, {1})", "topkdistinct({0}, {1})", _many, "The largest values, each once, so many of them."),
)  # fmt: skip
