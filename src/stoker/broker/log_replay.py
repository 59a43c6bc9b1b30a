"""Reading an internal log from its start, batch by batch, to make the state it stands for."""

import os
from collections.abc import Iterator
from typing import Final

from stoker.errors import CorruptRecords
from stoker.log.partition import PartitionLog
from stoker.wire.record_batch import HEADER_SIZE, BatchHeader, crc_is_valid, read_header

_READ_BYTES: Final = 1024 * 1024
_LARGE_LOG_BYTES: Final = 4 * 1024 * 1024


def batches_of(log: PartitionLog) -> Iterator[memoryview]:
    """Every batch of a log, oldest first. Raises CorruptRecords for one that does not have the checksum it claims."""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        piece = log.read(offset, _READ_BYTES, at_least_one_batch=True)
        if not piece.length:
            return  # compaction has left nothing between here and the end
        data = memoryview(os.pread(piece.file.descriptor, piece.length, piece.position))
        for header, batch in batches_in(data, log.directory):
            if header.next_offset > offset:
                yield batch
                offset = header.next_offset


def batches_in(data: memoryview, directory: str) -> Iterator[tuple[BatchHeader, memoryview]]:
    """The whole batches in a piece of a log in this directory. Raises CorruptRecords as `batches_of` does."""
    position = 0
    while position + HEADER_SIZE <= len(data):
        header = read_header(data, position)
        if position + header.size > len(data):
            break
        if not crc_is_valid(data, position, header):
            raise CorruptRecords(f"{directory} has a damaged batch at offset {header.base_offset}")
        yield header, data[position : position + header.size]
        position += header.size


def newest_batches_of(log: PartitionLog) -> Iterator[memoryview]:
    """Batches that stand for the same state, if of every key the newest record counts: what compaction would leave.

    Of a large log's plain batches the newest record of each key in some megabytes is given, in batches made for it, in
    which offsets and timestamps are not those of the records. A million commits of one group are a hundred megabytes that
    nobody may compact yet, and a few dozen records here.
    """
    if log.size_bytes < _LARGE_LOG_BYTES:
        return batches_of(log)
    from stoker.broker.condensed_replay import condensed_batches_of

    return condensed_batches_of(log)
