"""Aggregates by sliding window: all rows of a key that lie at most so far apart.

For each row at t there is the window [t - difference, t], and, if it is not empty, [t + 1, t + 1 + difference]. So the windows of a
batch are found by the times of the rows, old and new, and each is aggregated anew: what is kept is the state of the rows of
each millisecond.
"""

from typing import TYPE_CHECKING

from stoker.streams.aggregates import STATE, Aggregation, aggregation
from stoker.streams.columns import BEFORE, DELETED, KEY, PARTITION, TIMESTAMP, WINDOW_END, WINDOW_START
from stoker.streams.compiler.aggregation import stored_table, with_results
from stoker.streams.compiler.batch import Batch, coarse
from stoker.streams.compiler.frames import TableFrame
from stoker.streams.compiler.grouping import grouped, milliseconds, without_late
from stoker.streams.nodes import Aggregate
from stoker.streams.state.store import Store
from stoker.streams.windows import SlidingWindow

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_KEYS = [KEY, WINDOW_START, WINDOW_END]
_TIME = "_time"


def aggregate(batch: Batch, node: Aggregate) -> TableFrame:
    functions = aggregation(node.aggregates)
    moments = batch.store(f"{node.name}-rows", [KEY, _TIME])
    store = batch.store(node.name, _KEYS)

    def changed() -> "DataFrame":
        return _windows(batch, node, functions, moments, store)

    if not batch.is_dry and store.is_written and moments.is_written:
        batch.write(moments, moments.read_written(), _expiry(batch, node))
    return stored_table(batch, node, store, _KEYS, list(functions.results), changed)


def _windows(batch: Batch, node: Aggregate, functions: Aggregation, moments: Store, store: Store) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    window = node.window
    assert isinstance(window, SlidingWindow)
    length = window.difference
    new = batch.write(moments, _moments(batch, node, functions, moments, window), _expiry(batch, node))
    keys = new.select(KEY).distinct()
    everything = moments.rows_after(new, where=_expiry(batch, node)) if not batch.is_dry else new.drop(DELETED)
    everything = batch.keep(everything.join(keys, [KEY], "left_semi").withColumnRenamed(_TIME, "_at"))
    changed = new.select(F.col(KEY).alias("_new_key"), F.col(_TIME).alias("_new_at"), F.col("_now").alias("_new_now"))
    both = F.array(F.greatest(F.col("_at"), F.lit(length)), F.col("_at") + 1 + length)  # no window begins before 1970
    ends = everything.select(KEY, F.explode(both).alias("_end")).distinct()
    touched = (
        (F.col(KEY) == F.col("_new_key"))
        & (F.col("_new_at") <= F.col("_end"))
        & (F.col("_new_at") >= F.col("_end") - length)
        & (F.col("_end") + window.grace >= F.col("_new_now"))
    )
    ends = ends.join(changed, touched, "left_semi")
    rows = everything.withColumnRenamed(KEY, "_row_key")
    inside = (F.col(KEY) == F.col("_row_key")) & F.col("_at").between(F.col("_end") - length, F.col("_end"))
    state = ", ".join(f"{sql} AS {name}" for name, sql in functions.merge("so_far", "each.state").items())
    kind = new.schema[STATE].dataType.simpleString()
    states = f"array_sort(collect_list(struct(_at AS at, {STATE} AS state)))"
    made = (
        ends.join(rows, inside, "inner")
        .groupBy(KEY, "_end")
        .agg(
            F.expr(
                f"aggregate(slice({states}, 2, 2147483647), {states}[0].state, "
                f"(so_far, each) -> CAST(struct({state}) AS {kind}))"
            ).alias(STATE),
            F.max(TIMESTAMP).alias(TIMESTAMP),
            F.max(PARTITION).alias(PARTITION),
        )
        .select(
            KEY,
            F.timestamp_millis(F.col("_end") - length).alias(WINDOW_START),
            F.timestamp_millis("_end").alias(WINDOW_END),
            STATE,
            TIMESTAMP,
            PARTITION,
        )
    )
    made = with_results(made, functions)
    before = store.rows_before(made).select(*_KEYS, F.struct(*functions.results).alias(BEFORE))
    return made.join(before, _KEYS, "left")


def _moments(
    batch: Batch, node: Aggregate, functions: Aggregation, moments: Store, window: SlidingWindow
) -> "DataFrame":
    """The state of the rows of each key and millisecond that has new ones."""
    from pyspark.sql import functions as F  # noqa: N812

    if not batch.is_dry and moments.is_written:
        return moments.read_written()
    rows, now = grouped(batch, node)
    rows = rows.withColumn(_TIME, milliseconds())
    rows = without_late(batch, node, rows, F.col(_TIME) + (window.difference + window.grace) < now).where(
        F.col(_TIME) >= 0
    )
    new = rows.groupBy(KEY, _TIME).agg(
        F.struct(*[F.expr(sql).alias(name) for name, sql in functions.partial().items()]).alias(STATE),
        F.max(TIMESTAMP).alias(TIMESTAMP),
        F.max(PARTITION).alias(PARTITION),
        F.min(now).alias("_now"),
    )
    new = new.withColumn(DELETED, F.lit(False))
    kind = new.schema[STATE].dataType
    old = moments.rows_before(new).select(KEY, _TIME, F.col(STATE).alias("_old"))
    both = new.withColumnRenamed(STATE, "_new").join(old, [KEY, _TIME], "left")
    state = F.struct(*[F.expr(sql).alias(name) for name, sql in functions.merge("_old", "_new").items()]).cast(kind)
    return both.withColumn(STATE, state).drop("_old", "_new")


def _expiry(batch: Batch, node: Aggregate) -> "Column":
    """Rows that no new row can share a window with any more are forgotten."""
    from pyspark.sql import functions as F  # noqa: N812

    window = node.window
    assert isinstance(window, SlidingWindow)
    times = [time for clock in batch.manifest.clocks.values() for time in clock.values()]
    return F.col(_TIME) >= coarse(min(times, default=0) - 2 * (window.difference + 1) - window.grace)
