"""Sparse indexes of a segment, in memory in the very bytes of Kafka's `.index` and `.timeindex` files.

Nothing here is trusted blindly: an index says where to look, and whoever looks checks that the batch there is the one
the index promised. A wrong, short or missing index costs a rebuild from the log, never a wrong answer.
"""

import os
import struct
import threading
from bisect import bisect_left, bisect_right
from typing import NamedTuple, Protocol

_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")

_pack_offset_entry = _OFFSET_ENTRY.pack
_pack_time_entry = _TIME_ENTRY.pack

OFFSET_ENTRY_BYTES = 8
TIME_ENTRY_BYTES = 12
NO_TIMESTAMP = -1


class CorruptIndex(Exception):
    """The index cannot belong to its segment and must be rebuilt; never leaves this room."""


class OffsetEntry(NamedTuple):
    """The batch that starts at `position` ends with `last_offset`."""

    last_offset: int
    position: int


class TimeEntry(NamedTuple):
    """`timestamp` is the largest up to and including the batch that ends with `last_offset`."""

    timestamp: int
    last_offset: int


class OffsetIndex:
    """Kafka's `.index`: 8 bytes an entry, (last offset of a batch relative to the base, position of that batch)."""

    __slots__ = ("base_offset", "entries")

    def __init__(self, base_offset: int, entries: bytes | bytearray = b"") -> None:
        self.base_offset = base_offset
        self.entries = bytearray(entries)

    @classmethod
    def load(cls, path: str, base_offset: int, log_bytes: int) -> "OffsetIndex":
        """Read the file; raises CorruptIndex if it is missing or cannot index `log_bytes` of log."""
        index = cls(base_offset, _read_entries(path, OFFSET_ENTRY_BYTES))
        if len(index):
            last = index[len(index) - 1]
            if last.last_offset < base_offset or not 0 < last.position < log_bytes:
                raise CorruptIndex(f"{path} ends with offset {last.last_offset} at {last.position} of {log_bytes}")
        return index

    def __len__(self) -> int:
        return len(self.entries) // OFFSET_ENTRY_BYTES

    def __getitem__(self, slot: int) -> OffsetEntry:
        relative_offset, position = _OFFSET_ENTRY.unpack_from(self.entries, slot * OFFSET_ENTRY_BYTES)
        return OffsetEntry(self.base_offset + relative_offset, position)

    def append(self, last_offset: int, position: int) -> None:
        self.entries += _pack_offset_entry(last_offset - self.base_offset, position)

    def floor(self, offset: int) -> OffsetEntry | None:
        """The last entry whose batch ends at or before `offset`."""
        entries = self.entries
        slot = bisect_right(
            range(len(entries) // OFFSET_ENTRY_BYTES),
            offset - self.base_offset,
            key=lambda n: _INT32.unpack_from(entries, n * OFFSET_ENTRY_BYTES)[0],
        )
        return self[slot - 1] if slot else None

    def floor_position(self, position: int) -> int:
        """The start of the last indexed batch at or before `position`; 0 if there is none."""
        entries = self.entries
        slot = bisect_right(
            range(len(entries) // OFFSET_ENTRY_BYTES),
            position,
            key=lambda n: _INT32.unpack_from(entries, n * OFFSET_ENTRY_BYTES + 4)[0],
        )
        return self[slot - 1].position if slot else 0

    def offset_after_position(self, position: int) -> int | None:
        """An offset past all batches that begin before `position`; None if no entry is so far on."""
        entries = self.entries
        slot = bisect_left(
            range(len(entries) // OFFSET_ENTRY_BYTES),
            position,
            key=lambda n: _INT32.unpack_from(entries, n * OFFSET_ENTRY_BYTES + 4)[0],
        )
        return self[slot].last_offset + 1 if slot < len(self) else None


class TimeIndex:
    """Kafka's `.timeindex`: 12 bytes an entry, timestamps and offsets strictly rising."""

    __slots__ = ("base_offset", "entries", "last_timestamp")

    def __init__(self, base_offset: int, entries: bytes | bytearray = b"") -> None:
        self.base_offset = base_offset
        self.entries = bytearray(entries)
        self.last_timestamp = self[len(self) - 1].timestamp if entries else NO_TIMESTAMP

    @classmethod
    def load(cls, path: str, base_offset: int) -> "TimeIndex":
        """Read the file; raises CorruptIndex if it is missing or out of order at its ends."""
        index = cls(base_offset, _read_entries(path, TIME_ENTRY_BYTES))
        if len(index):
            first, last = index[0], index[len(index) - 1]
            if last.last_offset < base_offset or last.timestamp < first.timestamp or first.timestamp < 0:
                raise CorruptIndex(f"{path} ends with timestamp {last.timestamp} at offset {last.last_offset}")
        return index

    def __len__(self) -> int:
        return len(self.entries) // TIME_ENTRY_BYTES

    def __getitem__(self, slot: int) -> TimeEntry:
        timestamp, relative_offset = _TIME_ENTRY.unpack_from(self.entries, slot * TIME_ENTRY_BYTES)
        return TimeEntry(timestamp, self.base_offset + relative_offset)

    def maybe_append(self, timestamp: int, last_offset: int) -> None:
        """Add an entry if the timestamp is larger than all before it."""
        if timestamp > self.last_timestamp:
            self.entries += _pack_time_entry(timestamp, last_offset - self.base_offset)
            self.last_timestamp = timestamp

    def before(self, timestamp: int) -> TimeEntry | None:
        """The last entry with a smaller timestamp: everything up to its offset is older than `timestamp`."""
        entries = self.entries
        slot = bisect_left(
            range(len(entries) // TIME_ENTRY_BYTES),
            timestamp,
            key=lambda n: _INT64.unpack_from(entries, n * TIME_ENTRY_BYTES)[0],
        )
        return self[slot - 1] if slot else None


def read_last_time_entry(path: str, base_offset: int) -> TimeEntry | None:
    """The last entry of a time index file without loading it; raises CorruptIndex if it is missing or misshapen."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise CorruptIndex(f"{path} is missing") from None
    try:
        size = os.fstat(descriptor).st_size
        if size % TIME_ENTRY_BYTES:
            raise CorruptIndex(f"{path} has {size} bytes, no multiple of {TIME_ENTRY_BYTES}")
        if not size:
            return None
        timestamp, relative_offset = _TIME_ENTRY.unpack(os.pread(descriptor, TIME_ENTRY_BYTES, size - TIME_ENTRY_BYTES))
    finally:
        os.close(descriptor)
    if timestamp == 0 and relative_offset == 0 and size > TIME_ENTRY_BYTES:
        raise CorruptIndex(f"{path} ends with zeros")
    return TimeEntry(timestamp, base_offset + relative_offset)


def _read_entries(path: str, entry_bytes: int) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            content = file.read()
    except FileNotFoundError:
        raise CorruptIndex(f"{path} is missing") from None
    if len(content) % entry_bytes:
        raise CorruptIndex(f"{path} has {len(content)} bytes, no multiple of {entry_bytes}")
    # Kafka pre-allocates the active segment's indexes; after a crash the unused rest is zeros.
    used_bytes = len(content.rstrip(b"\0"))
    return content[: -(-used_bytes // entry_bytes) * entry_bytes]


class IndexOwner(Protocol):
    """A closed segment, whose offset index the cache may take away between two uses."""

    offset_index: OffsetIndex | None


class IndexCache:
    """Offset indexes of closed segments, least recently loaded first out, bounded in bytes over all partitions."""

    __slots__ = ("_bytes", "_lock", "_owners", "limit_bytes")

    def __init__(self, limit_bytes: int = 32 * 1024 * 1024) -> None:
        self.limit_bytes = limit_bytes
        self._bytes = 0
        self._owners: dict[IndexOwner, int] = {}
        self._lock = threading.Lock()

    def keep(self, owner: IndexOwner, index: OffsetIndex) -> None:
        """Give the owner its index, and take those of others while there are too many."""
        size = len(index.entries) + 256
        with self._lock:
            self._forget(owner)
            owner.offset_index = index
            self._owners[owner] = size
            self._bytes += size
            while self._bytes > self.limit_bytes and len(self._owners) > 1:
                self._forget(next(iter(self._owners)))

    def forget(self, owner: IndexOwner) -> None:
        with self._lock:
            self._forget(owner)

    def _forget(self, owner: IndexOwner) -> None:
        self._bytes -= self._owners.pop(owner, 0)
        owner.offset_index = None
