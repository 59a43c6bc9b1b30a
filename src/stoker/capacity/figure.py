"""A number with its formula, and which of several demands decides it; how quantities are written."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final


class Unit(Enum):
    COUNT = "count"
    BYTES = "bytes"
    RATE = "bytes/s"
    CORES = "cores"
    SECONDS = "seconds"


_PREFIXES: Final = ("", "K", "M", "G", "T", "P", "E")
_TIMES: Final = ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (0.001, "ms"))


@dataclass(frozen=True, kw_only=True)
class Demand:
    """One reason for a number of something, and how many it asks for."""

    name: str
    count: int
    formula: str


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of a plan. Where there are demands, the value is what the largest asks for, which `decided_by` names."""

    part: str
    name: str
    value: float
    unit: Unit = Unit.COUNT
    formula: str
    decided_by: str | None = None
    demands: tuple[Demand, ...] = ()

    @property
    def shown(self) -> str:
        return shown(self.value, self.unit)


def deciding(demands: Sequence[Demand]) -> Demand:
    """The largest; of equal ones the first."""
    return max(demands, key=lambda each: each.count)


def at_least(quotient: float) -> int:
    """Rounded up, and never 0; what only arithmetic in binary put above a whole number is not rounded up."""
    return max(1, math.ceil(quotient - 1e-9 * max(1.0, quotient)))


def shown(value: float, unit: Unit) -> str:
    """For people: 20, 1.05 TB, 62.5 MB/s, 0.53 cores, 1.2 d."""
    if unit is Unit.COUNT:
        return f"{value:,.0f}"
    if unit is Unit.CORES:
        return f"{_three_digits(value)} cores"
    if unit is Unit.SECONDS:
        size, name = next(((size, name) for size, name in _TIMES if value >= size), _TIMES[-1])
        return f"{_three_digits(value / size)} {name}"
    return shown_bytes(value) + ("/s" if unit is Unit.RATE else "")


def shown_bytes(count: float) -> str:
    """In powers of 1000, as disks and networks are sold."""
    power = 0
    while float(f"{count:.3g}") >= 1000 and power < len(_PREFIXES) - 1:
        count, power = count / 1000, power + 1
    return f"{_three_digits(count)} {_PREFIXES[power]}B"


def counted(count: int, thing: str) -> str:
    """1 group, 2 groups."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def shown_rate(bytes_per_second: float) -> str:
    return shown(bytes_per_second, Unit.RATE)


def _three_digits(value: float) -> str:
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:g}"
