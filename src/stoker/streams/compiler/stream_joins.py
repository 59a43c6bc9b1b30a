"""Joins of two streams: rows with the same key whose times are near."""

from typing import TYPE_CHECKING, NamedTuple

from stoker.streams.columns import DELETED, KEY, OFFSET, PARTITION, STREAM_TIME, TIMESTAMP, values_of
from stoker.streams.compiler.batch import Batch, by_partition, coarse
from stoker.streams.compiler.join_columns import joined_columns
from stoker.streams.nodes import Node, StreamJoin

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FOUND = "_found"
_TIME = "_time"
_ROW = "_row"


class _Side(NamedTuple):
    """Rows as `_key`, `_time` (milliseconds), `_row` (a struct of all their columns), `_partition`."""

    new: "DataFrame"
    earlier: "DataFrame"
    values: list[str]

    def all(self) -> "DataFrame":
        return self.new.unionByName(self.earlier)


def joined(batch: Batch, node: StreamJoin) -> "DataFrame":
    """Both orders of arrival; rows without a partner when it can no longer come (`left`, `outer`)."""
    left = _side(batch, node, node.left, "left")
    right = _side(batch, node, node.right, "right")
    matches = _matched(left.new, right.all(), node).unionByName(_matched(left.earlier, right.new, node))
    if node.how != "inner":
        before, after = batch.advance_watermark(node, node.name)
        matches = matches.unionByName(_unmatched(left, right, node, before, after, is_left=True))
        if node.how == "outer":
            matches = matches.unionByName(_unmatched(left, right, node, before, after, is_left=False))
    else:
        batch.advance_watermark(node, node.name)
    return _rows(matches, left.values, right.values, node)


def _side(batch: Batch, node: StreamJoin, parent: Node, side: str) -> _Side:
    """The new rows, kept for those of the other side that are to come. None is late: it may join what is still kept."""
    from pyspark.sql import functions as F  # noqa: N812

    store = batch.store(f"{node.name}-{side}", [])
    rows = batch.stream(parent)
    values = values_of(rows.columns)
    columns = [*values, KEY, TIMESTAMP, PARTITION, OFFSET, STREAM_TIME]

    def made() -> "DataFrame":
        timed = rows.withColumn(_TIME, F.unix_millis(TIMESTAMP)).where(F.col(KEY).isNotNull())
        return timed.select(KEY, _TIME, F.struct(*columns).alias(_ROW), PARTITION, F.lit(False).alias(DELETED))

    keeps = F.col(_TIME) >= _oldest(batch, node)
    new = batch.changes(parent, store, made, keeps)
    earlier = store.rows_before(new, where=keeps)
    return _Side(new.drop(DELETED), earlier, values)


def _oldest(batch: Batch, node: StreamJoin) -> int:
    """Rows before this time can have no partner any more, as far as the slowest partition is."""
    times = batch.manifest.watermarks.get(node.name, {}).values()
    return coarse(min(times, default=0) - 2 * (node.before + node.after) - node.grace)


def _matched(left: "DataFrame", right: "DataFrame", node: StreamJoin) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    one = left.select(KEY, F.col(_TIME).alias("_left_time"), F.col(_ROW).alias("_left"))
    other = right.select(KEY, F.col(_TIME).alias("_right_time"), F.col(_ROW).alias("_right"))
    near = (F.col("_right_time") >= F.col("_left_time") - node.before) & (
        F.col("_right_time") <= F.col("_left_time") + node.after
    )
    return one.join(other, [KEY], "inner").where(near).select(KEY, "_left", "_right")


def _unmatched(
    left: _Side, right: _Side, node: StreamJoin, before: dict[str, int], after: dict[str, int], *, is_left: bool
) -> "DataFrame":
    """Rows of one side whose time has run out in this batch, and that have no partner."""
    from pyspark.sql import functions as F  # noqa: N812

    one, other = (left, right) if is_left else (right, left)
    span = node.after if is_left else node.before
    earliest, latest = (node.before, node.after) if is_left else (node.after, node.before)
    closes = F.col(_TIME) + (span + node.grace)
    new = one.new.withColumn("_new", F.lit(True)).unionByName(one.earlier.withColumn("_new", F.lit(False)))
    rows = new.where((F.col("_new") | (closes >= by_partition(before))) & (closes < by_partition(after)))
    mine = rows.select(KEY, F.col(_TIME).alias("_mine_time"), F.col(_ROW).alias("_mine"))
    others = other.all().select(F.col(KEY).alias("_other_key"), F.col(_TIME).alias("_other_time"))
    is_partner = (
        (F.col(KEY) == F.col("_other_key"))
        & (F.col("_other_time") >= F.col("_mine_time") - earliest)
        & (F.col("_other_time") <= F.col("_mine_time") + latest)
    )
    alone = mine.join(others, is_partner, "left_anti")
    nothing = F.lit(None).cast(other.new.schema[_ROW].dataType)
    return alone.select(
        KEY,
        (F.col("_mine") if is_left else nothing).alias("_left"),
        (nothing if is_left else F.col("_mine")).alias("_right"),
    )


def _rows(matches: "DataFrame", left: list[str], right: list[str], node: StreamJoin) -> "DataFrame":
    """The time of a pair is the later one of the two."""
    from pyspark.sql import functions as F  # noqa: N812

    rows = matches.select(
        *[F.col(f"_left.{name}").alias(name) for name in left],
        F.col("_right").alias(_FOUND),
        KEY,
        F.greatest(f"_left.{TIMESTAMP}", f"_right.{TIMESTAMP}").alias(TIMESTAMP),
        F.coalesce(f"_left.{PARTITION}", f"_right.{PARTITION}").alias(PARTITION),
        F.coalesce(f"_left.{OFFSET}", f"_right.{OFFSET}").alias(OFFSET),
        F.greatest(f"_left.{STREAM_TIME}", f"_right.{STREAM_TIME}").alias(STREAM_TIME),
    )
    return joined_columns(rows, left, right, _FOUND, node.columns)
