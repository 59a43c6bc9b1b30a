"""Drift: what has changed between two samples whose schema may be the same, as those of yesterday and today.

for warning in stoker.spark.profile_drift(yesterday, today).warnings: ...
for each in stoker.spark.distribution_drift(yesterdays_orders, todays_orders, ["amount"]).values(): ...
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from stoker.spark.buckets import counted, find_buckets, given_edges, shared_fields
from stoker.spark.profiles import FieldProfile, Profile, aligned
from stoker.spark.stability import (
    ALERT_ABOVE,
    INVESTIGATE_FROM,
    ChiSquare,
    NotComparable,
    Shift,
    chi_square,
    population_stability_index,
    shift,
)

_DIGITS: Final = 12
"""What is less is the rounding of floats: 20 % less 15 % is 5 points, and not more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DriftThresholds:
    """From where on a change is worth a warning."""

    cardinality_change: float = 0.5
    """Warn above it: 0.5 is half as many values more or fewer than expected."""
    null_rate_shift: float = 0.05
    """Warn above it: 0.05 is 5 points, as from 1 % to 6 %."""
    investigate_from: float = INVESTIGATE_FROM
    """The least population stability index to be looked into."""
    alert_above: float = ALERT_ABOVE
    """A population stability index above it is a major shift."""


DEFAULT_THRESHOLDS: Final = DriftThresholds()


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldDrift:
    """What has changed in the profile of a field."""

    expected: FieldProfile
    actual: FieldProfile
    warnings: tuple[str, ...]

    @property
    def cardinality_change(self) -> float:
        return _cardinality_change(self.expected, self.actual)

    @property
    def null_rate_shift(self) -> float:
        """Above 0 if there are more nulls than expected; 0.05 is 5 points."""
        return _null_rate_shift(self.expected, self.actual)


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileDrift:
    """What has changed between two profiles."""

    fields: Mapping[str, FieldDrift]
    gone: tuple[str, ...]
    """Fields that only the expected profile has."""
    new: tuple[str, ...]
    """Fields that only the actual profile has."""

    @property
    def warnings(self) -> tuple[str, ...]:
        return (
            *(f"WARN: {field} is gone" for field in self.gone),
            *(f"WARN: {field} is new" for field in self.new),
            *(warning for each in self.fields.values() for warning in each.warnings),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Bucket:
    """How many values of each sample are in it."""

    label: str
    expected: int
    actual: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DistributionDrift:
    """How far the distributions of a field are apart."""

    field: str
    buckets: tuple[Bucket, ...]
    psi: float
    """The population stability index."""
    shift: Shift
    chi_square: ChiSquare

    @property
    def warnings(self) -> tuple[str, ...]:
        """None, or one."""
        if self.shift is Shift.NONE:
            return ()
        return (f"{self.shift.name}: {self.field} distribution shifted, {self._measures()}",)

    def __str__(self) -> str:
        """A line for the field, and one for each bucket with its shares."""
        expected, actual = (
            sum(column) for column in zip(*((each.expected, each.actual) for each in self.buckets), strict=True)
        )
        rows = [(each.label, f"{each.expected / expected:.1%}", f"{each.actual / actual:.1%}") for each in self.buckets]
        return f"{self.field}: {self._measures()}\n" + aligned([("", "expected", "actual"), *rows], right=(0, 1, 2))

    def _measures(self) -> str:
        p_value = self.chi_square.p_value
        chance = "p < 0.0001" if p_value < 0.0001 else f"p = {p_value:.4f}"
        return f"PSI {self.psi:.3f} (chi-square {self.chi_square.statistic:.1f}, {chance})"


def profile_drift(
    expected: Profile, actual: Profile, *, thresholds: DriftThresholds = DEFAULT_THRESHOLDS
) -> ProfileDrift:
    """Compare two profiles: fields that are gone or new, other types, and shifts of cardinality and null rate.

    Raises NotComparable if one of them is of no rows.
    """
    for sample, profile in (("expected", expected), ("actual", actual)):
        if not any(each.count for each in profile.fields.values()):
            raise NotComparable(
                f"the {sample} profile is of a sample without rows: nothing can be said of it. Choose another day."
            )
    return ProfileDrift(
        fields={
            name: _field_drift(expected[name], actual[name], thresholds)
            for name in expected.fields
            if name in actual.fields
        },
        gone=tuple(name for name in expected.fields if name not in actual.fields),
        new=tuple(name for name in actual.fields if name not in expected.fields),
    )


def distribution_drift(
    expected: DataFrame,
    actual: DataFrame,
    fields: Iterable[str],
    *,
    edges: Mapping[str, Sequence[float]] | None = None,
    thresholds: DriftThresholds = DEFAULT_THRESHOLDS,
) -> dict[str, DistributionDrift]:
    """Compare how the values of numbers, strings and booleans are distributed in two samples; null is no value.

    The buckets are those that suit the expected sample, as `find_buckets` says; `edges` are those of a number that you want
    otherwise. The expected sample is read twice, the actual one once, whatever the number of fields. Raises UnknownField,
    UnusableField, and NotComparable for a sample without values.
    """
    shared = shared_fields(expected, actual, fields)
    buckets = given_edges(edges or {}, shared)
    buckets |= find_buckets(expected, [before for name, (before, _) in shared.items() if name not in buckets])
    counts = counted(expected, actual, shared, buckets)
    return {
        name: _distribution_drift(name, buckets[name].labels(), *of_samples, thresholds)
        for name, of_samples in counts.items()
    }


def _field_drift(expected: FieldProfile, actual: FieldProfile, thresholds: DriftThresholds) -> FieldDrift:
    field = expected.field
    warnings = []
    if expected.type != actual.type:
        warnings.append(f"WARN: {field} type changed {expected.type} → {actual.type}")
    if _cardinality_change(expected, actual) > thresholds.cardinality_change:
        warnings.append(f"WARN: {field} cardinality changed {expected.cardinality} → {actual.cardinality}")
    if abs(_null_rate_shift(expected, actual)) > thresholds.null_rate_shift:
        warnings.append(f"WARN: {field} null rate changed {expected.null_rate:.1%} → {actual.null_rate:.1%}")
    return FieldDrift(expected=expected, actual=actual, warnings=tuple(warnings))


def _cardinality_change(expected: FieldProfile, actual: FieldProfile) -> float:
    return abs(actual.cardinality - expected.cardinality) / max(expected.cardinality, 1)


def _null_rate_shift(expected: FieldProfile, actual: FieldProfile) -> float:
    return round(actual.null_rate - expected.null_rate, _DIGITS)


def _distribution_drift(
    field: str, labels: Sequence[str], expected: Sequence[int], actual: Sequence[int], thresholds: DriftThresholds
) -> DistributionDrift:
    psi = population_stability_index(expected, actual)
    return DistributionDrift(
        field=field,
        buckets=tuple(
            Bucket(label=label, expected=before, actual=after)
            for label, before, after in zip(labels, expected, actual, strict=True)
        ),
        psi=psi,
        shift=shift(psi, investigate_from=thresholds.investigate_from, alert_above=thresholds.alert_above),
        chi_square=chi_square(expected, actual),
    )
