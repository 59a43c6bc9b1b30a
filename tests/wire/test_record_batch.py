"""Record batches: what we build others read, what others build we read, and what contradicts itself is refused."""

from collections.abc import Sequence
from random import Random

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from stoker.errors import CorruptRecords
from stoker.wire.compression import Codec
from stoker.wire.record_batch import (
    HEADER,
    HEADER_SIZE,
    NO_SEQUENCE,
    BatchHeader,
    ControlType,
    Record,
    TimestampType,
    build_batch,
    build_end_transaction_batch,
    control_type_of,
    coordinator_epoch_of,
    crc_is_valid,
    decode_varint,
    encode_varint,
    iterate_records,
    read_header,
)

LIMIT = 1_000_000

records = st.builds(
    Record,
    timestamp=st.integers(0, 2**45),
    key=st.none() | st.binary(max_size=50),
    value=st.none() | st.binary(max_size=200),
    headers=st.lists(st.tuples(st.text(max_size=10), st.none() | st.binary(max_size=10)), max_size=3).map(tuple),
)


def renumbered(batch: Sequence[Record], base_offset: int) -> list[Record]:
    return [record._replace(offset=base_offset + index) for index, record in enumerate(batch)]


@pytest.mark.parametrize("codec", Codec)
@settings(max_examples=30)
@given(batch=st.lists(records, min_size=1, max_size=20), base_offset=st.integers(0, 2**62))
def test_round_trip(codec: Codec, batch: list[Record], base_offset: int) -> None:
    encoded = build_batch(batch, base_offset=base_offset, codec=codec)
    header = read_header(encoded)
    assert crc_is_valid(memoryview(encoded), 0, header)
    assert (header.size, header.record_count, header.codec) == (len(encoded), len(batch), codec)
    assert (header.last_offset, header.next_offset) == (base_offset + len(batch) - 1, base_offset + len(batch))
    assert header.max_timestamp == max(record.timestamp for record in batch)
    assert list(iterate_records(encoded, LIMIT)) == renumbered(batch, base_offset)


BATCH = [
    Record(timestamp=1000, key=b"a", value=b"1", headers=(("h", b"x"),)),
    Record(timestamp=990, key=None, value=b"v" * 200),
    Record(timestamp=1010, key=b"c", value=None, headers=(("n", None), ("ключ", b""))),
]


@pytest.mark.parametrize("codec", Codec)
def test_kafka_python_reads_what_we_build(codec: Codec) -> None:
    theirs = DefaultRecordBatch(build_batch(BATCH, base_offset=5, codec=codec))
    assert theirs.validate_crc()
    assert [
        Record(record.offset, record.timestamp, record.key, record.value, tuple(record.headers)) for record in theirs
    ] == renumbered(BATCH, 5)


@pytest.mark.parametrize("builder_class", [DefaultRecordBatchBuilder, AiokafkaBuilder])
@pytest.mark.parametrize("codec", Codec)
def test_we_read_and_build_what_other_clients_build(builder_class: type, codec: Codec) -> None:
    builder = builder_class(
        magic=2,
        compression_type=int(codec),
        is_transactional=True,
        producer_id=77,
        producer_epoch=3,
        base_sequence=9,
        batch_size=100_000,
    )
    for index, record in enumerate(BATCH):
        builder.append(index, record.timestamp, record.key, record.value, list(record.headers))
    theirs = bytes(builder.build())
    ours = build_batch(BATCH, codec=codec, transactional=True, producer_id=77, producer_epoch=3, base_sequence=9)
    assert crc_is_valid(memoryview(theirs), 0, read_header(theirs))
    assert list(iterate_records(theirs, LIMIT)) == renumbered(BATCH, 0)
    if codec is Codec.NONE:
        # The leader epoch is the broker's to fill in, and clients differ in what they leave there.
        assert ours[:12] + ours[16:] == theirs[:12] + theirs[16:]


def test_the_header_field_by_field() -> None:
    encoded = build_batch(
        BATCH,
        base_offset=100,
        codec=Codec.GZIP,
        producer_id=77,
        producer_epoch=3,
        base_sequence=2**31 - 2,
        leader_epoch=4,
        transactional=True,
    )
    header = read_header(b"before" + encoded, 6)
    assert header._replace(batch_length=0, crc=0) == BatchHeader(
        base_offset=100,
        batch_length=0,
        partition_leader_epoch=4,
        magic=2,
        crc=0,
        attributes=0x11,
        last_offset_delta=2,
        base_timestamp=1000,
        max_timestamp=1010,
        producer_id=77,
        producer_epoch=3,
        base_sequence=2**31 - 2,
        record_count=3,
    )
    assert header.last_sequence == 0
    assert header.has_producer_id
    assert (header.is_transactional, header.is_control, header.is_log_append_time) == (True, False, False)
    plain = read_header(build_batch(BATCH))
    assert (plain.has_producer_id, plain.last_sequence, plain.delete_horizon_ms) == (False, NO_SEQUENCE, None)


def test_log_append_time_is_the_time_of_all_records() -> None:
    encoded = build_batch(BATCH, timestamp_type=TimestampType.LOG_APPEND_TIME)
    assert read_header(encoded).is_log_append_time
    assert {record.timestamp for record in iterate_records(encoded, LIMIT)} == {1010}


def test_a_compacted_batch_keeps_its_offsets_and_its_end() -> None:
    kept = [BATCH[0]._replace(offset=103), BATCH[2]._replace(offset=107)]
    encoded = build_batch(kept, base_offset=100, keep_offsets=True, last_offset_delta=9, delete_horizon_ms=5000)
    header = read_header(encoded)
    assert (header.base_offset, header.last_offset, header.record_count) == (100, 109, 2)
    assert header.delete_horizon_ms == 5000
    assert list(iterate_records(encoded, LIMIT)) == kept
    empty = build_batch([], base_offset=100, last_offset_delta=9)
    assert read_header(empty).last_offset == 109
    assert list(iterate_records(empty, LIMIT)) == []


IMPOSSIBLE = {
    "no records": ({"records": []}, "needs last_offset_delta"),
    "before the base": (
        {"records": [Record(offset=5)], "base_offset": 9, "keep_offsets": True},
        "before the base offset",
    ),
    "after the end": ({"records": BATCH, "last_offset_delta": 1}, "more than 1"),
}


@pytest.mark.parametrize(("arguments", "reason"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_batches_that_cannot_be(arguments: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        build_batch(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("control_type", ControlType)
def test_end_transaction_batches(control_type: ControlType) -> None:
    encoded = build_end_transaction_batch(
        control_type, producer_id=77, producer_epoch=3, timestamp=1000, coordinator_epoch=8, base_offset=42
    )
    header = read_header(encoded)
    assert (header.is_control, header.is_transactional, header.base_sequence) == (True, True, NO_SEQUENCE)
    (record,) = iterate_records(encoded, LIMIT)
    assert control_type_of(record) is control_type
    assert coordinator_epoch_of(record) == 8


def test_control_records_that_do_not_end_transactions() -> None:
    assert control_type_of(Record(key=b"\0\0\0\2")) is None
    with pytest.raises(CorruptRecords, match="control record at offset 3 has no type"):
        control_type_of(Record(offset=3, key=b"\0\0"))
    with pytest.raises(CorruptRecords, match="control record at offset 3 has no coordinator epoch"):
        coordinator_epoch_of(Record(offset=3))


def with_header(batch: bytes, **changes: int) -> bytes:
    return HEADER.pack(*read_header(batch)._replace(**changes)) + batch[HEADER_SIZE:]


def with_body(body: bytes, record_count: int = 1) -> bytes:
    header = read_header(build_batch([Record()]))
    return HEADER.pack(*header._replace(batch_length=49 + len(body), record_count=record_count)) + body


WHOLE = build_batch(BATCH)
CORRUPT = {
    "no header": (WHOLE[:60], "batch header takes 61 bytes, 60 are left"),
    "old magic": (with_header(WHOLE, magic=1), "has magic 1, not 2"),
    "longer than it is": (with_header(WHOLE, batch_length=10_000), "says it has 10012 bytes"),
    "shorter than a header": (with_header(WHOLE, batch_length=10), "says it has 22 bytes"),
    "negative length": (with_header(WHOLE, batch_length=-1), "says it has 11 bytes"),
    "count too large": (with_header(WHOLE, record_count=2**31 - 1), "says it has 2147483647 records"),
    "negative count": (with_header(WHOLE, record_count=-1), "says it has -1 records"),
    "count too small": (with_header(WHOLE, record_count=2), "bytes after its last record"),
    "one record more": (with_header(WHOLE, record_count=4), "record 3 of the batch at offset 0 ends too early"),
    "unknown codec": (with_header(WHOLE, attributes=7), "compression type 7 does not exist"),
    "offset after the last": (with_header(WHOLE, last_offset_delta=1), "record 2 .* offset delta 2, the last one is 1"),
    "record length": (with_body(b"\x10\x00\x00\x00\x01\x01\x00"), "has 8 bytes by its length, 6 by its content"),
    "key too long": (with_body(b"\x0c\x00\x00\x00\x7e\x01\x00"), "key or value of 63 bytes where 2 are left"),
    "key of length -2": (with_body(b"\x0c\x00\x00\x00\x03\x01\x00"), "key or value of length -2"),
    "too many headers": (with_body(b"\x0c\x00\x00\x00\x01\x01\x7e"), "has 63 headers in 0 bytes"),
    "negative headers": (with_body(b"\x0c\x00\x00\x00\x01\x01\x01"), "has -1 headers"),
    "header without key": (with_body(b"\x10\x00\x00\x00\x01\x01\x02\x01\x01"), "has a header without a key"),
    "header key": (with_body(b"\x12\x00\x00\x00\x01\x01\x02\x02\xff\x01"), "has a header key that is not UTF-8"),
    "negative offset": (with_body(b"\x0c\x00\x00\x01\x01\x01\x00"), "offset delta -1"),
    "endless varint": (with_body(b"\xff" * 12), "varint of more than 10 bytes"),
}


@pytest.mark.parametrize(("batch", "reason"), CORRUPT.values(), ids=CORRUPT)
def test_corrupt_batches(batch: bytes, reason: str) -> None:
    with pytest.raises(CorruptRecords, match=reason):
        list(iterate_records(batch, LIMIT))


@pytest.mark.parametrize("codec", Codec)
def test_mutated_batches_are_read_or_refused_and_the_checksum_tells(codec: Codec) -> None:
    random = Random(codec)
    whole = build_batch(BATCH * 5, codec=codec)
    for _ in range(400):
        mutated = bytearray(whole)
        position = random.randrange(len(mutated))
        mutated[position] ^= 1 << random.randrange(8)
        header = read_header(mutated)
        # Before the checksum stand the fields that a broker may rewrite.
        assert crc_is_valid(memoryview(mutated), 0, header) is (position < 8 or 12 <= position < 17)
        assert records_or_reason(mutated)


def records_or_reason(batch: bytes | bytearray) -> list[Record] | str:
    try:
        return list(iterate_records(batch, 100_000))
    except CorruptRecords as error:
        return str(error)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_after_a_header(body: bytes) -> None:
    outcome = records_or_reason(with_body(body))
    assert isinstance(outcome, str) or len(outcome) == 1


def test_decompression_is_limited() -> None:
    bomb = build_batch([Record(value=bytes(10_000_000))], codec=Codec.ZSTD)
    assert len(bomb) < 10_000
    with pytest.raises(CorruptRecords, match="zstd records decompress to more than the allowed 1000000 bytes"):
        iterate_records(bomb, LIMIT)


VARINTS = {0: "00", -1: "01", 1: "02", 63: "7e", -64: "7f", 64: "8001", 2**63 - 1: "feffffffffffffffff01"}


@pytest.mark.parametrize(("value", "encoded"), VARINTS.items())
def test_varints(value: int, encoded: str) -> None:
    assert encode_varint(value).hex() == encoded
    assert decode_varint(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)


@given(st.integers(-(2**63), 2**63 - 1))
def test_varints_round_trip(value: int) -> None:
    encoded = encode_varint(value)
    assert decode_varint(encoded, 0) == (value, len(encoded))
