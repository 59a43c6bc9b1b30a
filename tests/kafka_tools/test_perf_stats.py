"""The lines of kafka-producer-perf-test.sh."""

import pytest

from stoker.kafka_tools.perf_stats import Stats


def test_totals_and_percentiles() -> None:
    now = [0]
    stats = Stats(1000, 5000, clock=lambda: now[0])
    for latency in range(1000):
        stats.record(latency, 1024, 0)
    now[0] = 2000
    assert stats.total_line() == (
        "1000 records sent, 500.000000 records/sec (0.49 MB/sec), 499.50 ms avg latency, 999.00 ms max latency, "
        "500 ms 50th, 950 ms 95th, 990 ms 99th, 999 ms 99.9th."
    )


def test_a_window_is_reported_and_begins_anew(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0]
    stats = Stats(10, 1000, clock=lambda: now[0])
    stats.record(4, 1_048_576, 10)
    now[0] = 1000
    stats.record(8, 1_048_576, 1000)
    assert capsys.readouterr().out == (
        "2 records sent, 2.0 records/sec (2.00 MB/sec), 6.0 ms avg latency, 8.0 ms max latency.\n"
    )
    stats.is_silent = True
    stats.record(1, 1, 3000)
    assert capsys.readouterr().out == ""
