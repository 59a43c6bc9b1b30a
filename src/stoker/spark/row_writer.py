"""The rows of a task, chunk by chunk, to batches for their partitions."""

import time
from collections.abc import Callable, Hashable
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stoker.client.cluster import Cluster
from stoker.client.producing import BatchProducer, largest_batch, partition_count
from stoker.spark.columns import Encoder
from stoker.spark.encoding import Packing, RecordsToWrite, encode_records, encoded_headers
from stoker.spark.errors import UnencodableColumn, UnwritableRow
from stoker.spark.formats import WriterSchema, encoder_for
from stoker.spark.hashing import digest
from stoker.spark.partitioner import Spread, choose_partitions
from stoker.spark.sink_columns import HEADERS, KEY, PARTITION, TIMESTAMP, TOPIC, VALUE
from stoker.spark.sink_plan import SinkPlan
from stoker.wire.batch_columns import Integers

_DIGEST_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF

_LIMIT_SECONDS: Final = 300.0
_MOST_LIMITS: Final = 10_000
_limits: dict[Hashable, tuple[int, float]] = {}


def forget_limits() -> None:
    """What topics take may have changed: after a failure it is asked for anew."""
    _limits.clear()


class RowWriter:
    """Writes with a producer, or without one only looks: `rows` and `digest` are the same."""

    def __init__(
        self,
        plan: SinkPlan,
        cluster: Cluster,
        producer: BatchProducer | None,
        *,
        start: int,
        with_digest: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`start` says where rows without a key begin to be spread."""
        self._plan = plan
        self._cluster = cluster
        self._producer = producer
        self._start = start
        self._with_digest = with_digest
        self._clock = clock
        self._encoders: dict[str, Encoder] = {}
        self._partition_counts: dict[str, int] = {}
        self._packings: dict[str, Packing] = {}
        self.rows = 0
        self.digest = 0
        """Of keys, values, headers and topics, in any order."""

    def write(self, chunk: pa.RecordBatch) -> None:
        """Encode the rows, and put them on their way. Raises UnwritableRow, UnencodableColumn, ClientError."""
        numbers = np.arange(self.rows, self.rows + len(chunk))
        records = self._records(chunk, numbers)
        topics = _column(chunk, TOPIC) if self._plan.options.topic is None else None
        if self._with_digest:
            keys = records.keys
            if keys is None and _column(chunk, KEY) is not None:  # all null here, but other chunks may have some
                keys = pa.nulls(len(chunk), pa.binary())
            parts = [records.values, keys, records.headers and records.headers.content]
            parts.append(None if topics is None else topics.cast(pa.binary()))
            self.digest = (self.digest + digest([part for part in parts if part is not None])) & _DIGEST_MASK
        self.rows += len(chunk)
        if self._producer is None:
            return
        wanted = _column(chunk, PARTITION)
        if topics is None:
            assert self._plan.options.topic is not None
            self._send(self._plan.options.topic, records, wanted, numbers)
        else:
            self._send_by_topic(topics, records, wanted, numbers)
        self._producer.push()

    def _records(self, chunk: pa.RecordBatch, numbers: Integers) -> RecordsToWrite:
        plan = self._plan
        if plan.columns.value_fields:
            fields = [chunk.schema.field(name) for name in plan.columns.value_fields]
            values = pa.StructArray.from_arrays([chunk.column(field.name) for field in fields], fields=fields)
        else:
            values = chunk.column(VALUE)
        keys, headers, times = _column(chunk, KEY), _column(chunk, HEADERS), _column(chunk, TIMESTAMP)
        return RecordsToWrite(
            None if keys is None or keys.null_count == len(keys) else self._encoded(KEY, plan.key, keys, numbers),
            self._encoded(VALUE, plan.value, values, numbers),
            None if headers is None else encoded_headers(headers, numbers),
            None if times is None else self._timestamps(times, numbers),
        )

    def _encoded(self, side: str, schema: WriterSchema | None, column: pa.Array, numbers: Integers) -> pa.BinaryArray:
        if schema is None:
            return column.cast(pa.binary())
        encoder = self._encoders.get(side)
        if encoder is None:
            encoder = self._encoders[side] = encoder_for(schema, column.type)
        try:
            return encoder.encode(column)
        except UnencodableColumn as error:
            if not numbers[0]:
                raise
            raise UnencodableColumn(f"{error} (rows counted from row {numbers[0]} of the task on)") from error

    def _timestamps(self, times: pa.Array, numbers: Integers) -> Integers:
        """Milliseconds; now where there is none."""
        now = self._now()
        microseconds = times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64())
        found: Integers = pc.fill_null(microseconds, now * 1000).to_numpy(zero_copy_only=False) // 1000
        wrong = np.flatnonzero(found < 0)
        if len(wrong):
            row = int(wrong[0])
            raise UnwritableRow(f"row {numbers[row]} is of {times[row].as_py()}: Kafka has no times before 1970")
        return found

    def _send_by_topic(
        self, topics: pa.StringArray, records: RecordsToWrite, wanted: pa.Array | None, numbers: Integers
    ) -> None:
        if topics.null_count:
            row = int(np.argmax(topics.is_null().to_numpy(zero_copy_only=False)))
            raise UnwritableRow(
                f"row {numbers[row]} has no topic: the column `topic` is null there, and no option topic is set"
            )
        encoded = topics.dictionary_encode()
        which = encoded.indices.to_numpy(zero_copy_only=False)
        names = encoded.dictionary.to_pylist()
        if len(names) == 1:
            self._send(names[0], records, wanted, numbers)
            return
        for number, name in enumerate(names):
            rows = np.flatnonzero(which == number)
            places = pa.array(rows)
            self._send(name, records.take(rows), None if wanted is None else wanted.take(places), numbers[rows])

    def _send(self, topic: str, records: RecordsToWrite, wanted: pa.Array | None, numbers: Integers) -> None:
        assert self._producer is not None
        packing = self._packing(topic)
        partitions = choose_partitions(
            records.keys,
            wanted,
            records.sizes,
            topic=topic,
            partition_count=self._partition_count(topic),
            spread=Spread(self._start, packing.batch_bytes),
            rows=numbers,
        )
        self._start += 1
        for batch in encode_records(records, topic, partitions, packing, now=self._now(), rows=numbers):
            self._producer.send(batch)

    def _partition_count(self, topic: str) -> int:
        found = self._partition_counts.get(topic)
        if found is None:
            found = self._partition_counts[topic] = partition_count(self._cluster, topic)
        return found

    def _packing(self, topic: str) -> Packing:
        found = self._packings.get(topic)
        if found is None:
            options = self._plan.options
            self._partition_count(topic)  # it may have to be created
            largest = self._largest_batch(topic)
            if options.max_request_size is not None:
                largest = min(largest, options.max_request_size)
            batch_bytes = min(options.batch_bytes, largest)
            found = self._packings[topic] = Packing(batch_bytes, largest, options.codec, options.compression_level)
        return found

    def _largest_batch(self, topic: str) -> int:
        """Asked for once in a while, not by every task of a worker."""
        key = (self._cluster.properties.bootstrap_servers, topic)
        largest, best_before = _limits.get(key, (0, 0.0))
        if time.monotonic() > best_before:
            largest = largest_batch(self._cluster, topic)
            if len(_limits) >= _MOST_LIMITS:
                _limits.clear()
            _limits[key] = (largest, time.monotonic() + _LIMIT_SECONDS)
        return largest

    def _now(self) -> int:
        return int(self._clock() * 1000)


def _column(chunk: pa.RecordBatch, name: str) -> pa.Array | None:
    return chunk.column(name) if chunk.schema.get_field_index(name) >= 0 else None
