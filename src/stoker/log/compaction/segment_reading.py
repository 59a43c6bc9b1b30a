"""Reading a segment in stretches of whole batches, each of them checked, at no more than the allowed pace."""

import os
import time
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from stoker.errors import CorruptRecords
from stoker.log.segment import LOG_SUFFIX
from stoker.log.validation import MAX_DECOMPRESSED_BYTES, MAX_RECORDS_READ
from stoker.wire.batch_columns import BatchColumns, Integers, check_checksums, read_batches
from stoker.wire.compression import Codec
from stoker.wire.record_batch import CODEC_MASK, LENGTH_OFFSET
from stoker.wire.record_columns import RecordColumns, read_records, read_records_of, records_of
from stoker.wire.schema import Buffer
from stoker.wire.varint_columns import PADDING

_MOST_UNPACKED_BYTES: Final = 16 * 1024 * 1024
"""Of compressed batches so much is unpacked together."""


class Pace:
    """Keeps the bytes read and written below log.cleaner.io.max.bytes.per.second, by waiting."""

    def __init__(
        self,
        max_bytes_per_second: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._limit = max_bytes_per_second
        self._clock = clock
        self._sleep = sleep
        self._free_at = clock()

    def moved(self, count: int) -> None:
        if self._limit is None:
            return
        now = self._clock()
        self._free_at = max(self._free_at, now) + count / self._limit
        if self._free_at > now:
            self._sleep(self._free_at - now)


def segment_path(directory: str, base_offset: int, suffix: str = LOG_SUFFIX) -> str:
    return f"{directory}/{base_offset:020d}{suffix}"


def read_segment(path: str, size: int, stretch_bytes: int, pace: Pace) -> Iterator[BatchColumns]:
    """All batches of a segment; raises CorruptRecords for what is no good batch, and OSError.

    The bytes of the batches are there only until the next ones are asked for.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        position = 0
        buffer = bytearray(min(stretch_bytes, size) + PADDING)
        while position < size:
            view = memoryview(buffer)
            wanted = min(len(buffer) - PADDING, size - position)
            count = os.preadv(descriptor, [view[:wanted]], position)
            batches = _batches_at(path, position, view, count)
            if not len(batches):
                if count < wanted or wanted == size - position:
                    raise CorruptRecords(f"a torn batch at position {position} of {path}")
                buffer = bytearray(4 * wanted + PADDING)  # for a batch that is larger
                continue
            pace.moved(batches.end)
            yield batches
            position += batches.end
    finally:
        os.close(descriptor)


def _batches_at(path: str, position: int, data: memoryview, size: int) -> BatchColumns:
    try:
        batches = read_batches(data, size)
        check_checksums(batches)
    except CorruptRecords as problem:
        raise CorruptRecords(f"{problem} in the stretch at position {position} of {path}") from None
    return batches


def records_in(batches: BatchColumns, slots: Integers) -> Iterator[tuple[Integers, RecordColumns]]:
    """The records of these batches, as many batches at a time as take a bounded amount of memory."""
    counts = batches.headers["record_count"][slots].astype(np.int64)
    if (counts > MAX_RECORDS_READ).any():
        raise CorruptRecords(
            f"a batch says it has {int(counts.max())} records, more than {MAX_RECORDS_READ} are not read"
        )
    codecs = batches.headers["attributes"][slots] & CODEC_MASK
    if (codecs == Codec.NONE).all():
        if len(slots):
            yield slots, _checked(batches, slots, read_records_of(batches, slots, MAX_DECOMPRESSED_BYTES))
        return
    # What a compressed batch takes is known when it is unpacked, and it may be much.
    bodies: list[Buffer] = []
    begin = size = 0
    for number in range(len(slots)):
        bodies += records_of(batches, slots[number : number + 1], MAX_DECOMPRESSED_BYTES)
        size += len(bodies[-1])
        if size > _MOST_UNPACKED_BYTES or number == len(slots) - 1:
            some = slots[begin : number + 1]
            yield some, _checked(batches, some, read_records(bodies, counts[begin : number + 1]))
            bodies, begin, size = [], number + 1, 0


def _checked(batches: BatchColumns, slots: Integers, records: RecordColumns) -> RecordColumns:
    last_deltas = batches.headers["last_offset_delta"][slots][records.batch]
    if ((records.offset_deltas < 0) | (records.offset_deltas > last_deltas)).any():
        raise CorruptRecords("a record has an offset that is not in its batch")
    return records


def batch_at(batches: BatchColumns, slot: int) -> memoryview:
    """One batch, header included."""
    position = int(batches.positions[slot])
    return batches.data[position : position + int(batches.headers["batch_length"][slot]) + LENGTH_OFFSET]
