"""Processors: a class of the user's works on the rows of a key, with its state and timers."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from stoker.streams.columns import DELETED, KEY, OFFSET, PARTITION, STREAM_TIME, TIMESTAMP, values_of
from stoker.streams.compiler.batch import Batch, by_partition
from stoker.streams.compiler.keyed_python import for_each_key
from stoker.streams.compiler.python_rows import columns_of
from stoker.streams.nodes import Process
from stoker.streams.processor import Context, Processor

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FORWARDED = "_forwarded"
_DUE = "_due"
"""The first timer of a key."""
_NOW = "_now"
"""The stream time after this batch."""


def processed(batch: Batch, node: Process) -> "DataFrame":
    """Timers of all keys come when stream time has passed them, whosever records have moved it."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import ArrayType, BooleanType, LongType, StringType, StructField, StructType

    store = batch.store(node.name, [KEY])
    now = by_partition(batch.advance_watermark(node, node.name)[1])
    rows = batch.stream(node.parent).where(F.col(KEY).isNotNull())
    value = columns_of(node.schema)
    forwarded = StructType([*value, rows.schema[TIMESTAMP], StructField(STREAM_TIME, LongType())])
    schema = StructType(
        [
            rows.schema[KEY],
            StructField("state", StringType()),
            StructField("timers", ArrayType(LongType())),
            StructField(_DUE, LongType()),
            rows.schema[TIMESTAMP],
            rows.schema[PARTITION],
            StructField(DELETED, BooleanType()),
            StructField(_FORWARDED, ArrayType(forwarded)),
        ]
    )

    def changed() -> "DataFrame":
        like = batch.nothing(schema)
        touched = rows.select(KEY).distinct().withColumn("_touched", F.lit(True))
        states = store.rows_before(like.drop(_FORWARDED)).join(touched, [KEY], "left")
        states = states.where(F.col("_touched") | (F.col(_DUE) <= now)).withColumn(_NOW, now).drop("_touched")
        work = _work(node.processor, values_of(rows.columns))
        return for_each_key(rows.withColumn(_NOW, now), states, [KEY], work, schema, [STREAM_TIME, PARTITION, OFFSET])

    written = batch.changes(node, store, changed, but=[_FORWARDED])
    out = written.select(KEY, PARTITION, F.explode(_FORWARDED).alias("_row"))
    return out.select(
        *[f"_row.{name}" for name in value.names],
        KEY,
        f"_row.{TIMESTAMP}",
        PARTITION,
        F.lit(-1).cast("bigint").alias(OFFSET),
        f"_row.{STREAM_TIME}",
    )


def _work(kind: type, names: list[str]) -> Any:
    def work(given: list[dict[str, Any]], stored: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
        state = json.loads(stored["state"]) if stored is not None else {}
        context = Context(state, stored["timers"] if stored is not None else [])
        processor: Processor = kind()
        first = given[0] if given else stored
        assert first is not None
        key = first[KEY]
        for row in given:
            _run_timers(processor, key, context, row[STREAM_TIME])
            context.timestamp, context.stream_time = _milliseconds(row[TIMESTAMP]), row[STREAM_TIME]
            processor.process(key, {name: row[name] for name in names}, context)
        _run_timers(processor, key, context, max([first[_NOW], *[row[STREAM_TIME] for row in given[-1:]]]))
        timers = sorted(context.timers)
        yield {
            KEY: key,
            "state": json.dumps(context.state),
            "timers": timers,
            _DUE: timers[0] if timers else None,
            TIMESTAMP: given[-1][TIMESTAMP] if given else first[TIMESTAMP],
            PARTITION: first[PARTITION],
            DELETED: not context.state and not timers,
            _FORWARDED: [
                {**record, TIMESTAMP: datetime.fromtimestamp(time / 1000, UTC), STREAM_TIME: max(now, time)}
                for time, now, record in context.forwarded
            ],
        }

    return work


def _run_timers(processor: Processor, key: Any, context: Context, now: int) -> None:
    """Also those that a timer sets, as long as they are due."""
    while context.timers and (due := min(context.timers)) <= now:
        context.timers.discard(due)
        context.timestamp = context.stream_time = due
        processor.on_timer(key, due, context)


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
