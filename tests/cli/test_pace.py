"""Records are spread evenly over time."""

import pytest

from stoker.cli.pace import Pace


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def send(pace: Pace, clock: Clock, records: int) -> list[tuple[float, int]]:
    """When how many of the records go, with a reader that has all of them and a sleep that is exact."""
    begun, sent = clock.now, []
    while records:
        if taken := pace.take(records):
            sent.append((clock.now - begun, taken))
            records -= taken
        else:
            # A little late, as every sleep is.
            clock.now += pace.seconds_to_next() + 1e-6
    return sent


@pytest.mark.parametrize("rate", [0.5, 1, 10, 1000, 50_000])
def test_keeps_the_rate(rate: float) -> None:
    clock = Clock()
    records = int(rate * 4) + 1
    sent = send(Pace(rate, clock), clock, records)
    last = sent[-1][0]
    assert last == pytest.approx((records - 1) / rate, rel=0.06)
    assert max(taken for _, taken in sent) == 1


def test_a_late_sleeper_makes_up_only_for_a_moment() -> None:
    clock = Clock()
    pace = Pace(1000, clock)
    assert pace.take(1) == 1
    clock.now += 60
    assert pace.take(10_000) == 20
    assert pace.take(10_000) == 0
    assert pace.seconds_to_next() == pytest.approx(0.001)


def test_a_slow_rate_sends_the_first_record_at_once() -> None:
    clock = Clock()
    pace = Pace(0.1, clock)
    assert pace.take(5) == 1
    assert pace.seconds_to_next() == pytest.approx(10)
