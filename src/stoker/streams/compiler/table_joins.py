"""Joins of two tables: by their keys, or by a foreign key of the left one."""

from typing import TYPE_CHECKING

from stoker.streams.columns import BEFORE, DELETED, KEY, PARTITION, TIMESTAMP, quoted, struct_of, values_of
from stoker.streams.compiler.aggregation import still_counts, stored_table
from stoker.streams.compiler.batch import Batch
from stoker.streams.compiler.frames import TableFrame
from stoker.streams.compiler.join_columns import FOUND, HAS_LEFT, joined_columns
from stoker.streams.expressions import column
from stoker.streams.nodes import TableJoin, windowed_by

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FOREIGN = "_foreign"
_CHANGED_AT = "_changed_at"


def joined(batch: Batch, node: TableJoin) -> TableFrame:
    """Updated from both sides; a row that has lost its partner is deleted where one is needed."""
    left, right = batch.table(node.left), batch.table(node.right)
    keys = left.keys
    store = batch.store(node.name, keys)
    values = _values(left, right, node)

    def changed() -> "DataFrame":
        from pyspark.sql import functions as F  # noqa: N812

        touched = batch.keep(_touched(left, right, node))
        wanted = touched.select(*keys)
        now = _joined(left.after(wanted), right, node, wanted if node.foreign_key is None else None)
        now = now.withColumn("_is_there", F.lit(True))
        like = touched.join(now, keys, "left").selectExpr(
            *map(quoted, [*keys, *values]),
            f"coalesce({TIMESTAMP}, {_CHANGED_AT}) AS {TIMESTAMP}",
            PARTITION,
            f"_is_there IS NULL AS {DELETED}",
        )
        before = store.rows_before(like).selectExpr(*keys, f"{struct_of(values)} AS {BEFORE}", f"{PARTITION} AS _place")
        rows = like.join(before, keys, "left").where(f"NOT {DELETED} OR {BEFORE} IS NOT NULL")
        return rows.withColumn(PARTITION, F.coalesce(PARTITION, "_place")).drop("_place")

    aggregate = windowed_by(node.left)
    expiry = None if aggregate is None else still_counts(batch, aggregate)
    return stored_table(batch, node, store, keys, values, changed, expiry)


def _touched(left: TableFrame, right: TableFrame, node: TableJoin) -> "DataFrame":
    """Keys of the result that may have changed, and when."""
    from pyspark.sql import functions as F  # noqa: N812

    when = F.col(TIMESTAMP).alias(_CHANGED_AT)
    mine = left.changes.select(*left.keys, when)
    if node.foreign_key is None:
        others = right.changes.select(*right.keys, when)
    else:
        rows = left.after(None)
        changed = right.changes.select(F.col(KEY).alias(_FOREIGN), when)
        others = rows.withColumn(_FOREIGN, column(node.foreign_key, rows)).join(changed, [_FOREIGN], "inner")
    both = mine.unionByName(others.select(*left.keys, _CHANGED_AT))
    return both.groupBy(*left.keys).agg(F.max(_CHANGED_AT).alias(_CHANGED_AT))


def _joined(rows: "DataFrame", right: TableFrame, node: TableJoin, touched: "DataFrame | None") -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    how = {"inner": "inner", "left": "left", "outer": "full"}[node.how]
    others = right.after(touched).selectExpr(
        *right.keys, f"{struct_of(right.values)} AS {FOUND}", f"{TIMESTAMP} AS _time", f"{PARTITION} AS _place"
    )
    left = values_of(name for name in rows.columns if name not in right.keys)
    rows = rows.withColumn(HAS_LEFT, F.lit(True))
    if node.foreign_key is None:
        both = rows.join(others, right.keys, how)
    else:
        others = others.withColumnRenamed(KEY, _FOREIGN)
        both = rows.withColumn(_FOREIGN, column(node.foreign_key, rows)).join(others, [_FOREIGN], how).drop(_FOREIGN)
    both = both.withColumns({TIMESTAMP: F.greatest(TIMESTAMP, "_time"), PARTITION: F.coalesce(PARTITION, "_place")})
    windows = [name for name in right.keys if name != KEY]
    kept = both.drop("_time", "_place").withColumnsRenamed({name: f"_{name}" for name in windows})
    made = joined_columns(kept, left, right.values, node.columns)
    return made.withColumnsRenamed({f"_{name}": name for name in windows})


def _values(left: TableFrame, right: TableFrame, node: TableJoin) -> list[str]:
    """The columns of the result, found by an empty join."""
    made = _joined(left.plain(left.changes), right, node, None)
    return [name for name in values_of(made.columns) if name not in left.keys]
