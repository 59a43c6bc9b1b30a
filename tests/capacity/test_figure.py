"""How quantities are written and rounded."""

import pytest

from stoker.capacity.figure import Demand, Unit, at_least, deciding, shown


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1512, Unit.COUNT, "1,512"),
        (0, Unit.BYTES, "0 B"),
        (999.6, Unit.BYTES, "1 KB"),
        (1.05e12, Unit.BYTES, "1.05 TB"),
        (62.5e6, Unit.RATE, "62.5 MB/s"),
        (1e10, Unit.RATE, "10 GB/s"),
        (5e21, Unit.BYTES, "5,000 EB"),
        (0.589, Unit.CORES, "0.589 cores"),
        (0.01, Unit.SECONDS, "10 ms"),
        (90, Unit.SECONDS, "1.5 min"),
        (7 * 86_400, Unit.SECONDS, "7 d"),
    ],
)
def test_shown(value: float, unit: Unit, text: str) -> None:
    assert shown(value, unit) == text


@pytest.mark.parametrize(
    ("quotient", "count"), [(0.0, 1), (0.2, 1), (1.0, 1), (1.01, 2), (0.3 / 0.1, 3), (1.1 * 3 / 1.1, 3), (20.5, 21)]
)
def test_rounded_up(quotient: float, count: int) -> None:
    assert at_least(quotient) == count


def test_the_first_of_equal_demands_decides() -> None:
    demands = [Demand(name=name, count=count, formula="") for name, count in (("a", 1), ("b", 3), ("c", 3))]
    assert deciding(demands).name == "b"
