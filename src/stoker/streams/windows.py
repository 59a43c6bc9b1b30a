"""Windows of event time, with Kafka Streams' meaning. Times are milliseconds since 1970.

tumbling   [start, end): fixed size, one after the other, aligned to 1970
hopping    the same size, a new one every `advance`, so that they overlap
sliding    all records that lie at most `difference` apart: [t - difference, t] and [t + 1, t + 1 + difference] for records at t
session    records of one key with no gap longer than `gap`: [first, last]
"""

from dataclasses import dataclass

from stoker.streams.durations import Duration, milliseconds, shown
from stoker.streams.errors import InvalidTopology


@dataclass(frozen=True, kw_only=True, slots=True)
class HoppingWindow:
    """A tumbling window is one that advances by its size."""

    size: int
    advance: int
    grace: int

    def __str__(self) -> str:
        kind = f"tumbling {shown(self.size)}"
        if self.advance != self.size:
            kind = f"hopping {shown(self.size)} by {shown(self.advance)}"
        return f"{kind}, grace {shown(self.grace)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SlidingWindow:
    difference: int
    grace: int

    def __str__(self) -> str:
        return f"sliding {shown(self.difference)}, grace {shown(self.grace)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionWindow:
    gap: int
    grace: int

    def __str__(self) -> str:
        return f"session gap {shown(self.gap)}, grace {shown(self.grace)}"


Window = HoppingWindow | SlidingWindow | SessionWindow


def tumbling(size: Duration, *, grace: Duration = "0s") -> HoppingWindow:
    """Windows of `size`, one after the other. A record is late when stream time has passed the window's end by `grace`."""
    length = milliseconds("the size of a tumbling window", size, lowest=1)
    return HoppingWindow(size=length, advance=length, grace=milliseconds("grace", grace))


def hopping(size: Duration, advance: Duration, *, grace: Duration = "0s") -> HoppingWindow:
    """Windows of `size`, a new one every `advance`: a record is in size / advance of them."""
    length = milliseconds("the size of a hopping window", size, lowest=1)
    step = milliseconds("the advance of a hopping window", advance, lowest=1)
    if step > length:
        raise InvalidTopology(
            f"a hopping window of {shown(length)} cannot advance by {shown(step)}: records between two windows would be "
            "in none. The advance is at most the size"
        )
    return HoppingWindow(size=length, advance=step, grace=milliseconds("grace", grace))


def sliding(difference: Duration, *, grace: Duration = "0s") -> SlidingWindow:
    """Windows of records that lie at most `difference` apart."""
    return SlidingWindow(
        difference=milliseconds("the time difference of a sliding window", difference, lowest=1),
        grace=milliseconds("grace", grace),
    )


def session(gap: Duration, *, grace: Duration = "0s") -> SessionWindow:
    """A window as long as there is activity: it ends with the last record before a pause longer than `gap`."""
    return SessionWindow(
        gap=milliseconds("the gap of a session window", gap, lowest=1), grace=milliseconds("grace", grace)
    )
