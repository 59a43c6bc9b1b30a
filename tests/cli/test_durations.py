"""Spans of time as people type them."""

import pytest

from stoker.cli.durations import parse_duration_ms
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
