"""Of rows that are the same within a span of time, the first."""

from typing import TYPE_CHECKING

from stoker.streams.aggregates import ORDER
from stoker.streams.columns import DELETED, OFFSET, PARTITION, STREAM_TIME, TIMESTAMP
from stoker.streams.compiler.batch import Batch
from stoker.streams.expressions import column
from stoker.streams.nodes import Deduplicate

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SAME = "_same"
_TIMES = "_times"
"""Of the rows that were kept, in milliseconds; what stream time has passed by twice the span is forgotten."""


def deduplicated(batch: Batch, node: Deduplicate) -> "DataFrame":
    """A row is kept if none was kept whose time is less than `within` from its own; or if there is nothing to tell it by."""
    from pyspark.sql import functions as F  # noqa: N812

    store = batch.store(node.name, [_SAME])
    rows = batch.stream(node.parent)
    same = F.struct(*[column(each, rows).alias(f"c{number}") for number, each in enumerate(node.by)])
    row = F.struct(
        F.struct(STREAM_TIME, PARTITION, OFFSET).alias(ORDER),
        F.unix_millis(TIMESTAMP).alias("time"),
        F.col(STREAM_TIME).alias("now"),
        F.struct(*rows.columns).alias("row"),
    )
    listed = rows.groupBy(same.alias(_SAME)).agg(
        F.array_sort(F.collect_list(row), _by_order).alias("_rows"), F.max(PARTITION).alias(PARTITION)
    )

    def changed() -> "DataFrame":
        times, kept = "array<bigint>", listed.schema["_rows"].dataType.simpleString()
        like = listed.select(
            _SAME, F.expr(f"CAST(array() AS {times})").alias(_TIMES), PARTITION, F.lit(False).alias(DELETED)
        )
        before = store.rows_before(like).select(_SAME, F.col(_TIMES).alias("_earlier"))
        remembered = f"filter(so_far.times, at -> at >= each.now - {2 * node.within})"
        first = f"named_struct('times', coalesce(_earlier, CAST(array() AS {times})), 'kept', CAST(array() AS {kept}))"
        can_be_told = "(" + " OR ".join(f"{_SAME}.c{number} IS NOT NULL" for number in range(len(node.by))) + ")"
        is_same = f"({can_be_told} AND exists({remembered}, at -> abs(each.time - at) < {node.within}))"
        step = (
            f"(so_far, each) -> IF({is_same}, so_far, named_struct("
            f"'times', IF({can_be_told}, concat({remembered}, array(each.time)), so_far.times), "
            "'kept', concat(so_far.kept, array(each))))"
        )
        folded = listed.join(before, [_SAME], "left").select(
            _SAME, F.expr(f"aggregate(_rows, {first}, {step})").alias("_folded"), PARTITION
        )
        return folded.select(
            _SAME,
            F.col("_folded.times").alias(_TIMES),
            PARTITION,
            F.lit(False).alias(DELETED),
            F.col("_folded.kept").alias("_kept"),
        )

    counts = F.array_max(_TIMES) >= batch.since(node.name, 2 * node.within)
    written = batch.changes(node, store, changed, counts, but=["_kept"])
    batch.advance_watermark(node, node.name)
    return written.select(F.explode("_kept.row").alias("_row")).select("_row.*")


def _by_order(one: "Column", other: "Column") -> "Column":
    """By order alone: the rows themselves may have columns that have none."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.when(one[ORDER] < other[ORDER], -1).when(one[ORDER] > other[ORDER], 1).otherwise(0)
