"""The event time of records, and the stream time that follows from it: the largest event time that was seen so far."""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import DataType, LongType, StructType, TimestampNTZType, TimestampType

from stoker.spark.errors import InvalidOption
from stoker.wire.batch_columns import Integers

RECORD_TIMESTAMP: Final = ("timestamp",)
NEVER: Final = -(2**63)
"""Before any record."""


def event_time_path(text: str, value: DataType | None) -> tuple[str, ...]:
    """`timestamp`, or `value` and the names of a field in it. Raises InvalidOption with the choices."""
    path = tuple(text.split("."))
    if path == RECORD_TIMESTAMP:
        return path
    if path[0] != "value" or len(path) < 2:
        raise InvalidOption(f"streamTime={text}: it takes timestamp, or a field of the value, such as value.ordered_at")
    kind = value
    for depth, name in enumerate(path[1:], start=1):
        fields = {field.name: field.dataType for field in kind} if isinstance(kind, StructType) else {}
        if name not in fields:
            known = f"its fields are: {', '.join(fields)}" if fields else "it has no fields"
            raise InvalidOption(f"streamTime={text}: there is no {name!r} in {'.'.join(path[:depth])}; {known}")
        kind = fields[name]
    if not isinstance(kind, TimestampType | TimestampNTZType | LongType):
        raise InvalidOption(
            f"streamTime={text} is {kind.simpleString() if kind else 'nothing'}: it takes a timestamp, or milliseconds as bigint"
        )
    return path


class StreamTime:
    """Of one task: goes on from batch to batch."""

    def __init__(self, path: tuple[str, ...]) -> None:
        self._path = path
        self._latest = NEVER

    @property
    def latest(self) -> int | None:
        """None before there was any."""
        return None if self._latest == NEVER else self._latest

    def after(self, timestamps: Integers, value: pa.Array | None) -> pa.Array:
        """The stream time after each record, in milliseconds: of records without an event time, what it was before."""
        if self._path == RECORD_TIMESTAMP:
            times = timestamps
        else:
            assert value is not None
            times = _milliseconds(value, self._path[1:])
        if not len(times):
            return pa.array([], pa.int64())
        running = np.maximum(np.maximum.accumulate(times), self._latest)
        self._latest = int(running[-1])
        return pa.array(running)


def _milliseconds(column: pa.Array, path: tuple[str, ...]) -> Integers:
    for name in path:
        column = pc.struct_field(column, name)
    if pa.types.is_timestamp(column.type):
        return np.asarray(pc.fill_null(column.cast(pa.timestamp("us", column.type.tz)).view(pa.int64()), NEVER)) // 1000
    return np.asarray(pc.fill_null(column, NEVER), dtype=np.int64)
