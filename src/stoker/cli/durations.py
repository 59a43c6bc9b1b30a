"""Spans of time as people type them: ISO 8601 as in Kafka's tools (`PT2H30M`, `P7D`), or shorter (`2h30m`, `7d`)."""

import re
from typing import Final

from stoker.cli.failure import wrong_usage

_DURATION: Final = re.compile(
    r"P?(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?T?(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?",
    re.IGNORECASE,
)
_LONGEST_MS: Final = 2**63 - 1
_SECONDS: Final = {"weeks": 604_800, "days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}


def parse_duration_ms(option: str, text: str) -> int:
    """Milliseconds; anything else is wrong usage of the option."""
    match = _DURATION.fullmatch(text.strip())
    parts = {unit: number for unit, number in match.groupdict().items() if number} if match else {}
    if not parts:
        wrong_usage(f"{option} {text}: no duration; the form is PnDTnHnMnS, such as PT2H or P7D, or 2h, 7d, 90m")
    milliseconds = sum(float(number) * _SECONDS[unit] for unit, number in parts.items()) * 1000
    if milliseconds > _LONGEST_MS:
        wrong_usage(f"{option} {text}: longer than Kafka can tell, which is {_LONGEST_MS} ms")
    return round(milliseconds)


def shown_duration(milliseconds: int) -> str:
    """For people, and to be typed again: `2d3h`, `1h5m`, `59m10s`, `1.25s`; no finer than two units."""
    if milliseconds < 60_000:
        return f"{max(0, milliseconds) / 1000:g}s"
    left = milliseconds // 1000
    parts = []
    for unit, seconds in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, left = divmod(left, seconds)
        parts.append((count, unit))
    largest = next(index for index, (count, _) in enumerate(parts) if count)
    return "".join(f"{count}{unit}" for count, unit in parts[largest : largest + 2] if count)
