"""What was measured, and how near it came to what was wanted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """A bound on Stoker's median divided by that of column `against`, or on Stoker's median itself if that is None.

    With `in_rounds` it is on the median of the rounds' ratios: what slows a round slows both who are compared in it.
    """

    comparison: str
    bound: float
    against: str | None = "kafka"
    in_rounds: bool = False

    def is_met(self, value: float) -> bool:
        return value >= self.bound if self.comparison == ">=" else value <= self.bound

    def __str__(self) -> str:
        sign = {">=": "≥", "<=": "≤"}[self.comparison]
        of = {"limit": " of the limit", None: ""}.get(self.against, "x")
        return f"{sign} {self.bound:g}{of}"


def at_least(bound: float, against: str | None = "kafka", *, in_rounds: bool = False) -> Target:
    return Target(comparison=">=", bound=bound, against=against, in_rounds=in_rounds)


def at_most(bound: float, against: str | None = "kafka", *, in_rounds: bool = False) -> Target:
    return Target(comparison="<=", bound=bound, against=against, in_rounds=in_rounds)


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One quantity: a sample a round for each of the columns (`stoker`, `kafka`, `limit`, ...) it was measured on."""

    name: str
    unit: str
    samples: Mapping[str, Sequence[float]]
    target: Target | None = None
    beside: str = "kafka"
    """The column that it is compared with where no target says so."""

    def median(self, column: str) -> float | None:
        return median(self.samples[column]) if self.samples.get(column) else None

    def spread(self, column: str) -> float | None:
        """Half of the distance from the lowest to the highest sample, as a fraction of the median."""
        samples = self.samples.get(column)
        if not samples or not median(samples):
            return None
        return (max(samples) - min(samples)) / 2 / median(samples)

    def ratio(self) -> float | None:
        """Stoker's median divided by the median of what it is compared with, or the median of the rounds' ratios."""
        target = self.target
        column = target.against if target and target.against else self.beside
        if target is not None and target.in_rounds:
            return self._in_rounds(column)
        ours, theirs = self.median("stoker"), self.median(column)
        return ours / theirs if ours is not None and theirs else None

    def _in_rounds(self, column: str) -> float | None:
        """None too if a round failed on one side: it is not known then which belong together."""
        ours, theirs = self.samples.get("stoker", ()), self.samples.get(column, ())
        if not ours or len(ours) != len(theirs) or not all(theirs):
            return None
        return median(our / their for our, their in zip(ours, theirs, strict=True))

    def is_met(self) -> bool | None:
        """Whether the target is met; None without a target or a measurement."""
        if self.target is None:
            return None
        value = self.median("stoker") if self.target.against is None else self.ratio()
        return None if value is None else self.target.is_met(value)


HEADS: Mapping[str, str] = {"stoker": "Stoker", "kafka": "Kafka", "kcat": "kcat", "limit": "limit"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """`heads` says what the table calls the columns, and which comes first."""

    title: str
    settings: str
    rows: Sequence[Row]
    heads: Mapping[str, str] = field(default_factory=lambda: HEADS)
