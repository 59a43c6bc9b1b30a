"""Threads that send long stretches of logs, so that the event loop does not.

`sendfile` gives the interpreter free, so other threads run while the kernel moves the bytes: several clients are sent to
at once, and nobody's request waits behind a megabyte for somebody else. A thread never waits for a client: what a socket
does not take is the loop's to wait for.
"""

import asyncio
import os
import socket
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple

from stoker.log.partition import LogSlice

LONG_SLICE: Final = 256 * 1024
"""Bytes that are worth the way to another thread and back."""
MOST_AT_ONCE: Final = 4 * 1024 * 1024

Outcome = int | OSError
"""How many bytes were sent, or why none."""


class _Order(NamedTuple):
    sock: socket.socket
    part: LogSlice
    sent: int
    done: Callable[[Outcome], None]


class SliceSenders:
    """A few threads. All methods belong to the event loop's thread. Raises RuntimeError if they cannot be had."""

    def __init__(self, loop: asyncio.AbstractEventLoop, count: int) -> None:
        self._loop = loop
        self._threads: list[threading.Thread] = []
        self._orders: SimpleQueue[_Order | None] = SimpleQueue()
        self._outcomes: SimpleQueue[tuple[Callable[[Outcome], None], Outcome]] = SimpleQueue()
        try:
            for number in range(count):
                thread = threading.Thread(target=self._work, name=f"stoker-sender-{number}", daemon=True)
                thread.start()
                self._threads.append(thread)
        except RuntimeError:
            self.close()
            raise

    def send(self, sock: socket.socket, part: LogSlice, sent: int, done: Callable[[Outcome], None]) -> None:
        """Send of `part` what follows the first `sent` bytes, or some of it; then call `done`.

        Until then the socket must stay open: its descriptor could become another's.
        """
        self._orders.put(_Order(sock, part, sent, done))

    def close(self) -> None:
        """Finish what was begun, and tell of it."""
        for _ in self._threads:
            self._orders.put(None)
        for thread in self._threads:
            thread.join()
        self._threads = []
        self._tell()

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            sock, (file, position, length), sent, done = order
            outcome: Outcome
            try:
                count = min(length - sent, MOST_AT_ONCE)
                outcome = os.sendfile(sock.fileno(), file.descriptor, position + sent, count)
            except OSError as error:
                outcome = error
            self._outcomes.put((done, outcome))
            # Nothing may keep the file open while this thread waits for its next order.
            del order, sock, file, done
            self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        while True:
            try:
                done, outcome = self._outcomes.get_nowait()
            except Empty:
                return
            done(outcome)
