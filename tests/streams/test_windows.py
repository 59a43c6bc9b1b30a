"""Windows as they are declared."""

from collections.abc import Callable

import pytest

from stoker.streams import hopping, session, sliding, tumbling
from stoker.streams.errors import InvalidTopology
from stoker.streams.windows import HoppingWindow, SessionWindow, SlidingWindow, Window


@pytest.mark.parametrize(
    ("window", "expected", "text"),
    [
        (
            tumbling("1 hour", grace="5 minutes"),
            HoppingWindow(size=3_600_000, advance=3_600_000, grace=300_000),
            "tumbling 1 hour, grace 5 minutes",
        ),
        (
            hopping("1 hour", "10 minutes"),
            HoppingWindow(size=3_600_000, advance=600_000, grace=0),
            "hopping 1 hour by 10 minutes, grace 0 seconds",
        ),
        (
            sliding("10s", grace="1s"),
            SlidingWindow(difference=10_000, grace=1000),
            "sliding 10 seconds, grace 1 second",
        ),
        (session("30 minutes"), SessionWindow(gap=1_800_000, grace=0), "session gap 30 minutes, grace 0 seconds"),
    ],
    ids=["tumbling", "hopping", "sliding", "session"],
)
def test_windows(window: Window, expected: Window, text: str) -> None:
    assert window == expected
    assert str(window) == text


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: tumbling("0s"), "the size of a tumbling window is '0s'"),
        (lambda: hopping("1 minute", "0s"), "the advance of a hopping window is '0s'"),
        (lambda: hopping("1 minute", "2 minutes"), "of 1 minute cannot advance by 2 minutes"),
        (lambda: sliding("0s"), "the time difference of a sliding window is '0s'"),
        (lambda: session("soon"), "the gap of a session window is 'soon'"),
        (lambda: tumbling("1 minute", grace="never"), "grace is 'never'"),
    ],
    ids=["tumbling", "advance", "too far", "sliding", "session", "grace"],
)
def test_what_is_no_window_is_refused(make: Callable[[], Window], told: str) -> None:
    with pytest.raises(InvalidTopology, match=told):
        make()
