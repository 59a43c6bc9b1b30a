"""`aggregate(initial, step)` and `reduce(step)`: a Python function takes the rows of a key one after the other."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stoker.streams.aggregates import ORDER
from stoker.streams.columns import (
    BEFORE,
    DELETED,
    KEY,
    OFFSET,
    PARTITION,
    STREAM_TIME,
    TIMESTAMP,
    WINDOW,
    WINDOW_END,
    WINDOW_START,
    values_of,
)
from stoker.streams.compiler.aggregation import _starts, stored_table
from stoker.streams.compiler.batch import Batch
from stoker.streams.compiler.frames import TableFrame
from stoker.streams.compiler.grouping import grouped, without_late
from stoker.streams.compiler.keyed_python import for_each_key
from stoker.streams.errors import InvalidTopology
from stoker.streams.nodes import Aggregate
from stoker.streams.windows import HoppingWindow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fold(batch: Batch, node: Aggregate) -> TableFrame:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import BooleanType, StructField, StructType, _parse_datatype_string  # type: ignore[attr-defined]

    assert node.fold is not None
    window = node.window
    if window is not None and not isinstance(window, HoppingWindow):
        raise InvalidTopology(
            f"{node.describe()}: a Python function over a {window} window cannot be: use SQL aggregates (sum, count, latest, "
            "collect_list ...), or a Processor"
        )
    keys = [KEY] if window is None else [KEY, *WINDOW]
    store = batch.store(node.name, keys)
    rows, now = grouped(batch, node)
    if window is not None:
        rows = rows.withColumn("__start", _starts(window))
        if window.advance != window.size:
            rows = rows.withColumn("__start", F.explode("__start"))
        rows = without_late(batch, node, rows, F.col("__start") + (window.size + window.grace) <= now)
        rows = rows.withColumn(WINDOW_START, F.timestamp_millis("__start"))
        rows = rows.withColumn(WINDOW_END, F.timestamp_millis(F.col("__start") + window.size)).drop("__start")
    rows = rows.drop(ORDER)
    names = [name for name in values_of(rows.columns) if name not in keys]
    if node.fold.schema is None:
        value = StructType([rows.schema[name] for name in names])
    else:
        parsed = _parse_datatype_string(node.fold.schema)
        value = parsed if isinstance(parsed, StructType) else StructType([StructField("value", parsed)])
    fields = [rows.schema[name] for name in keys]
    schema = StructType(
        [*fields, *value, rows.schema[TIMESTAMP], rows.schema[PARTITION], StructField(DELETED, BooleanType())]
    )
    schema = schema.add(StructField(BEFORE, value))
    results, step, initial, is_scalar = (
        list(value.names),
        node.fold.step,
        node.fold.initial,
        list(value.names) == ["value"],
    )
    is_reduce = node.fold.schema is None

    def work(given: list[dict[str, Any]], stored: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
        before = None if stored is None else {name: stored[name] for name in results}
        state = before if before is not None else initial
        if before is not None and is_scalar and not is_reduce:
            state = before["value"]
        for row in given:
            values = {name: row[name] for name in names}
            if is_reduce:
                state = values if state is None else step(state, values)
            else:
                state = step(row[KEY], values, state)
        last = given[-1] if given else stored
        assert last is not None
        times = [row[TIMESTAMP] for row in given] + ([stored[TIMESTAMP]] if stored else [])
        result = None if state is None else (state if isinstance(state, dict) else {"value": state})
        if given:
            yield {
                **{name: last[name] for name in keys},
                **{name: None if result is None else result[name] for name in results},
                TIMESTAMP: max(times),
                PARTITION: last[PARTITION],
                DELETED: result is None,
                BEFORE: before,
            }

    def changed() -> "DataFrame":
        like = batch.spark.createDataFrame([], schema)
        touched = rows.select(*keys).distinct()
        states = store.rows_before(like, touched)
        return for_each_key(rows, states, keys, work, schema, [STREAM_TIME, PARTITION, OFFSET])

    return stored_table(batch, node, store, keys, results, changed)
