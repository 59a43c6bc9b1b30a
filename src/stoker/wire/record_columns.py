"""Record batches by columns: what `record_batch` reads one by one, as arrays of all records at once.

Every record begins with its length. The records of many batches are found by walking through all of these batches
together, a record of each at every step; numpy then reads the numbers at the front of all records together. Nulls,
headers and any mixture of them make no difference, and nothing is copied that was not compressed.

numpy takes 0.06 s to import. Import this module where it is used, never at the start of a broker.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stoker.errors import CorruptRecords
from stoker.wire.batch_columns import BatchColumns, Bytes, Integers
from stoker.wire.compression import Codec, decompress
from stoker.wire.record_batch import CODEC_MASK, HEADER_SIZE, LENGTH_OFFSET
from stoker.wire.record_boundaries import Boundaries, find_boundaries, find_part
from stoker.wire.schema import Buffer
from stoker.wire.varint_columns import LONGEST_VARINT, PADDING, Words, read_zigzags, words_of

Flags = NDArray[np.bool_]


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


def read_part(data: Bytes, start: int, limit: int, *, typical: int, is_end: bool) -> RecordColumns:
    """Some of the records of one batch, as `find_part` finds them. Raises CorruptRecords."""
    words = words_of(data)
    boundaries = find_part(data, words, start, limit, typical=typical, is_end=is_end)
    return _fields(data, words, boundaries, np.array([len(boundaries.starts)]))


def _columns(buffer: Buffer, counts: Integers, body_starts: Integers, body_ends: Integers) -> RecordColumns:
    data = np.frombuffer(buffer, dtype=np.uint8)
    words = words_of(data)
    return _fields(data, words, find_boundaries(buffer, data, words, counts, body_starts, body_ends), counts)


def _fields(data: Bytes, words: Words, boundaries: Boundaries, counts: Integers) -> RecordColumns:
    starts, content_starts, ends = boundaries
    timestamp_starts = content_starts
    timestamp_starts += 1  # after the attributes, of which none is in use
    timestamp_deltas, offset_starts = _numbers_at(data, words, timestamp_starts)
    offset_deltas, key_length_starts = _numbers_at(data, words, offset_starts)
    key_lengths, key_starts = _numbers_at(data, words, key_length_starts)
    value_lengths, value_starts = _numbers_at(data, words, _behind(key_starts, key_lengths, ends, "key"))
    _behind(value_starts, value_lengths, ends, "value")
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


def _behind(starts: Integers, lengths: Integers, ends: Integers, what: str) -> Integers:
    """Where these keys or values end; raises CorruptRecords for one that does not end before its record does."""
    if not len(starts):
        return starts
    if int(lengths.min()) < 0:
        _refuse(lengths < -1, f"a {what} of negative length")
        lengths = np.maximum(lengths, 0)
    # Lengths are compared with what is left, not added to positions: the largest of them would make these negative.
    _refuse(lengths >= ends - starts, f"a {what} that ends after its record")
    return starts + lengths


def _numbers_at(data: Bytes, words: Words, positions: Integers) -> tuple[Integers, Integers]:
    """The zigzag varints at these positions, and where each ends. Raises CorruptRecords for one of more than 10 bytes."""
    if len(positions) and int(positions.max()) > len(data) - PADDING:
        _refuse(positions > len(data) - PADDING, "less than its length says")
    values, ends, endless = read_zigzags(data, words, positions)
    if len(endless):
        raise CorruptRecords(f"record {int(endless[0])} has a varint of more than {LONGEST_VARINT} bytes")
    return values, ends


def _refuse(are_wrong: Flags, what: str) -> None:
    if are_wrong.any():
        raise CorruptRecords(f"record {int(np.argmax(are_wrong))} of {len(are_wrong)} has {what}")
