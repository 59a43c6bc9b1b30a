"""Tables of topics, and what is made of one table."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from stoker.streams import nodes
from stoker.streams.aggregates import STATE, aggregation
from stoker.streams.columns import (
    BEFORE,
    DELETED,
    KEY,
    OFFSET,
    PARTITION,
    STREAM_TIME,
    TIMESTAMP,
    WINDOW_END,
    struct_of,
    values_of,
)
from stoker.streams.compiler.aggregation import merged, only, stored_table
from stoker.streams.compiler.batch import Batch, by_partition
from stoker.streams.compiler.frames import TableFrame
from stoker.streams.compiler.grouping import with_key
from stoker.streams.compiler.stateless import select
from stoker.streams.compiler.stateless import source as rows_of
from stoker.streams.compiler.times import closes_after
from stoker.streams.expressions import column
from stoker.streams.state.store import Store

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ROWS = "_rows"
"""How many rows a group of a table has."""


def source(batch: Batch, node: nodes.TableSource) -> TableFrame:
    """The latest value of each key; null deletes. A record without a key is left out, as in Kafka Streams."""
    from pyspark.sql import functions as F  # noqa: N812

    store = batch.store(node.name, [KEY])
    layout = batch.layout(store)
    if layout is not None and batch.is_idle(node):
        table = stored_table(batch, node, store, [KEY], values_of(layout.names), lambda: batch.nothing(layout))
        return replace(table, is_changed=False)
    return _latest(batch, node, store, batch.keep(rows_of(batch, node).where(F.col(KEY).isNotNull())))


def of_stream(batch: Batch, node: nodes.ToTable) -> TableFrame:
    """The latest row of each key; one without a key is left out."""
    from pyspark.sql import functions as F  # noqa: N812

    rows = batch.stream(node.parent).where(F.col(KEY).isNotNull()).withColumn(DELETED, F.lit(False))
    return _latest(batch, node, batch.store(node.name, [KEY]), rows)


def _latest(batch: Batch, node: nodes.TableNode, store: Store, rows: "DataFrame") -> TableFrame:
    """What came last counts, whatever its time. To delete what is not there changes nothing."""
    from pyspark.sql import functions as F  # noqa: N812

    values = values_of(rows.columns)

    def changed() -> "DataFrame":
        plain = struct_of([*values, TIMESTAMP, PARTITION, DELETED])
        latest = F.expr(f"max_by({plain}, {struct_of([STREAM_TIME, PARTITION, OFFSET])}) AS _latest")
        new = rows.groupBy(KEY).agg(latest).select(KEY, "_latest.*")
        old = store.rows_before(new).selectExpr(KEY, f"{struct_of(values)} AS {BEFORE}")
        return new.join(old, [KEY], "left").where(f"NOT {DELETED} OR {BEFORE} IS NOT NULL")

    table = stored_table(batch, node, store, [KEY], values, changed)
    return replace(table, versions=rows)


def filtered(batch: Batch, node: nodes.TableFilter) -> TableFrame:
    """A row that no longer meets the condition is deleted."""
    from pyspark.sql import functions as F  # noqa: N812

    table = batch.table(node.parent)

    def holds(rows: "DataFrame") -> "Column":
        return F.coalesce(column(node.condition, rows), F.lit(False))

    changes = table.changes.withColumn("_holds", holds(table.changes) & ~F.col(DELETED))
    changes = _of_rows_before(
        changes, table, lambda rows: rows.withColumn("_held", holds(rows) & F.col("_was").isNotNull())
    )
    changes = changes.where(F.col("_holds") | F.col("_held")).select(
        *table.keys,
        *[F.when(F.col("_holds"), F.col(name)).alias(name) for name in table.values],
        TIMESTAMP,
        PARTITION,
        (~F.col("_holds")).alias(DELETED),
        F.when(F.col("_held"), F.col(BEFORE)).alias(BEFORE),
    )
    made = _derived(table, changes, table.values, lambda rows: rows.where(holds(rows)))
    if table.versions is None:
        return made
    is_deleted = F.col(DELETED) | ~holds(table.versions)
    return replace(made, versions=table.versions.withColumn(DELETED, is_deleted))


def selected(batch: Batch, node: nodes.TableSelect) -> TableFrame:
    """Other columns of the same rows."""
    from pyspark.sql import functions as F  # noqa: N812

    table = batch.table(node.parent)
    windows = [name for name in table.keys if name != KEY]

    def chosen(rows: "DataFrame") -> "DataFrame":
        """The columns of a window stay, as the record's own do."""
        kept = rows.select("*", *[F.col(name).alias(f"_{name}") for name in windows])
        made = select(kept, node.columns, node.named).drop(*windows)
        return made.withColumnsRenamed({f"_{name}": name for name in windows})

    now = chosen(table.changes)
    values = [name for name in values_of(now.columns) if name not in windows]
    packed = now.select(
        *[name for name in now.columns if name not in values],
        F.struct(*values).alias("_now"),
        *[F.col(f"{BEFORE}.{name}").alias(name) for name in table.values if name not in now.columns or name in values],
    )
    then = chosen(packed)
    changes = then.select(
        *table.keys,
        *[F.when(~F.col(DELETED), F.col(f"_now.{name}")).alias(name) for name in values],
        TIMESTAMP,
        PARTITION,
        DELETED,
        F.when(F.col(BEFORE).isNotNull(), F.struct(*values)).alias(BEFORE),
    )
    made = _derived(table, changes, values, chosen)
    return replace(made, versions=None if table.versions is None else chosen(table.versions))


def aggregated(batch: Batch, node: nodes.TableAggregate) -> TableFrame:
    """A row that changes leaves its old group and enters its new one. A group without rows is deleted."""
    from pyspark.sql import functions as F  # noqa: N812

    counted = aggregation({**node.aggregates, _ROWS: "count(*)"}, subtractable=True)
    functions = replace(counted, results={name: counted.results[name] for name in node.aggregates})
    table = batch.table(node.parent)
    store = batch.store(node.name, [KEY])

    def changed() -> "DataFrame":
        entering = with_key(table.changes.where(~F.col(DELETED)), node.keys)
        rows_before = table.changes.where(F.col(BEFORE).isNotNull()).select(
            f"{BEFORE}.*", *table.keys, TIMESTAMP, PARTITION
        )
        leaving = with_key(rows_before, node.keys)
        sums = [
            rows.where(F.col(KEY).isNotNull())
            .groupBy(KEY)
            .agg(
                *[F.expr(sql).alias(name) for name, sql in functions.partial(subtract=is_leaving).items()],
                F.max(TIMESTAMP).alias(TIMESTAMP),
                F.max(PARTITION).alias(PARTITION),
            )
            for rows, is_leaving in ((entering, False), (leaving, True))
        ]
        both = sums[0].unionByName(sums[1])
        partial = both.groupBy(KEY).agg(
            F.struct(*[F.sum(name).alias(name) for name in functions.partial()]).alias(STATE),
            F.max(TIMESTAMP).alias(TIMESTAMP),
            F.max(PARTITION).alias(PARTITION),
        )
        groups = merged(partial, store, functions, [KEY]).withColumn(DELETED, F.expr(counted.results[_ROWS]) <= 0)
        return groups.where(~F.col(DELETED) | F.col(BEFORE).isNotNull())

    return stored_table(batch, node, store, [KEY], list(node.aggregates), changed)


def suppressed(batch: Batch, node: nodes.Suppress) -> TableFrame:
    """Windows that have closed in this batch, each as it is for good."""
    from pyspark.sql import functions as F  # noqa: N812

    table = batch.table(node.parent)
    aggregate = nodes.windowed_by(node)
    assert aggregate is not None, "only windows can be waited for"
    assert aggregate.window is not None
    before, after = batch.advance_watermark(aggregate, aggregate.name)
    closes = F.unix_millis(F.col(WINDOW_END)) + closes_after(aggregate.window)
    rows = table.after(None)
    changes = rows.where((closes > by_partition(before)) & (closes <= by_partition(after)))
    changes = changes.withColumn(DELETED, F.lit(False)).withColumn(
        BEFORE, F.lit(None).cast(table.changes.schema[BEFORE].dataType)
    )
    return TableFrame(
        keys=table.keys,
        values=table.values,
        changes=changes,
        before=lambda wanted: table.before(wanted).where(closes <= by_partition(before)),
        after=lambda wanted: table.after(wanted).where(closes <= by_partition(after)),
        rows=table.rows,
    )


def _derived(
    table: TableFrame, changes: "DataFrame", values: list[str], convert: "Callable[[DataFrame], DataFrame]"
) -> TableFrame:
    """A table without a store of its own: its rows are found by those it is made of."""
    plain = [*table.keys, *values, TIMESTAMP, PARTITION]
    return TableFrame(
        keys=table.keys,
        values=values,
        changes=changes,
        before=lambda wanted: only(convert(table.before(wanted)), plain),
        after=lambda wanted: only(convert(table.after(wanted)), plain),
        rows=table.rows,
        is_changed=table.is_changed,
    )


def _of_rows_before(
    changes: "DataFrame", table: TableFrame, compute: "Callable[[DataFrame], DataFrame]"
) -> "DataFrame":
    """Let `compute` add columns to the rows as they were before, where `_was` is null if there was none."""
    from pyspark.sql import functions as F  # noqa: N812

    others = [name for name in changes.columns if name not in (*table.values, BEFORE)]
    then = changes.select(
        *others,
        F.struct(*table.values).alias("_now"),
        F.col(BEFORE).alias("_was"),
        *[F.col(f"{BEFORE}.{name}").alias(name) for name in table.values],
    )
    computed = compute(then)
    added = [name for name in computed.columns if name not in then.columns]
    return computed.select(*others, "_now.*", F.col("_was").alias(BEFORE), *added)
