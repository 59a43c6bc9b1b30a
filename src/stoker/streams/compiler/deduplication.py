"""Of rows that are the same within a span of time, the first."""

from typing import TYPE_CHECKING

from stoker.streams.aggregates import ORDER
from stoker.streams.columns import DELETED, OFFSET, PARTITION, STREAM_TIME, TIMESTAMP
from stoker.streams.compiler.batch import Batch, coarse
from stoker.streams.expressions import column
from stoker.streams.nodes import Deduplicate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SAME = "_same"


def deduplicated(batch: Batch, node: Deduplicate) -> "DataFrame":
    """A row is kept if none was kept whose time is less than `within` from its own."""
    from pyspark.sql import functions as F  # noqa: N812

    store = batch.store(node.name, [_SAME])
    rows = batch.stream(node.parent)
    names = rows.columns
    same = F.struct(*[column(each, rows).alias(f"c{number}") for number, each in enumerate(node.by)])
    rows = rows.withColumn(_SAME, same)
    listed = rows.groupBy(_SAME).agg(
        F.sort_array(
            F.collect_list(
                F.struct(
                    F.struct(STREAM_TIME, PARTITION, OFFSET).alias(ORDER),
                    F.unix_millis(TIMESTAMP).alias("time"),
                    F.struct(*names).alias("row"),
                )
            )
        ).alias("_rows")
    )

    def changed() -> "DataFrame":
        like = listed.select(
            _SAME, F.lit(0).cast("bigint").alias("_last"), F.col("_rows").alias("_kept"), F.lit(False).alias(DELETED)
        )
        before = store.rows_before(like.drop("_kept")).select(_SAME, F.col("_last").alias("_earlier"))
        both = listed.join(before, [_SAME], "left")
        kind = like.schema["_kept"].dataType.simpleString()
        step = (
            f"(so_far, each) -> IF(so_far.last IS NULL OR abs(each.time - so_far.last) >= {node.within}, "
            "named_struct('last', each.time, 'kept', concat(so_far.kept, array(each))), so_far)"
        )
        folded = both.withColumn(
            "_folded",
            F.expr(f"aggregate(_rows, named_struct('last', _earlier, 'kept', CAST(array() AS {kind})), {step})"),
        )
        return folded.select(
            _SAME,
            F.col("_folded.last").alias("_last"),
            F.col("_folded.kept").alias("_kept"),
            F.lit(False).alias(DELETED),
        )

    written = batch.changes(node, store, changed, F.col("_last") >= _oldest(batch, node), but=["_kept"])
    return written.select(F.explode("_kept.row").alias("_row")).select("_row.*")


def _oldest(batch: Batch, node: Deduplicate) -> int:
    times = [time for clock in batch.manifest.clocks.values() for time in clock.values()]
    return coarse(min(times, default=0) - 2 * node.within)
