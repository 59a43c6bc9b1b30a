"""The population stability index and the chi-square test, by cases worked out by hand, by tables, and by their properties."""

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.spark.stability import (
    NotComparable,
    Shift,
    chi_square,
    chi_square_survival,
    population_stability_index,
    shift,
)

EVEN = [50, 50]
KNOWN = {
    # The index is 0.1 ln 1.2 - 0.1 ln 0.8, and so on. The statistic is n (ad - bc)² by the product of rows and columns, and
    # its p-value erfc(sqrt(statistic / 2)): scipy's chi2_contingency has the same.
    "no change": ([50, 50], 0.0, Shift.NONE, 0.0, 1.0),
    "a little": ([60, 40], 0.0405465108, Shift.NONE, 2.0202020202, 0.1552184897),
    "moderate": ([70, 30], 0.1694595720, Shift.INVESTIGATE, 8.3333333333, 0.0038924171),
    "major": ([80, 20], 0.4158883083, Shift.ALERT, 19.7802197802, 0.0000086877),
}
CRITICAL_VALUES = [
    (1, 3.841459, 0.05),
    (1, 10.827566, 0.001),
    (2, 5.991465, 0.05),
    (3, 11.344867, 0.01),
    (5, 11.070498, 0.05),
    (9, 16.918978, 0.05),
    (10, 23.209251, 0.01),
    (30, 43.772972, 0.05),
    (100, 124.342113, 0.05),
    (100, 77.929465, 0.95),
    (1000, 1074.679449, 0.05),
]
"""Degrees of freedom, statistic and level, as the tables of the chi-square distribution have them."""

counts = st.lists(st.integers(0, 10_000), min_size=1, max_size=30).filter(any)
pairs = st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 10_000)), min_size=1, max_size=30).filter(
    lambda buckets: any(before for before, _ in buckets) and any(after for _, after in buckets)
)


@pytest.mark.acceptance("B267")
@pytest.mark.parametrize(("actual", "index", "meaning"), [each[:3] for each in KNOWN.values()], ids=list(KNOWN))
def test_known_distributions_have_a_known_index(actual: list[int], index: float, meaning: Shift) -> None:
    """Distributions worked out by hand have the PSI that the formula with the logarithm gives, and it means what it should."""
    found = population_stability_index(EVEN, actual)
    assert found == pytest.approx(index, abs=1e-10)
    assert shift(found) is meaning


@pytest.mark.acceptance("B267")
@pytest.mark.parametrize(
    ("index", "meaning"),
    [
        (0.0, Shift.NONE),
        (0.0999, Shift.NONE),
        (0.1, Shift.INVESTIGATE),
        (0.2, Shift.INVESTIGATE),
        (0.2001, Shift.ALERT),
        (4.0, Shift.ALERT),
    ],
)
def test_what_an_index_means(index: float, meaning: Shift) -> None:
    """A PSI below 0.1 is no change, one from 0.1 to 0.2 is to be investigated, one above 0.2 is an alert."""
    assert shift(index) is meaning


@pytest.mark.acceptance("B268")
@pytest.mark.parametrize(
    ("actual", "statistic", "p_value"), [(each[0], *each[3:]) for each in KNOWN.values()], ids=list(KNOWN)
)
def test_known_samples_have_a_known_chi_square(actual: list[int], statistic: float, p_value: float) -> None:
    """The samples of the PSI's cases, worked out by hand: the chi-square test sees the shifts, and none where there is none."""
    found = chi_square(EVEN, actual)
    assert found.statistic == pytest.approx(statistic, abs=1e-9)
    assert found.p_value == pytest.approx(p_value, abs=1e-10)
    assert found.degrees_of_freedom == 1
    assert found.differs() == (statistic > 6.6349)


def test_an_example_with_three_buckets() -> None:
    """Of one distribution they would be 25, 25 and 50: four times 5 * 5 / 25, and nothing for the last."""
    found = chi_square([20, 30, 50], [30, 20, 50])
    assert found.statistic == pytest.approx(4)
    assert found.degrees_of_freedom == 2
    assert found.p_value == pytest.approx(math.exp(-2))


def test_samples_need_not_have_the_same_size() -> None:
    assert chi_square([10, 20, 30], [1000, 2000, 3000]).statistic == pytest.approx(0)
    assert population_stability_index([10, 20, 30], [1 / 6, 2 / 6, 3 / 6]) == pytest.approx(0)


def test_a_bucket_that_is_empty_in_both_has_no_say() -> None:
    assert chi_square([50, 0, 50], [70, 0, 30]) == chi_square([50, 50], [70, 30])
    assert population_stability_index([50, 0, 50], [70, 0, 30]) == population_stability_index([50, 50], [70, 30])


@pytest.mark.parametrize(("share", "adds"), [(0.01, 0.0456), (0.05, 0.3101)])
def test_a_bucket_that_was_empty_counts_as_the_floor(share: float, adds: float) -> None:
    index = population_stability_index([1, 0], [1 - share, share])
    of_the_other = -share * math.log(1 - share)
    assert index - of_the_other == pytest.approx(adds, abs=1e-4)
    assert population_stability_index([1, 0], [1 - share, share], floor=1e-10) > index


@pytest.mark.parametrize(("degrees_of_freedom", "statistic", "level"), CRITICAL_VALUES)
def test_the_tables_of_the_chi_square_distribution(degrees_of_freedom: int, statistic: float, level: float) -> None:
    assert chi_square_survival(statistic, degrees_of_freedom) == pytest.approx(level, rel=1e-5)


@given(st.floats(0.01, 200), st.integers(2, 150))
def test_what_survives_is_the_rest_of_the_density(statistic: float, degrees_of_freedom: int) -> None:
    below = np.linspace(0, statistic, 20_001)[1:]
    half = degrees_of_freedom / 2
    density = np.exp((half - 1) * np.log(below) - below / 2 - half * math.log(2) - math.lgamma(half))
    at_zero = 0.5 if degrees_of_freedom == 2 else 0.0
    area = np.trapezoid([at_zero, *density.tolist()], dx=statistic / 20_000)
    assert chi_square_survival(statistic, degrees_of_freedom) == pytest.approx(1 - area, abs=1e-4)


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.integers(0, 2000))
def test_what_survives_falls_with_the_statistic(one: float, other: float, degrees_of_freedom: int) -> None:
    less, more = sorted((one, other))
    assert (
        0
        <= chi_square_survival(more, degrees_of_freedom)
        <= chi_square_survival(less, degrees_of_freedom) + 1e-12
        <= 1.1
    )


@given(pairs)
def test_the_index_is_what_the_formula_says(buckets: list[tuple[int, int]]) -> None:
    expected, actual = ([count / sum(column) for count in column] for column in zip(*buckets, strict=True))
    smoothed = [(max(e, 1e-4), max(a, 1e-4)) for e, a in zip(expected, actual, strict=True)]
    formula = math.fsum((a - e) * math.log(a / e) for e, a in smoothed)
    found = population_stability_index(*zip(*buckets, strict=True))
    assert found == pytest.approx(formula, abs=1e-9)
    assert found >= 0


@given(pairs, st.randoms(use_true_random=False))
def test_neither_depends_on_the_order_or_on_which_is_expected(buckets: list[tuple[int, int]], random: Random) -> None:
    expected, actual = zip(*buckets, strict=True)
    mixed = list(buckets)
    random.shuffle(mixed)
    index = pytest.approx(population_stability_index(expected, actual), abs=1e-9)
    statistic = pytest.approx(chi_square(expected, actual).statistic, rel=1e-9, abs=1e-9)
    assert population_stability_index(actual, expected) == index
    assert population_stability_index(*zip(*mixed, strict=True)) == index
    assert chi_square(actual, expected).statistic == statistic
    assert chi_square(*zip(*mixed, strict=True)).statistic == statistic


@given(counts)
def test_a_sample_is_like_itself(buckets: list[int]) -> None:
    assert population_stability_index(buckets, buckets) == 0
    assert chi_square(buckets, buckets).p_value == pytest.approx(1)


def test_samples_of_one_distribution_differ_by_chance_alone() -> None:
    """One in twenty is below 5 %, whatever their size; the index is about 9 * (1/n + 1/m), and so depends on it."""
    random = np.random.default_rng(20240115)
    for rows, index in ((200, 0.09), (2000, 0.009)):
        samples = random.multinomial(rows, [0.1] * 10, size=(1000, 2)).tolist()
        below = sum(chi_square(expected, actual).p_value < 0.05 for expected, actual in samples)
        assert 25 <= below <= 80
        mean = np.mean([population_stability_index(expected, actual) for expected, actual in samples])
        assert mean == pytest.approx(index, rel=0.15)


@pytest.mark.parametrize(
    ("expected", "actual", "message"),
    [
        ([], [1], "the expected distribution has no buckets"),
        ([1], [], "the actual distribution has no buckets"),
        ([1, 2], [1, 2, 3], "has 2 buckets and the actual one 3: count both by the same"),
        ([0, 0], [1, 2], "the expected sample is empty: all of its 2 buckets are 0"),
        ([1, 2], [0, 0], "the actual sample is empty"),
        ([1, -2], [1, 2], "the expected distribution has a bucket with -2.0: it takes counts or shares, from 0 on"),
        ([1, 2], [1, math.nan], "the actual distribution has a bucket with nan"),
    ],
)
def test_what_cannot_be_compared(expected: list[float], actual: list[float], message: str) -> None:
    for compare in (population_stability_index, chi_square):
        with pytest.raises(NotComparable, match=message):
            compare(expected, actual)


def test_the_chi_square_test_takes_no_shares() -> None:
    with pytest.raises(NotComparable, match=r"takes counts of rows, and 0\.5 is none.*population_stability_index"):
        chi_square([0.5, 0.5], [0.4, 0.6])


@pytest.mark.parametrize("floor", [0, -1, 1, math.nan])
def test_a_floor_is_a_share(floor: float) -> None:
    with pytest.raises(NotComparable, match=r"between 0 and 1, as 0\.0001"):
        population_stability_index([1], [1], floor=floor)
