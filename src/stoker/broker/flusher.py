"""fsync for many at once: whoever needs a log on the disk waits for one flush that began after it asked."""

import asyncio
from concurrent.futures import Executor

from stoker.log.partition import PartitionLog


class Flusher:
    """Group commit. While a flush of a log runs, all that ask for one share the next. The event loop never waits."""

    def __init__(self, loop: asyncio.AbstractEventLoop, executor: Executor) -> None:
        self._loop = loop
        self._executor = executor
        self._running: dict[PartitionLog, asyncio.Future[None]] = {}
        self._next: dict[PartitionLog, asyncio.Future[None]] = {}

    def flushed(self, log: PartitionLog) -> asyncio.Future[None]:
        """Done when all that is in the log now is on the disk; OSError when the disk refused."""
        if log not in self._running:
            return self._start(log, self._loop.create_future())
        waiting = self._next.get(log)
        if waiting is None:
            waiting = self._next[log] = self._loop.create_future()
        return waiting

    def _start(self, log: PartitionLog, done: asyncio.Future[None]) -> asyncio.Future[None]:
        self._running[log] = done
        flush = self._loop.run_in_executor(self._executor, log.flush)
        flush.add_done_callback(lambda finished: self._finished(log, done, finished))
        return done

    def _finished(self, log: PartitionLog, done: asyncio.Future[None], finished: asyncio.Future[int]) -> None:
        del self._running[log]
        error = finished.exception()
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)
        waiting = self._next.pop(log, None)
        if waiting is not None:
            self._start(log, waiting)
