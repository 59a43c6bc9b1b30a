"""Where rows leave the application: topics, Parquet files, functions."""

from typing import TYPE_CHECKING, Any

from stoker.streams import nodes
from stoker.streams.columns import (
    BEFORE,
    DELETED,
    HEADERS,
    KEY,
    TIMESTAMP,
    WINDOW_END,
    WINDOW_START,
    struct_of,
    values_of,
)
from stoker.streams.compiler.batch import Batch
from stoker.streams.expressions import column
from stoker.streams.windows import SessionWindow

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def output_rows(batch: Batch, parent: nodes.Node) -> "tuple[DataFrame, list[str]]":
    """The rows that a sink takes, and the columns of their value: of a table its changes, also those that delete."""
    if isinstance(parent, nodes.TableNode):
        table = batch.table(parent)
        windows = [name for name in table.keys if name != KEY]
        return table.changes.drop(BEFORE), [*windows, *table.values]
    rows = batch.stream(parent)
    return rows, values_of(rows.columns)


def records(batch: Batch, sink: nodes.ToTopic, *, as_text: bool = False) -> "DataFrame":
    """As `format("stoker")` writes them: `key`, `value`, `timestamp`, and `headers` if there are any.

    A value of one column named `value` is that column itself, else a struct.
    """
    from pyspark.sql import functions as F  # noqa: N812

    rows, values = output_rows(batch, sink.parent)
    value = "value" if values == ["value"] else struct_of(values)
    key = F.col(KEY) if sink.key_expression is None else column(sink.key_expression, rows)
    if sink.windowed_key:
        key = _windowed_key(key, sink)
    elif isinstance(sink.parent, nodes.TableNode) and sink.parent.is_windowed:
        rows = rows.where(~F.col(DELETED))  # a null for the key does not say which window is gone
    if DELETED in rows.columns:
        value = f"IF({DELETED}, NULL, {value})"
    chosen: list[Any] = [key.alias("key"), F.expr(f"{value} AS value"), F.expr(f"{TIMESTAMP} AS timestamp")]
    if sink.headers is not None:
        chosen.append(column(sink.headers, rows).alias("headers"))
    elif HEADERS in rows.columns:
        chosen.append(F.col(HEADERS).alias("headers"))
    return rows.select(*chosen)


def _windowed_key(key: "Column", sink: nodes.ToTopic) -> "Column":
    """The bytes of Kafka Streams' serializers: the key, then the start of the window in milliseconds; of a session its end before."""
    from pyspark.sql import functions as F  # noqa: N812

    made = [each for each in nodes.in_order([sink]) if isinstance(each, nodes.Aggregate) and each.is_windowed]
    is_session = bool(made) and isinstance(made[-1].window, SessionWindow)
    times = (WINDOW_END, WINDOW_START) if is_session else (WINDOW_START,)
    numbers = [F.unhex(F.lpad(F.hex(F.unix_millis(name)), 16, "0")) for name in times]
    return F.concat(key.cast("string").cast("binary"), *numbers)
