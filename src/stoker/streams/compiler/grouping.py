"""What all aggregations have in common: the rows by their key, in which windows they are, and which of them are late."""

from typing import TYPE_CHECKING, NamedTuple

from stoker.streams.aggregates import ORDER
from stoker.streams.columns import KEY, OFFSET, PARTITION, STREAM_TIME, TIMESTAMP
from stoker.streams.compiler.batch import Batch, by_partition, late_name
from stoker.streams.compiler.times import keeps_partitions, time_sources
from stoker.streams.expressions import Expression, column
from stoker.streams.nodes import Aggregate, Node
from stoker.streams.windows import HoppingWindow

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

START = "__start"
"""Of the window that a row is in, in milliseconds."""


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
    """If the rows of a key come from several partitions or topics, also what was closed for all of them by the batch before."""
    from pyspark.sql import functions as F  # noqa: N812

    if keeps_partitions(node) and len(time_sources(node)) == 1:
        return F.col(STREAM_TIME)
    return F.greatest(F.col(STREAM_TIME), by_partition(batch.manifest.watermarks.get(name, {})))


LATE = "__late"
"""Whether a row is late, where late ones are still among the others."""


def in_windows(batch: Batch, node: Aggregate, window: HoppingWindow | None, *, mark_late: bool = False) -> "DataFrame":
    """The rows of a node, each in every window that is open for it: with `__start`. One for which all are closed is late.

    With `mark_late`, late rows of tumbling windows are not counted and left out here, but marked by `__late`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    rows, now = grouped(batch, node)
    if window is None:
        return rows
    time = milliseconds()
    last = time - F.pmod(time, F.lit(window.advance))
    is_late = last + (window.size + window.grace) <= now
    if mark_late and window.advance == window.size:
        batch.late_rows[node] = rows.where(is_late).drop(*_ours(rows))
        return rows.withColumn(START, last).withColumn(LATE, is_late)
    rows = without_late(batch, node, rows, is_late)
    if window.advance == window.size:
        return rows.withColumn(START, last)
    number = (window.size + window.advance - 1) // window.advance
    starts = F.sequence(last - F.lit((number - 1) * window.advance), last, F.lit(window.advance).cast("bigint"))
    is_open = F.filter(  # and none begins before 1970
        starts, lambda start: (start >= 0) & (start + window.size > time) & (start + (window.size + window.grace) > now)
    )
    return rows.withColumn(START, F.explode(is_open))


def without_late(batch: Batch, node: Node, rows: "DataFrame", is_late: "Column") -> "DataFrame":
    """Late rows are counted and left out; they can be had by `late()`."""
    from pyspark.sql import functions as F  # noqa: N812

    batch.late_rows[node] = rows.where(is_late).drop(*_ours(rows))
    counted = batch.observe(rows, late_name(str(node.store)), late=F.count_if(is_late))
    return counted.where(~is_late)


def _ours(rows: "DataFrame") -> list[str]:
    """Columns that rows have only while they are grouped."""
    return [ORDER, *[name for name in rows.columns if name.startswith("__")]]


def milliseconds() -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    return F.unix_millis(F.col(TIMESTAMP))
