"""Records by columns are those that the plain parser reads, whatever shapes, batches and transactions there are."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import types
from pyspark.sql.pandas.types import to_arrow_schema

from stoker.client.fetching import Fetched, Isolation, PartitionRange
from stoker.client.range_fetcher import AbortedTransaction
from stoker.errors import CorruptRecords
from stoker.spark import record_pieces
from stoker.spark.records import RAW_COLUMNS, raw_arrays, records_in
from stoker.wire.batch_columns import read_batches
from stoker.wire.compression import Codec
from stoker.wire.record_batch import (
    ControlType,
    Record,
    TimestampType,
    build_batch,
    build_end_transaction_batch,
    iterate_records,
    read_header,
)
from stoker.wire.varint_columns import PADDING

PRODUCERS = (7, 8, 9)
NO_PRODUCER = -1

contents = st.one_of(st.none(), st.binary(max_size=40), st.integers(100, 9000).map(lambda size: b"x" * size))
headers = st.lists(st.tuples(st.text(max_size=4), st.one_of(st.none(), st.binary(max_size=9))), max_size=4).map(tuple)
records = st.builds(
    Record,
    offset=st.integers(1, 4),  # how far from the one before: more than 1 if others were compacted away
    timestamp=st.integers(-1, 2**40),
    key=contents,
    value=contents,
    headers=st.one_of(st.just(()), headers),
)


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The producer is in a transaction if it is not NO_PRODUCER."""

    records: list[Record]
    producer: int
    codec: Codec
    timestamp_type: TimestampType
    tail: int
    """Offsets after the last record that were compacted away."""


@dataclass(frozen=True)
class End:
    producer: int
    is_abort: bool


batches = st.builds(
    Batch,
    records=st.lists(records, max_size=12),
    producer=st.sampled_from((NO_PRODUCER, *PRODUCERS)),
    codec=st.sampled_from(list(Codec)),
    timestamp_type=st.sampled_from(list(TimestampType)),
    tail=st.integers(0, 3),
)
ends = st.builds(End, st.sampled_from(PRODUCERS), st.booleans())


@dataclass
class Log:
    """A partition as a broker has it, and what a plain reader finds there."""

    data: bytearray = field(default_factory=bytearray)
    size: int = 0
    committed: list[tuple[Record, TimestampType]] = field(default_factory=list)
    all: list[tuple[Record, TimestampType]] = field(default_factory=list)
    aborted: list[tuple[AbortedTransaction, int]] = field(default_factory=list)
    """With the offset of the marker."""
    _open: dict[int, tuple[int, list[tuple[Record, TimestampType]]]] = field(default_factory=dict)

    def append(self, event: Batch | End) -> None:
        if isinstance(event, End):
            self._end(event)
            return
        offset = self.size - 1
        placed = []
        for record in event.records:
            offset += record.offset
            placed.append(record._replace(offset=offset))
        made = build_batch(
            placed,
            base_offset=self.size,
            codec=event.codec,
            producer_id=event.producer,
            transactional=event.producer != NO_PRODUCER,
            timestamp_type=event.timestamp_type,
            keep_offsets=True,
            last_offset_delta=max(offset - self.size, 0) + event.tail,
        )
        found = [(each, event.timestamp_type) for each in iterate_records(made, 1 << 24)]
        self.all += found
        if event.producer == NO_PRODUCER:
            self.committed += found
        else:
            self._open.setdefault(event.producer, (self.size, []))[1].extend(found)
        self.data += made
        self.size = read_header(made).next_offset

    def _end(self, end: End) -> None:
        if end.producer not in self._open:
            return
        first_offset, found = self._open.pop(end.producer)
        if end.is_abort:
            self.aborted.append((AbortedTransaction(end.producer, first_offset), self.size))
        else:
            self.committed += found
        self.data += build_end_transaction_batch(
            ControlType.ABORT if end.is_abort else ControlType.COMMIT,
            producer_id=end.producer,
            producer_epoch=0,
            timestamp=5,
            base_offset=self.size,
        )
        self.size += 1

    def close(self) -> None:
        """What is not ended is aborted."""
        for producer in list(self._open):
            self._end(End(producer, True))
        self.committed.sort(key=lambda record: record[0].offset)
        self.aborted.sort(key=lambda aborted: aborted[0].first_offset)

    def fetched(self, start: int) -> Fetched:
        """From the batch on in which `start` is, as a broker answers: without transactions that were over before."""
        position = 0
        while position < len(self.data) and read_header(self.data, position).last_offset < start:
            position += read_header(self.data, position).size
        data = memoryview(bytearray(self.data[position:] + bytes(PADDING)))
        aborted = [each for each, marker in self.aborted if marker >= start]
        return Fetched(read_batches(data, len(data) - PADDING), aborted, self.size, self.size, 0)


def log_of(events: list[Batch | End]) -> Log:
    log = Log()
    for event in events:
        log.append(event)
    log.close()
    return log


def rows_by_columns(log: Log, wanted: PartitionRange, isolation: Isolation) -> Iterator[dict[str, Any]]:
    for piece in records_in(log.fetched(wanted.start), wanted, isolation=isolation, with_headers=True):
        assert len(piece)
        arrays = raw_arrays(piece, RAW_COLUMNS.names)
        assert [array.type for array in arrays] == RAW_COLUMNS.types
        batch = pa.RecordBatch.from_arrays(arrays, schema=RAW_COLUMNS)
        batch.validate(full=True)
        yield from batch.to_pylist()


def plain_rows(log: Log, wanted: PartitionRange, isolation: Isolation) -> Iterator[dict[str, Any]]:
    found = log.committed if isolation is Isolation.READ_COMMITTED else log.all
    for record, timestamp_type in found:
        if wanted.start <= record.offset < wanted.end:
            yield {
                "key": record.key,
                "value": record.value,
                "topic": wanted.topic,
                "partition": wanted.partition,
                "offset": record.offset,
                "timestamp": record.timestamp,
                "timestampType": int(timestamp_type),
                "headers": [{"key": key, "value": value} for key, value in record.headers] or None,
            }


def in_milliseconds(rows: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    began = datetime(1970, 1, 1, tzinfo=UTC)
    return [row | {"timestamp": round((row["timestamp"] - began).total_seconds() * 1000)} for row in rows]


@pytest.mark.parametrize("isolation", list(Isolation))
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(st.one_of(batches, batches, ends), max_size=14), data=st.data())
def test_columns_are_what_the_plain_parser_reads(
    events: list[Batch | End], data: st.DataObject, isolation: Isolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Null keys, tombstones, headers, every codec, gaps, control batches, aborted transactions; ranges and pieces of any size."""
    log = log_of(events)
    start = data.draw(st.integers(0, log.size), "start")
    wanted = PartitionRange("orders", 3, start, data.draw(st.integers(start, log.size + 1), "end"))
    monkeypatch.setattr(record_pieces, "MOST_ROWS", data.draw(st.sampled_from([1, 3, 64 * 1024]), "most rows"))
    monkeypatch.setattr(record_pieces, "MOST_BYTES", data.draw(st.sampled_from([1, 50, 500, 1 << 23]), "most bytes"))
    assert in_milliseconds(rows_by_columns(log, wanted, isolation)) == list(plain_rows(log, wanted, isolation))


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize(("count", "value_bytes"), [(20_000, 10), (4_000, 1_000), (5, 2_000_000)])
def test_a_batch_that_is_larger_than_a_piece(
    codec: Codec, count: int, value_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_pieces, "MOST_BYTES", 100_000)
    monkeypatch.setattr(record_pieces, "_FIRST_PART", 20_000)
    made = [
        Record(offset=1, timestamp=number, key=b"key %d" % number, value=b"v" * (value_bytes if number % 7 else 5))
        for number in range(count)
    ]
    batch = Batch(records=made, producer=NO_PRODUCER, codec=codec, timestamp_type=TimestampType.CREATE_TIME, tail=0)
    log = log_of([batch, batch])
    wanted = PartitionRange("orders", 0, 3, log.size - 1)
    pieces = list(records_in(log.fetched(3), wanted, isolation=Isolation.READ_COMMITTED))
    assert len(pieces) > 2
    assert max(int(piece.values.lengths.sum()) for piece in pieces) < 100_000 + 2 * value_bytes
    values = [value for piece in pieces for value in raw_arrays(piece, ["value"])[0].to_pylist()]
    assert values == [record.value for record, _ in log.all[3:-1]]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_damage_in_a_large_batch_is_told(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_pieces, "MOST_BYTES", 5_000)
    batch = bytearray(build_batch([Record(value=b"value %d" % number) for number in range(5000)], codec=codec))
    batch[len(batch) // 2 : len(batch) // 2 + 40] = bytes(40)
    log = Log(data=batch, size=5000)
    with pytest.raises(CorruptRecords):
        list(records_in(log.fetched(0), PartitionRange("t", 0, 0, 5000), isolation=Isolation.READ_COMMITTED))


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("more", [1, -1, 3])
def test_another_number_of_records_than_there_are(codec: Codec, more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_pieces, "MOST_BYTES", 1_000)
    batch = bytearray(build_batch([Record(value=b"value")] * 500, codec=codec))
    batch[57:61] = (500 + more).to_bytes(4)
    log = Log(data=batch, size=500)
    with pytest.raises(CorruptRecords):
        list(records_in(log.fetched(0), PartitionRange("t", 0, 0, 500), isolation=Isolation.READ_COMMITTED))


def test_a_compression_that_does_not_exist() -> None:
    batch = bytearray(build_batch([Record(value=b"value")]))
    batch[22] |= 6
    with pytest.raises(CorruptRecords, match="compression type 6"):
        list(
            records_in(
                Log(data=batch, size=1).fetched(0), PartitionRange("t", 0, 0, 1), isolation=Isolation.READ_COMMITTED
            )
        )


def test_a_header_key_that_is_no_text() -> None:
    made = build_batch([Record(value=b"value", headers=(("name", b"content"),))])
    log = Log(data=bytearray(made.replace(b"name", b"n\xffme")), size=1)
    [row] = rows_by_columns(log, PartitionRange("t", 0, 0, 1), Isolation.READ_COMMITTED)
    assert row["headers"] == [{"key": "n\N{REPLACEMENT CHARACTER}me", "value": b"content"}]


def test_the_columns_are_those_of_spark() -> None:
    header = types.StructType().add("key", types.StringType()).add("value", types.BinaryType())
    schema = (
        types.StructType()
        .add("key", types.BinaryType())
        .add("value", types.BinaryType())
        .add("topic", types.StringType())
        .add("partition", types.IntegerType())
        .add("offset", types.LongType())
        .add("timestamp", types.TimestampType())
        .add("timestampType", types.IntegerType())
        .add("headers", types.ArrayType(header))
    )
    assert to_arrow_schema(schema, timezone="UTC") == RAW_COLUMNS


@pytest.mark.parametrize(
    ("timestamp", "micros"), [(2**62, 2**63 - 808), (-1, -1000), (1_700_000_000_000_000, 17 * 10**17)]
)
def test_a_timestamp_that_spark_does_not_have_is_its_last(timestamp: int, micros: int) -> None:
    """Somebody may have written nanoseconds: far away is better than anywhere."""
    made = build_batch([Record(timestamp=timestamp, value=b"v")])
    fetched = Fetched(read_batches(memoryview(made + bytes(16)), len(made)), [], 1, 1, 0)
    wanted = PartitionRange("t", 0, 0, 1)
    (records,) = records_in(fetched, wanted, isolation=Isolation.READ_UNCOMMITTED)
    (column,) = raw_arrays(records, ["timestamp"])
    assert column.cast(pa.int64()).to_pylist() == [micros]
