"""The headers of many record batches at once, as columns.

numpy takes 0.06 s to import. Import this module where it is used, never at the start of a broker.
"""

from struct import Struct as Layout
from typing import Final, NamedTuple

import numpy as np
from crc32c import crc32c
from numpy.typing import NDArray

from stoker.errors import CorruptRecords
from stoker.wire.record_batch import ATTRIBUTES_OFFSET, HEADER_SIZE, LENGTH_OFFSET, MAGIC

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
_BATCH_LENGTH_POSITION: Final = 8
_ALIKE: Final = 16
"""After so many batches of one size more of it are looked for at once."""


class BatchColumns(NamedTuple):
    """The whole batches at the front of `data`, behind which there may be more."""

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


def read_batches(data: memoryview, size: int | None = None) -> BatchColumns:
    """The whole batches in the first `size` bytes; raises CorruptRecords where no batch can be."""
    content = np.frombuffer(data, dtype=np.uint8, count=-1 if size is None else size)
    at, end = _positions(data, content)
    headers = np.empty(0, dtype=HEADER_TYPE)
    if len(at):
        headers = np.lib.stride_tricks.sliding_window_view(content, HEADER_SIZE)[at].view(HEADER_TYPE).ravel()
    if (headers["magic"] != MAGIC).any():
        wrong = int(np.argmax(headers["magic"] != MAGIC))
        raise CorruptRecords(f"a batch with magic {headers['magic'][wrong]} at position {at[wrong]}")
    return BatchColumns(data, at, headers, end)


def _positions(data: memoryview, content: Bytes) -> tuple[Integers, int]:
    """Where each whole batch begins, and where the last ends. Batches of one size, as commits are, are found together."""
    size = len(content)
    found: list[Integers] = []
    positions: list[int] = []
    position = 0
    alike = last_length = 0
    while position + HEADER_SIZE <= size:
        (length,) = _batch_length_at(data, position + _BATCH_LENGTH_POSITION)
        if length < HEADER_SIZE - LENGTH_OFFSET:
            raise CorruptRecords(f"bytes that are no record batch at position {position}")
        following = position + length + LENGTH_OFFSET
        if following > size:
            break
        positions.append(position)
        position = following
        alike = alike + 1 if length == last_length else 0
        last_length = length
        if alike == _ALIKE:
            alike = 0
            more = _count_alike(content, position, length)
            if more:
                found += (np.array(positions, dtype=np.int64), position + (length + LENGTH_OFFSET) * np.arange(more))
                positions = []
                position += (length + LENGTH_OFFSET) * more
    found.append(np.array(positions, dtype=np.int64))
    return np.concatenate(found), position


def _count_alike(content: Bytes, position: int, length: int) -> int:
    """How many whole batches of exactly this length follow each other from here on."""
    step = length + LENGTH_OFFSET
    count = (len(content) - position) // step
    begin = position + _BATCH_LENGTH_POSITION
    lengths = np.lib.stride_tricks.as_strided(content[begin:], shape=(count, 4), strides=(step, 1))
    differ = np.flatnonzero((lengths != np.frombuffer(length.to_bytes(4), dtype=np.uint8)).any(axis=1))
    return int(differ[0]) if len(differ) else count


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
