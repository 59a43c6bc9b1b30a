"""Processors: a class of the user's works on the rows of a key, with its state and timers."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from stoker.streams.columns import DELETED, KEY, OFFSET, PARTITION, STREAM_TIME, TIMESTAMP, values_of
from stoker.streams.compiler.batch import NEVER, Batch, by_partition
from stoker.streams.compiler.keyed_python import for_each_key
from stoker.streams.nodes import Process, StreamSource, in_order
from stoker.streams.processor import Context, Processor

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FORWARDED = "_forwarded"
_DUE = "_due"
"""The first timer of a key."""


def processed(batch: Batch, node: Process) -> "DataFrame":
    """Timers of keys without new rows come when the batch before has moved stream time past them."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import (
        ArrayType,
        BooleanType,
        LongType,
        StringType,
        StructField,
        StructType,
        _parse_datatype_string,  # type: ignore[attr-defined]
    )

    store = batch.store(node.name, [KEY])
    rows = batch.stream(node.parent).where(F.col(KEY).isNotNull())
    value = _parse_datatype_string(node.schema)
    assert isinstance(value, StructType)
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
    clocks = {
        str(partition): time
        for source in in_order([node])
        if isinstance(source, StreamSource)
        for partition, time in batch.clock_before(source.topic).items()
    }

    def changed() -> "DataFrame":
        like = batch.spark.createDataFrame([], schema)
        touched = rows.select(KEY).distinct().withColumn("_touched", F.lit(True))
        now = by_partition(clocks)
        states = store.rows_before(like.drop(_FORWARDED)).join(touched, [KEY], "left")
        states = states.where(F.col("_touched") | (F.col(_DUE) <= now)).withColumn("_now", now).drop("_touched")
        work = _work(node.processor, values_of(rows.columns))
        return for_each_key(rows, states, [KEY], work, schema, [STREAM_TIME, PARTITION, OFFSET])

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
        if given:
            _run_timers(processor, key, context, given[-1][STREAM_TIME])
        elif stored is not None:
            _run_timers(processor, key, context, stored["_now"])
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
                {
                    **record,
                    TIMESTAMP: datetime.fromtimestamp(time / 1000, UTC),
                    STREAM_TIME: max(context.stream_time, time),
                }
                for time, record in context.forwarded
            ],
        }

    return work


def _run_timers(processor: Processor, key: Any, context: Context, now: int) -> None:
    """Also those that a timer sets, as long as they are due."""
    while context.timers and (due := min(context.timers)) <= now:
        context.timers.discard(due)
        context.timestamp, context.stream_time = due, max(now, NEVER)
        processor.on_timer(key, due, context)


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
