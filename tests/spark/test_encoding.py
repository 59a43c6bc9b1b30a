"""Columns to record batches, judged by the plain parser of record batches."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.client.producing import BatchToSend
from stoker.spark.encoding import Packing, RecordsToWrite, encode_records, encoded_headers, varint_array
from stoker.spark.errors import UnwritableRow
from stoker.wire.batch_columns import Integers
from stoker.wire.compression import Codec
from stoker.wire.record_batch import HEADER_SIZE, Record, TimestampType, build_batch, encode_varint, iterate_records

NOW = 1_700_000_000_000
LIMIT = 1 << 26
HEADERS_TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

Headers = list[tuple[str, bytes | None]] | None

contents = st.none() | st.binary(max_size=200)
header_lists = st.none() | st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=4)
rows = st.tuples(contents, contents, header_lists, st.integers(0, 2**45), st.integers(0, 3))


def records_of(batches: Sequence[BatchToSend]) -> dict[int, list[Record]]:
    """What a consumer would read from each partition."""
    found: dict[int, list[Record]] = {}
    for batch in batches:
        records = found.setdefault(batch.partition.partition, [])
        read = list(iterate_records(as_sent(batch), LIMIT))
        assert [record.offset for record in read] == list(range(batch.record_count))
        assert max(record.timestamp for record in read) == batch.max_timestamp
        records += [record._replace(offset=0) for record in read]
    return found


def as_sent(batch: BatchToSend) -> bytes:
    """With the header of a batch that says the same."""
    frame = build_batch([Record()], codec=batch.codec, timestamp_type=TimestampType.CREATE_TIME)
    header = bytearray(frame[:HEADER_SIZE])
    header[8:12] = (HEADER_SIZE - 12 + len(batch.records)).to_bytes(4)
    header[23:27] = (batch.record_count - 1).to_bytes(4)
    header[27:35] = batch.base_timestamp.to_bytes(8)
    header[35:43] = batch.max_timestamp.to_bytes(8)
    header[57:61] = batch.record_count.to_bytes(4)
    return bytes(header) + bytes(batch.records)


def binary(content: Sequence[bytes | None]) -> pa.BinaryArray:
    return pa.array(content, type=pa.binary())


def header_array(content: Sequence[Headers]) -> pa.ListArray:
    listed = [None if each is None else [{"key": key, "value": value} for key, value in each] for each in content]
    return pa.array(listed, type=HEADERS_TYPE)


def encoded(records: RecordsToWrite, partitions: Integers, **packing: Any) -> list[BatchToSend]:
    settings: dict[str, Any] = {"batch_bytes": 1 << 20, "largest_batch": LIMIT} | packing
    numbers = np.arange(len(records))
    return list(encode_records(records, "orders", partitions, Packing(**settings), now=NOW, rows=numbers))


@given(
    st.lists(rows, max_size=40),
    st.sampled_from(Codec),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(HEADER_SIZE + 1, 2000),
    st.integers(0, 3),
)
def test_what_is_read_is_what_was_written(
    content: list[tuple[bytes | None, bytes | None, Headers, int, int]],
    codec: Codec,
    has_keys: bool,
    has_headers: bool,
    has_timestamps: bool,
    batch_bytes: int,
    skipped: int,
) -> None:
    """For every shape, of whole columns and of parts of larger ones; the order within a partition stays."""
    kept = content[skipped:]
    numbers = np.arange(len(kept))
    columns = RecordsToWrite(
        binary([row[0] for row in content])[skipped:] if has_keys else None,
        binary([row[1] for row in content])[skipped:],
        encoded_headers(header_array([row[2] for row in content])[skipped:], numbers) if has_headers else None,
        np.array([row[3] for row in kept], dtype=np.int64) if has_timestamps else None,
    )
    expected: dict[int, list[Record]] = {}
    for key, value, headers, timestamp, partition in kept:
        record = Record(
            0,
            timestamp if has_timestamps else NOW,
            key if has_keys else None,
            value,
            tuple(headers or ()) if has_headers else (),
        )
        expected.setdefault(partition, []).append(record)
    partitions = np.array([row[4] for row in kept], dtype=np.int64)
    batches = encoded(columns, partitions, codec=codec, batch_bytes=batch_bytes)
    assert records_of(batches) == expected
    if codec is Codec.NONE:
        sizes = [len(batch.records) + HEADER_SIZE for batch in batches]
        assert all(size <= batch_bytes for size, batch in zip(sizes, batches, strict=True) if batch.record_count > 1)


@pytest.mark.parametrize("length", [0, 1, 63, 64, 8191, 8192, 32767, 32768, 1 << 20, 3 << 20])
def test_lengths_at_which_a_varint_grows(length: int) -> None:
    value = bytes(length)
    batches = encoded(RecordsToWrite(binary([value, b"small"]), binary([b"", value])), np.zeros(2, dtype=np.int64))
    assert records_of(batches) == {0: [Record(0, NOW, value, b""), Record(0, NOW, b"small", value)]}


def test_more_records_in_a_batch_than_the_table_has_varints() -> None:
    count = 40_000
    values = [b"%d" % number for number in range(count)]
    (batch,) = encoded(RecordsToWrite(None, binary(values)), np.zeros(count, dtype=np.int64), batch_bytes=LIMIT)
    assert [record.value for record in records_of([batch])[0]] == values


def test_batches_of_the_partitions_take_turns() -> None:
    count = 3000
    partitions = np.arange(count) % 3
    batches = encoded(RecordsToWrite(None, binary([b"x" * 50] * count)), partitions, batch_bytes=50_000)
    assert [batch.partition.partition for batch in batches][:6] == [0, 1, 2, 0, 1, 2]


def test_more_partitions_than_sixteen_bits_can_number() -> None:
    partitions = np.array([70_000, 4464, 70_000])
    batches = encoded(RecordsToWrite(None, binary([b"a", b"b", b"c"])), partitions)
    found = {place: [record.value for record in records] for place, records in records_of(batches).items()}
    assert found == {4464: [b"b"], 70_000: [b"a", b"c"]}


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_a_record_that_is_too_large_is_refused_by_row_size_and_limit(codec: Codec) -> None:
    values = [b"small", np.random.default_rng(1).bytes(5000), b"small"]
    with pytest.raises(
        UnwritableRow, match=r"row 1 makes a batch of 50\d\d bytes.*'orders' takes 3000.*max.message.bytes"
    ):
        encoded(RecordsToWrite(None, binary(values)), np.zeros(3, dtype=np.int64), largest_batch=3000, codec=codec)


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec])
@pytest.mark.parametrize("size", [3000 - HEADER_SIZE - 9, 1450, 100])
def test_what_fits_only_when_it_is_not_compressed_is_written(codec: Codec, size: int) -> None:
    """Random bytes get larger when they are compressed: then a batch that was cut to fit would be refused."""
    values: list[bytes | None] = [random.Random(number).randbytes(size) for number in range(60)]
    partitions = np.zeros(len(values), dtype=np.int64)
    found = encoded(RecordsToWrite(None, binary(values)), partitions, largest_batch=3000, codec=codec)
    assert max(len(batch.records) for batch in found) + HEADER_SIZE <= 3000
    assert [record.value for record in records_of(found)[0]] == values


def test_a_record_that_fits_when_it_is_compressed_is_written() -> None:
    value = bytes(1 << 20)
    batches = encoded(
        RecordsToWrite(None, binary([value])), np.zeros(1, dtype=np.int64), largest_batch=5000, codec=Codec.ZSTD
    )
    assert [record.value for record in records_of(batches)[0]] == [value]


@pytest.mark.parametrize("header", [{"key": None, "value": b"x"}, None])
def test_a_header_without_a_key_is_refused_by_row(header: dict[str, Any] | None) -> None:
    column = pa.array([[], None, [{"key": "a", "value": None}, header]], type=HEADERS_TYPE)
    with pytest.raises(UnwritableRow, match="row 12 has a header without a key"):
        encoded_headers(column, np.arange(10, 13))


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_varints_of_any_numbers(numbers: list[int]) -> None:
    expected = [encode_varint(number) for number in numbers]
    assert varint_array(np.array(numbers, dtype=np.int64)).to_pylist() == expected
