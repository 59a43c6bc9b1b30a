"""Record batches by columns: what `record_batch` reads one by one, as arrays of all records at once.

Every record begins with its length. The records of many batches are found by walking through all of these batches
together, a record of each at every step; numpy then reads the numbers at the front of all records together. Nulls,
headers and any mixture of them make no difference, and nothing is copied that was not compressed.

numpy takes 0.06 s to import. Import this module where it is used, never at the start of a broker.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stoker.errors import CorruptRecords
from stoker.wire.batch_columns import BatchColumns, Bytes, Integers
from stoker.wire.compression import Codec, decompress
from stoker.wire.record_batch import CODEC_MASK, HEADER_SIZE, LENGTH_OFFSET, decode_varint
from stoker.wire.schema import Buffer

Flags = NDArray[np.bool_]

PADDING: Final = 16
"""Bytes that must follow the last record, so that the longest varint, and a word of 8 bytes, can be read there."""
_LONGEST_VARINT: Final = 10
_STEP_COST: Final = 200
"""A step through many batches at once takes as long as so many steps through one of them."""


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
    value_starts: Integers
    value_lengths: Integers
    """-1 for null."""

    def __len__(self) -> int:
        return len(self.starts)


def read_records_of(batches: BatchColumns, slots: Integers, limit: int) -> RecordColumns:
    """The records of these batches; raises CorruptRecords, also for a batch that unpacks to more than `limit` bytes.

    They are read where they lie if none of them is compressed and the batches are followed by padding.
    """
    counts = batches.headers["record_count"][slots].astype(np.int64)
    is_packed = (batches.headers["attributes"][slots] & CODEC_MASK) != Codec.NONE
    if is_packed.any():
        return read_records(records_of(batches, slots, limit), counts)
    buffer: Buffer = batches.data
    if len(buffer) - batches.end < PADDING:
        buffer = b"".join((buffer, bytes(PADDING)))
    begins = batches.positions[slots]
    return _columns(buffer, counts, begins + HEADER_SIZE, begins + batches.sizes[slots])


def read_records(bodies: Sequence[Buffer], counts: Integers) -> RecordColumns:
    """The records of batches of so many records each; raises CorruptRecords if lengths and counts contradict each other."""
    sizes = np.fromiter(map(len, bodies), dtype=np.int64, count=len(bodies))
    ends = np.cumsum(sizes)
    return _columns(b"".join((*bodies, bytes(PADDING))), counts, ends - sizes, ends)


def _columns(buffer: Buffer, counts: Integers, body_starts: Integers, body_ends: Integers) -> RecordColumns:
    if len(counts) and (int(counts.min()) < 0 or (counts > body_ends - body_starts).any()):
        raise CorruptRecords(f"a batch of {int(counts.max())} records in {int((body_ends - body_starts).max())} bytes")
    data = np.frombuffer(buffer, dtype=np.uint8)
    starts, content_starts, ends = _boundaries(buffer, data, counts, body_starts, body_ends)
    timestamp_starts = content_starts + 1  # after the attributes, of which none is in use
    timestamp_deltas, offset_starts = _varints_at(data, timestamp_starts)
    offset_deltas, key_length_starts = _varints_at(data, offset_starts)
    key_lengths, key_starts = _varints_at(data, key_length_starts)
    # Lengths are compared with what is left, not added to positions: the largest of them would make these negative.
    _refuse(key_lengths < -1, "a key of negative length")
    _refuse(np.maximum(key_lengths, 0) >= ends - key_starts, "a key that ends after its record")
    value_lengths, value_starts = _varints_at(data, key_starts + np.maximum(key_lengths, 0))
    _refuse(value_lengths < -1, "a value of negative length")
    _refuse(np.maximum(value_lengths, 0) >= ends - value_starts, "a value that ends after its record")
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
        value_starts,
        value_lengths,
    )


def _refuse(are_wrong: Flags, what: str) -> None:
    if are_wrong.any():
        raise CorruptRecords(f"record {int(np.argmax(are_wrong))} of {len(are_wrong)} has {what}")


def _boundaries(
    buffer: Buffer, data: Bytes, counts: Integers, body_starts: Integers, body_ends: Integers
) -> tuple[Integers, Integers, Integers]:
    """Where each record begins, where what follows its length begins, and where it ends."""
    if len(counts) and int(counts.sum()) > _STEP_COST * int(counts.max()):
        return _walk_together(data, counts, body_starts, body_ends)
    return _walk(buffer, data, counts, body_starts, body_ends)


def _walk_together(
    data: Bytes, counts: Integers, body_starts: Integers, body_ends: Integers
) -> tuple[Integers, Integers, Integers]:
    """All batches at once, a record of each at every step; those with the most records last longest."""
    found = np.empty((3, int(counts.sum())), dtype=np.int64)
    order = np.argsort(-counts, kind="stable")
    rows = (np.cumsum(counts) - counts)[order]
    positions, stops = body_starts[order], body_ends[order]
    more_than = np.searchsorted(-counts[order], -np.arange(int(counts.max())), side="left").tolist()
    for step, width in enumerate(more_than):
        at, row = positions[:width], rows[:width] + step
        lengths, contents = _varints_at(data, at)
        if (lengths < 0).any() or (lengths > stops[:width] - contents).any():
            raise CorruptRecords(f"record {step} of a batch has another length than it says")
        ends = contents + lengths
        found[0, row] = at
        found[1, row] = contents
        found[2, row] = ends
        positions[:width] = ends
    _refuse(positions != stops, "bytes after its last record")
    return found[0], found[1], found[2]


def _walk(
    buffer: Buffer, data: Bytes, counts: Integers, body_starts: Integers, body_ends: Integers
) -> tuple[Integers, Integers, Integers]:
    """Batch by batch, for few batches of many records. Python only goes from length to length; numpy checks them."""
    starts: list[int] = []
    add = starts.append
    for count, position, body_end in zip(counts.tolist(), body_starts.tolist(), body_ends.tolist(), strict=True):
        try:
            for _ in range(count):
                add(position)
                byte = buffer[position]
                if byte < 128:
                    position += (byte >> 1) + 1
                else:
                    second = buffer[position + 1]
                    if second < 128:
                        position += (byte - 128 >> 1) + (second << 6) + 2
                    else:
                        length, position = decode_varint(buffer, position)
                        position += length
        except IndexError:
            position = -1
        if position != body_end:
            raise CorruptRecords(f"a batch of {count} records in {body_end} bytes has other lengths than it says")
    begins = np.array(starts, np.int64)
    lengths, contents = _varints_at(data, begins)
    _refuse(lengths < 0, "a negative length")
    return begins, contents, contents + lengths


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
