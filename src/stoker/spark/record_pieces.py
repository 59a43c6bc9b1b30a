"""The records of batches, some at a time: however large a batch is, and to whatever it unpacks, little of it is in memory.

Most batches are small: many of them make a piece. A batch that is larger than a piece is read part by part; if it is
compressed, it is also unpacked part by part.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from stoker.errors import CorruptRecords
from stoker.spark.unpacking import unpacking
from stoker.wire.batch_columns import BatchColumns, Integers
from stoker.wire.compression import Codec, decompress
from stoker.wire.record_batch import CODEC_MASK, HEADER_SIZE, decode_varint
from stoker.wire.record_columns import RecordColumns, read_part, read_records, read_records_of
from stoker.wire.schema import Buffer
from stoker.wire.varint_columns import PADDING

MOST_ROWS: Final = 64 * 1024
MOST_BYTES: Final = 8 * 1024 * 1024
_FIRST_PART: Final = 1024 * 1024
"""By it is seen how large records are."""
_LARGEST_RECORD: Final = 256 * 1024 * 1024


class Piece(NamedTuple):
    slots: Integers
    """Which batches, in order."""
    counts: Integers
    """How many records there are of each."""
    columns: RecordColumns


def read_pieces(batches: BatchColumns, slots: Integers) -> Iterator[Piece]:
    """All records of these batches, in order. Raises CorruptRecords."""
    are_packed = (batches.headers["attributes"][slots] & CODEC_MASK) != Codec.NONE
    changes = np.flatnonzero(np.diff(are_packed)) + 1
    for run in np.split(slots, changes):
        if len(run):
            is_packed = bool(batches.headers["attributes"][run[0]] & CODEC_MASK)
            yield from _packed_pieces(batches, run) if is_packed else _plain_pieces(batches, run)


def _plain_pieces(batches: BatchColumns, slots: Integers) -> Iterator[Piece]:
    counts, sizes = batches.column("record_count")[slots], batches.sizes[slots]
    rows, size = np.cumsum(counts), np.cumsum(sizes)
    begin = 0
    while begin < len(slots):
        if sizes[begin] > MOST_BYTES or counts[begin] > MOST_ROWS:
            yield from _parts_of_plain(batches, slots[begin : begin + 1])
            begin += 1
            continue
        end = min(
            int(np.searchsorted(rows, rows[begin] - counts[begin] + MOST_ROWS, side="right")),
            int(np.searchsorted(size, size[begin] - sizes[begin] + MOST_BYTES, side="right")),
        )
        yield Piece(slots[begin:end], counts[begin:end], read_records_of(batches, slots[begin:end], 0))
        begin = end


def _parts_of_plain(batches: BatchColumns, slot: Integers) -> Iterator[Piece]:
    position = int(batches.positions[slot[0]]) + HEADER_SIZE
    end = int(batches.positions[slot[0]] + batches.sizes[slot[0]])
    left = int(batches.headers["record_count"][slot[0]])
    data = np.frombuffer(batches.data, dtype=np.uint8)
    typical = max((end - position) // max(left, 1), 7)
    most = step = _part_bytes(typical)
    while position < end:
        limit = min(position + step, end)
        columns = read_part(data, position, limit, typical=typical, is_end=limit == end)
        if not len(columns):
            step = _record_bytes(data[position:end].data)
            continue
        step = most
        position = int(columns.ends[-1])
        left -= len(columns)
        yield Piece(slot, np.array([len(columns)]), columns)
        del columns
    _refuse_other_count(left)


def _packed_pieces(batches: BatchColumns, slots: Integers) -> Iterator[Piece]:
    """Unpacked batches are gathered until there are enough of them for a piece."""
    counts = batches.column("record_count")[slots]
    bodies: list[Buffer] = []
    rows = size = begin = 0
    for number, slot in enumerate(slots.tolist()):
        packed = _packed(batches, slot)
        body = _unpack(packed, batches, slot)
        if bodies and (body is None or rows + int(counts[number]) > MOST_ROWS or size + len(body) > MOST_BYTES):
            yield Piece(slots[begin:number], counts[begin:number], read_records(bodies, counts[begin:number]))
            bodies, rows, size = [], 0, 0
        if not bodies:
            begin = number
        if body is None:
            yield from _parts_of_packed(packed, batches, slots[number : number + 1])
            continue
        bodies.append(body)
        rows += int(counts[number])
        size += len(body)
        del body
    if bodies:
        yield Piece(slots[begin:], counts[begin:], read_records(bodies, counts[begin:]))


def _packed(batches: BatchColumns, slot: int) -> memoryview:
    begin = int(batches.positions[slot])
    return batches.data[begin + HEADER_SIZE : begin + int(batches.sizes[slot])]


def _codec(batches: BatchColumns, slot: int) -> int:
    return int(batches.headers["attributes"][slot]) & CODEC_MASK


def _unpack(packed: memoryview, batches: BatchColumns, slot: int) -> bytes | None:
    """All of a batch, or None if it is larger than a piece and has to be unpacked part by part."""
    codec = _codec(batches, slot)
    if len(packed) > MOST_BYTES or int(batches.headers["record_count"][slot]) > MOST_ROWS:
        return None
    try:
        return decompress(codec, packed, MOST_BYTES)
    except CorruptRecords:
        return None  # it is too large, or damaged: who unpacks it part by part will tell


def _parts_of_packed(packed: memoryview, batches: BatchColumns, slot: Integers) -> Iterator[Piece]:
    """A window moves through what is unpacked; the record at its end, of which only a part is there, moves to its front."""
    left = int(batches.headers["record_count"][slot[0]])
    rest = b""
    typical = 64
    size = min(MOST_BYTES, _FIRST_PART)
    stream = unpacking(_codec(batches, int(slot[0])), packed, _LARGEST_RECORD)
    while True:
        window = np.empty(len(rest) + size + PADDING, dtype=np.uint8)
        window[: len(rest)] = np.frombuffer(rest, dtype=np.uint8)
        filled = len(rest) + stream.fill(window.data[len(rest) : -PADDING])
        is_end = filled < len(window) - PADDING
        window = window[: filled + PADDING]  # a record may claim to be much larger than it is
        window[filled:] = 0
        if is_end and not filled:
            break
        columns = read_part(window, 0, filled, typical=typical, is_end=is_end)
        if not len(columns):
            size = max(_record_bytes(window.data) - filled, 64)
            rest = window[:filled].tobytes()
            del window
            continue
        end = int(columns.ends[-1])
        typical = max(end // len(columns), 7)
        size = _part_bytes(typical)
        rest = window[end:filled].tobytes()
        left -= len(columns)
        yield Piece(slot, np.array([len(columns)]), columns)
        del columns, window
        if is_end:
            break
    _refuse_other_count(left)


def _record_bytes(data: memoryview) -> int:
    """Of the record at the front, which is larger than a part."""
    length, content = decode_varint(data, 0)
    if not 0 <= length <= _LARGEST_RECORD:
        raise CorruptRecords(f"a record of {length} bytes")
    return content + length


def _part_bytes(typical: int) -> int:
    """So that a part has neither too many bytes nor too many rows."""
    return max(min(MOST_BYTES, MOST_ROWS * typical), 2 * typical)


def _refuse_other_count(left: int) -> None:
    if left:
        raise CorruptRecords(f"a batch has {abs(left)} records {'less' if left > 0 else 'more'} than it says")
