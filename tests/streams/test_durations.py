"""Spans of time as people write them."""

from datetime import timedelta

import pytest

from stoker.streams.durations import Duration, milliseconds, shown
from stoker.streams.errors import InvalidTopology


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("5 minutes", 300_000),
        ("1h", 3_600_000),
        ("1 hour 30 minutes", 5_400_000),
        ("1 hour, 30 minutes and 5 seconds", 5_405_000),
        ("250 ms", 250),
        ("0.5s", 500),
        ("2 weeks", 1_209_600_000),
        ("1D", 86_400_000),
        ("0s", 0),
        (timedelta(minutes=5), 300_000),
    ],
    ids=str,
)
def test_durations(written: Duration, expected: int) -> None:
    assert milliseconds("it", written) == expected


@pytest.mark.parametrize("written", ["", "5", "minutes", "5 parsecs", "5 minutes ago", "-5 minutes", None], ids=repr)
def test_what_is_no_duration_is_refused(written: Duration) -> None:
    with pytest.raises(InvalidTopology, match=r"grace is .*: it takes a timedelta"):
        milliseconds("grace", written)


def test_a_duration_has_a_lowest() -> None:
    with pytest.raises(InvalidTopology, match="size is '0s': it must be at least 1 millisecond"):
        milliseconds("size", "0s", lowest=1)


@pytest.mark.parametrize(
    ("length", "expected"),
    [(0, "0 seconds"), (90_000, "1 minute 30 seconds"), (86_400_001, "1 day 1 millisecond"), (7_200_000, "2 hours")],
    ids=str,
)
def test_durations_are_shown(length: int, expected: str) -> None:
    assert shown(length) == expected
    assert milliseconds("it", expected) == length
