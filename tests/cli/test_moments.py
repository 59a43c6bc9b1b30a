"""Points in time as people type them."""

import pytest

from stoker.cli.moments import MalformedMoment, parse_moment, shown_moment

NOW = 1_767_225_600_000  # 2026-01-01T00:00:00Z


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("now", NOW),
        ("1767225600000", NOW),
        ("0", 0),
        ("2026-01-01", NOW),
        ("2026-01-01T00:00", NOW),
        ("2026-01-01 00:00:00.123", NOW + 123),
        ("2026-01-01T00:00:00.000Z", NOW),
        ("2026-01-01T01:00:00+01:00", NOW),
        ("1969-12-31T23:59:59.999", -1),
        ("-0s", NOW),
        ("-250ms", NOW - 250),
        ("-90s", NOW - 90_000),
        ("-5m", NOW - 300_000),
        ("-2h", NOW - 7_200_000),
        ("-1d12h", NOW - 129_600_000),
        ("-2w", NOW - 1_209_600_000),
    ],
)
def test_parses(text: str, milliseconds: int) -> None:
    assert parse_moment(text, NOW) == milliseconds


@pytest.mark.parametrize("text", ["", "yesterday", "2h", "-2", "-2y", "-2h ", "2026-13-01", "١٢", "-h", "1.5"])
def test_refuses_with_the_choices(text: str) -> None:
    with pytest.raises(MalformedMoment, match=r"no point in time; give a date.*-2h.*milliseconds") as refused:
        parse_moment(text, NOW)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (NOW, "2026-01-01T00:00:00.000Z"),
        (NOW + 1, "2026-01-01T00:00:00.001Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (2**63 - 1, "9223372036854775807"),
    ],
)
def test_shown(milliseconds: int, text: str) -> None:
    """As it can be typed again, whatever a producer wrote."""
    assert shown_moment(milliseconds) == text
    assert parse_moment(text, NOW) == milliseconds
