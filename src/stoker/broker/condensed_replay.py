"""What compaction would leave of a log, for who replays it: of the keys of a stretch the newest record each.

numpy does the work; this module is imported only when there is a large log to read.
"""

import os
from collections.abc import Iterator
from typing import Final

import numpy as np

from stoker.errors import CorruptRecords
from stoker.log.compaction.key_hashes import KeyHasher
from stoker.log.partition import PartitionLog
from stoker.log.validation import MAX_DECOMPRESSED_BYTES
from stoker.wire.batch_columns import BatchColumns, Integers, check_checksums, read_batches
from stoker.wire.record_batch import CONTROL_FLAG, HEADER, HEADER_SIZE, LENGTH_OFFSET, MAGIC, TRANSACTIONAL_FLAG
from stoker.wire.record_columns import read_records_of

_STRETCH_BYTES: Final = 8 * 1024 * 1024
_FEW_BATCHES: Final = 16
_LARGEST_DELTA: Final = 2**31 - 1


def condensed_batches_of(log: PartitionLog) -> Iterator[memoryview]:
    """`newest_batches_of` for a large log. Batches of transactions and their markers are given as they are, in their place."""
    hasher = KeyHasher()
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        piece = log.read(offset, _STRETCH_BYTES, at_least_one_batch=True)
        if not piece.length:
            return  # compaction has left nothing between here and the end
        try:
            batches = read_batches(memoryview(os.pread(piece.file.descriptor, piece.length, piece.position)))
            if offset < log.checked_from:
                check_checksums(batches)
        except CorruptRecords as problem:
            raise CorruptRecords(
                f"{log.directory} has a damaged batch at offset {offset} or later: {problem}"
            ) from None
        is_plain = (batches.headers["attributes"] & (CONTROL_FLAG | TRANSACTIONAL_FLAG)) == 0
        slots = np.flatnonzero(batches.last_offsets >= offset)
        for run in np.split(slots, np.flatnonzero(np.diff(is_plain[slots])) + 1):
            if len(run) > _FEW_BATCHES and is_plain[run[0]]:
                yield _newest_records(batches, run, hasher)
            else:
                yield from (_batch_at(batches, slot) for slot in run.tolist())
        offset = int(batches.last_offsets[-1]) + 1


def _batch_at(batches: BatchColumns, slot: int) -> memoryview:
    position = int(batches.positions[slot])
    return batches.data[position : position + int(batches.headers["batch_length"][slot]) + LENGTH_OFFSET]


def _newest_records(batches: BatchColumns, slots: Integers, hasher: KeyHasher) -> memoryview:
    """One batch of the newest record of each key in these, in their order. Records without a key mean nothing here."""
    records = read_records_of(batches, slots, MAX_DECOMPRESSED_BYTES)
    rows = np.flatnonzero(records.key_lengths >= 0)
    high, low = hasher(records.data, records.key_starts[rows], records.key_lengths[rows])
    by_key = np.lexsort((rows, low, high))
    is_last = np.ones(len(rows), dtype=bool)
    is_last[:-1] = (high[by_key[1:]] != high[by_key[:-1]]) | (low[by_key[1:]] != low[by_key[:-1]])
    newest = np.sort(rows[by_key[is_last]])
    data = records.data.data
    begins, ends = records.starts[newest].tolist(), records.ends[newest].tolist()
    body = b"".join([data[begin:end] for begin, end in zip(begins, ends, strict=True)])
    header = HEADER.pack(
        int(batches.headers["base_offset"][slots[0]]),
        HEADER_SIZE - LENGTH_OFFSET + len(body),
        -1,
        MAGIC,
        0,
        0,
        _LARGEST_DELTA,
        -1,
        -1,
        -1,
        -1,
        -1,
        len(newest),
    )
    return memoryview(header + body)
