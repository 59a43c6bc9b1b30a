"""A few Kafka requests as bytes, encoded here so that the measuring does not lean on the code it measures."""

import struct
import time
from dataclasses import dataclass

import crc32c

PRODUCE, FETCH, METADATA = 0, 1, 3
CLIENT_ID = b"blast"


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """One request with its length prefix, for one partition; where to write another partition index or fetch offset."""

    data: bytes
    partition_at: int
    offset_at: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    data: bytes
    records: int
    value_bytes: int


def record_batch(*, value_size: int, about_bytes: int = 0, records: int = 1, attributes: int = 0) -> Batch:
    """A record batch v2 of equal values: `records` of them, or more, up to `about_bytes`.

    Its records are of now: older than `retention.ms`, they would be removed while they are being measured.
    """
    timestamp = time.time_ns() // 1_000_000
    value = (b"stoker beside kafka " * (value_size // 20 + 1))[:value_size]
    body = bytearray()
    count = 0
    while count < records or len(body) + value_size < about_bytes:
        record = b"\x00" + varint(0) + varint(count) + varint(-1) + varint(value_size) + value + varint(0)
        body += varint(len(record)) + record
        count += 1
    covered = struct.pack(">hiqqqhii", attributes, count - 1, timestamp, timestamp, -1, -1, -1, count) + bytes(body)
    data = struct.pack(">qiibI", 0, len(covered) + 9, -1, 2, crc32c.crc32c(covered)) + covered
    return Batch(data=data, records=count, value_bytes=count * value_size)


def produce(topic: str, batch: Batch) -> Frame:
    """Produce v9, acks=all, one batch for one partition."""
    head = (
        header(PRODUCE, 9, flexible=True)
        + b"\x00"  # no transactional id
        + struct.pack(">hi", -1, 30_000)
        + uvarint(2)
        + compact(topic.encode())
        + uvarint(2)
    )
    return frame(head + bytes(4) + compact(batch.data) + b"\x00\x00\x00", partition_at=len(head))


def fetch(topic: str, *, max_bytes: int) -> Frame:
    """Fetch v12 without a session, of one partition."""
    head = (
        header(FETCH, 12, flexible=True)
        + struct.pack(">iiiibii", -1, 500, 1, 0x7FFFFFFF, 0, 0, -1)  # ... isolation level, session id, session epoch
        + uvarint(2)
        + compact(topic.encode())
        + uvarint(2)
    )
    # partition, current leader epoch, fetch offset, last fetched epoch, log start offset, partition max bytes
    body = struct.pack(">iiqiqi", 0, -1, 0, -1, -1, max_bytes) + b"\x00\x00" + uvarint(1) + compact(b"") + b"\x00"
    return frame(head + body, partition_at=len(head), offset_at=len(head) + 8)


def metadata(topic: str) -> bytes:
    """Metadata v8 of one topic, which the broker creates if it is not there."""
    body = struct.pack(">ih", 1, len(topic)) + topic.encode() + b"\x01\x00\x00"
    return frame(header(METADATA, 8, flexible=False) + body, partition_at=0).data


def produce_error(answer: bytes) -> int:
    """The error code of the one partition in a Produce v9 answer (without its length prefix)."""
    name_length = answer[6]  # correlation id, tags, one topic; then the topic's name
    return int(struct.unpack_from(">h", answer, 6 + name_length + 1 + 4)[0])


def frame(request: bytes, *, partition_at: int, offset_at: int = 0) -> Frame:
    data = struct.pack(">i", len(request)) + request
    return Frame(data=data, partition_at=partition_at + 4, offset_at=offset_at + 4)


def header(api_key: int, version: int, *, flexible: bool) -> bytes:
    header = struct.pack(">hhih", api_key, version, 7, len(CLIENT_ID)) + CLIENT_ID
    return header + b"\x00" if flexible else header


def compact(data: bytes) -> bytes:
    return uvarint(len(data) + 1) + data


def uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint(value: int) -> bytes:
    return uvarint(value << 1 if value >= 0 else (-value << 1) - 1)
