"""Memory that requests are received into.

Requests that arrive whole within one read are parsed in one scratch buffer that every connection shares; only a
connection in the middle of a request owns memory. That memory grows with the bytes that really came, never with the
length a client claims, and goes back to a small pool when the request has been handled.
"""

import mmap

SCRATCH_BYTES = 64 * 1024
_SMALLEST_POOLED = 64 * 1024
_POOLED_BYTES = 16 * 1024 * 1024
_MAPPED_FROM_BYTES = 1024 * 1024
"""Larger buffers are mapped: of those, only what has been written to is resident. A bytearray is zeroed, hence all of it."""


class ReceiveBuffers:
    """The scratch buffer and the pool of larger ones; belongs to one event loop."""

    def __init__(self) -> None:
        self.scratch = memoryview(bytearray(SCRATCH_BYTES))
        self._pool: dict[int, list[memoryview]] = {}
        self._pooled_bytes = 0

    def take(self, size: int) -> memoryview:
        """A writable buffer of at least `size` bytes; its former contents are arbitrary."""
        capacity = max(_SMALLEST_POOLED, 1 << (size - 1).bit_length())
        pooled = self._pool.get(capacity)
        if pooled:
            self._pooled_bytes -= capacity
            return pooled.pop()
        if capacity >= _MAPPED_FROM_BYTES:
            return memoryview(mmap.mmap(-1, capacity, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        return memoryview(bytearray(capacity))

    def give_back(self, buffer: memoryview) -> None:
        """Return what `take` gave. The caller keeps no view of it."""
        capacity = len(buffer)
        if self._pooled_bytes + capacity <= _POOLED_BYTES:
            self._pool.setdefault(capacity, []).append(buffer)
            self._pooled_bytes += capacity
