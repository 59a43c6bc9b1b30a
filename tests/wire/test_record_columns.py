"""Records by columns are the records that the plain parser reads, whatever shape they have."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.errors import CorruptRecords
from stoker.wire.batch_columns import BatchColumns, check_checksums, read_batches
from stoker.wire.compression import Codec
from stoker.wire.record_batch import HEADER_SIZE, Record, build_batch, encode_varint, iterate_records, read_header
from stoker.wire.record_columns import RecordColumns, read_records, read_records_of, records_of

LIMIT = 1 << 20

contents = st.one_of(st.none(), st.binary(max_size=200), st.integers(8000, 9000).map(lambda size: b"x" * size))
records = st.builds(
    Record,
    timestamp=st.integers(-1, 2**40),
    key=contents,
    value=contents,
    headers=st.lists(st.tuples(st.text(max_size=5), st.one_of(st.none(), st.binary(max_size=9))), max_size=3).map(
        tuple
    ),
)
single = st.tuples(st.lists(records, min_size=1, max_size=1), st.just(Codec.NONE))
batches = st.tuples(st.lists(records, min_size=1, max_size=20), st.sampled_from(list(Codec)))


def columns_of(data: bytes) -> tuple[BatchColumns, RecordColumns]:
    found = read_batches(memoryview(data))
    check_checksums(found)
    return found, read_records_of(found, np.arange(len(found)), LIMIT)


def plain(data: bytes) -> list[Record]:
    position = 0
    found: list[Record] = []
    while position < len(data):
        size = read_header(data, position).size
        found += iterate_records(data[position : position + size], LIMIT)
        position += size
    return found


def by_columns(found: BatchColumns, columns: RecordColumns) -> list[tuple[int, int, bytes | None, bytes | None]]:
    offsets = found.column("base_offset")[columns.batch] + columns.offset_deltas
    timestamps = found.column("base_timestamp")[columns.batch] + columns.timestamp_deltas
    data = columns.data.tobytes()
    keys, values = (
        [
            None if length < 0 else data[start : start + length]
            for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
        ]
        for starts, lengths in (
            (columns.key_starts, columns.key_lengths),
            (columns.value_starts, columns.value_lengths),
        )
    )
    return list(zip(offsets.tolist(), timestamps.tolist(), keys, values, strict=True))


@settings(max_examples=100)
@given(st.one_of(st.lists(batches, max_size=6), st.lists(single, max_size=20)))
def test_columns_are_what_the_plain_parser_reads(made: list[tuple[list[Record], Codec]]) -> None:
    """Null keys, tombstones, headers, every codec, in any mixture; and the bytes of each record."""
    data = b"".join(
        build_batch(content, base_offset=1000 * number, codec=codec) for number, (content, codec) in enumerate(made)
    )
    found, columns = columns_of(data)
    assert found.end == len(data)
    expected = [(each.offset, each.timestamp, each.key, each.value) for each in plain(data)]
    assert by_columns(found, columns) == expected
    whole = columns.data.tobytes()
    rebuilt = b"".join(
        whole[begin:end] for begin, end in zip(columns.starts.tolist(), columns.ends.tolist(), strict=True)
    )
    assert rebuilt == b"".join(bytes(body) for body in records_of(found, np.arange(len(found)), LIMIT))


def test_lengths_that_are_written_longer_than_need_be() -> None:
    """No client does so, and nothing forbids it."""
    body = build_batch([Record(key=b"k", value=b"v")])[HEADER_SIZE:]
    longer = bytes((body[0] | 0x80, 0)) + body[1:]
    columns = read_records([longer, body], np.array([1, 1]))
    assert columns.key_lengths.tolist() == [1, 1]
    assert columns.ends.tolist() == [len(longer), len(longer) + len(body)]


RECORD = build_batch([Record(key=b"key", value=b"value")])[HEADER_SIZE:]


@pytest.mark.parametrize("beside", [0, 300])
@pytest.mark.parametrize(
    ("body", "count"),
    [
        (RECORD, 2),
        (RECORD + b"\0", 1),
        (RECORD[:-1], 1),
        (b"", 1),
        (encode_varint(2**40) + b"x" * 20, 1),
        (encode_varint(-3) + b"x" * 20, 1),
        (encode_varint(2**63 - 1) + b"x" * 20, 1),
        (encode_varint(15) + b"\0\0\0" + encode_varint(2**63 - 1) + b"\0\0", 1),
        (encode_varint(15) + b"\0\0\0\0" + encode_varint(2**63 - 1) + b"\0", 1),
        (b"\xff" * 30, 1),
        (encode_varint(6) + b"\0\0\0" + encode_varint(200) + b"\0", 1),
        (encode_varint(6) + b"\0\0\0\0" + encode_varint(200), 1),
        (encode_varint(6) + b"\0\0\0" + encode_varint(-7) + b"\0\0", 1),
        (encode_varint(13) + b"\0" + b"\xff" * 11 + b"\0", 1),
        (RECORD, -1),
    ],
)
def test_what_contradicts_itself_is_refused(body: bytes, count: int, beside: int) -> None:
    """Alone, and among good batches with which it is walked through together."""
    good = read_records([RECORD] * beside, np.ones(beside, dtype=np.int64))
    assert len(good) == beside
    with pytest.raises(CorruptRecords):
        read_records([*[RECORD] * beside, body], np.array([*[1] * beside, count]))


def test_headers_are_read_field_by_field() -> None:
    data = build_batch(
        [Record(timestamp=5, key=b"k")],
        base_offset=77,
        producer_id=2**40,
        producer_epoch=3,
        base_sequence=9,
        leader_epoch=4,
        delete_horizon_ms=1234,
    )
    found = read_batches(memoryview(data + data[:-1]))
    assert len(found) == 1
    assert found.end == len(data)
    assert found.headers[0].item() == tuple(read_header(data))


def test_no_batch_is_found_where_none_is() -> None:
    good = build_batch([Record(key=b"k")])
    with pytest.raises(CorruptRecords, match=f"position {len(good)}"):
        read_batches(memoryview(good + bytes(100)))
    old = bytearray(good)
    old[16] = 1
    with pytest.raises(CorruptRecords, match="magic 1"):
        read_batches(memoryview(bytes(old)))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 60)), max_size=8), st.integers(0, 70))
def test_batches_of_one_size_are_found_like_others(runs: list[tuple[int, int]], torn: int) -> None:
    data = b"".join(build_batch([Record(key=b"k" * size)], base_offset=size) * count for size, count in runs)
    expected, position = [], 0
    while position < len(data):
        expected.append(position)
        position += read_header(data, position).size
    found = read_batches(memoryview(data + (data + b"k")[:torn][:61]))
    assert found.positions.tolist() == expected
    assert found.end == len(data)


def test_a_wrong_checksum_is_found() -> None:
    data = bytearray(build_batch([Record(key=b"k")], base_offset=4) * 3)
    data[-1] ^= 1
    with pytest.raises(CorruptRecords, match="offset 4 does not have the checksum"):
        check_checksums(read_batches(memoryview(bytes(data))))
