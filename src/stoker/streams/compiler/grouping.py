"""What all aggregations have in common: the rows by their key, and which of them are late."""

from typing import TYPE_CHECKING, NamedTuple

from stoker.streams.aggregates import ORDER
from stoker.streams.columns import KEY, OFFSET, PARTITION, STREAM_TIME, TIMESTAMP
from stoker.streams.compiler.batch import Batch, by_partition, keeps_partitions, late_name
from stoker.streams.expressions import Expression, column
from stoker.streams.nodes import Aggregate, Node

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class Grouped(NamedTuple):
    rows: "DataFrame"
    """With the new key, without those that have none (as in Kafka Streams); `_order` says which came later."""
    now: "Column"
    """The stream time of a row, in milliseconds: what is closed by then is closed for it."""


def grouped(batch: Batch, node: Aggregate) -> Grouped:
    from pyspark.sql import functions as F  # noqa: N812

    rows = with_key(batch.stream(node.parent), node.keys)
    rows = rows.where(F.col(KEY).isNotNull()).withColumn(ORDER, F.struct(STREAM_TIME, PARTITION, OFFSET))
    return Grouped(rows, stream_time(batch, node, node.name))


def with_key(rows: "DataFrame", keys: tuple[Expression, ...] | None) -> "DataFrame":
    """One expression is the key itself, several are a struct."""
    from pyspark.sql import functions as F  # noqa: N812

    if keys is None:
        return rows
    made = [column(each, rows) for each in keys]
    if len(made) == 1:
        return rows.withColumn(KEY, made[0])
    return rows.withColumn(KEY, F.struct(*made))


def stream_time(batch: Batch, node: Node, name: str) -> "Column":
    """If the rows of a key come from several partitions, also what was closed for all of them by the batch before."""
    from pyspark.sql import functions as F  # noqa: N812

    if keeps_partitions(node):
        return F.col(STREAM_TIME)
    return F.greatest(F.col(STREAM_TIME), by_partition(batch.manifest.watermarks.get(name, {})))


def without_late(batch: Batch, node: Node, rows: "DataFrame", is_late: "Column") -> "DataFrame":
    """Late rows are counted and left out; they can be had by `late()`."""
    from pyspark.sql import functions as F  # noqa: N812

    ours = [ORDER, *[name for name in rows.columns if name.startswith("__")]]
    batch.late_rows[node] = rows.where(is_late).drop(*ours)
    counted = batch.observe(rows, late_name(str(node.store)), late=F.count_if(is_late))
    return counted.where(~is_late)


def milliseconds() -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    return F.unix_millis(F.col(TIMESTAMP))
