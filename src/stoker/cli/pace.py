"""How many records may go now, so that no more than a given number go in a second."""

from collections.abc import Callable
from typing import Final

_BURST_SECONDS: Final = 0.02
"""After a pause (of the reader, or of this machine) at most what belongs to this time is made up for at once."""


class Pace:
    """Spreads records evenly: 1000 a second are 1 each millisecond, and never all at once."""

    def __init__(self, records_per_second: float, clock: Callable[[], float]) -> None:
        self._rate = records_per_second
        self._burst = max(1.0, records_per_second * _BURST_SECONDS)
        self._clock = clock
        self._credit = 1.0
        self._seen = clock()

    def take(self, wanted: int) -> int:
        """How many of the wanted records may go now; they count as gone."""
        now = self._clock()
        self._credit = min(self._burst, self._credit + (now - self._seen) * self._rate)
        self._seen = now
        taken = min(wanted, int(self._credit))
        self._credit -= taken
        return taken

    def seconds_to_next(self) -> float:
        """How long to wait until take() gives at least one."""
        return max(0.0, (1.0 - self._credit) / self._rate)
