"""Joins of two tables: by their keys, or by a foreign key of the left one."""

from typing import TYPE_CHECKING

from stoker.streams.columns import BEFORE, DELETED, KEY, PARTITION, TIMESTAMP, values_of
from stoker.streams.compiler.aggregation import stored_table
from stoker.streams.compiler.batch import Batch
from stoker.streams.compiler.frames import TableFrame
from stoker.streams.compiler.join_columns import joined_columns
from stoker.streams.expressions import column
from stoker.streams.nodes import TableJoin

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FOUND = "_found"
_FOREIGN = "_foreign"


def joined(batch: Batch, node: TableJoin) -> TableFrame:
    """Updated from both sides; a row that has lost its partner is deleted where one is needed."""
    left, right = batch.table(node.left), batch.table(node.right)
    keys = left.keys
    store = batch.store(node.name, keys)
    values = _values(left, right, node)

    def changed() -> "DataFrame":
        from pyspark.sql import functions as F  # noqa: N812

        touched = batch.keep(_touched(left, right, node))
        now = _joined(left.after(touched), right, node, touched if node.foreign_key is None else None)
        now = now.withColumn("_is_there", F.lit(True))
        like = touched.join(now, keys, "left").withColumn(DELETED, F.col("_is_there").isNull()).drop("_is_there")
        like = like.select(*keys, *values, TIMESTAMP, PARTITION, DELETED)
        before = store.rows_before(like).select(
            *keys, F.struct(*values).alias(BEFORE), F.col(TIMESTAMP).alias("_time"), F.col(PARTITION).alias("_place")
        )
        rows = like.join(before, keys, "left")
        rows = rows.withColumn(TIMESTAMP, F.coalesce(TIMESTAMP, "_time")).withColumn(
            PARTITION, F.coalesce(PARTITION, "_place")
        )
        return rows.where(~F.col(DELETED) | F.col(BEFORE).isNotNull()).drop("_time", "_place")

    return stored_table(batch, node, store, keys, values, changed)


def _touched(left: TableFrame, right: TableFrame, node: TableJoin) -> "DataFrame":
    """Keys of the result that may have changed."""
    from pyspark.sql import functions as F  # noqa: N812

    mine = left.changes.select(*left.keys)
    if node.foreign_key is None:
        return mine.unionByName(right.changes.select(*right.keys)).distinct()
    rows = left.after(None)
    others = right.changes.select(F.col(KEY).alias(_FOREIGN))
    referring = rows.withColumn(_FOREIGN, column(node.foreign_key, rows)).join(others, [_FOREIGN], "left_semi")
    return mine.unionByName(referring.select(*left.keys)).distinct()


def _joined(rows: "DataFrame", right: TableFrame, node: TableJoin, touched: "DataFrame | None") -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    how = {"inner": "inner", "left": "left", "outer": "full"}[node.how]
    others = right.after(touched).select(
        *right.keys,
        F.struct(*right.values).alias(_FOUND),
        F.col(TIMESTAMP).alias("_time"),
        F.col(PARTITION).alias("_place"),
    )
    left = values_of(name for name in rows.columns if name not in right.keys)
    if node.foreign_key is None:
        both = rows.join(others, right.keys, how)
    else:
        others = others.withColumnRenamed(KEY, _FOREIGN)
        both = rows.withColumn(_FOREIGN, column(node.foreign_key, rows)).join(others, [_FOREIGN], how).drop(_FOREIGN)
    both = both.withColumn(TIMESTAMP, F.greatest(TIMESTAMP, "_time")).withColumn(
        PARTITION, F.coalesce(PARTITION, "_place")
    )
    windows = [name for name in right.keys if name != KEY]
    kept = both.drop("_time", "_place").withColumnsRenamed({name: f"_{name}" for name in windows})
    made = joined_columns(kept, left, right.values, _FOUND, node.columns)
    return made.withColumnsRenamed({f"_{name}": name for name in windows})


def _values(left: TableFrame, right: TableFrame, node: TableJoin) -> list[str]:
    """The columns of the result, found by an empty join."""
    made = _joined(left.plain(left.changes), right, node, None)
    return [name for name in values_of(made.columns) if name not in left.keys]
