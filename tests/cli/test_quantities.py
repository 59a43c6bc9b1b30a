"""Sizes and rates as people type them."""

import pytest

from stoker.cli.failure import WrongUsage
from stoker.cli.quantities import parse_bytes, parse_event_rate, parse_rate, parse_throughput


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512", 512),
        ("512B", 512),
        ("1KB", 1e3),
        ("1kb", None),
        ("1KiB", 1024),
        ("1.5 MB", 1.5e6),
        ("16TB", 16e12),
        ("2PiB", 2 * 1024.0**5),
        ("1_000B", 1000),
        ("8Mbit", 1e6),
        ("", None),
        ("-1KB", None),
        ("1K", None),
        ("1iB", None),
        ("KB", None),
        ("0GB", None),
        ("1KB/s", None),
    ],
)
def test_sizes(text: str, size: float | None) -> None:
    if size is None:
        with pytest.raises(WrongUsage, match=f"--broker-disk {text}: "):
            parse_bytes("--broker-disk", text)
    else:
        assert parse_bytes("--broker-disk", text) == size


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("100MB/s", 100e6),
        ("100MiB/s", 100 * 1024.0**2),
        ("3.6GB/h", 1e6),
        ("86.4GB/d", 1e6),
        ("60KB/min", 1e3),
        ("10Gbit/s", 1.25e9),
        (" 1 MB / s ", 1e6),
        ("100MB", None),
        ("100/s", None),  # bytes, or events?
        ("100MB/week", None),
        ("fast", None),
        ("0MB/s", None),
        ("200events/s", None),
    ],
)
def test_rates(text: str, rate: float | None) -> None:
    if rate is None:
        with pytest.raises(WrongUsage, match=f"--broker-network {text}: "):
            parse_rate("--broker-network", text)
    else:
        assert parse_rate("--broker-network", text) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("text", "rate"),
    [("1000events/s", 1000), ("1 event/s", 1), ("2krecords/s", 2000), ("3Mmessages/min", 50_000), ("7200 events/h", 2)],
)
def test_events(text: str, rate: float) -> None:
    assert parse_event_rate("--spark-core-rate", text) == rate
    assert parse_throughput("--throughput", text, 500) == rate * 500


def test_what_may_be_bits_or_bytes_is_asked_back() -> None:
    with pytest.raises(WrongUsage, match="'b' may be bits or bytes; write MB or Mbit"):
        parse_rate("--broker-network", "100Mb/s")


@pytest.mark.parametrize("text", ["100MB", "fast", "5 events", "1000 cows/s"])
def test_no_throughput(text: str) -> None:
    choices = "write 100MB/s, 100MiB/s, 2GB/h, 50GB/d or 10Gbit/s, or 200000events/s with --record-size"
    with pytest.raises(WrongUsage, match=f"--throughput {text}: no rate; {choices}"):
        parse_throughput("--throughput", text, 1000)
    with pytest.raises(WrongUsage, match=f"--spark-core-rate {text}: no number of events"):
        parse_event_rate("--spark-core-rate", text)
