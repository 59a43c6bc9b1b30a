"""Aggregates by key, and by key and tumbling or hopping window."""

from typing import TYPE_CHECKING, Any

from stoker.streams.aggregates import STATE, Aggregation, aggregation
from stoker.streams.columns import BEFORE, DELETED, KEY, PARTITION, TIMESTAMP, WINDOW_END, WINDOW_START, struct_of
from stoker.streams.compiler.batch import Batch, late_name
from stoker.streams.compiler.frames import TableFrame
from stoker.streams.compiler.grouping import LATE, START, in_windows
from stoker.streams.compiler.times import closes_after, length
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
    window = node.window
    assert window is None or isinstance(window, HoppingWindow)
    rows = in_windows(batch, node, window, mark_late=True)

    def changed() -> "DataFrame":
        return merged(_partial(batch, node, rows, functions), store, functions, keys)

    expiry = still_counts(batch, node) if window is not None else None
    return stored_table(batch, node, store, keys, list(functions.results), changed, expiry)


def _partial(batch: Batch, node: Aggregate, rows: "DataFrame", functions: Aggregation) -> "DataFrame":
    """What the rows of this batch come to by themselves.

    Late ones are summed up apart, and counted when they are few: Spark counts slowly on the way.
    """
    from pyspark.sql import functions as F  # noqa: N812

    window = node.window
    assert window is None or isinstance(window, HoppingWindow)
    found = rows.groupBy(KEY, *[name for name in (START, LATE) if name in rows.columns]).agg(
        *_state_of_rows(functions),
        F.max(TIMESTAMP).alias(TIMESTAMP),
        F.max(PARTITION).alias(PARTITION),
        F.count(F.lit(1)).alias("__rows"),
    )
    if LATE in rows.columns:
        late = F.sum(F.when(F.col(LATE), F.col("__rows")).otherwise(0))
        found = batch.observe(found, late_name(node.name), late=late).where(~F.col(LATE))
    return found.select(
        KEY,
        *(
            [
                F.timestamp_millis(START).alias(WINDOW_START),
                F.timestamp_millis(F.col(START) + window.size).alias(WINDOW_END),
            ]
            if window is not None
            else []
        ),
        F.struct(*functions.partial()).alias(STATE),
        TIMESTAMP,
        PARTITION,
    )


def _state_of_rows(functions: Aggregation) -> "list[Column]":
    from pyspark.sql import functions as F  # noqa: N812

    return [F.expr(sql).alias(name) for name, sql in functions.partial().items()]


def merged(partial: "DataFrame", store: Store, functions: Aggregation, keys: list[str]) -> "DataFrame":
    """The state of new rows put to that which was there; what comes of it, and what there was before."""
    from pyspark.sql import functions as F  # noqa: N812

    results = list(functions.results)
    like = with_results(partial, functions)
    before = store.rows_before(like)
    old = before.selectExpr(*keys, f"{STATE} AS _old", f"{struct_of(results)} AS {BEFORE}", f"{TIMESTAMP} AS _time")
    if store.before.total <= SMALL:
        old = F.broadcast(old)
    both = partial.withColumnRenamed(STATE, "_new").join(old, keys, "left")
    state = F.struct(*[F.expr(sql).alias(name) for name, sql in functions.merge("_old", "_new").items()])
    state = state.cast(
        partial.schema[STATE].dataType.simpleString()
    )  # sums of decimals would get a digit more in every batch
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
    written = batch.changes(node, store, changed, expiry)
    plain = [*keys, *values, TIMESTAMP, PARTITION]
    return TableFrame(
        keys=keys,
        values=values,
        changes=only(written, [*plain, DELETED, BEFORE]),
        before=lambda wanted: only(store.rows_before(written, wanted), plain),
        after=lambda wanted: only(store.rows_after(written, wanted), plain),
        rows=store.after.total,
    )


def only(rows: "DataFrame", names: list[str]) -> "DataFrame":
    """With these columns and no others."""
    return rows.drop(*[name for name in rows.columns if name not in names])


def still_counts(batch: Batch, aggregate: Aggregate) -> "Column":
    """Windows that were closed long ago are forgotten when a store is written anew."""
    from pyspark.sql import functions as F  # noqa: N812

    assert aggregate.window is not None
    span = max(RETENTION_MS, length(aggregate.window) + closes_after(aggregate.window))
    return F.unix_millis(F.col(WINDOW_END)) >= batch.since(aggregate.name, span)
