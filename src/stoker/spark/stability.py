"""How far two distributions are apart: the population stability index, and the chi-square test.

Both take the same buckets in the same order, for the sample that is expected and for the actual one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stoker.spark.errors import SparkError

FLOOR: Final = 1e-4
INVESTIGATE_FROM: Final = 0.1
ALERT_ABOVE: Final = 0.2


class NotComparable(SparkError):
    """Samples or distributions that cannot be compared: the message names them, the reason, and what to do."""


class Shift(Enum):
    """What a population stability index means."""

    NONE = "none"
    """Below 0.1: no change that matters."""
    INVESTIGATE = "investigate"
    """From 0.1 to 0.2: a moderate shift."""
    ALERT = "alert"
    """Above 0.2: a major one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChiSquare:
    """Whether two samples may be of one distribution."""

    statistic: float
    degrees_of_freedom: int
    p_value: float
    """How likely two samples of one distribution are as far apart as these, or farther."""

    def differs(self, significance: float = 0.01) -> bool:
        """Whether chance alone is less likely than `significance`. With many rows any difference at all is seen."""
        return self.p_value < significance


def population_stability_index(expected: Sequence[float], actual: Sequence[float], *, floor: float = FLOOR) -> float:
    """The sum over the buckets of (a - e) * ln(a / e), of the shares `e` that are expected and the actual ones `a`.

    Counts will do as well: each side is divided by its sum. A share below `floor` counts as `floor`, as the logarithm of
    nothing is infinite: a bucket that fills from nothing to 1 % adds 0.05, to 5 % adds 0.31. The result is never negative, is
    the same both ways, and 0 if the distributions are the same. Raises NotComparable.
    """
    if not 0 < floor < 1:
        raise NotComparable(
            f"floor is {floor}: it is the least share that a bucket counts as, between 0 and 1, as {FLOOR}"
        )
    of_expected, of_actual = _checked(expected, actual)
    expected_shares = np.maximum(of_expected / of_expected.sum(), floor)
    actual_shares = np.maximum(of_actual / of_actual.sum(), floor)
    return float(np.sum((actual_shares - expected_shares) * np.log(actual_shares / expected_shares)))


def shift(index: float, *, investigate_from: float = INVESTIGATE_FROM, alert_above: float = ALERT_ABOVE) -> Shift:
    """What a population stability index means: both bounds are to be investigated."""
    if index > alert_above:
        return Shift.ALERT
    return Shift.INVESTIGATE if index >= investigate_from else Shift.NONE


def chi_square(expected: Sequence[float], actual: Sequence[float]) -> ChiSquare:
    """Test whether two samples, counted by buckets, may be of one distribution (the test of homogeneity).

    It takes counts, as it knows by them how much chance there is in each sample. Buckets that are empty in both have
    no say. Raises NotComparable.
    """
    counts = np.stack(_checked(expected, actual))
    odd = counts[counts != np.floor(counts)]
    if odd.size:
        raise NotComparable(
            f"the chi-square test takes counts of rows, and {odd[0]} is none: give counts, or compare shares by "
            "population_stability_index"
        )
    counts = counts[:, counts.sum(axis=0) > 0]
    if_the_same = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    statistic = float(np.sum((counts - if_the_same) ** 2 / if_the_same))
    degrees_of_freedom = counts.shape[1] - 1
    return ChiSquare(
        statistic=statistic,
        degrees_of_freedom=degrees_of_freedom,
        p_value=chi_square_survival(statistic, degrees_of_freedom),
    )


def chi_square_survival(statistic: float, degrees_of_freedom: int) -> float:
    """How likely a variable of the chi-square distribution is greater than `statistic`."""
    # The upper incomplete gamma function of a whole or half number is a sum of finitely many terms, all positive
    # (Abramowitz and Stegun 26.4.4 and 26.4.5). By logarithms, as their factors leave the range of floats.
    half = statistic / 2
    if degrees_of_freedom == 0 or half <= 0:
        return 1.0
    is_odd = degrees_of_freedom % 2
    powers = np.arange(degrees_of_freedom // 2) + is_odd / 2
    terms = (math.exp(power * math.log(half) - half - math.lgamma(power + 1)) for power in powers.tolist())
    return min(1.0, math.fsum(terms) + (math.erfc(math.sqrt(half)) if is_odd else 0.0))


def _checked(expected: Sequence[float], actual: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    samples = {"expected": np.asarray(expected, np.float64), "actual": np.asarray(actual, np.float64)}
    for name, buckets in samples.items():
        if not buckets.size:
            raise NotComparable(f"the {name} distribution has no buckets: give a count or a share for each")
        wrong = buckets[~(np.isfinite(buckets) & (buckets >= 0))]
        if wrong.size:
            raise NotComparable(
                f"the {name} distribution has a bucket with {wrong[0]}: it takes counts or shares, from 0 on"
            )
        if not buckets.sum():
            raise NotComparable(f"the {name} sample is empty: all of its {buckets.size} buckets are 0")
    if len(expected) != len(actual):
        raise NotComparable(
            f"the expected distribution has {len(expected)} buckets and the actual one {len(actual)}: count both by the same "
            "buckets, in the same order, with 0 for an empty one"
        )
    return samples["expected"], samples["actual"]
