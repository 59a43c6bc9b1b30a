"""Compressed records, unpacked part by part: a batch may be much larger than what should be in memory at once."""

from collections.abc import Iterator
from typing import Final, Protocol

import pyarrow as pa

from stoker.errors import CorruptRecords
from stoker.wire.compression import Codec, snappy_blocks
from stoker.wire.schema import Buffer

_STREAMED: Final = {Codec.GZIP: "gzip", Codec.LZ4: "lz4", Codec.ZSTD: "zstd"}


class Unpacking(Protocol):
    def fill(self, room: memoryview) -> int:
        """The next bytes; fewer than there is room for only at the end. Raises CorruptRecords."""


def unpacking(codec: int, packed: memoryview, limit: int) -> Unpacking:
    """From the beginning. Only snappy without a frame, which is unpacked all at once, can exceed the limit."""
    if codec in _STREAMED:
        return _Stream(Codec(codec), packed)
    if codec == Codec.SNAPPY:
        return _Blocks(snappy_blocks(packed, limit))
    raise CorruptRecords(f"compression type {codec} does not exist; known are 0 to {max(Codec)}")


class _Stream:
    """pyarrow's, of the codecs that it unpacks so."""

    def __init__(self, codec: Codec, packed: memoryview) -> None:
        self._codec = codec
        self._stream = pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(packed)), _STREAMED[codec])

    def fill(self, room: memoryview) -> int:
        filled = 0
        try:
            while filled < len(room):
                count = self._stream.readinto(room[filled:])
                if not count:
                    break
                filled += count
        except OSError as error:
            raise CorruptRecords(f"{self._codec.name.lower()} records are damaged: {error}") from None
        return filled


class _Blocks:
    """Of snappy."""

    def __init__(self, blocks: Iterator[Buffer]) -> None:
        self._blocks = blocks
        self._block = memoryview(b"")

    def fill(self, room: memoryview) -> int:
        filled = 0
        while filled < len(room):
            if not len(self._block):
                following = next(self._blocks, None)
                if following is None:
                    break
                self._block = memoryview(following)
            count = min(len(self._block), len(room) - filled)
            room[filled : filled + count] = self._block[:count]
            self._block = self._block[count:]
            filled += count
        return filled
