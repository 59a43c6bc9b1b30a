"""Batches of up to a megabyte that decompress to gigabytes, or to more records than anyone reads."""

import gzip
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import crc32c
import pytest

from stoker.wire.compression import Codec, compress
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stoker.wire.record_batch import (
    ATTRIBUTES_OFFSET,
    CRC_OFFSET,
    HEADER,
    HEADER_SIZE,
    Record,
    append_record,
    build_batch,
)
from tests.hostile.broker_process import BrokerProcess
from tests.hostile.bystander import Bystander
from tests.raw_connection import RawConnection

_MEGABYTE = 1024 * 1024
_PEAK_GROWTH = 450 * _MEGABYTE
"""What is decompressed at all is at most 128 MB, which is held a few times over for a moment."""
_LONGEST_WAIT_SECONDS = 1.5
_TIMESTAMP = 1_700_000_000_000
_EMPTY_RECORD = bytes.fromhex("0c 00 00 00 01 01 00")
_KEYED_RECORD = bytes.fromhex("0e 00 00 00 02 6b 01 00")


def _batch(codec: Codec, packed: bytes, record_count: int, timestamp: int) -> bytes:
    batch = bytearray(HEADER_SIZE)
    HEADER.pack_into(
        batch, 0, 0, HEADER_SIZE - 12 + len(packed), -1, 2, 0, codec, record_count - 1, timestamp, timestamp, -1, -1, -1, record_count
    )  # fmt: skip
    batch += packed
    batch[CRC_OFFSET : CRC_OFFSET + 4] = crc32c.crc32c(memoryview(batch)[ATTRIBUTES_OFFSET:]).to_bytes(4, "big")
    return bytes(batch)


@cache
def _gigabytes(codec: Codec) -> bytes:
    """Just under a megabyte, or all that the format allows, that decompresses to a gigabyte and more."""
    zeros = bytes(64 * _MEGABYTE)
    match codec:
        case Codec.GZIP:
            return gzip.compress(zeros) * 15  # members may follow each other
        case Codec.ZSTD:
            return compress(codec, zeros) * 100  # frames may follow each other
        case Codec.LZ4:
            # One frame of blocks of 4 MB, each packed to 16 KB.
            block = _lz4_block(4 * _MEGABYTE)
            return bytes.fromhex("04224d18 60 70 73") + block * (950_000 // len(block)) + bytes(4)
        case _:
            # Snappy packs 64 bytes to 3 at best, so its blocks only claim their gigabytes.
            claim = bytes.fromhex("8080808004")
            return b"\x82SNAPPY\x00" + bytes.fromhex("00000001 00000001") + len(claim).to_bytes(4, "big") + claim


def _lz4_block(size: int) -> bytes:
    import cramjam

    block = bytes(cramjam.lz4.compress_block(bytes(size), store_size=False))
    return len(block).to_bytes(4, "little") + block


@contextmanager
def _withstood(broker: BrokerProcess) -> Iterator[None]:
    """Memory stays bounded and an honest client is served meanwhile."""
    broker.forget_peak()
    before = broker.resident_bytes
    began = time.monotonic()
    with Bystander(broker) as bystander:
        yield
    grown = broker.peak_resident_bytes - before
    print(
        f"{time.monotonic() - began:.1f} s, {grown / 1e6:.0f} MB at the peak, "
        f"{bystander.rounds} rounds beside it, the longest {bystander.longest_wait:.2f} s"
    )
    assert grown < _PEAK_GROWTH
    assert bystander.longest_wait < _LONGEST_WAIT_SECONDS


def _lookup(connection: RawConnection, topic: str, timestamp: int) -> tuple[int, int]:
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[asked])])
    answer = connection.call(request, 7).topics[0].partitions[0]
    return answer.error_code, answer.offset


_PACKING = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(Path(tmp_path_factory.mktemp("bombs"))) as broker:
        with broker.connect() as connection:
            connection.create_topic("repacked", compression_type="uncompressed", max_message_bytes=2 * _MEGABYTE)
            connection.create_topic("compacted", cleanup_policy="compact", max_message_bytes=2 * _MEGABYTE)
            connection.create_topic(
                "validated", confluent_value_schema_validation="true", max_message_bytes=2 * _MEGABYTE
            )
            connection.create_topic("_schemas", cleanup_policy="compact")
            key = b'{"keytype":"SCHEMA","subject":"validated-value","version":1,"magic":1}'
            schema = Record(timestamp=_TIMESTAMP, key=key, value=b'{"id":7}')
            assert connection.produce("_schemas", build_batch([schema])) == (ErrorCode.NONE, 0)
            for codec in _PACKING:
                connection.create_topic(f"plain-{codec.name}", max_message_bytes=2 * _MEGABYTE)
        yield broker


@pytest.mark.parametrize("codec", _PACKING, ids=lambda codec: codec.name)
@pytest.mark.parametrize("topic", ["repacked", "compacted", "validated"])
def test_a_bomb_is_refused_where_the_broker_must_look_inside(shared: BrokerProcess, topic: str, codec: Codec) -> None:
    """To be repacked, or for its keys or schemas to be checked: INVALID_RECORD, with bounded memory, others served."""
    bomb = _batch(codec, _gigabytes(codec), 1, _TIMESTAMP)
    assert len(bomb) < _MEGABYTE
    with _withstood(shared), shared.connect(timeout=60) as connection:
        assert connection.produce(topic, bomb) == (ErrorCode.INVALID_RECORD, -1)


@pytest.mark.parametrize("codec", _PACKING, ids=lambda codec: codec.name)
def test_a_bomb_that_was_stored_does_not_go_off_at_a_lookup(shared: BrokerProcess, codec: Codec) -> None:
    """A topic that takes batches as they are stores it; a lookup by timestamp gives up: CORRUPT_MESSAGE."""
    topic = f"plain-{codec.name}"
    bomb = _batch(codec, _gigabytes(codec), 1, _TIMESTAMP)
    with _withstood(shared), shared.connect(timeout=60) as connection:
        assert connection.produce(topic, bomb) == (ErrorCode.NONE, 0)
        for timestamp in (_TIMESTAMP, -3):
            assert _lookup(connection, topic, timestamp) == (ErrorCode.CORRUPT_MESSAGE, -1)
        assert len(connection.fetch(topic, 0)[1]) == len(bomb)


def test_millions_of_records_in_a_few_kilobytes(shared: BrokerProcess) -> None:
    """More than a million records are not read; half a million are, on a thread beside the event loop."""
    with shared.connect() as connection:
        connection.create_topic("numerous")
    with _withstood(shared), shared.connect(timeout=60) as connection:
        too_many = _batch(Codec.ZSTD, compress(Codec.ZSTD, _EMPTY_RECORD * 2_000_000), 2_000_000, _TIMESTAMP)
        assert connection.produce("compacted", too_many) == (ErrorCode.INVALID_RECORD, -1)
        assert connection.produce("numerous", too_many) == (ErrorCode.NONE, 0)
        assert _lookup(connection, "numerous", _TIMESTAMP) == (ErrorCode.CORRUPT_MESSAGE, -1)

        without_keys = _batch(Codec.ZSTD, compress(Codec.ZSTD, _EMPTY_RECORD * 500_000), 500_000, _TIMESTAMP)
        assert connection.produce("compacted", without_keys) == (ErrorCode.INVALID_RECORD, -1)
        keyed = _batch(Codec.ZSTD, compress(Codec.ZSTD, _KEYED_RECORD * 500_000), 500_000, _TIMESTAMP)
        assert connection.produce("compacted", keyed) == (ErrorCode.NONE, 0)


def test_half_a_million_records_whose_schemas_are_to_be_checked(shared: BrokerProcess) -> None:
    """Good ones, some without a schema, and some with a header each: on a thread beside the event loop."""
    schema = bytes.fromhex("00 00000007")
    for value, header, expected in (
        (schema + bytes(103), None, ErrorCode.NONE),
        (bytes(108), None, ErrorCode.INVALID_RECORD),
        (b"{}", schema, ErrorCode.NONE),
    ):
        record = bytearray()
        append_record(record, 0, 0, None, value, [("__value_schema_id", header)] if header else ())
        batch = _batch(Codec.ZSTD, compress(Codec.ZSTD, record * 500_000), 500_000, _TIMESTAMP)
        with _withstood(shared), shared.connect(timeout=60) as connection:
            assert connection.produce("validated", batch)[0] == expected
