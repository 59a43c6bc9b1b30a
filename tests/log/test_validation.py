"""What may enter a log, and what Kafka answers to the rest."""

import struct
from pathlib import Path

import crc32c
import pytest

from stoker.log import validation
from stoker.log.config import LogConfig
from stoker.log.errors import AppendRefused
from stoker.log.validation import validate_client_batch
from stoker.wire.compression import Codec
from stoker.wire.error_codes import ErrorCode
from stoker.wire.record_batch import (
    ATTRIBUTES_OFFSET,
    CRC_OFFSET,
    Record,
    build_batch,
    crc_is_valid,
    iterate_records,
    read_header,
)
from tests.log.batches import NOW_MS, batch, new_log, read_records

DEFAULTS = LogConfig()
LOG_APPEND_TIME = LogConfig(message_timestamp_type="LogAppendTime")
COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}))


def changed(layout: str, position: int, value: int, *, with_crc: bool = True) -> memoryview:
    """A good batch of two records with one field of its header changed."""
    content = bytearray(batch(b"a", b"b"))
    struct.pack_into(layout, content, position, value)
    if with_crc:
        struct.pack_into(">I", content, CRC_OFFSET, crc32c.crc32c(memoryview(content)[ATTRIBUTES_OFFSET:]))
    return memoryview(content)


def cut(content: memoryview, size: int) -> memoryview:
    return memoryview(bytearray(content[:size]))


def twice(content: memoryview) -> memoryview:
    return memoryview(bytearray(bytes(content) * 2))


def legacy_message(magic: int) -> memoryview:
    body = struct.pack(">bbii", magic, 0, -1, 1) + b"v"
    message = struct.pack(">I", 0) + body
    return memoryview(bytearray(struct.pack(">qi", 0, len(message)) + message + bytes(40)))


REFUSED: dict[str, tuple[memoryview, LogConfig, ErrorCode]] = {
    "nothing": (memoryview(bytearray()), DEFAULTS, ErrorCode.INVALID_RECORD),
    "part of a header": (cut(batch(b"a"), 40), DEFAULTS, ErrorCode.INVALID_RECORD),
    "less than a length": (cut(batch(b"a"), 10), DEFAULTS, ErrorCode.INVALID_RECORD),
    "a torn batch": (cut(batch(b"a"), 65), DEFAULTS, ErrorCode.INVALID_RECORD),
    "two batches": (twice(batch(b"a")), DEFAULTS, ErrorCode.INVALID_RECORD),
    "magic 0": (legacy_message(0), DEFAULTS, ErrorCode.INVALID_RECORD),
    "magic 1": (legacy_message(1), DEFAULTS, ErrorCode.INVALID_RECORD),
    "magic 3": (changed(">b", 16, 3, with_crc=False), DEFAULTS, ErrorCode.CORRUPT_MESSAGE),
    "length 3": (changed(">i", 8, 3, with_crc=False), DEFAULTS, ErrorCode.CORRUPT_MESSAGE),
    "length 20": (changed(">i", 8, 20, with_crc=False), DEFAULTS, ErrorCode.CORRUPT_MESSAGE),
    "negative length": (changed(">i", 8, -5, with_crc=False), DEFAULTS, ErrorCode.CORRUPT_MESSAGE),
    "huge length": (changed(">i", 8, 2**31 - 1, with_crc=False), DEFAULTS, ErrorCode.INVALID_RECORD),
    "base offset 7": (changed(">q", 0, 7), DEFAULTS, ErrorCode.INVALID_RECORD),
    "wrong checksum": (changed(">I", CRC_OFFSET, 1, with_crc=False), DEFAULTS, ErrorCode.CORRUPT_MESSAGE),
    "too large": (batch(b"a" * 200), LogConfig(max_message_bytes=200), ErrorCode.MESSAGE_TOO_LARGE),
    "count 3 of 2": (changed(">i", 57, 3), DEFAULTS, ErrorCode.INVALID_RECORD),
    "count 0": (changed(">i", 57, 0), DEFAULTS, ErrorCode.INVALID_RECORD),
    "last offset delta 5": (changed(">i", 23, 5), DEFAULTS, ErrorCode.INVALID_RECORD),
    "last offset delta -1": (changed(">i", 23, -1), DEFAULTS, ErrorCode.INVALID_RECORD),
    "control batch": (batch(b"a", control=True), DEFAULTS, ErrorCode.INVALID_RECORD),
    "codec 5": (changed(">h", 21, 5), DEFAULTS, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    "codec 7": (changed(">h", 21, 7), DEFAULTS, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    "producer without sequence": (batch(b"a", producer_id=1, producer_epoch=0), DEFAULTS, ErrorCode.INVALID_RECORD),
    "too new": (batch(b"a", timestamp=NOW_MS + 3_600_001), DEFAULTS, ErrorCode.INVALID_TIMESTAMP),
    "too old": (
        batch(b"a", timestamp=NOW_MS - 1001),
        LogConfig(message_timestamp_before_max_ms=1000),
        ErrorCode.INVALID_TIMESTAMP,
    ),
    "LogAppendTime by the producer": (changed(">h", 21, 8), LOG_APPEND_TIME, ErrorCode.INVALID_TIMESTAMP),
    "no key, compacted": (batch(b"a", key=None), COMPACTED, ErrorCode.INVALID_RECORD),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_kafka_refuses_is_refused_with_its_error(case: str) -> None:
    records, config, error_code = REFUSED[case]
    with pytest.raises(AppendRefused) as refusal:
        validate_client_batch(memoryview(bytearray(records)), config, NOW_MS)
    assert refusal.value.error_code is error_code
    assert refusal.value.message


ACCEPTED: dict[str, tuple[memoryview, LogConfig]] = {
    "plain": (batch(b"a", b"b"), DEFAULTS),
    "at the size limit": (batch(b"a" * 200), LogConfig(max_message_bytes=len(batch(b"a" * 200)))),
    "newest": (batch(b"a", timestamp=NOW_MS + 3_600_000), DEFAULTS),
    "oldest": (batch(b"a", timestamp=NOW_MS - 1000), LogConfig(message_timestamp_before_max_ms=1000)),
    "no timestamp": (batch(b"a", timestamp=-1), LogConfig(message_timestamp_before_max_ms=1000)),
    "old and new, stamped": (batch(b"a", timestamp=1), LOG_APPEND_TIME),
    "tombstone, compacted": (batch(None), COMPACTED),
    "no value": (batch(None, None, key=None), DEFAULTS),
    "idempotent": (batch(b"a", producer_id=0, producer_epoch=0, base_sequence=0), DEFAULTS),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_kafka_accepts_is_accepted(case: str) -> None:
    records, config = ACCEPTED[case]
    accepted, header = validate_client_batch(memoryview(bytearray(records)), config, NOW_MS)
    assert header == read_header(accepted)
    assert crc_is_valid(accepted, 0, header)


def test_the_beginning_of_another_batch_is_ignored_as_kafka_does() -> None:
    first = bytes(batch(b"a"))
    records, _ = validate_client_batch(memoryview(bytearray(first + first[:30])), DEFAULTS, NOW_MS)
    assert bytes(records) == first


def test_a_wrong_timestamp_names_its_records() -> None:
    records = [Record(timestamp=NOW_MS + delta, key=b"k") for delta in (0, 4_000_000, 1, 5_000_000)]
    with pytest.raises(AppendRefused) as refusal:
        validate_client_batch(memoryview(bytearray(build_batch(records))), DEFAULTS, NOW_MS)
    assert [batch_index for batch_index, _ in refusal.value.record_errors] == [1, 3]


def test_records_without_a_key_on_a_compacted_topic_are_named() -> None:
    records = [Record(timestamp=NOW_MS, key=key) for key in (b"a", None, b"", None)]
    for codec in Codec:
        content = memoryview(bytearray(build_batch(records, codec=codec)))
        with pytest.raises(AppendRefused) as refusal:
            validate_client_batch(content, COMPACTED, NOW_MS)
        assert [batch_index for batch_index, _ in refusal.value.record_errors] == [1, 3]


def test_records_that_cannot_be_read_are_refused_where_they_must_be_read() -> None:
    content = bytearray(batch(b"a", b"b", codec=Codec.LZ4))
    content[-5:] = b"wrong"
    struct.pack_into(">I", content, CRC_OFFSET, crc32c.crc32c(memoryview(content)[ATTRIBUTES_OFFSET:]))
    for config in (COMPACTED, LogConfig(compression_type="gzip")):
        with pytest.raises(AppendRefused) as refusal:
            validate_client_batch(memoryview(bytearray(content)), config, NOW_MS)
        assert refusal.value.error_code is ErrorCode.INVALID_RECORD


@pytest.mark.acceptance("B022")
def test_message_timestamp_type(tmp_path: Path) -> None:
    """CreateTime keeps the producer's timestamps; LogAppendTime stamps the broker's on the whole batch."""
    log = new_log(tmp_path)
    assert log.append(batch(b"a", b"b", timestamp=NOW_MS - 500), leader_epoch=0).log_append_time_ms == -1
    log.reconfigure(LOG_APPEND_TIME)
    assert log.append(batch(b"c", b"d", timestamp=NOW_MS - 500), leader_epoch=0).log_append_time_ms == NOW_MS
    assert [record.timestamp for record in read_records(log)] == [NOW_MS - 500, NOW_MS - 499, NOW_MS, NOW_MS]
    stored = log.read(2, 1000, at_least_one_batch=True).read()
    header = read_header(stored)
    assert header.is_log_append_time
    assert crc_is_valid(memoryview(stored), 0, header)


def test_a_timestamp_type_set_by_the_producer_is_unset_as_in_kafka() -> None:
    records, header = validate_client_batch(changed(">h", 21, 8), DEFAULTS, NOW_MS)
    assert not header.is_log_append_time
    assert crc_is_valid(records, 0, read_header(records))


@pytest.mark.acceptance("B023")
def test_max_message_bytes(tmp_path: Path) -> None:
    """A batch over max.message.bytes is refused with MESSAGE_TOO_LARGE; raising the limit lets it in."""
    log = new_log(tmp_path, LogConfig(max_message_bytes=1000))
    with pytest.raises(AppendRefused) as refusal:
        log.append(batch(b"x" * 1000), leader_epoch=0)
    assert refusal.value.error_code is ErrorCode.MESSAGE_TOO_LARGE
    log.reconfigure(LogConfig(max_message_bytes=2000))
    log.append(batch(b"x" * 1000), leader_epoch=0)


@pytest.mark.acceptance("B025")
@pytest.mark.parametrize("target", ["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("source", Codec)
def test_compression_type(tmp_path: Path, source: Codec, target: str) -> None:
    """`producer` keeps each codec's bytes as they were sent; any other compression.type stores that codec."""
    log = new_log(tmp_path, LogConfig(compression_type=target))
    values = [b"%d" % number * 20 for number in range(50)]
    sent = batch(*values, codec=source)
    before = bytes(sent)
    log.append(sent, leader_epoch=0)
    stored = log.read(0, 1 << 20, at_least_one_batch=True).read()
    header = read_header(stored)
    expected = source if target == "producer" else Codec[target.upper().replace("UNCOMPRESSED", "NONE")]
    assert header.codec == expected
    assert crc_is_valid(memoryview(stored), 0, header)
    assert [record.value for record in iterate_records(stored, 1 << 20)] == values
    if expected == source:
        assert stored[16:] == before[16:]


def test_recompressing_may_not_exceed_max_message_bytes() -> None:
    compressed = batch(b"a" * 5000, codec=Codec.ZSTD)
    config = LogConfig(compression_type="uncompressed", max_message_bytes=1000)
    with pytest.raises(AppendRefused) as refusal:
        validate_client_batch(compressed, config, NOW_MS)
    assert refusal.value.error_code is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_decompression_bomb_is_refused(monkeypatch: pytest.MonkeyPatch, codec: Codec) -> None:
    monkeypatch.setattr(validation, "MAX_DECOMPRESSED_BYTES", 100_000)
    bomb = batch(bytes(1_000_000), codec=codec)
    for config in (COMPACTED, LogConfig(compression_type="uncompressed", max_message_bytes=10_000_000)):
        with pytest.raises(AppendRefused) as refusal:
            validate_client_batch(bomb, config, NOW_MS)
        assert refusal.value.error_code is ErrorCode.INVALID_RECORD


def test_both_stamped_and_recompressed() -> None:
    config = LogConfig(compression_type="zstd", message_timestamp_type="LogAppendTime")
    records, header = validate_client_batch(batch(b"a" * 100, b"b", codec=Codec.GZIP), config, NOW_MS + 5)
    assert header == read_header(records)
    assert crc_is_valid(records, 0, header)
    assert [(record.value, record.timestamp) for record in iterate_records(records, 1000)] == [
        (b"a" * 100, NOW_MS + 5),
        (b"b", NOW_MS + 5),
    ]


@pytest.mark.parametrize("position", range(ATTRIBUTES_OFFSET, len(batch(b"abc"))))
def test_every_flipped_bit_under_the_checksum_is_noticed(position: int) -> None:
    for bit in range(8):
        content = bytearray(batch(b"abc"))
        content[position] ^= 1 << bit
        with pytest.raises(AppendRefused):
            validate_client_batch(memoryview(content), DEFAULTS, NOW_MS)
