"""Joins of two streams: rows with the same key whose times are near.

No row is late. One that comes after the window of its partner has closed still meets it, as long as stream time has not passed
that partner by all of `before`, `after` and `grace`; a row that was given out alone by then is given out again. Whether two rows
meet follows from their own times and the stream times at which they came, not from the batches in which they did.
"""

from typing import TYPE_CHECKING, NamedTuple

from stoker.streams.columns import DELETED, KEY, OFFSET, PARTITION, STREAM_TIME, TIMESTAMP, quoted, struct_of, values_of
from stoker.streams.compiler.batch import Batch, by_partition
from stoker.streams.compiler.join_columns import FOUND, HAS_LEFT, joined_columns
from stoker.streams.nodes import Node, StreamJoin

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

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
    matches = _matched(batch, left.new, right.all(), node).unionByName(_matched(batch, left.earlier, right.new, node))
    before, after = batch.advance_watermark(node, node.name)
    if node.how != "inner":
        matches = matches.unionByName(_unmatched(left, right, node, before, after, is_left=True))
    if node.how == "outer":
        matches = matches.unionByName(_unmatched(left, right, node, before, after, is_left=False))
    return _rows(matches, left.values, right.values, node)


def _side(batch: Batch, node: StreamJoin, parent: Node, side: str) -> _Side:
    """The new rows, kept for those of the other side that are to come. Without a key they meet nobody."""
    from pyspark.sql import functions as F  # noqa: N812

    store = batch.store(f"{node.name}-{side}", [])
    rows = batch.stream(parent)
    values = values_of(rows.columns)
    columns = [*values, KEY, TIMESTAMP, PARTITION, OFFSET, STREAM_TIME]
    comes_alone = node.how == "outer" or (node.how == "left" and side == "left")

    def made() -> "DataFrame":
        wanted = rows if comes_alone else rows.where(F.col(KEY).isNotNull())
        row = f"{struct_of(columns)} AS {_ROW}"
        return wanted.selectExpr(KEY, f"unix_millis({TIMESTAMP}) AS {_TIME}", row, PARTITION, f"false AS {DELETED}")

    keeps = (F.col(_TIME) >= batch.since(node.name, _retention(node))) & F.col(KEY).isNotNull()
    new = batch.changes(parent, store, made, keeps)
    earlier = store.rows_before(new, where=keeps)
    return _Side(new.drop(DELETED), earlier, values)


def _retention(node: StreamJoin) -> int:
    """For so long a row is kept, as in Kafka Streams."""
    return max(1, node.before + node.after + node.grace)


def _matched(batch: Batch, left: "DataFrame", right: "DataFrame", node: StreamJoin) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    one = left.select(KEY, PARTITION, F.col(_TIME).alias("_left_time"), F.col(_ROW).alias("_left"))
    other = right.select(KEY, F.col(_TIME).alias("_right_time"), F.col(_ROW).alias("_right"))
    near = (F.col("_right_time") >= F.col("_left_time") - node.before) & (
        F.col("_right_time") <= F.col("_left_time") + node.after
    )
    both = one.join(other, [KEY], "inner").where(near)
    meets = _meets("_left_time", f"_left.{STREAM_TIME}", "_right_time", f"_right.{STREAM_TIME}", node)
    is_kept = F.greatest("_left_time", "_right_time") > batch.since(node.name, _retention(node))
    return both.where(meets & is_kept).select(KEY, "_left", "_right")


def _meets(time: str, stream_time: str, other_time: str, other_stream_time: str, node: StreamJoin) -> "Column":
    """Whether the one of two rows that came first was still kept when the other one came."""
    from pyspark.sql import functions as F  # noqa: N812

    first = (
        F.when(F.col(stream_time) < F.col(other_stream_time), F.col(time))
        .when(F.col(stream_time) > F.col(other_stream_time), F.col(other_time))
        .otherwise(F.greatest(time, other_time))
    )
    return first > F.greatest(stream_time, other_stream_time) - _retention(node)


def _unmatched(
    left: _Side, right: _Side, node: StreamJoin, before: dict[str, int], after: dict[str, int], *, is_left: bool
) -> "DataFrame":
    """Rows of one side whose time has run out in this batch, and that have met no partner up to then."""
    from pyspark.sql import functions as F  # noqa: N812

    one, other = (left, right) if is_left else (right, left)
    earliest, latest = (node.before, node.after) if is_left else (node.after, node.before)
    closes = F.col(_TIME) + (latest + node.grace)
    rows = one.new.withColumn("_new", F.lit(True)).unionByName(one.earlier.withColumn("_new", F.lit(False)))
    has_run_out = (F.col("_new") | (closes >= by_partition(before))) & (closes < by_partition(after))
    rows = rows.where(has_run_out | F.col(KEY).isNull())
    mine = rows.select(
        KEY,
        F.col(_TIME).alias("_mine_time"),
        F.col(f"{_ROW}.{STREAM_TIME}").alias("_mine_came"),
        F.greatest(closes, f"{_ROW}.{STREAM_TIME}").alias("_until"),
        F.col(_ROW).alias("_mine"),
    )
    others = other.all().select(
        F.col(KEY).alias("_other_key"),
        F.col(_TIME).alias("_other_time"),
        F.col(f"{_ROW}.{STREAM_TIME}").alias("_other_came"),
    )
    is_partner = (
        (F.col(KEY) == F.col("_other_key"))
        & (F.col("_other_time") >= F.col("_mine_time") - earliest)
        & (F.col("_other_time") <= F.col("_mine_time") + latest)
        & (F.col("_other_came") <= F.col("_until"))
        & _meets("_mine_time", "_mine_came", "_other_time", "_other_came", node)
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
    found = ", ".join(f"_right.{quoted(name)}" for name in right)
    rows = matches.selectExpr(
        *[f"_left.{quoted(name)}" for name in left],
        f"IF(_right IS NOT NULL, struct({found}), NULL) AS {FOUND}",
        f"IF(_left IS NOT NULL, true, NULL) AS {HAS_LEFT}",
        KEY,
        *[f"greatest(_left.{name}, _right.{name}) AS {name}" for name in (TIMESTAMP, STREAM_TIME)],
        *[f"coalesce(_left.{name}, _right.{name}) AS {name}" for name in (PARTITION, OFFSET)],
    )
    return joined_columns(rows, left, right, node.columns)
