"""Aggregates by key, and by key and tumbling or hopping window."""

from typing import TYPE_CHECKING, Any

from stoker.streams.aggregates import STATE, Aggregation, aggregation
from stoker.streams.columns import BEFORE, DELETED, KEY, PARTITION, TIMESTAMP, WINDOW_END, WINDOW_START
from stoker.streams.compiler.batch import Batch, coarse
from stoker.streams.compiler.frames import TableFrame
from stoker.streams.compiler.grouping import grouped, milliseconds, without_late
from stoker.streams.nodes import Aggregate
from stoker.streams.state.store import SMALL, Store
from stoker.streams.windows import HoppingWindow

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

RETENTION_MS = 86_400_000
"""Windows can be asked for so long after they have ended, as in Kafka Streams."""


def aggregate(batch: Batch, node: Aggregate) -> TableFrame:
    functions = aggregation(node.aggregates)
    keys = [KEY] if node.window is None else [KEY, WINDOW_START, WINDOW_END]
    store = batch.store(node.name, keys)

    def changed() -> "DataFrame":
        partial = _partial(batch, node, functions, keys)
        return merged(partial, store, functions, keys)

    return stored_table(batch, node, store, keys, list(functions.results), changed)


def _partial(batch: Batch, node: Aggregate, functions: Aggregation, keys: list[str]) -> "DataFrame":
    """What the rows of this batch come to by themselves."""
    from pyspark.sql import functions as F  # noqa: N812

    rows, now = grouped(batch, node)
    window = node.window
    if window is not None:
        assert isinstance(window, HoppingWindow)
        rows = rows.withColumn("__start", _starts(window))
        if window.advance != window.size:
            rows = rows.withColumn("__start", F.explode("__start"))
        rows = without_late(batch, node, rows, F.col("__start") + (window.size + window.grace) <= now)
    return (
        rows.groupBy(KEY, *(["__start"] if window is not None else []))
        .agg(*_state_of_rows(functions), F.max(TIMESTAMP).alias(TIMESTAMP), F.max(PARTITION).alias(PARTITION))
        .select(
            KEY,
            *(
                [
                    F.timestamp_millis("__start").alias(WINDOW_START),
                    F.timestamp_millis(F.col("__start") + window.size).alias(WINDOW_END),
                ]
                if window is not None
                else []
            ),
            F.struct(*functions.partial()).alias(STATE),
            TIMESTAMP,
            PARTITION,
        )
    )


def _state_of_rows(functions: Aggregation) -> "list[Column]":
    from pyspark.sql import functions as F  # noqa: N812

    return [F.expr(sql).alias(name) for name, sql in functions.partial().items()]


def _starts(window: HoppingWindow) -> "Column":
    """Of the window that a row is in, or of all of them; none begins before 1970."""
    from pyspark.sql import functions as F  # noqa: N812

    time = milliseconds()
    last = time - F.pmod(time, F.lit(window.advance))
    if window.advance == window.size:
        return last
    first = F.greatest(F.lit(0), last - F.lit((window.size - 1) // window.advance * window.advance))
    first = F.when(first + window.size > time, first).otherwise(first + window.advance)
    return F.sequence(first, F.greatest(first, last), F.lit(window.advance).cast("bigint"))


def merged(partial: "DataFrame", store: Store, functions: Aggregation, keys: list[str]) -> "DataFrame":
    """The state of new rows put to that which was there; what comes of it, and what there was before."""
    from pyspark.sql import functions as F  # noqa: N812

    results = list(functions.results)
    like = with_results(partial, functions)
    before = store.rows_before(like)
    old = before.select(
        *keys, F.col(STATE).alias("_old"), F.struct(*results).alias(BEFORE), F.col(TIMESTAMP).alias("_time")
    )
    if store.before.total <= SMALL:
        old = F.broadcast(old)
    both = partial.withColumnRenamed(STATE, "_new").join(old, keys, "left")
    state = F.struct(*[F.expr(sql).alias(name) for name, sql in functions.merge("_old", "_new").items()])
    state = state.cast(partial.schema[STATE].dataType)  # sums of decimals would get a digit more in every batch
    return with_results(
        both.withColumn(STATE, state)
        .withColumn(TIMESTAMP, F.greatest(TIMESTAMP, "_time"))
        .drop("_old", "_new", "_time"),
        functions,
    )


def with_results(rows: "DataFrame", functions: Aggregation) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    made = rows.select("*", *[F.expr(sql).alias(name) for name, sql in functions.results.items()])
    return made.withColumn(DELETED, F.lit(False))


def stored_table(
    batch: Batch,
    node: Any,
    store: Store,
    keys: list[str],
    values: list[str],
    changed: Any,
    expiry: "Column | None" = None,
) -> TableFrame:
    """The table whose changed rows `changed()` gives, unless an earlier attempt of this batch has written them."""
    from pyspark.sql import functions as F  # noqa: N812

    if expiry is None and WINDOW_END in keys:
        expiry = _still_counts(batch, node)
    written = batch.changes(node, store, changed, expiry)
    plain = [*keys, *values, TIMESTAMP, PARTITION]
    return TableFrame(
        keys=keys,
        values=values,
        changes=written.select(*plain, DELETED, F.col(BEFORE)),
        before=lambda wanted=None: store.rows_before(written, wanted).select(*plain),
        after=lambda wanted=None: store.rows_after(written, wanted).select(*plain),
        rows=store.after.total,
    )


def _still_counts(batch: Batch, node: Any) -> "Column":
    """Windows that ended long before the slowest clock are forgotten when the store is written anew."""
    from pyspark.sql import functions as F  # noqa: N812

    window = node.window
    length = getattr(window, "size", 0) + getattr(window, "gap", 0) + getattr(window, "difference", 0) + window.grace
    times = [time for clock in batch.manifest.clocks.values() for time in clock.values()]
    return F.unix_millis(F.col(WINDOW_END)) >= coarse(min(times, default=0) - max(RETENTION_MS, length))
