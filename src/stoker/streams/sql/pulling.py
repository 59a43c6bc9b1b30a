"""Pull queries: what a table is now. Of one that a query keeps, from its store; of a topic, by reading it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from stoker.streams.errors import StoreNotFound
from stoker.streams.sql.catalogue import Source
from stoker.streams.sql.conversion import quoted_name
from stoker.streams.sql.errors import SqlError
from stoker.streams.sql.grouping import HAVING
from stoker.streams.sql.projection import Item, items_of
from stoker.streams.sql.results import Rows, in_utc
from stoker.streams.sql.scope import Field, Scope, Typing
from stoker.streams.sql.state import Materialized
from stoker.streams.sql.statements import Query
from stoker.streams.sql.topics import spark_type
from stoker.streams.sql.types import BIGINT, SqlType
from stoker.streams.state.snapshots import KeyValue, StoreSnapshot, WindowedValue

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from stoker.streams.state.views import StoreView

_WINDOW: Final = ("WINDOWSTART", "WINDOWEND")
Row = dict[str, Any]


def refuse_what_only_push_has(query: Query) -> None:
    for present, what in (
        (query.joins, "JOIN"),
        (query.group_by, "GROUP BY"),
        (query.partition_by, "PARTITION BY"),
        (query.window, "WINDOW"),
        (query.having, "HAVING"),
    ):
        if present:
            raise SqlError(
                f"{what} needs a query that goes on: add EMIT CHANGES, or CREATE TABLE ... AS SELECT and ask that",
                query.source.name,
            )


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a condition says of the key: these values, or a range, both ends included; None for no bound."""

    values: tuple[Any, ...] | None = None
    first: Any = None
    last: Any = None


def pull_from_store(
    query: Query, source: Source, kept: Materialized, view: "StoreView", session: "Callable[[], SparkSession]"
) -> Rows:
    """Raises SqlError, and InvalidQuery for a key of another type."""
    fields = _fields(source, query)
    scope = Scope(fields, {})
    items = items_of(query.items, scope)
    condition = None if query.where is None else scope.resolved(query.where)
    wanted = _wanted(condition, kept, source)
    try:
        answer = view.read(lambda store: [_row(each, kept) for each in _entries(store, wanted)])
    except StoreNotFound:
        return Rows(columns=[each.name for each in items], rows=[], note="the query has read nothing yet")
    rows = [each for each in answer.value if not kept.has_having or each.get(HAVING)]
    types = {each.column: each.type for each in fields}
    found = _evaluated(rows, items, condition, types, scope, session, wanted)
    return Rows(
        columns=[each.name for each in items],
        rows=found if query.limit is None else found[: query.limit],
        note=f"as of {answer.staleness:.1f} s ago",
    )


def _fields(source: Source, query: Query) -> list[Field]:
    relation = str(query.source.alias or query.source.name)
    made = [Field(relation=relation, name=each.name, column=each.name, type=each.type) for each in source.columns]
    if source.window is not None:
        place = len(source.keys)
        made[place:place] = [Field(relation=relation, name=name, column=name, type=BIGINT) for name in _WINDOW]
    return made


def _entries(store: StoreSnapshot, wanted: Wanted) -> "Iterable[KeyValue | WindowedValue]":
    if wanted.values is None:
        if wanted.first is None and wanted.last is None:
            return store.all()
        return store.range(wanted.first, wanted.last)
    return [entry for each in wanted.values for entry in store.range(each, each)]


def _row(entry: "KeyValue | WindowedValue", kept: Materialized) -> Row:
    """By the names of the table's columns."""
    values = entry.value if isinstance(entry.value, dict) else {"value": entry.value}
    row: Row = dict(values)
    key = entry.key
    parts = list(key.values()) if isinstance(key, dict) and len(kept.keys) > 1 else [key]
    row |= {name: part for name, part in zip(kept.keys, parts, strict=True) if name is not None}
    if isinstance(entry, WindowedValue):
        row |= {"WINDOWSTART": _milliseconds(entry.window_start), "WINDOWEND": _milliseconds(entry.window_end)}
    row |= {name: row.get(time) for name, time in kept.times.items()}
    return row


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _wanted(condition: exp.Expr | None, kept: Materialized, source: Source) -> Wanted:
    """What the condition says of a key of one column; more rows than it wants may come of it, but none is missing."""
    if condition is None or len(kept.keys) != 1 or kept.keys[0] is None:
        return Wanted()
    first = last = None
    for each in condition.flatten() if isinstance(condition, exp.And) else [condition]:
        part = each.unnest()
        match part:
            case exp.In() if _is_column(part.this, kept.keys[0]):
                values = [_literal(value) for value in part.expressions]
                if None not in values:
                    return Wanted(values=tuple(dict.fromkeys(values)))
            case exp.Between() if _is_column(part.this, kept.keys[0]):
                first, last = _literal(part.args["low"]), _literal(part.args["high"])
            case exp.EQ() | exp.GT() | exp.GTE() | exp.LT() | exp.LTE():
                is_left = _is_column(part.this, kept.keys[0])
                if not is_left and not _is_column(part.expression, kept.keys[0]):
                    continue
                value = _literal(part.expression if is_left else part.this)
                if value is None:
                    continue
                if isinstance(part, exp.EQ):
                    return Wanted(values=(value,))
                if isinstance(part, exp.GT | exp.GTE) == is_left:
                    first = value
                else:
                    last = value
    return Wanted(first=first, last=last)


def _is_column(node: exp.Expr, name: str) -> bool:
    return isinstance(node, exp.Column) and node.name == name


def _literal(node: exp.Expr) -> Any:
    """Of a value that is written out; None of what is not."""
    negative = isinstance(node, exp.Neg)
    inner = node.this if negative else node
    if not isinstance(inner, exp.Literal):
        return inner.this if isinstance(inner, exp.Boolean) else None
    if inner.is_string:
        return inner.name
    number: int | float = int(inner.name) if inner.name.isdecimal() else float(inner.name)
    return -number if negative else number


def _evaluated(
    rows: list[Row],
    items: Sequence[Item],
    condition: exp.Expr | None,
    types: dict[str, SqlType],
    scope: Scope,
    session: "Callable[[], SparkSession]",
    wanted: Wanted,
) -> list[tuple[Any, ...]]:
    """Plain columns by keys alone need no Spark."""
    is_plain = all(isinstance(each.expression, exp.Column) for each in items)
    by_key_alone = wanted.values is not None and isinstance(condition, exp.EQ | exp.In)
    if is_plain and (condition is None or by_key_alone):
        return [tuple(row.get(each.expression.name) for each in items) for row in rows]
    from pyspark.sql.types import StructField, StructType

    typing = Typing(session())
    typing.types(scope, [each.expression for each in items] + ([] if condition is None else [condition]))
    schema = StructType([StructField(name, spark_type(kind)) for name, kind in types.items()])
    frame = typing.spark.createDataFrame([tuple(row.get(name) for name in types) for row in rows], schema)
    if condition is not None:
        frame = frame.where(scope.text(condition))
    made = frame.selectExpr(*[f"{scope.text(each.expression)} AS {quoted_name(each.name)}" for each in items])
    return [tuple(in_utc(value) for value in row) for row in made.collect()]
