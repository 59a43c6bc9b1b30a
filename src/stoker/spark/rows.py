"""What a task does: records of a range in, Arrow batches of exactly the wanted columns out."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from stoker.client.errors import OffsetsGone, TopicGone
from stoker.client.fetching import Isolation, PartitionRange
from stoker.client.properties import ClientProperties
from stoker.spark.columns import Decoded, Decoder, byte_array, microseconds
from stoker.spark.data_loss import DataLoss
from stoker.spark.errors import BadRecord
from stoker.spark.event_time import StreamTime
from stoker.spark.filters import Conditions
from stoker.spark.options import OnError
from stoker.spark.range_report import RangeReport, leave_report
from stoker.spark.records import TIMESTAMP, Records, raw_arrays, read_records
from stoker.spark.source_schema import ERROR, HEADERS, STREAM_TIME
from stoker.spark.worker_memory import give_back

if TYPE_CHECKING:
    from stoker.spark.formats import ReaderSchema
    from stoker.spark.formats.forwarding import Forwarding

_LOGGER: Final = logging.getLogger(__name__)
_MUCH: Final = 4 * 1024 * 1024
"""Bytes of a task, or of a batch, in comparison to which it is no work to allocate memory anew, or to make one batch more."""


class RangeToRead(InputPartition):
    """The work of one task."""

    def __init__(self, wanted: PartitionRange, conditions: Conditions = Conditions()) -> None:  # noqa: B008 (frozen)
        self.wanted = wanted
        self.conditions = conditions


@dataclass(frozen=True, kw_only=True)
class RowReader:
    """How records become rows. It is sent to the workers."""

    schema: StructType
    """The wanted columns, in their order."""
    key: "ReaderSchema | None"
    value: "ReaderSchema | None"
    on_error: OnError
    properties: ClientProperties
    isolation: Isolation
    fail_on_data_loss: bool
    event_time: tuple[str, ...] | None = None
    """Of which column `streamTime` is made, if it is wanted in a column or a report."""
    report: str | None = None
    """Where to leave what was read."""
    forwarding: "Forwarding | None" = None
    """If values are to be had as they came: `value` is then what that says."""

    def read(self, task: RangeToRead) -> Iterator[pa.RecordBatch]:
        """Raises BadRecord and DataLost if that is wanted, and ClientError."""
        columns = _Columns(self)
        size = 0
        for records in self._records(task.wanted):
            selected = _where(records, task.conditions.mask(records.offsets, records.timestamps))
            del records
            batch = columns.batch(selected)
            del selected
            if batch.num_rows:
                if not size and batch.nbytes > _MUCH:
                    yield columns.empty()  # pyspark keeps the first one for as long as the task takes
                size += batch.nbytes
                yield batch
            del batch
        columns.tell_dropped(task.wanted)
        if self.report is not None:
            leave_report(self.report, columns.report(task.wanted))
        if size > _MUCH:
            del columns
            give_back()

    def _records(self, wanted: PartitionRange) -> Iterator[Records]:
        """What is there of the range, if it is not to be an error that some is not."""
        loss = DataLoss(fail=self.fail_on_data_loss)
        while wanted.start < wanted.end:
            try:
                for records in read_records(
                    self.properties, wanted, isolation=self.isolation, with_headers=HEADERS in self.schema.fieldNames()
                ):
                    wanted = wanted._replace(start=int(records.offsets[-1]) + 1)
                    yield records
                    del records
                return
            except TopicGone as gone:
                loss.report(f"{wanted} was to be read: {gone}")
                return
            except OffsetsGone as gone:
                loss.report(f"{wanted} was to be read: {gone}")
                if gone.log_start_offset <= gone.offset:  # it ends too early, and there is nothing to wait for
                    return
                wanted = wanted._replace(start=gone.log_start_offset)


class _Bad(NamedTuple):
    """The records of a chunk that could not be decoded, in order, and why."""

    rows: NDArray[np.int64]
    reasons: list[str]


class _Columns:
    """The columns of one task."""

    def __init__(self, reader: RowReader) -> None:
        self._on_error = reader.on_error
        self._schema = to_arrow_schema(reader.schema, timezone="UTC")
        names = set(reader.schema.fieldNames())
        self._decoders: dict[str, Decoder] = {
            side: _decoder_for(schema)
            for side, schema in (("key", reader.key), ("value", reader.value))
            if schema is not None and (side in names or ERROR in names)
        }
        if reader.forwarding is not None:
            self._decoders["value"] = reader.forwarding.decoder()
        self._stream_time = StreamTime(reader.event_time) if reader.event_time is not None else None
        self._rows = self._bad = 0
        self._dropped = 0
        self._first_dropped = ""

    def batch(self, records: Records) -> pa.RecordBatch:
        decoded = {
            side: decoder.decode(records.keys if side == "key" else records.values)
            for side, decoder in self._decoders.items()
        }
        bad = _all_bad(decoded)
        self._rows += len(records)
        self._bad += len(bad.rows)
        if len(bad.rows) and self._on_error is OnError.FAIL:
            row = int(bad.rows[0])
            raise BadRecord(
                f"the record at offset {records.offsets[row]} of partition {records.partition} of topic {records.topic!r} "
                f"cannot be decoded: {bad.reasons[0]}. on.error=column turns such records into nulls with the reason beside "
                "them, on.error=drop leaves them out"
            )
        raw = [name for name in self._schema.names if name not in decoded and name not in (ERROR, STREAM_TIME)]
        arrays = dict(zip(raw, raw_arrays(records, raw), strict=True))
        arrays |= {side: found.column for side, found in decoded.items()}
        if ERROR in self._schema.names:
            arrays[ERROR] = _errors(records, bad, self._schema.field(ERROR).type)
        if self._stream_time is not None:
            arrays[STREAM_TIME] = self._stream_time.after(records.timestamps, arrays.get("value"))
        batch = pa.RecordBatch.from_arrays([arrays[name] for name in self._schema.names], schema=self._schema)
        if len(bad.rows) and self._on_error is OnError.DROP:
            return self._without(batch, records, bad)
        return batch

    def report(self, wanted: PartitionRange) -> RangeReport:
        latest = None if self._stream_time is None else self._stream_time.latest
        return RangeReport(wanted.topic, wanted.partition, wanted.start, wanted.end, self._rows, self._bad, latest)

    def empty(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([pa.array([], each.type) for each in self._schema], schema=self._schema)

    def tell_dropped(self, wanted: PartitionRange) -> None:
        if self._dropped:
            _LOGGER.warning(
                "%s: %d records could not be decoded and were left out; the first, at %s",
                wanted,
                self._dropped,
                self._first_dropped,
            )

    def _without(self, batch: pa.RecordBatch, records: Records, bad: _Bad) -> pa.RecordBatch:
        if not self._dropped:
            self._first_dropped = f"offset {records.offsets[bad.rows[0]]}: {bad.reasons[0]}"
        self._dropped += len(bad.rows)
        is_good = np.ones(len(records), dtype=np.bool_)
        is_good[bad.rows] = False
        return batch.filter(pa.array(is_good))


def _decoder_for(schema: "ReaderSchema") -> Decoder:
    from stoker.spark.formats import decoder_for  # which brings a client of registries: raw columns need none

    return decoder_for(schema)


def _where(records: Records, mask: NDArray[np.bool_] | None) -> Records:
    if mask is None:
        return records
    rows = np.flatnonzero(mask)
    return Records(
        topic=records.topic,
        partition=records.partition,
        offsets=records.offsets[rows],
        timestamps=records.timestamps[rows],
        timestamp_types=records.timestamp_types[rows],
        keys=records.keys.at(rows),
        values=records.values.at(rows),
        headers=None if records.headers is None else records.headers.take(pa.array(rows)),
    )


def _all_bad(decoded: dict[str, Decoded]) -> _Bad:
    """Those of keys and values together. A step for each bad one, not for each record."""
    reasons: dict[int, str] = {}
    for side, found in decoded.items():
        for row, reason in zip(found.bad.tolist(), found.reasons, strict=True):
            reasons[row] = f"{reasons[row]}; {side}: {reason}" if row in reasons else f"{side}: {reason}"
    rows = sorted(reasons)
    return _Bad(np.array(rows, dtype=np.int64), [reasons[row] for row in rows])


def _errors(records: Records, bad: _Bad, kind: pa.DataType) -> pa.Array:
    """Null for good records."""
    if not len(bad.rows):
        return pa.nulls(len(records), kind)
    fields = {
        "reason": pa.array(bad.reasons, pa.string()),
        "topic": pa.repeat(pa.scalar(records.topic, pa.string()), len(bad.rows)),
        "partition": pa.array(np.full(len(bad.rows), records.partition, dtype=np.int32)),
        "offset": pa.array(records.offsets[bad.rows]),
    }
    if "value" in kind.names:
        fields["timestamp"] = pa.array(microseconds(records.timestamps[bad.rows])).view(TIMESTAMP)
        fields["key"] = byte_array(records.keys.at(bad.rows), pa.binary())
        fields["value"] = byte_array(records.values.at(bad.rows), pa.binary())
    errors = pa.StructArray.from_arrays([fields[field.name] for field in kind], fields=list(kind))
    places = np.zeros(len(records), dtype=np.int64)
    places[bad.rows] = np.arange(len(bad.rows))
    is_good = np.ones(len(records), dtype=np.bool_)
    is_good[bad.rows] = False
    return errors.take(pa.array(places, mask=is_good))
