"""Points in time as people type them, in milliseconds since 1970, which is what Kafka's records carry.

`2026-02-01`, `2026-02-01T12:30`, `2026-02-01T12:30:00+01:00` (UTC where no zone is given, as in Kafka's tools),
`now`, `-90s`, `-2h`, `-1d12h` (that long ago) and `1767225600000`.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from stoker.errors import StokerError

_UNITS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_AGO = re.compile(r"-((?:\d+(?:ms|[smhdw]))+)")
_PART = re.compile(r"(\d+)(ms|[smhdw])")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class MalformedMoment(StokerError):
    """A text that names no point in time; the message shows the forms that do."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"{text!r} is no point in time; give a date or time such as 2026-02-01T12:30 (UTC, unless it ends in a zone "
            "such as +01:00), how long ago such as -2h or -1d12h, milliseconds since 1970, or now"
        )


def parse_moment(text: str, now_ms: int) -> int:
    """Milliseconds since 1970. Raises MalformedMoment."""
    if text == "now":
        return now_ms
    if text.isascii() and text.isdigit():
        return int(text)
    if ago := _AGO.fullmatch(text):
        return now_ms - sum(int(count) * _UNITS[unit] for count, unit in _PART.findall(ago.group(1)))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise MalformedMoment(text) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    # Whole numbers all the way: a float would lose milliseconds.
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def shown_moment(milliseconds: int) -> str:
    """In UTC and to the millisecond, as it can be typed again: `2026-02-01T12:30:00.000Z`."""
    try:
        moment = _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:  # a producer may write any number
        return str(milliseconds)
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
