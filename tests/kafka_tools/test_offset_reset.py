"""Times as kafka-consumer-groups.sh reads them."""

import pytest

from stoker.kafka_tools.failure import JavaError
from stoker.kafka_tools.offset_reset import parse_date_time, parse_duration_ms


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1970-01-01T00:00:00.000", 0),
        ("2024-01-15T00:00:00.000", 1_705_276_800_000),
        ("2024-01-15T00:00:00.250Z", 1_705_276_800_250),
        ("2024-01-15T01:00:00.000+01:00", 1_705_276_800_000),
        ("2024-01-14T19:00:00.000-05", 1_705_276_800_000),
    ],
)
def test_moments(text: str, milliseconds: int) -> None:
    assert parse_date_time(text) == milliseconds


@pytest.mark.parametrize("text", ["2024-01-15", "2024-01-15T00:00:00", "2024-13-15T00:00:00.000", "yesterday", "T"])
def test_no_moments(text: str) -> None:
    with pytest.raises(JavaError, match=r"java.text.ParseException"):
        parse_date_time(text)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("PT2H", 7_200_000), ("P7D", 604_800_000), ("PT1.5S", 1_500), ("P1DT1M", 86_460_000), ("-PT1S", -1_000)],
)
def test_durations(text: str, milliseconds: int) -> None:
    assert parse_duration_ms(text) == milliseconds


@pytest.mark.parametrize("text", ["2h", "P", "PT", "PT1X", ""])
def test_no_durations(text: str) -> None:
    with pytest.raises(JavaError, match="Text cannot be parsed to a Duration"):
        parse_duration_ms(text)
