"""Aggregates by session: rows of a key with no gap longer than the window's."""

from typing import TYPE_CHECKING

from stoker.streams.aggregates import STATE, Aggregation, aggregation
from stoker.streams.columns import BEFORE, DELETED, KEY, PARTITION, TIMESTAMP, WINDOW_END, WINDOW_START
from stoker.streams.compiler.aggregation import stored_table, with_results
from stoker.streams.compiler.batch import Batch
from stoker.streams.compiler.frames import TableFrame
from stoker.streams.compiler.grouping import grouped, milliseconds, without_late
from stoker.streams.nodes import Aggregate
from stoker.streams.state.store import Store
from stoker.streams.windows import SessionWindow

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

_KEYS = [KEY, WINDOW_START, WINDOW_END]


def aggregate(batch: Batch, node: Aggregate) -> TableFrame:
    functions = aggregation(node.aggregates)
    store = batch.store(node.name, _KEYS)

    def changed() -> "DataFrame":
        return _merged(batch, node, functions, store)

    return stored_table(batch, node, store, _KEYS, list(functions.results), changed)


def _merged(batch: Batch, node: Aggregate, functions: Aggregation, store: Store) -> "DataFrame":
    """Sessions of this batch and earlier ones of the same keys that they touch become one; the earlier ones are deleted."""
    from pyspark.sql import Window as Over
    from pyspark.sql import functions as F  # noqa: N812

    window = node.window
    assert isinstance(window, SessionWindow)
    rows, now = grouped(batch, node)
    rows = rows.withColumn("__time", milliseconds()).withColumn("__now", now)
    rows = batch.keep(rows.withColumn("__late", F.col("__time") + (window.gap + window.grace) < F.col("__now")))
    like = with_results(_of_rows(rows, functions, window), functions)
    # A session that is closed for all rows of its key is over, even for one that comes within the gap.
    keys = rows.groupBy(KEY).agg(F.min("__now").alias("_first_now"))
    is_open = F.unix_millis(WINDOW_END) + (window.gap + window.grace) > F.col("_first_now")
    earlier = store.rows_before(like).join(keys, [KEY], "inner").where(is_open).drop("_first_now")
    rows = _without_lonely_late(batch, node, rows, earlier, functions, window)
    fresh = _of_rows(rows, functions, window).withColumn("_fresh", F.lit(True))
    known = earlier.select(*fresh.drop("_fresh").columns).withColumn("_fresh", F.lit(False))
    both = fresh.unionByName(known)
    start, end = F.unix_millis(WINDOW_START), F.unix_millis(WINDOW_END)
    order = Over.partitionBy(KEY).orderBy(start, end)
    furthest = F.max(end).over(order.rowsBetween(Over.unboundedPreceding, -1))
    number = F.sum(F.when(start > furthest + window.gap, 1).otherwise(0)).over(order)
    numbered = both.withColumn("_number", F.coalesce(number, F.lit(0)))
    folded = numbered.groupBy(KEY, "_number").agg(
        F.min(WINDOW_START).alias(WINDOW_START),
        F.max(WINDOW_END).alias(WINDOW_END),
        F.max("_fresh").alias("_fresh"),
        _folded(functions, fresh.schema[STATE].dataType),
        F.max(TIMESTAMP).alias(TIMESTAMP),
        F.max(PARTITION).alias(PARTITION),
        F.collect_list(F.when(~F.col("_fresh"), F.struct(WINDOW_START, WINDOW_END, STATE))).alias("_parts"),
    )
    touched = folded.where("_fresh").drop("_fresh", "_number")
    results = list(functions.results)
    made = with_results(touched.drop("_parts"), functions)
    was_there = F.filter(
        "_parts", lambda each: (each[WINDOW_START] == F.col(WINDOW_START)) & (each[WINDOW_END] == F.col(WINDOW_END))
    )
    old = touched.select(*_KEYS, F.get(was_there, F.lit(0))[STATE].alias(STATE)).where(F.col(STATE).isNotNull())
    before = with_results(old, functions).select(*_KEYS, F.struct(*results).alias(BEFORE))
    made = made.join(before, _KEYS, "left")
    gone = touched.select(
        KEY,
        F.col(WINDOW_START).alias("_start"),
        F.col(WINDOW_END).alias("_end"),
        F.explode("_parts").alias("_part"),
        TIMESTAMP,
        PARTITION,
    )
    gone = gone.where(
        (F.col(f"_part.{WINDOW_START}") != F.col("_start")) | (F.col(f"_part.{WINDOW_END}") != F.col("_end"))
    )
    gone = gone.select(KEY, f"_part.{WINDOW_START}", f"_part.{WINDOW_END}", f"_part.{STATE}", TIMESTAMP, PARTITION)
    gone = with_results(gone, functions).withColumn(BEFORE, F.struct(*results)).withColumn(DELETED, F.lit(True))
    return made.unionByName(
        gone.select(
            *[
                F.lit(None).cast(gone.schema[name].dataType).alias(name) if name in results else F.col(name)
                for name in made.columns
            ]
        )
    )


def _of_rows(rows: "DataFrame", functions: Aggregation, window: SessionWindow) -> "DataFrame":
    """The sessions that the rows of this batch make by themselves."""
    from pyspark.sql import Window as Over
    from pyspark.sql import functions as F  # noqa: N812

    order = Over.partitionBy(KEY).orderBy("__time")
    is_new = F.col("__time") - F.lag("__time").over(order) > window.gap
    number = F.coalesce(F.sum(F.when(is_new, 1).otherwise(0)).over(order), F.lit(0))
    return (
        rows.withColumn("_number", number)
        .groupBy(KEY, "_number")
        .agg(
            F.timestamp_millis(F.min("__time")).alias(WINDOW_START),
            F.timestamp_millis(F.max("__time")).alias(WINDOW_END),
            F.struct(*[F.expr(sql).alias(name) for name, sql in functions.partial().items()]).alias(STATE),
            F.max(TIMESTAMP).alias(TIMESTAMP),
            F.max(PARTITION).alias(PARTITION),
        )
        .drop("_number")
    )


def _folded(functions: Aggregation, kind: "DataType") -> "Column":
    """The states of several sessions as one, in the order of their times."""
    from pyspark.sql import functions as F  # noqa: N812

    state = ", ".join(f"{sql} AS {name}" for name, sql in functions.merge("so_far", "each.state").items())
    states = f"array_sort(collect_list(struct({WINDOW_START} AS at, _fresh AS fresh, {STATE} AS state)))"
    return F.expr(
        f"aggregate(slice({states}, 2, 2147483647), {states}[0].state, "
        f"(so_far, each) -> CAST(struct({state}) AS {kind.simpleString()}))"
    ).alias(STATE)


def _without_lonely_late(
    batch: Batch,
    node: Aggregate,
    rows: "DataFrame",
    earlier: "DataFrame",
    functions: Aggregation,
    window: SessionWindow,
) -> "DataFrame":
    """A row whose time is past is late, unless it belongs to a session that is not."""
    from pyspark.sql import functions as F  # noqa: N812

    late = rows.where("__late")
    sessions = _of_rows(rows.where("NOT __late"), functions, window).select(*_KEYS).unionByName(earlier.select(*_KEYS))
    alive = sessions.select(
        F.col(KEY).alias("__key"),
        F.unix_millis(WINDOW_START).alias("__start"),
        F.unix_millis(WINDOW_END).alias("__end"),
    )
    belongs = (
        (F.col(KEY) == F.col("__key"))
        & F.col("__time").between(F.col("__start") - window.gap, F.col("__end") + window.gap)
        & (F.col("__end") + (window.gap + window.grace) >= F.col("__now"))
    )
    saved = late.join(alive, belongs, "left_semi").withColumn("__late", F.lit(False))
    lost = late.join(alive, belongs, "left_anti")
    everything = rows.where("NOT __late").unionByName(saved).unionByName(lost)
    return without_late(batch, node, everything, F.col("__late"))
