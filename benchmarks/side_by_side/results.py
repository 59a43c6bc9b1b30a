"""What was measured, and how near it came to what was wanted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """A bound on Stoker's median divided by that of column `against`, or on Stoker's median itself if that is None."""

    comparison: str
    bound: float
    against: str | None = "kafka"

    def is_met(self, value: float) -> bool:
        return value >= self.bound if self.comparison == ">=" else value <= self.bound

    def __str__(self) -> str:
        sign = {">=": "≥", "<=": "≤"}[self.comparison]
        of = {"kafka": "x", "limit": " of the limit", None: ""}[self.against]
        return f"{sign} {self.bound:g}{of}"


def at_least(bound: float, against: str | None = "kafka") -> Target:
    return Target(comparison=">=", bound=bound, against=against)


def at_most(bound: float, against: str | None = "kafka") -> Target:
    return Target(comparison="<=", bound=bound, against=against)


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One quantity: a sample a round for each of the columns (`stoker`, `kafka`, `limit`) it was measured on."""

    name: str
    unit: str
    samples: Mapping[str, Sequence[float]]
    target: Target | None = None

    def median(self, column: str) -> float | None:
        return median(self.samples[column]) if self.samples.get(column) else None

    def spread(self, column: str) -> float | None:
        """Half of the distance from the lowest to the highest sample, as a fraction of the median."""
        samples = self.samples.get(column)
        if not samples or not median(samples):
            return None
        return (max(samples) - min(samples)) / 2 / median(samples)

    def ratio(self) -> float | None:
        """Stoker's median divided by the median of what it is compared with."""
        return self._over(self.target.against if self.target and self.target.against else "kafka")

    def _over(self, column: str) -> float | None:
        ours, theirs = self.median("stoker"), self.median(column)
        return ours / theirs if ours is not None and theirs else None

    def is_met(self) -> bool | None:
        """Whether the target is met; None without a target or a measurement."""
        if self.target is None:
            return None
        value = self.median("stoker") if self.target.against is None else self.ratio()
        return None if value is None else self.target.is_met(value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    title: str
    settings: str
    rows: Sequence[Row]
