"""Spans of time as people type them."""

import pytest

from stoker.cli.durations import parse_duration_ms, shown_duration
from stoker.cli.failure import WrongUsage


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("PT2H", 7_200_000),
        ("PT2H30M", 9_000_000),
        ("P7D", 604_800_000),
        ("P1DT1S", 86_401_000),
        ("PT0.25S", 250),
        ("P2W", 1_209_600_000),
        ("2h30m", 9_000_000),
        ("90m", 5_400_000),
        ("7d", 604_800_000),
        ("PT0S", 0),
    ],
)
def test_durations(text: str, milliseconds: int) -> None:
    assert parse_duration_ms("--by-duration", text) == milliseconds


@pytest.mark.parametrize("text", ["", "P", "PT", "2", "2 hours", "-PT2H", "PT2X"])
def test_no_durations(text: str) -> None:
    with pytest.raises(WrongUsage, match=f"--by-duration {text}: no duration"):
        parse_duration_ms("--by-duration", text)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (-5, "0s"),
        (0, "0s"),
        (1_250, "1.25s"),
        (59_999, "59.999s"),
        (60_000, "1m"),
        (3_550_999, "59m10s"),
        (3_600_000, "1h"),
        (3_905_000, "1h5m"),
        (86_400_000, "1d"),
        (183_900_000, "2d3h"),
    ],
)
def test_shown(milliseconds: int, text: str) -> None:
    assert shown_duration(milliseconds) == text
    assert 0 <= max(0, milliseconds) - parse_duration_ms("--by-duration", text) <= max(0, milliseconds) // 10
