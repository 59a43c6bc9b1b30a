"""Columns to the records of record batches (message format 2), without a step of Python for a record.

All that the records are made of, keys, values and varints, is put into one Arrow array. Arrow then takes the pieces of
the first record from it, those of the second, and so on; they lie one behind the other in what it gives, and that is the
payload of the batches, grouped by partition. Varints come from a table, or are made by numpy where it does not have them.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stoker.client.producing import BatchToSend
from stoker.client.topic_partition import TopicPartition
from stoker.spark.errors import UnwritableRow
from stoker.wire.batch_columns import Integers
from stoker.wire.compression import Codec, compress
from stoker.wire.record_batch import HEADER_SIZE, encode_varint

_Indices = NDArray[np.int32]

_TABLE_SIZE: Final = 1 << 15
_MINUS_ONE: Final = _TABLE_SIZE
"""Where the table has the varint of -1, which is the length of null."""
_TWO_ZEROS_BEHIND: Final = _TABLE_SIZE + 1
"""From here on the table has the same numbers again, each with two zero bytes behind it."""
_ZERO: Final = 0
_LONGEST_VARINT: Final = 10
_OVERHEAD: Final = 5 + 1 + 10 + 5 + 5 + 5 + 5
"""What a record takes at most beside its key, its value and its headers."""


class RecordsToWrite(NamedTuple):
    """The rows for one topic. `headers` are `encoded_headers`, `timestamps` are milliseconds."""

    keys: pa.BinaryArray | None
    values: pa.BinaryArray
    headers: "EncodedHeaders | None" = None
    timestamps: Integers | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def sizes(self) -> Integers:
        """About how many bytes each record takes: never less than it does."""
        sizes = _lengths(self.values) + _OVERHEAD
        if self.keys is not None:
            sizes += _lengths(self.keys)
        if self.headers is not None:
            sizes += _lengths(self.headers.content)
        return sizes

    def take(self, rows: Integers) -> "RecordsToWrite":
        """Only these rows."""
        places = pa.array(rows)
        return RecordsToWrite(
            None if self.keys is None else self.keys.take(places),
            self.values.take(places),
            None if self.headers is None else self.headers.take(rows),
            None if self.timestamps is None else self.timestamps[rows],
        )


class EncodedHeaders(NamedTuple):
    counts: Integers
    content: pa.BinaryArray
    """The headers of each row as a record has them, without their count."""

    def take(self, rows: Integers) -> "EncodedHeaders":
        return EncodedHeaders(self.counts[rows], self.content.take(pa.array(rows)))


class Packing(NamedTuple):
    """How records are put into batches."""

    batch_bytes: int
    """A batch is closed before it gets larger, unless a single record is."""
    largest_batch: int
    """What the topic takes (max.message.bytes); a batch that is larger even when it is compressed is refused."""
    codec: Codec = Codec.NONE
    level: int | None = None


def encode_records(
    records: RecordsToWrite, topic: str, partitions: Integers, packing: Packing, *, now: int, rows: Integers
) -> Iterator[BatchToSend]:
    """The batches of these rows, in the order of the rows within each partition. Rows without a timestamp have `now`.

    `rows` are their numbers, for messages. The batches of the partitions take turns, so that a request can carry one of each. Raises UnwritableRow.
    """
    if not len(records):
        return
    narrow = partitions.astype(np.uint16) if int(partitions.max()) <= 0xFFFF else partitions
    order = np.argsort(narrow, kind="stable")  # of 16 bits numpy does a radix sort
    cuts = _cuts(partitions[order], records.sizes[order], packing)
    firsts, counts = cuts.firsts, np.diff(np.append(cuts.firsts, len(records)))
    timestamps = None if records.timestamps is None else records.timestamps[order]
    payload = _Payload(records, order, firsts, counts, timestamps)
    for place in cuts.turns.tolist():
        first, count = int(firsts[place]), int(counts[place])
        content, codec = payload.of(first, first + count), packing.codec
        if codec:
            packed = memoryview(compress(codec, content, packing.level))
            if len(packed) + HEADER_SIZE <= packing.largest_batch or len(packed) <= len(content):
                content = packed
            else:
                codec = Codec.NONE  # what cannot be compressed gets a little larger by it, and does not fit any more
        if len(content) + HEADER_SIZE > packing.largest_batch:
            row = int(rows[order[first]])
            raise UnwritableRow(
                _too_large(row, count, len(content) + HEADER_SIZE, topic, packing._replace(codec=codec))
            )
        yield BatchToSend(
            partition=TopicPartition(topic, int(cuts.partitions[place])),
            record_count=count,
            codec=codec,
            base_timestamp=now if timestamps is None else int(timestamps[first]),
            max_timestamp=now if timestamps is None else int(timestamps[first : first + count].max()),
            records=content,
        )


def encoded_headers(headers: pa.ListArray, rows: Integers) -> EncodedHeaders:
    """From Spark's `array<struct<key: string, value: binary>>`; null is none. Raises UnwritableRow for a null key."""
    counts = pc.fill_null(pc.list_value_length(headers), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    each = headers.flatten()
    keys, values = each.field("key").cast(pa.binary()), each.field("value").cast(pa.binary())
    # `field` does not see that a whole struct may be null.
    without_key = np.flatnonzero((keys.is_null().to_numpy(False)) | (each.is_null().to_numpy(False)))
    ends = np.cumsum(counts)
    if len(without_key):
        row = int(np.searchsorted(ends, without_key[0], side="right"))
        raise UnwritableRow(f"row {rows[row]} has a header without a key")
    pool = _Pool()
    pieces = [pool.lengths(keys), pool.bytes(keys), pool.lengths(values), pool.bytes(values)]
    data, bounds = pool.take([piece.places for piece in pieces], len(each))
    offsets = bounds[np.append(0, ends)].astype(np.int32)
    content = pa.Array.from_buffers(pa.binary(), len(headers), [None, pa.py_buffer(offsets), data])
    return EncodedHeaders(counts, content)


class _Cuts(NamedTuple):
    """Batches: where each begins in the ordered rows, its partition, and in which order they are to be sent."""

    firsts: Integers
    partitions: Integers
    turns: Integers


def _cuts(partitions: Integers, sizes: Integers, packing: Packing) -> _Cuts:
    """A step of Python for a batch, not for a record."""
    room = max(min(packing.batch_bytes, packing.largest_batch) - HEADER_SIZE, 1)
    ends = np.cumsum(sizes)
    begins = np.flatnonzero(np.append(True, partitions[1:] != partitions[:-1])).tolist()
    firsts: list[int] = []
    rounds: list[int] = []
    for begin, stop in zip(begins, [*begins[1:], len(partitions)], strict=True):
        first, number = begin, 0
        while first < stop:
            firsts.append(first)
            rounds.append(number)
            full = int(ends[first - 1]) + room if first else room
            first = max(first + 1, min(stop, int(np.searchsorted(ends, full, side="right"))))
            number += 1
    where = np.array(firsts, dtype=np.int64)
    return _Cuts(where, partitions[where], np.argsort(np.array(rounds), kind="stable"))


class _Payload:
    """The records of all batches, one behind the other."""

    def __init__(
        self, records: RecordsToWrite, order: Integers, firsts: Integers, counts: Integers, timestamps: Integers | None
    ) -> None:
        rows = len(order)
        pool = _Pool()
        deltas = pool.varints(np.arange(rows) - np.repeat(firsts, counts))
        pieces = [deltas]
        if records.keys is None:
            pieces.append(_Piece(_MINUS_ONE, 1))
        else:
            pieces += (pool.lengths(records.keys).ordered(order), pool.bytes(records.keys).ordered(order))
        pieces += (pool.lengths(records.values).ordered(order), pool.bytes(records.values).ordered(order))
        if records.headers is None:
            pieces.append(_Piece(_ZERO, 1))
        else:
            counted, content = pool.varints(records.headers.counts), pool.bytes(records.headers.content)
            pieces += (counted.ordered(order), content.ordered(order))
        if timestamps is not None:
            pieces = [
                _Piece(_ZERO, 1),
                pool.varints(timestamps - np.repeat(timestamps[firsts], counts)),
                *pieces,
            ]
        sizes = sum((piece.sizes for piece in pieces), 0 if timestamps is not None else 2)
        lengths = pool.varints(np.broadcast_to(sizes, rows))
        if timestamps is None:  # attributes and timestamp delta are two zeros behind every length
            if lengths.is_from_table:
                pieces = [_Piece(np.add(lengths.places, np.int32(_TWO_ZEROS_BEHIND)), 0), *pieces]
            else:
                pieces = [lengths, _Piece(_ZERO, 1), _Piece(_ZERO, 1), *pieces]
        else:
            pieces = [lengths, *pieces]
        data, self._bounds = pool.take([piece.places for piece in pieces], rows)
        self._data = memoryview(data)

    def of(self, first: int, stop: int) -> memoryview:
        return self._data[self._bounds[first] : self._bounds[stop]]


class _Piece(NamedTuple):
    """A part of every record: where in the pool it is, and how many bytes it takes. One number is that of all records."""

    places: _Indices | int
    sizes: Integers | int
    is_from_table: bool = False

    def ordered(self, order: Integers) -> "_Piece":
        places = self.places if isinstance(self.places, int) else self.places[order]
        sizes = self.sizes if isinstance(self.sizes, int) else self.sizes[order]
        return _Piece(places, sizes, self.is_from_table)


class _Pool:
    """What the records are made of."""

    def __init__(self) -> None:
        self._arrays: list[pa.Array] = [_table()]
        self._size = len(self._arrays[0])

    def bytes(self, values: pa.BinaryArray) -> _Piece:
        return _Piece(self._add(values), _lengths(values))

    def lengths(self, values: pa.BinaryArray) -> _Piece:
        """As varints; that of null is -1."""
        lengths = pc.fill_null(pc.binary_length(values), -1) if values.null_count else pc.binary_length(values)
        return self.varints(lengths.to_numpy(zero_copy_only=False).astype(np.int64))

    def varints(self, numbers: Integers) -> _Piece:
        lowest, highest = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
        if lowest >= -1 and highest < _TABLE_SIZE:
            places = numbers.astype(np.int32)
            if lowest < 0:
                places[places < 0] = _MINUS_ONE
            sizes: Integers | int = 1 if highest < 64 else _table_sizes()[places]
            return _Piece(places, sizes, is_from_table=True)
        made = varint_array(numbers)
        return _Piece(self._add(made), _lengths(made))

    def take(self, pieces: list[_Indices | int], rows: int) -> tuple[pa.Buffer, Integers]:
        """The pieces of each row one behind the other, and where each row begins; the last number is where all end."""
        places = np.empty((rows, len(pieces)), dtype=np.int32)
        for number, piece in enumerate(pieces):
            places[:, number] = piece
        taken = pa.concat_arrays(self._arrays).take(pa.array(places.ravel()))
        _validity, offsets, data = taken.buffers()
        bounds = np.frombuffer(offsets, dtype=np.int32)[taken.offset : taken.offset + len(taken) + 1]
        return pa.py_buffer(b"") if data is None else data, bounds[:: len(pieces)].astype(np.int64)

    def _add(self, values: pa.Array) -> _Indices:
        begin = self._size
        self._arrays.append(values)
        self._size += len(values)
        return np.arange(begin, self._size, dtype=np.int32)


def varint_array(numbers: Integers) -> pa.BinaryArray:
    """The zigzag varint of each number of 64 bits."""
    rest = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    groups = rest[:, np.newaxis] >> (np.arange(_LONGEST_VARINT, dtype=np.uint64) * np.uint64(7))
    sizes = np.maximum(np.count_nonzero(groups, axis=1), 1)
    content = (groups & np.uint64(0x7F)).astype(np.uint8)
    columns = np.arange(_LONGEST_VARINT)
    content[columns < (sizes - 1)[:, np.newaxis]] |= 0x80
    offsets = np.zeros(len(numbers) + 1, dtype=np.int32)
    np.cumsum(sizes, out=offsets[1:])
    data = content[columns < sizes[:, np.newaxis]]
    return pa.Array.from_buffers(pa.binary(), len(numbers), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


@cache
def _table() -> pa.BinaryArray:
    numbers = [*map(encode_varint.__wrapped__, range(_TABLE_SIZE)), encode_varint(-1)]
    return pa.array([*numbers, *(number + b"\0\0" for number in numbers)], type=pa.binary())


@cache
def _table_sizes() -> Integers:
    return _lengths(_table())


def _lengths(values: pa.BinaryArray) -> Integers:
    """0 for null."""
    lengths = pc.binary_length(values)
    if values.null_count:
        lengths = pc.fill_null(lengths, 0)
    found: Integers = lengths.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _too_large(row: int, count: int, size: int, topic: str, packing: Packing) -> str:
    packed = f", compressed with {packing.codec.name.lower()}" if packing.codec else ""
    if count > 1:
        return (
            f"{count} rows from row {row} on make a batch of {size} bytes{packed}, topic {topic!r} takes "
            f"{packing.largest_batch} (max.message.bytes): set kafka.batch.size lower"
        )
    return (
        f"row {row} makes a batch of {size} bytes{packed}, topic {topic!r} takes {packing.largest_batch}: "
        f"raise max.message.bytes of the topic (and kafka.max.request.size, if it is set), or make the row smaller"
    )
