"""What kafka-producer-perf-test.sh counts, and the lines it prints of it."""

import time
from collections.abc import Callable
from typing import Final

_MEGABYTE: Final = 1024.0 * 1024.0
_MOST_SAMPLES: Final = 500_000
_PERCENTILES: Final = (0.5, 0.95, 0.99, 0.999)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Stats:
    """Latencies and bytes of a test, and of the window that is reported next."""

    def __init__(
        self, records: int, interval_ms: int, *, is_steady_state: bool = False, clock: Callable[[], int] = now_ms
    ) -> None:
        self._clock = clock
        self._start = self._window_start = clock()
        self._interval_ms = interval_ms
        self._is_steady_state = is_steady_state
        self._sampling = records // min(records, _MOST_SAMPLES)
        self._latencies: list[int] = []
        self.is_silent = False
        self.count = self._bytes = self._total = self._highest = 0
        self._window_count = self._window_bytes = self._window_total = self._window_highest = 0

    def record(self, latency: int, size: int, now: int) -> None:
        if self.count % self._sampling == 0:
            self._latencies.append(latency)
        self.count += 1
        self._bytes += size
        self._total += latency
        self._highest = max(self._highest, latency)
        self._window_count += 1
        self._window_bytes += size
        self._window_total += latency
        self._window_highest = max(self._window_highest, latency)
        if now - self._window_start >= self._interval_ms:
            if self._is_steady_state and self.count == self._window_count:
                print("In steady state.")
            if not self.is_silent:
                print(self.window_line())
            self._window_start = self._clock()
            self._window_count = self._window_bytes = self._window_total = self._window_highest = 0

    def window_line(self) -> str:
        elapsed = max(1, self._clock() - self._window_start)
        return (
            f"{self._window_count} records sent, {1000.0 * self._window_count / elapsed:.1f} records/sec "
            f"({1000.0 * self._window_bytes / elapsed / _MEGABYTE:.2f} MB/sec), "
            f"{self._window_total / self._window_count:.1f} ms avg latency, {self._window_highest:.1f} ms max latency."
        )

    def total_line(self) -> str:
        elapsed = max(1, self._clock() - self._start)
        latencies = sorted(self._latencies) or [0]
        percentiles = [latencies[min(int(each * len(latencies)), len(latencies) - 1)] for each in _PERCENTILES]
        middle, most, nearly_all, all_but_few = percentiles
        return (
            f"{self.count}{' steady state' if self._is_steady_state else ''} records sent, "
            f"{1000.0 * self.count / elapsed:f} records/sec "
            f"({1000.0 * self._bytes / elapsed / _MEGABYTE:.2f} MB/sec), "
            f"{self._total / max(1, self.count):.2f} ms avg latency, {self._highest:.2f} ms max latency, "
            f"{middle} ms 50th, {most} ms 95th, {nearly_all} ms 99th, {all_but_few} ms 99.9th."
        )
