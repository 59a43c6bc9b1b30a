"""Sizes and rates as people type them: `500GB`, `1KiB`, `100MB/s`, `2GB/h`, `10Gbit/s`, `200000events/s`."""

import re
from typing import Final

from stoker.cli.failure import wrong_usage

_NUMBER: Final = r"(?P<number>\d[\d_]*(?:\.\d+)?)\s*"
_SIZE: Final = re.compile(_NUMBER + r"(?P<prefix>[kKmMgGtTpP]?)(?P<binary>i?)(?P<kind>B|b|bit|Bit)?")
_EVENTS: Final = re.compile(_NUMBER + r"(?P<prefix>[kKmMgG]?)\s*(?:events?|records?|messages?)")
_POWERS: Final = ("", "k", "m", "g", "t", "p")
_SECONDS: Final = {"s": 1, "sec": 1, "min": 60, "h": 3600, "d": 86_400, "day": 86_400}

SIZES: Final = "1KB, 1KiB, 500GB or 16TB"
RATES: Final = "100MB/s, 100MiB/s, 2GB/h, 50GB/d or 10Gbit/s"
EVENTS: Final = "200000events/s"


def parse_bytes(option: str, text: str) -> float:
    """Bytes; a number alone is bytes too. Anything else is wrong usage of the option."""
    size = _bytes(option, text, text)
    if size is None:
        wrong_usage(f"{option} {text}: no size; write {SIZES}")
    return _positive(option, text, size)


def parse_rate(option: str, text: str) -> float:
    """Bytes a second."""
    rate = _rate(option, text)
    if rate is None:
        wrong_usage(f"{option} {text}: no rate; write {RATES}")
    return _positive(option, text, rate)


def parse_event_rate(option: str, text: str) -> float:
    """Events a second."""
    events = _events(text)
    if events is None:
        wrong_usage(f"{option} {text}: no number of events; write {EVENTS}, 200kevents/s or 1000000events/h")
    return _positive(option, text, events)


def parse_throughput(option: str, text: str, record_bytes: float) -> float:
    """Bytes a second, from a rate of bytes or of events of that size."""
    events = _events(text)
    rate = _rate(option, text) if events is None else events * record_bytes
    if rate is None:
        wrong_usage(f"{option} {text}: no rate; write {RATES}, or {EVENTS} with --record-size")
    return _positive(option, text, rate)


def _split(text: str) -> tuple[str, int | None]:
    size, _, time = text.strip().partition("/")
    return size.strip(), _SECONDS.get(time.strip().lower())


def _rate(option: str, text: str) -> float | None:
    """A number alone is none: it may be meant as bytes or as events."""
    size, seconds = _split(text)
    if seconds is None or not size.lower().endswith(("b", "bit")):
        return None
    count = _bytes(option, size, text)
    return None if count is None else count / seconds


def _events(text: str) -> float | None:
    count, seconds = _split(text)
    match = _EVENTS.fullmatch(count)
    if match is None or seconds is None:
        return None
    return float(match["number"]) * 1000.0 ** _POWERS.index(match["prefix"].lower()) / seconds


def _bytes(option: str, text: str, given: str) -> float | None:
    match = _SIZE.fullmatch(text.strip())
    if match is None or (match["binary"] and not match["prefix"]):
        return None
    if match["kind"] == "b":
        wrong_usage(f"{option} {given}: 'b' may be bits or bytes; write {match['prefix']}B or {match['prefix']}bit")
    if match["prefix"] and not match["kind"]:
        return None
    base = 1024.0 if match["binary"] else 1000.0
    size = float(match["number"]) * base ** _POWERS.index(match["prefix"].lower())
    return size / 8 if (match["kind"] or "").lower() == "bit" else size


def _positive(option: str, text: str, value: float) -> float:
    if value <= 0:
        wrong_usage(f"{option} {text}: must be more than 0")
    return value
