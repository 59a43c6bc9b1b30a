"""Aggregates by sliding window: all rows of a key that lie at most so far apart.

For each row at t there is the window [t - difference, t], and, if it is not empty, [t + 1, t + 1 + difference]. So the windows of a
batch are found by the times of the rows, old and new, and each is aggregated anew: what is kept is the state of the rows of each
millisecond. A row that is later than the grace is not in windows that were closed when it came: it counts `since` a time, and in
windows that end then or later.
"""

from typing import TYPE_CHECKING

from stoker.streams.aggregates import STATE, Aggregation, aggregation
from stoker.streams.columns import BEFORE, DELETED, KEY, PARTITION, TIMESTAMP, WINDOW_END, WINDOW_START
from stoker.streams.compiler.aggregation import still_counts, stored_table, with_results
from stoker.streams.compiler.batch import Batch
from stoker.streams.compiler.frames import TableFrame
from stoker.streams.compiler.grouping import grouped, milliseconds, without_late
from stoker.streams.nodes import Aggregate
from stoker.streams.state.store import Store
from stoker.streams.windows import SlidingWindow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEYS = [KEY, WINDOW_START, WINDOW_END]
_TIME, _SINCE = "_time", "_since"
_MOMENT = [KEY, _TIME, _SINCE]


def aggregate(batch: Batch, node: Aggregate) -> TableFrame:
    functions = aggregation(node.aggregates)
    moments = batch.store(f"{node.name}-rows", _MOMENT)
    store = batch.store(node.name, _KEYS)
    window = node.window
    assert isinstance(window, SlidingWindow)
    rows = _rows(batch, node, window)
    new = _moments(batch, node, rows, functions, moments, window)

    def changed() -> "DataFrame":
        return _windows(batch, new, functions, moments, store, window)

    return stored_table(batch, node, store, _KEYS, list(functions.results), changed, still_counts(batch, node))


def _rows(batch: Batch, node: Aggregate, window: SlidingWindow) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    rows, now = grouped(batch, node)
    time = milliseconds()
    rows = without_late(batch, node, rows, time + (window.difference + window.grace) < now)
    return rows.withColumns({_TIME: time, _SINCE: F.greatest(time, now - window.grace)})


def _moments(
    batch: Batch,
    node: Aggregate,
    rows: "DataFrame",
    functions: Aggregation,
    moments: Store,
    window: SlidingWindow,
) -> "DataFrame":
    """The state of the rows of each key and millisecond that has new ones; kept as long as a new row may share a window."""
    from pyspark.sql import functions as F  # noqa: N812

    def changed() -> "DataFrame":
        new = rows.groupBy(*_MOMENT).agg(
            F.struct(*[F.expr(sql).alias(name) for name, sql in functions.partial().items()]).alias(STATE),
            F.max(TIMESTAMP).alias(TIMESTAMP),
            F.max(PARTITION).alias(PARTITION),
            F.lit(False).alias(DELETED),
        )
        old = moments.rows_before(new).select(*_MOMENT, F.col(STATE).alias("_old"))
        both = new.withColumnRenamed(STATE, "_new").join(old, _MOMENT, "left")
        state = F.struct(*[F.expr(sql).alias(name) for name, sql in functions.merge("_old", "_new").items()])
        kind = new.schema[STATE].dataType
        return both.select(*_MOMENT, state.cast(kind.simpleString()).alias(STATE), TIMESTAMP, PARTITION, DELETED)

    expiry = F.col(_TIME) >= batch.since(node.name, 2 * (window.difference + 1) + window.grace)
    return batch.changes(node, moments, changed, expiry)


def _windows(
    batch: Batch, new: "DataFrame", functions: Aggregation, moments: Store, store: Store, window: SlidingWindow
) -> "DataFrame":
    """Those that a new row is in, or that are there because of it."""
    from pyspark.sql import functions as F  # noqa: N812

    length = window.difference
    fresh = new.select(*_MOMENT, F.lit(True).alias("_is_new"))
    everything = moments.rows_after(new).join(new.select(KEY).distinct(), [KEY], "left_semi")
    everything = batch.keep(everything.join(fresh, _MOMENT, "left"))
    until = F.greatest(F.col(_TIME), F.lit(length))  # no window begins before 1970
    both = F.array(F.when(F.col(_SINCE) <= until, until), F.col(_TIME) + 1 + length)
    ends = everything.select(KEY, F.explode(both).alias("_end"), "_is_new").where("_end IS NOT NULL")
    ends = ends.groupBy(KEY, "_end").agg(F.max("_is_new").alias("_made_now"))
    rows = everything.withColumnRenamed(KEY, "_row_key")
    inside = (
        (F.col(KEY) == F.col("_row_key"))
        & F.col(_TIME).between(F.col("_end") - length, F.col("_end"))
        & (F.col(_SINCE) <= F.col("_end"))
    )
    state = ", ".join(f"{sql} AS {name}" for name, sql in functions.merge("so_far", "each.state").items())
    kind = new.schema[STATE].dataType.simpleString()
    made = (
        ends.join(rows, inside, "inner")
        .groupBy(KEY, "_end")
        .agg(
            F.array_sort(F.collect_list(F.struct(F.col(_TIME), F.col(_SINCE), F.col(STATE).alias("state")))).alias(
                "_all"
            ),
            F.max(TIMESTAMP).alias(TIMESTAMP),
            F.max(PARTITION).alias(PARTITION),
            F.coalesce(F.max("_is_new"), F.max("_made_now")).alias("_is_changed"),
        )
        .where("_is_changed")
        .select(
            KEY,
            F.timestamp_millis(F.col("_end") - length).alias(WINDOW_START),
            F.timestamp_millis("_end").alias(WINDOW_END),
            F.expr(
                f"aggregate(slice(_all, 2, size(_all)), _all[0].state, (so_far, each) -> CAST(struct({state}) AS {kind}))"
            ).alias(STATE),
            TIMESTAMP,
            PARTITION,
        )
    )
    made = with_results(made, functions)
    before = store.rows_before(made).select(*_KEYS, F.struct(*functions.results).alias(BEFORE))
    return made.join(before, _KEYS, "left")
