"""Record batches by columns: what `record_batch` reads one by one, as arrays of all batches and records at once.

A record begins with its length as a zigzag varint, and so does a value of type `bytes` in Avro. The records of any number
of batches, one after the other, are therefore an Avro block of `bytes`: polars finds where each begins, and numpy reads
the numbers at the front of all of them together. Nulls, headers and any mixture of them make no difference. What polars
does not take is walked through length by length, to the same columns or to the error that names what is wrong.

numpy and polars take 0.2 s to import. Import this module where it is used, never at the start of a broker.
"""

import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stoker.errors import CorruptRecords
from stoker.wire.batch_columns import BatchColumns, Bytes, Integers
from stoker.wire.compression import Codec, decompress
from stoker.wire.record_batch import CODEC_MASK, HEADER_SIZE, LENGTH_OFFSET, decode_varint, encode_varint
from stoker.wire.schema import Buffer

_SYNC = b"stoker's own mark"[:16]
_SCHEMA = b'{"type":"record","name":"Batch","fields":[{"name":"record","type":"bytes"}]}'
_AVRO_HEADER = b"".join(
    (b"Obj\1", encode_varint(1), encode_varint(11), b"avro.schema", encode_varint(len(_SCHEMA)), _SCHEMA, b"\0", _SYNC)
)
_PADDING = bytes(16)
"""So that the longest varint, and a word of 8 bytes, can be read at the very end."""
_LONGEST_VARINT = 10


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


def read_records_of(batches: BatchColumns, slots: Integers, limit: int) -> RecordColumns:
    """The records of these batches; raises CorruptRecords, also for a batch that unpacks to more than `limit` bytes."""
    counts = batches.headers["record_count"][slots].astype(np.int64)
    is_packed = (batches.headers["attributes"][slots] & CODEC_MASK) != Codec.NONE
    if (counts == 1).all() and not is_packed.any():
        # Batches of one record each tell by themselves where their records are: they are read where they lie.
        joined = b"".join((batches.data, _PADDING))
        starts = batches.positions[slots] + HEADER_SIZE
        ends = batches.positions[slots] + batches.sizes[slots]
        lengths, content_starts = _varints_at(np.frombuffer(joined, dtype=np.uint8), starts)
        _refuse(content_starts + lengths != ends, "another length than its batch")
        return _columns(joined, counts, starts, content_starts, ends)
    return read_records(records_of(batches, slots, limit), counts)


def read_records(bodies: Sequence[Buffer], counts: Integers) -> RecordColumns:
    """The records of batches of so many records each; raises CorruptRecords if lengths and counts contradict each other."""
    joined = b"".join((*bodies, _PADDING))
    body_ends = np.cumsum(np.fromiter(map(len, bodies), dtype=np.int64, count=len(bodies)), dtype=np.int64)
    if len(counts) and (int(counts.min()) < 0 or int(counts.sum()) > len(joined)):
        raise CorruptRecords(f"{int(counts.sum())} records in {len(joined)} bytes")
    return _columns(joined, counts, *_boundaries(joined, body_ends, counts))


def _columns(
    joined: bytes, counts: Integers, starts: Integers, content_starts: Integers, ends: Integers
) -> RecordColumns:
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
    lengths = _lengths_by_avro(joined, len(joined) - len(_PADDING), int(counts.sum()))
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
    import polars

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
