"""`aggregate(initial, step)` and `reduce(step)`: a Python function takes the rows of a key one after the other."""

from collections.abc import Iterator
from copy import deepcopy
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
from stoker.streams.compiler.aggregation import still_counts, stored_table
from stoker.streams.compiler.batch import Batch
from stoker.streams.compiler.frames import TableFrame
from stoker.streams.compiler.grouping import START, in_windows
from stoker.streams.compiler.keyed_python import Work, for_each_key
from stoker.streams.nodes import Aggregate, Fold
from stoker.streams.windows import HoppingWindow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def fold(batch: Batch, node: Aggregate) -> TableFrame:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import BooleanType, StructField, StructType

    window = node.window
    assert node.fold is not None
    assert window is None or isinstance(window, HoppingWindow)
    keys = [KEY] if window is None else [KEY, *WINDOW]
    store = batch.store(node.name, keys)
    rows = in_windows(batch, node, window).drop(ORDER)
    names = values_of(rows.columns)
    if window is not None:
        end = F.timestamp_millis(F.col(START) + window.size)
        rows = rows.withColumns({WINDOW_START: F.timestamp_millis(START), WINDOW_END: end}).drop(START)
    value, is_scalar = _value(node.fold, [rows.schema[name] for name in names])
    fields = [rows.schema[name] for name in [*keys, TIMESTAMP, PARTITION]]
    schema = StructType([*fields, *value, StructField(DELETED, BooleanType()), StructField(BEFORE, value)])

    def changed() -> "DataFrame":
        like = batch.nothing(schema)
        states = store.rows_before(like, rows.select(*keys).distinct())
        work = _work(node.fold, keys, names, value.names, is_scalar)
        return for_each_key(rows, states, keys, work, schema, [STREAM_TIME, PARTITION, OFFSET])

    expiry = still_counts(batch, node) if window is not None else None
    return stored_table(batch, node, store, keys, value.names, changed, expiry)


def _value(fold: Fold, fields: list[Any]) -> "tuple[StructType, bool]":
    """The columns of the state, and whether it is one value rather than a dict of them."""
    from pyspark.sql.types import StructField, StructType, _parse_datatype_string

    if fold.schema is None:
        return StructType(fields), False
    parsed = _parse_datatype_string(fold.schema)
    if isinstance(parsed, StructType):
        return parsed, False
    return StructType([StructField("value", parsed)]), True


def _work(fold: Fold | None, keys: list[str], names: list[str], results: list[str], is_scalar: bool) -> Work:
    assert fold is not None
    step, is_reduce = fold.step, fold.schema is None

    def first() -> Any:
        """A new one for every key, which may change it."""
        return fold.initial() if callable(fold.initial) else deepcopy(fold.initial)

    def work(given: list[dict[str, Any]], stored: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
        if not given:
            return
        before = None if stored is None else {name: stored[name] for name in results}
        state = None if before is None else before["value"] if is_scalar else deepcopy(before)
        for row in given:
            values = {name: row[name] for name in names}
            if is_reduce:
                state = values if state is None else step(state, values)
            else:
                state = step(row[KEY], values, first() if state is None else state)
        if state is None and before is None:
            return
        result = dict.fromkeys(results) if state is None else {"value": state} if is_scalar else state
        if not isinstance(result, dict) or not result.keys() >= set(results):
            raise TypeError(f"the function gave {state!r}: it gives a dict of {', '.join(results)}, as its schema says")
        times = [row[TIMESTAMP] for row in given] + ([stored[TIMESTAMP]] if stored else [])
        yield {
            **{name: given[-1][name] for name in keys},
            **{name: result[name] for name in results},
            TIMESTAMP: max(times),
            PARTITION: given[-1][PARTITION],
            DELETED: state is None,
            BEFORE: before,
        }

    return work
