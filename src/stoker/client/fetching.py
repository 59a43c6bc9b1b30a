"""Fetching a range of a partition, ahead: while one answer is worked on, the next is on its way.

for fetched in fetch_range(properties, PartitionRange("orders", 0, 100, 200), isolation=Isolation.READ_COMMITTED):
    fetched.batches

numpy takes 0.06 s to import. Import this module where it is used.
"""

from collections import deque
from collections.abc import Iterator
from threading import Condition, Thread
from typing import Final

from stoker.client.cluster import Cluster
from stoker.client.cluster_pool import borrow_cluster, return_cluster
from stoker.client.properties import ClientProperties
from stoker.client.range_fetcher import Fetched, Isolation, PartitionRange, RangeFetcher, fetch_settings

__all__ = ["Fetched", "Isolation", "PartitionRange", "fetch_range"]

_MOST_ANSWERS: Final = 3
"""One is worked on, one waits, and one is on its way."""
_MOST_BYTES: Final = 32 * 1024 * 1024
"""Of them together, if the next is as large as the last. One alone may be larger."""
_JOIN_SECONDS: Final = 2.0


def fetch_range(properties: ClientProperties, wanted: PartitionRange, *, isolation: Isolation) -> Iterator[Fetched]:
    """All of the range, in order. What is yielded may be kept.

    A moved leader and a broker that is gone are waited for, up to `default.api.timeout.ms` without any progress.
    Raises OffsetsGone, TopicGone and other ClientErrors, and CorruptRecords.
    """
    if wanted.start >= wanted.end:
        return
    settings = fetch_settings(properties)
    cluster = borrow_cluster(properties)
    fetcher = RangeFetcher(cluster, wanted, isolation, settings)
    try:
        first = fetcher.next()
    except BaseException:
        cluster.close()
        raise
    if first is None or fetcher.is_done:  # as most micro-batches are: no thread for them
        return_cluster(cluster)
        if first is not None:
            yield first
        return
    reader = _ReadAhead(cluster, fetcher, first)
    del first  # it is large, and no longer needed when the next comes
    yield from reader.iterate()


class _ReadAhead:
    """What comes after the first answer, fetched by a thread that waits while too much waits for the caller."""

    def __init__(self, cluster: Cluster, fetcher: RangeFetcher, first: Fetched) -> None:
        self._cluster = cluster
        self._fetcher = fetcher
        self._changed = Condition()
        # Under the condition:
        self._waiting: deque[Fetched] = deque()
        self._failure: Exception | None = None
        self._has_ended = False
        self._is_stopped = False
        self._held_answers = 0
        self._held_bytes = 0
        self._last_bytes = 0
        self._add(first)

    def iterate(self) -> Iterator[Fetched]:
        thread = Thread(target=self._run, name="stoker-fetch", daemon=True)
        thread.start()
        try:
            while (fetched := self._next()) is not None:
                size = fetched.batches.end
                yield fetched
                del fetched
                self._release(size)
        finally:
            self._stop()
            thread.join(_JOIN_SECONDS)  # it may be connecting to nobody; then it ends by itself

    def _release(self, size: int) -> None:
        with self._changed:
            self._held_answers -= 1
            self._held_bytes -= size
            self._changed.notify_all()

    def _next(self) -> Fetched | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._has_ended)
            if self._waiting:
                return self._waiting.popleft()
            if self._failure is not None:
                raise self._failure
            return None

    def _stop(self) -> None:
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
            if not self._has_ended:
                self._fetcher.interrupt()

    def _run(self) -> None:
        try:
            while not self._fetcher.is_done and self._wait_for_room():
                fetched = self._fetcher.next()
                if fetched is not None:
                    self._add(fetched)
                    del fetched
        except Exception as failure:
            self._failure = failure
        finally:
            with self._changed:  # from here on nobody interrupts: the connections may soon be somebody else's
                is_usable = self._failure is None and not self._is_stopped
                self._has_ended = True
                self._changed.notify_all()
            if is_usable:
                return_cluster(self._cluster)
            else:
                self._cluster.close()

    def _add(self, fetched: Fetched) -> None:
        with self._changed:
            self._last_bytes = fetched.batches.end
            self._held_answers += 1
            self._held_bytes += self._last_bytes
            self._waiting.append(fetched)
            self._changed.notify_all()

    def _wait_for_room(self) -> bool:
        """Whether to go on, as soon as one more answer may be held."""
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    self._is_stopped
                    or self._held_answers == 0
                    or (self._held_answers < _MOST_ANSWERS and self._held_bytes + self._last_bytes <= _MOST_BYTES)
                )
            )
            return not self._is_stopped
