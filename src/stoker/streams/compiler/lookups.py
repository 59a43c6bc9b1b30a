"""Rows of a stream with what a table has for their key at that time."""

from typing import TYPE_CHECKING

from stoker.streams.columns import DELETED, KEY, OFFSET, STREAM_TIME, TIMESTAMP, struct_of
from stoker.streams.compiler.batch import Batch
from stoker.streams.compiler.frames import TableFrame
from stoker.streams.compiler.join_columns import FOUND, joined_columns
from stoker.streams.expressions import column
from stoker.streams.nodes import TableLookup, TableSource
from stoker.streams.state.store import SMALL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOOKED_FOR = "_looked_for"


def looked_up(batch: Batch, node: TableLookup) -> "DataFrame":
    from pyspark.sql import functions as F  # noqa: N812

    stream, table = batch.stream(node.left), batch.table(node.right)
    key = F.col(KEY) if node.key is None else column(node.key, stream)
    rows = stream.withColumn(_LOOKED_FOR, key)
    is_global = isinstance(node.right, TableSource) and node.right.is_global
    if is_global or batch.is_at_rest or not table.is_changed:
        rows = _with_latest(rows, table, table.after(None))
    else:
        rows = _as_of(rows, table)
    if node.how == "inner":
        rows = rows.where(F.col(FOUND).isNotNull())
    return joined_columns(rows, stream.columns, table.values, node.columns).drop(_LOOKED_FOR)


def _with_latest(rows: "DataFrame", table: TableFrame, latest: "DataFrame") -> "DataFrame":
    """A table that is small goes to every task, and no row of the stream has to move."""
    from pyspark.sql import functions as F  # noqa: N812

    found = latest.selectExpr(f"{KEY} AS {_LOOKED_FOR}", f"{struct_of(table.values)} AS {FOUND}")
    if table.rows <= SMALL:
        found = F.broadcast(found)
    return rows.join(found, [_LOOKED_FOR], "left")


def _as_of(rows: "DataFrame", table: TableFrame) -> "DataFrame":
    """The rows of the table have changed in this batch: each row of the stream sees those changes that came before it.

    Kafka Streams takes the records of both topics in the order of their stream times, the table's first where they are equal.
    """
    from pyspark.sql import functions as F  # noqa: N812

    versions = table.versions
    if versions is None:
        versions = table.changes.withColumns({STREAM_TIME: F.unix_millis(TIMESTAMP), OFFSET: F.lit(0).cast("bigint")})
    value = f"IF({DELETED}, NULL, {struct_of(table.values)})"
    version = f"struct({STREAM_TIME} AS time, {OFFSET} AS offset, {value} AS value)"
    listed = versions.groupBy(F.col(KEY).alias(_LOOKED_FOR)).agg(
        F.expr(f"array_sort(collect_list({version})) AS _versions")
    )
    if table.rows <= SMALL:
        listed = F.broadcast(listed)
    before = _with_latest(rows, table, table.before(None)).withColumnRenamed(FOUND, "_earlier")
    both = before.join(listed, [_LOOKED_FOR], "left")
    past = F.filter(F.col("_versions"), lambda each: each["time"] <= F.col(STREAM_TIME))
    latest = F.try_element_at(past, F.lit(-1))
    found = F.when(F.col("_versions").isNull() | (F.size(past) == 0), F.col("_earlier")).otherwise(latest["value"])
    return both.withColumn(FOUND, found).drop("_earlier", "_versions")
