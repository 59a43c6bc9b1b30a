"""Aggregates by session: rows of a key with no gap longer than the window's.

A session is open as long as stream time has not passed its end by more than gap and grace. A row that is no later than the grace finds every
session within the gap still open, so that the order of such rows does not matter: they are made into sessions by themselves
(`_items`). A row that is later finds some closed; it is taken by itself, in its turn (`_folded`).
"""

from typing import TYPE_CHECKING

from stoker.streams.aggregates import ORDER, STATE, Aggregation, aggregation
from stoker.streams.columns import BEFORE, DELETED, KEY, PARTITION, TIMESTAMP, WINDOW_END, WINDOW_START
from stoker.streams.compiler.aggregation import still_counts, stored_table, with_results
from stoker.streams.compiler.batch import NEVER, Batch, late_name
from stoker.streams.compiler.frames import TableFrame
from stoker.streams.compiler.grouping import grouped, milliseconds
from stoker.streams.nodes import Aggregate
from stoker.streams.state.store import Store
from stoker.streams.windows import SessionWindow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEYS = [KEY, WINDOW_START, WINDOW_END]
_TIME, _NOW = "__time", "__now"
_TURN = "__turn"
"""How many rows of the key that are later than the grace have come up to this one."""
_ALONE = "__alone"
"""The time of a row that is later than the grace; null for others."""


def aggregate(batch: Batch, node: Aggregate) -> TableFrame:
    functions = aggregation(node.aggregates)
    store = batch.store(node.name, _KEYS)
    window = node.window
    assert isinstance(window, SessionWindow)
    rows = _rows(batch, node, window)
    folded = _folded(batch, node, _items(rows, functions, window), functions, store, window)
    lost = folded.selectExpr(KEY, "explode(_folded.lost) AS _lost").select(KEY, "_lost.*")
    batch.late_rows[node] = rows.join(lost, [KEY, _TURN, _ALONE], "left_semi").drop(ORDER, _TIME, _NOW, _TURN, _ALONE)

    def changed() -> "DataFrame":
        return _changes(folded, functions)

    return stored_table(batch, node, store, _KEYS, list(functions.results), changed, still_counts(batch, node))


def _rows(batch: Batch, node: Aggregate, window: SessionWindow) -> "DataFrame":
    from pyspark.sql import Window as Over
    from pyspark.sql import functions as F  # noqa: N812

    rows, now = grouped(batch, node)
    rows = rows.withColumns({_TIME: milliseconds(), _NOW: now})
    rows = rows.withColumn(_ALONE, F.when(F.col(_TIME) + window.grace < F.col(_NOW), F.col(_TIME)))
    return rows.withColumn(_TURN, F.count(_ALONE).over(Over.partitionBy(KEY).orderBy(ORDER)))


def _items(rows: "DataFrame", functions: Aggregation, window: SessionWindow) -> "DataFrame":
    """Sessions of rows of this batch that come in the same turn, and rows that come alone."""
    from pyspark.sql import Window as Over
    from pyspark.sql import functions as F  # noqa: N812

    turn = [KEY, _TURN, _ALONE]
    order = Over.partitionBy(*turn).orderBy(_TIME)
    is_new = F.col(_TIME) - F.lag(_TIME).over(order) > window.gap
    number = F.sum(F.when(is_new, 1).otherwise(0)).over(order)
    now = F.when(F.col(_ALONE).isNotNull(), F.max(_NOW)).otherwise(F.lit(NEVER))
    return (
        rows.withColumn("__number", number)
        .groupBy(*turn, "__number")
        .agg(
            F.struct(
                F.col(_TURN).alias("turn"), F.col(_ALONE).isNull().alias("after"), F.min(_TIME).alias("start")
            ).alias("at"),
            now.alias("now"),
            F.count(F.lit(1)).alias("rows"),
            F.struct(
                F.min(_TIME).alias("start"),
                F.max(_TIME).alias("end"),
                F.struct(*[F.expr(sql).alias(name) for name, sql in functions.partial().items()]).alias("state"),
                F.max(TIMESTAMP).alias("timestamp"),
                F.max(PARTITION).alias("partition"),
                F.lit(True).alias("is_new"),
            ).alias("session"),
        )
    )


def _folded(
    batch: Batch, node: Aggregate, items: "DataFrame", functions: Aggregation, store: Store, window: SessionWindow
) -> "DataFrame":
    """By key: its sessions before the batch that may be open (`_earlier`), and what they have become (`_folded`)."""
    from pyspark.sql import functions as F  # noqa: N812

    listed = items.groupBy(KEY).agg(
        F.array_sort(F.collect_list(F.struct("at", "now", "rows", _TURN, _ALONE, "session"))).alias("_items")
    )
    kind = items.schema["session"].dataType.simpleString()
    like = with_results(
        items.selectExpr(
            KEY,
            f"timestamp_millis(session.start) AS {WINDOW_START}",
            f"timestamp_millis(session.end) AS {WINDOW_END}",
            f"session.state AS {STATE}",
            f"session.timestamp AS {TIMESTAMP}",
            f"session.partition AS {PARTITION}",
        ),
        functions,
    )
    is_open = F.unix_millis(WINDOW_END) >= batch.since(node.name, window.gap + window.grace)
    session = F.struct(
        F.unix_millis(WINDOW_START).alias("start"),
        F.unix_millis(WINDOW_END).alias("end"),
        F.col(STATE).alias("state"),
        F.col(TIMESTAMP).alias("timestamp"),
        F.col(PARTITION).alias("partition"),
        F.lit(False).alias("is_new"),
    )
    earlier = store.rows_before(like).where(is_open).groupBy(KEY).agg(F.collect_list(session).alias("_earlier"))
    both = listed.join(earlier, [KEY], "left").withColumn(
        "_earlier", F.expr(f"coalesce(_earlier, CAST(array() AS array<{kind}>))")
    )
    lost = f"array<struct<{_TURN}: bigint, {_ALONE}: bigint, rows: bigint>>"
    first = (
        f"CAST(named_struct('sessions', _earlier, 'lost', array()) AS struct<sessions: array<{kind}>, lost: {lost}>)"
    )
    made = both.withColumn("_folded", F.expr(f"aggregate(_items, {first}, {_step(functions, kind, lost, window)})"))
    late = F.expr("aggregate(_folded.lost, 0L, (sum, each) -> sum + each.rows)")
    return batch.observe(made.drop("_items"), late_name(node.name), late=F.sum(late))


def _step(functions: Aggregation, kind: str, lost: str, window: SessionWindow) -> str:
    """The sessions so far and an item that comes: with those that are open for it, and near, it becomes one."""
    near = (
        f"(one.start <= item.session.end + {window.gap} AND one.end >= item.session.start - {window.gap} "
        f"AND one.end + {window.gap + window.grace} >= item.now)"
    )
    touched = f"filter(so_far.sessions, one -> {near})"
    state = ", ".join(f"'{name}', {sql}" for name, sql in functions.merge("whole.state", "each.state").items())
    merged = (
        f"aggregate(concat(array_sort({touched}), array(item.session)), CAST(NULL AS {kind}), (whole, each) -> "
        "IF(whole IS NULL, each, CAST(named_struct("
        "'start', least(whole.start, each.start), 'end', greatest(whole.end, each.end), "
        f"'state', named_struct({state}), 'timestamp', greatest(whole.timestamp, each.timestamp), "
        f"'partition', each.partition, 'is_new', true) AS {kind})))"
    )
    is_late = f"(item.session.end + {window.gap + window.grace} < item.now AND size({touched}) = 0)"
    return (
        f"(so_far, item) -> named_struct("
        f"'sessions', IF({is_late}, so_far.sessions, "
        f"concat(filter(so_far.sessions, one -> NOT {near}), array({merged}))), "
        f"'lost', IF({is_late}, CAST(concat(so_far.lost, array(named_struct("
        f"'{_TURN}', item.{_TURN}, '{_ALONE}', item.{_ALONE}, 'rows', item.rows))) AS {lost}), so_far.lost))"
    )


def _changes(folded: "DataFrame", functions: Aggregation) -> "DataFrame":
    """Sessions that are new or other than before, and those that are there no more, deleted."""
    from pyspark.sql import functions as F  # noqa: N812

    is_same = "(one.start = other.start AND one.end = other.end)"
    new = (
        "transform(filter(_folded.sessions, one -> one.is_new), one -> named_struct('session', one, 'is_deleted', false, "
        f"'before', get(filter(_earlier, other -> {is_same}), 0).state))"
    )
    gone = (
        f"transform(filter(_earlier, one -> NOT exists(_folded.sessions, other -> {is_same})), one -> "
        "named_struct('session', one, 'is_deleted', true, 'before', one.state))"
    )
    rows = folded.select(KEY, F.explode(F.expr(f"concat({new}, {gone})")).alias("_row"))
    results = functions.results
    rows = rows.selectExpr(
        KEY,
        f"timestamp_millis(_row.session.start) AS {WINDOW_START}",
        f"timestamp_millis(_row.session.end) AS {WINDOW_END}",
        "_row.session.state AS _new",
        f"_row.before AS {STATE}",
        f"_row.session.timestamp AS {TIMESTAMP}",
        f"_row.session.partition AS {PARTITION}",
        f"_row.is_deleted AS {DELETED}",
    )
    before = F.when(F.col(STATE).isNotNull(), F.struct(*[F.expr(sql).alias(name) for name, sql in results.items()]))
    rows = rows.withColumn(BEFORE, before).drop(STATE).withColumnRenamed("_new", STATE)
    made = [F.when(~F.col(DELETED), F.expr(sql)).alias(name) for name, sql in results.items()]
    return rows.select(*_KEYS, STATE, TIMESTAMP, PARTITION, *made, DELETED, BEFORE)
