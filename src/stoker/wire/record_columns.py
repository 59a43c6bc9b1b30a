"""Record batches by columns: what `record_batch` reads one by one, as arrays of all batches and records at once.

A record begins with its length as a zigzag varint, and so does a value of type `bytes` in Avro. The records of any number
of batches, one after the other, are therefore an Avro block of `bytes`: polars finds where each begins, and numpy reads
the numbers at the front of all of them together. Nulls, headers and any mixture of them make no difference. What polars
does not take is walked through length by length, to the same columns or to the error that names what is wrong.

numpy and polars take 0.2 s to import. Import this module where it is used, never at the start of a broker.
"""

import io
from collections.abc import Sequence
from struct import Struct as Layout
from typing import NamedTuple

import numpy as np
import polars
from crc32c import crc32c
from numpy.typing import NDArray

from stoker.errors import CorruptRecords
from stoker.wire.compression import Codec, decompress
from stoker.wire.record_batch import (
    ATTRIBUTES_OFFSET,
    CODEC_MASK,
    HEADER_SIZE,
    LENGTH_OFFSET,
    MAGIC,
    decode_varint,
    encode_varint,
)
from stoker.wire.schema import Buffer

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]

HEADER_TYPE = np.dtype(
    [
        ("base_offset", ">i8"),
        ("batch_length", ">i4"),
        ("partition_leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("record_count", ">i4"),
    ]
)
"""A batch header as it is on disk; `BatchHeader` has the same fields."""

_batch_length_at = Layout(">i").unpack_from
_BATCH_LENGTH_POSITION = 8

_SYNC = b"stoker's own mark"[:16]
_SCHEMA = b'{"type":"record","name":"Batch","fields":[{"name":"record","type":"bytes"}]}'
_AVRO_HEADER = b"".join(
    (b"Obj\1", encode_varint(1), encode_varint(11), b"avro.schema", encode_varint(len(_SCHEMA)), _SCHEMA, b"\0", _SYNC)
)
_PADDING = bytes(16)
"""So that the longest varint, and a word of 8 bytes, can be read at the very end."""
_LONGEST_VARINT = 10


class BatchColumns(NamedTuple):
    """The whole batches at the front of `data`."""

    data: memoryview
    positions: Integers
    headers: NDArray[np.void]
    """Of `HEADER_TYPE`."""
    end: int
    """Where the last whole batch ends."""

    def __len__(self) -> int:
        return len(self.positions)

    def column(self, name: str) -> Integers:
        """A field of all headers."""
        return self.headers[name].astype(np.int64)

    @property
    def sizes(self) -> Integers:
        return self.column("batch_length") + LENGTH_OFFSET

    @property
    def last_offsets(self) -> Integers:
        return self.column("base_offset") + self.column("last_offset_delta")


def read_batches(data: memoryview) -> BatchColumns:
    """Raises CorruptRecords where no batch can be. What is behind the last whole batch is left out."""
    positions = []
    position = 0
    size = len(data)
    while position + HEADER_SIZE <= size:
        (length,) = _batch_length_at(data, position + _BATCH_LENGTH_POSITION)
        if length < HEADER_SIZE - LENGTH_OFFSET:
            raise CorruptRecords(f"bytes that are no record batch at position {position}")
        following = position + length + LENGTH_OFFSET
        if following > size:
            break
        positions.append(position)
        position = following
    at = np.array(positions, dtype=np.int64)
    headers = np.empty(0, dtype=HEADER_TYPE)
    if positions:
        windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(data, dtype=np.uint8), HEADER_SIZE)
        headers = windows[at].view(HEADER_TYPE).ravel()
    if (headers["magic"] != MAGIC).any():
        wrong = int(np.argmax(headers["magic"] != MAGIC))
        raise CorruptRecords(f"a batch with magic {headers['magic'][wrong]} at position {positions[wrong]}")
    return BatchColumns(data, at, headers, position)


def check_checksums(batches: BatchColumns) -> None:
    """Raises CorruptRecords for the first batch that does not have the checksum it claims."""
    data = batches.data
    begins = (batches.positions + ATTRIBUTES_OFFSET).tolist()
    ends = (batches.positions + batches.sizes).tolist()
    found = [crc32c(data[begin:end]) for begin, end in zip(begins, ends, strict=True)]
    wrong = np.flatnonzero(np.array(found, dtype=np.uint32) != batches.headers["crc"])
    if len(wrong):
        offset = batches.headers["base_offset"][wrong[0]]
        raise CorruptRecords(f"the batch at offset {offset} does not have the checksum it claims")


def records_of(batches: BatchColumns, slots: Integers, limit: int) -> list[Buffer]:
    """The records of each of these batches, decompressed. Raises CorruptRecords, also for more than `limit` bytes of one."""
    data = batches.data
    begins = batches.positions[slots] + HEADER_SIZE
    ends = begins + batches.headers["batch_length"][slots] - (HEADER_SIZE - LENGTH_OFFSET)
    bodies: list[Buffer] = [data[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
    codecs = batches.headers["attributes"][slots] & CODEC_MASK
    for slot in np.flatnonzero(codecs != Codec.NONE).tolist():
        bodies[slot] = decompress(int(codecs[slot]), bodies[slot], limit)
    return bodies


class RecordColumns(NamedTuple):
    """The records of some batches, in order. Positions are in `data`, which has all their bytes and some padding."""

    data: Bytes
    batch: Integers
    """Which of the batches a record is in."""
    starts: Integers
    ends: Integers
    """Of whole records, their lengths included."""
    timestamp_starts: Integers
    offset_starts: Integers
    """Where the timestamp delta is, and where it ends."""
    timestamp_deltas: Integers
    offset_deltas: Integers
    key_starts: Integers
    key_lengths: Integers
    """-1 for null."""
    value_lengths: Integers
    """-1 for null."""

    def __len__(self) -> int:
        return len(self.starts)


def read_records(bodies: Sequence[Buffer], counts: Integers) -> RecordColumns:
    """The records of batches of so many records each; raises CorruptRecords if lengths and counts contradict each other."""
    joined = b"".join((*bodies, _PADDING))
    body_ends = np.cumsum(np.fromiter(map(len, bodies), dtype=np.int64, count=len(bodies)), dtype=np.int64)
    if len(counts) and (int(counts.min()) < 0 or int(counts.sum()) > len(joined)):
        raise CorruptRecords(f"{int(counts.sum())} records in {len(joined)} bytes")
    starts, content_starts, ends = _boundaries(joined, body_ends, counts)
    data = np.frombuffer(joined, dtype=np.uint8)
    timestamp_starts = content_starts + 1  # after the attributes, of which none is in use
    timestamp_deltas, offset_starts = _varints_at(data, timestamp_starts)
    offset_deltas, key_length_starts = _varints_at(data, offset_starts)
    key_lengths, key_starts = _varints_at(data, key_length_starts)
    key_ends = key_starts + np.maximum(key_lengths, 0)
    _refuse(key_lengths < -1, "a key of negative length")
    _refuse(key_ends >= ends, "a key that ends after its record")
    value_lengths, value_starts = _varints_at(data, key_ends)
    _refuse(value_lengths < -1, "a value of negative length")
    _refuse(value_starts + np.maximum(value_lengths, 0) >= ends, "a value that ends after its record")
    return RecordColumns(
        data,
        np.repeat(np.arange(len(counts), dtype=np.int64), counts),
        starts,
        ends,
        timestamp_starts,
        offset_starts,
        timestamp_deltas,
        offset_deltas,
        key_starts,
        key_lengths,
        value_lengths,
    )


def _refuse(are_wrong: NDArray[np.bool_], what: str) -> None:
    if are_wrong.any():
        raise CorruptRecords(f"record {int(np.argmax(are_wrong))} of {len(are_wrong)} has {what}")


def _boundaries(joined: bytes, body_ends: Integers, counts: Integers) -> tuple[Integers, Integers, Integers]:
    """Where each record begins, where what follows its length begins, and where it ends."""
    total = int(counts.sum())
    size = len(joined) - len(_PADDING)
    lengths = _lengths_by_avro(joined, size, total)
    if lengths is not None:
        length_sizes = _varint_sizes(lengths)
        ends = np.cumsum(lengths + length_sizes)
        reached = np.concatenate((np.zeros(1, dtype=np.int64), ends))[np.cumsum(counts)]
        if np.array_equal(reached, body_ends):
            starts = ends - lengths - length_sizes
            return starts, starts + length_sizes, ends
    return _walk(joined, body_ends, counts)


def _lengths_by_avro(joined: bytes, size: int, total: int) -> Integers | None:
    """None if it is no Avro block of so many values."""
    if not total:
        return np.zeros(0, dtype=np.int64)
    content = b"".join((_AVRO_HEADER, encode_varint(total), encode_varint(size), memoryview(joined)[:size], _SYNC))
    try:
        column = polars.read_avro(io.BytesIO(content)).get_column("record")
    except (OSError, polars.exceptions.PolarsError, polars.exceptions.PanicException):
        return None
    if len(column) != total:
        return None
    return column.bin.size().to_numpy().astype(np.int64)


def _walk(joined: bytes, body_ends: Integers, counts: Integers) -> tuple[Integers, Integers, Integers]:
    """Length by length: for records whose lengths are written longer than need be, and to say what is wrong."""
    starts, content_starts, ends = [], [], []
    position = 0
    for number, (body_end, count) in enumerate(zip(body_ends.tolist(), counts.tolist(), strict=True)):
        for index in range(count):
            try:
                length, content_start = decode_varint(joined, position)
            except (CorruptRecords, IndexError):
                raise CorruptRecords(f"record {index} of batch {number} has no length") from None
            if length < 0 or content_start + length > body_end:
                raise CorruptRecords(f"record {index} of batch {number} has {length} bytes by its length")
            starts.append(position)
            content_starts.append(content_start)
            position = content_start + length
            ends.append(position)
        if position != body_end:
            raise CorruptRecords(f"batch {number} has {body_end - position} bytes after its last record")
    return np.array(starts, np.int64), np.array(content_starts, np.int64), np.array(ends, np.int64)


def _varint_sizes(values: Integers) -> Integers:
    """How many bytes the shortest zigzag varint of each number takes; they are not negative."""
    sizes = np.ones(len(values), dtype=np.int64)
    rest = values >> 6
    while rest.any():
        sizes += rest > 0
        rest >>= 7
    return sizes


def _varints_at(data: Bytes, positions: Integers) -> tuple[Integers, Integers]:
    """The zigzag varints at these positions, and where each ends. Raises CorruptRecords for one of more than 10 bytes."""
    if not len(positions):
        return positions, positions
    _refuse(positions > len(data) - _LONGEST_VARINT, "less than its length says")
    byte = data[positions]
    values = (byte & 0x7F).astype(np.uint64)
    following = positions + 1
    longer = np.flatnonzero(byte & 0x80)
    for shift in range(7, 7 * _LONGEST_VARINT, 7):
        if not len(longer):
            break
        byte = data[following[longer]]
        values[longer] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        following[longer] += 1
        longer = longer[byte >= 0x80]
    if len(longer):
        raise CorruptRecords(f"record {int(longer[0])} has a varint of more than {_LONGEST_VARINT} bytes")
    return (values >> np.uint64(1)).astype(np.int64) ^ -(values & np.uint64(1)).astype(np.int64), following
