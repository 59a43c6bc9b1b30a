"""Spans of time in declarations: `"5 minutes"`, `"1h"`, `timedelta(minutes=5)`."""

import re
from datetime import timedelta
from typing import Final

from stoker.streams.errors import InvalidTopology

Duration = str | timedelta

_PART: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
_MILLISECONDS: Final = {
    "millisecond": 1, "ms": 1,
    "second": 1000, "sec": 1000, "s": 1000,
    "minute": 60_000, "min": 60_000, "m": 60_000,
    "hour": 3_600_000, "h": 3_600_000,
    "day": 86_400_000, "d": 86_400_000,
    "week": 604_800_000, "w": 604_800_000,
}  # fmt: skip
_UNITS: Final = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000), ("millisecond", 1))


def milliseconds(what: str, duration: Duration, *, lowest: int = 0) -> int:
    """Raises InvalidTopology, naming `what`."""
    found = _parsed(what, duration)
    if found < lowest:
        raise InvalidTopology(f"{what} is {duration!r}: it must be at least {shown(lowest)}")
    return found


def shown(length: int) -> str:
    """`90000` as `1 minute 30 seconds`."""
    parts = []
    for unit, size in _UNITS:
        count, length = divmod(length, size)
        if count:
            parts.append(f"{count} {unit}{'s' if count > 1 else ''}")
    return " ".join(parts) or "0 seconds"


def _parsed(what: str, duration: Duration) -> int:
    if isinstance(duration, timedelta):
        return round(duration.total_seconds() * 1000)
    text = str(duration).strip().lower() if isinstance(duration, str) else ""
    parts = _PART.findall(text)
    units = [unit if unit in _MILLISECONDS else unit.removesuffix("s") for _, unit in parts]
    is_whole = not _PART.sub("", text).replace("and", "").strip(" ,")
    if not parts or not is_whole or any(unit not in _MILLISECONDS for unit in units):
        raise InvalidTopology(
            f"{what} is {duration!r}: it takes a timedelta, or a text such as '5 minutes', '1 hour 30 minutes', '250 ms'"
        )
    return round(sum(float(number) * _MILLISECONDS[unit] for (number, _), unit in zip(parts, units, strict=True)))
