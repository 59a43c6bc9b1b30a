"""Record batches of message format 2: the unit that producers send, logs keep and consumers fetch.

A batch is a header of 61 bytes and, after it, the records, compressed together or not. The checksum covers everything
from the attributes on, so that a broker may write base offset and leader epoch into a batch without touching the rest.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from struct import Struct as Layout
from struct import error as struct_error
from typing import NamedTuple

from crc32c import crc32c

from stoker.errors import CorruptRecords
from stoker.wire.compression import Codec, compress, decompress
from stoker.wire.schema import Buffer

HEADER = Layout(">qiibIhiqqqhii")
HEADER_SIZE = HEADER.size
MAGIC = 2

LENGTH_OFFSET = 12
"""`batch_length` counts the bytes after itself, of which the first 12 of the batch are none."""
LEADER_EPOCH_OFFSET = 12
CRC_OFFSET = 17
ATTRIBUTES_OFFSET = 21

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1

CODEC_MASK = 0x07
LOG_APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40

_MINIMUM_RECORD_SIZE = 7
_CRC = Layout(">I")
_NULL = b"\1"
"""The length -1."""
_CONTROL_KEY = Layout(">hh")
_END_TRANSACTION_MARKER = Layout(">hi")
_END_TRANSACTION_RECORD = Layout(">5shhchib")
"""A whole record, in which all lengths and deltas are known: its key and value are those above."""
_BEFORE_CONTROL_KEY = bytes((32, 0, 0, 0, 8))
_BEFORE_CONTROL_VALUE = bytes((12,))


class TimestampType(IntEnum):
    """Whose clock the timestamps are from."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class ControlType(IntEnum):
    """What a control record says, as far as brokers write them to partitions of topics."""

    ABORT = 0
    COMMIT = 1


class BatchHeader(NamedTuple):
    """The header, field by field as it is on disk."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch, header included."""
        return self.batch_length + LENGTH_OFFSET

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record; after 2^31 - 1 comes 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & 0x7FFF_FFFF

    @property
    def codec(self) -> int:
        """The compression type; 5 to 7 are none of `Codec`."""
        return self.attributes & CODEC_MASK

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_FLAG)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_FLAG)

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME_FLAG)

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def delete_horizon_ms(self) -> int | None:
        """When the tombstones of a compacted batch may go; it takes the place of the base timestamp (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_FLAG else None


class Record(NamedTuple):
    """One record, wherever it came from."""

    offset: int = 0
    timestamp: int = NO_TIMESTAMP
    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()


def read_header(view: Buffer, position: int = 0) -> BatchHeader:
    """The header at `position`, unchecked; raises CorruptRecords if fewer than 61 bytes are there."""
    try:
        return BatchHeader._make(HEADER.unpack_from(view, position))
    except struct_error:
        raise CorruptRecords(
            f"a batch header takes {HEADER_SIZE} bytes, {len(view) - position} are left at position {position}"
        ) from None


def crc_is_valid(view: memoryview, position: int, header: BatchHeader) -> bool:
    """Whether the batch at `position`, whose header this is, is whole and has the checksum it claims."""
    end = position + header.size
    if header.size < HEADER_SIZE or end > len(view):
        return False
    return crc32c(view[position + ATTRIBUTES_OFFSET : end]) == header.crc


def iterate_records(batch: Buffer, max_decompressed_bytes: int) -> Iterator[Record]:
    """The records of the one batch at the start of `batch`, decompressed if need be.

    Raises CorruptRecords, at the first record that is wrong, if lengths, counts or offsets contradict each other, if the
    records decompress to more than `max_decompressed_bytes`, or if bytes are left over. The checksum is not looked at.
    """
    header = read_header(batch)
    if header.magic != MAGIC:
        raise CorruptRecords(f"the batch at offset {header.base_offset} has magic {header.magic}, not {MAGIC}")
    if header.size < HEADER_SIZE or header.size > len(batch):
        raise CorruptRecords(
            f"the batch at offset {header.base_offset} says it has {header.size} bytes, {len(batch)} are there"
        )
    packed = memoryview(batch)[HEADER_SIZE : header.size]
    data = bytes(packed) if header.codec == Codec.NONE else decompress(header.codec, packed, max_decompressed_bytes)
    if not 0 <= header.record_count * _MINIMUM_RECORD_SIZE <= len(data):
        raise CorruptRecords(
            f"the batch at offset {header.base_offset} says it has {header.record_count} records in {len(data)} bytes"
        )
    return _iterate(header, data)


def _iterate(header: BatchHeader, data: bytes) -> Iterator[Record]:
    position = 0
    index = 0
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    last_delta = header.last_offset_delta
    append_time = header.max_timestamp if header.is_log_append_time else None
    try:
        while index < header.record_count:
            length, position = decode_varint(data, position)
            stop = position + length
            # The byte at `position` holds attributes, of which none is in use.
            timestamp_delta, position = decode_varint(data, position + 1)
            offset_delta, position = decode_varint(data, position)
            key, position = _bytes_at(data, position)
            value, position = _bytes_at(data, position)
            header_count = data[position]
            if header_count:
                headers, position = headers_at(data, position, stop)
            else:
                headers = ()
                position += 1
            if position != stop:
                raise CorruptRecords(f"has {length} bytes by its length, {length + position - stop} by its content")
            if not 0 <= offset_delta <= last_delta:
                raise CorruptRecords(f"has offset delta {offset_delta}, the last one is {last_delta}")
            yield Record(
                base_offset + offset_delta,
                base_timestamp + timestamp_delta if append_time is None else append_time,
                key,
                value,
                headers,
            )
            index += 1
    except CorruptRecords as error:
        raise CorruptRecords(f"record {index} of the batch at offset {base_offset} {error}") from None
    except IndexError:
        raise CorruptRecords(f"record {index} of the batch at offset {base_offset} ends too early") from None
    except UnicodeDecodeError:
        raise CorruptRecords(
            f"record {index} of the batch at offset {base_offset} has a header key that is not UTF-8"
        ) from None
    if position != len(data):
        raise CorruptRecords(
            f"the batch at offset {base_offset} has {len(data) - position} bytes after its last record"
        )


def _bytes_at(data: bytes, position: int) -> tuple[bytes | None, int]:
    length, position = decode_varint(data, position)
    if length < 0:
        if length != -1:
            raise CorruptRecords(f"has a key or value of length {length}")
        return None, position
    stop = position + length
    if stop > len(data):
        raise CorruptRecords(f"has a key or value of {length} bytes where {len(data) - position} are left")
    return data[position:stop], stop


def headers_at(data: bytes, position: int, stop: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    """The headers of a record that ends at `stop`, and where they end; raises CorruptRecords, IndexError, UnicodeDecodeError."""
    count, position = decode_varint(data, position)
    if not 0 <= count * 2 <= stop - position:
        raise CorruptRecords(f"has {count} headers in {stop - position} bytes")
    headers = []
    for _ in range(count):
        key, position = _bytes_at(data, position)
        if key is None:
            raise CorruptRecords("has a header without a key")
        value, position = _bytes_at(data, position)
        headers.append((key.decode(), value))
    return tuple(headers), position


def build_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    codec: int = Codec.NONE,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    leader_epoch: int = NO_LEADER_EPOCH,
    control: bool = False,
    transactional: bool = False,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    keep_offsets: bool = False,
    last_offset_delta: int | None = None,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """A batch of these records, numbered from `base_offset` in their order.

    With `keep_offsets` they stay at their own offsets, as after compaction; `last_offset_delta` then keeps the end of the
    batch where it was. With LOG_APPEND_TIME all records have the highest of their timestamps.
    """
    body = bytearray()
    count = 0
    base_timestamp = max_timestamp = NO_TIMESTAMP
    last_delta = -1
    for record in records:
        if count == 0:
            base_timestamp = record.timestamp if delete_horizon_ms is None else delete_horizon_ms
        max_timestamp = max(max_timestamp, record.timestamp)
        last_delta = record.offset - base_offset if keep_offsets else count
        if last_delta < 0:
            raise ValueError(f"record at offset {record.offset} is before the base offset {base_offset}")
        append_record(body, record.timestamp - base_timestamp, last_delta, record.key, record.value, record.headers)
        count += 1
    if last_offset_delta is not None:
        if last_offset_delta < last_delta:
            raise ValueError(f"the last record has offset delta {last_delta}, more than {last_offset_delta}")
        last_delta = last_offset_delta
    if last_delta < 0:
        raise ValueError("a batch without records needs last_offset_delta")
    attributes = (
        codec
        | (LOG_APPEND_TIME_FLAG if timestamp_type is TimestampType.LOG_APPEND_TIME else 0)
        | (TRANSACTIONAL_FLAG if transactional else 0)
        | (CONTROL_FLAG if control else 0)
        | (DELETE_HORIZON_FLAG if delete_horizon_ms is not None else 0)
    )
    return bytes(
        _sealed(
            body,
            count,
            codec=codec,
            attributes=attributes,
            last_delta=last_delta,
            timestamps=(base_timestamp, max_timestamp),
            base_offset=base_offset,
            leader_epoch=leader_epoch,
            producer=(producer_id, producer_epoch, base_sequence),
        )
    )


class TransactionalProducer(NamedTuple):
    """In whose transaction a batch is that the broker writes for a producer."""

    producer_id: int
    producer_epoch: int


def build_batch_at(
    timestamp: int,
    body: bytearray,
    count: int,
    *,
    codec: int = Codec.NONE,
    transactional_producer: TransactionalProducer | None = None,
) -> bytearray:
    """A batch of `count` records that `append_record` wrote to `body`, all of this timestamp. It may be written into."""
    if transactional_producer is None:
        return _sealed(body, count, codec, codec, count - 1, (timestamp, timestamp))
    return _sealed(
        body,
        count,
        codec,
        codec | TRANSACTIONAL_FLAG,
        count - 1,
        (timestamp, timestamp),
        producer=(*transactional_producer, NO_SEQUENCE),
    )


def _sealed(
    body: bytearray,
    count: int,
    codec: int,
    attributes: int,
    last_delta: int,
    timestamps: tuple[int, int],
    *,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer: tuple[int, int, int] = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE),
) -> bytearray:
    packed = body if codec == Codec.NONE else compress(codec, body)
    batch = bytearray(HEADER_SIZE)
    HEADER.pack_into(
        batch,
        0,
        base_offset,
        HEADER_SIZE - LENGTH_OFFSET + len(packed),
        leader_epoch,
        MAGIC,
        0,
        attributes,
        last_delta,
        *timestamps,
        *producer,
        count,
    )
    batch += packed
    with memoryview(batch) as view:
        _CRC.pack_into(batch, CRC_OFFSET, crc32c(view[ATTRIBUTES_OFFSET:]))
    return batch


def append_record(
    body: bytearray,
    timestamp_delta: int,
    offset_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]] = (),
) -> None:
    """Write a record to what will be the records of a batch."""
    out = b"".join(
        (
            b"\0",
            encode_varint(timestamp_delta),
            encode_varint(offset_delta),
            _NULL if key is None else encode_varint(len(key)),
            key or b"",
            _NULL if value is None else encode_varint(len(value)),
            value or b"",
            _encoded_headers(headers) if headers else b"\0",
        )
    )
    body += encode_varint(len(out))
    body += out


def _encoded_headers(headers: Sequence[tuple[str, bytes | None]]) -> bytes:
    out = bytearray(encode_varint(len(headers)))
    for name, value in headers:
        key = name.encode()
        out += encode_varint(len(key))
        out += key
        out += _NULL if value is None else encode_varint(len(value))
        out += value or b""
    return bytes(out)


def build_end_transaction_batch(
    control_type: ControlType,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    coordinator_epoch: int = 0,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    """The control batch that ends a transaction of this producer in a partition. It may be written into."""
    batch = bytearray(HEADER_SIZE + _END_TRANSACTION_RECORD.size)
    HEADER.pack_into(
        batch,
        0,
        base_offset,
        len(batch) - LENGTH_OFFSET,
        leader_epoch,
        MAGIC,
        0,
        TRANSACTIONAL_FLAG | CONTROL_FLAG,
        0,
        timestamp,
        timestamp,
        producer_id,
        producer_epoch,
        NO_SEQUENCE,
        1,
    )
    _END_TRANSACTION_RECORD.pack_into(
        batch, HEADER_SIZE, _BEFORE_CONTROL_KEY, 0, control_type, _BEFORE_CONTROL_VALUE, 0, coordinator_epoch, 0
    )
    with memoryview(batch) as view:
        _CRC.pack_into(batch, CRC_OFFSET, crc32c(view[ATTRIBUTES_OFFSET:]))
    return batch


def control_type_of(record: Record) -> ControlType | None:
    """What a record of a control batch says; None for types that do not end transactions. Raises CorruptRecords."""
    if record.key is None or len(record.key) < _CONTROL_KEY.size:
        raise CorruptRecords(f"the control record at offset {record.offset} has no type")
    _version, number = _CONTROL_KEY.unpack_from(record.key)
    return ControlType(number) if number in (ControlType.ABORT, ControlType.COMMIT) else None


def coordinator_epoch_of(record: Record) -> int:
    """The epoch of the coordinator that ended the transaction. Raises CorruptRecords."""
    if record.value is None or len(record.value) < _END_TRANSACTION_MARKER.size:
        raise CorruptRecords(f"the control record at offset {record.offset} has no coordinator epoch")
    _version, epoch = _END_TRANSACTION_MARKER.unpack_from(record.value)
    return int(epoch)


def decode_varint(data: Buffer, position: int) -> tuple[int, int]:
    """A zigzag varint of at most 64 bits, and the position after it."""
    byte = data[position]
    position += 1
    if byte < 128:
        return (byte >> 1) ^ -(byte & 1), position
    value = byte & 127
    for shift in (7, 14, 21, 28, 35, 42, 49, 56, 63):
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            value &= 0xFFFF_FFFF_FFFF_FFFF
            return (value >> 1) ^ -(value & 1), position
    raise CorruptRecords("has a varint of more than 10 bytes")


@lru_cache(maxsize=4096)  # lengths and deltas are small and come again and again
def encode_varint(value: int) -> bytes:
    """A zigzag varint of a number that fits in 64 bits."""
    rest = (value << 1) ^ (value >> 63)
    if 0 <= rest < 128:
        return rest.to_bytes()
    out = bytearray()
    while rest > 127:
        out.append(rest & 127 | 128)
        rest >>= 7
    out.append(rest)
    return bytes(out)
