"""Drift between two days: the document's own check, and ours beside it."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import stoker.spark
from stoker.spark.drift import DriftThresholds
from stoker.spark.profiles import FieldProfile, Profile
from stoker.spark.stability import NotComparable, Shift

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FIELDS = ["event_type", "amount", "status"]
SNIPPET = """
# Daily distribution check — run as a Spark job or scheduled Python script
from pyspark.sql import functions as F

spark = stoker.spark.session("distribution-monitor")

# Load yesterday's and today's snapshots from your data lake
yesterday = spark.read.parquet(f"{lake}/user-events/date=2024-01-14/")
today = spark.read.parquet(f"{lake}/user-events/date=2024-01-15/")


def field_profile(df, field: str) -> dict:
    agg = df.agg(
        F.count(F.lit(1)).alias("count"),
        F.countDistinct(field).alias("cardinality"),
        F.sum(F.when(F.col(field).isNull(), 1).otherwise(0)).alias("null_count"),
        F.min(field).alias("min_val"),
        F.max(field).alias("max_val"),
    ).collect()[0]
    return agg.asDict()


for field in ["event_type", "amount", "status"]:
    prev = field_profile(yesterday, field)
    curr = field_profile(today, field)
    cardinality_change = abs(curr["cardinality"] - prev["cardinality"]) / max(prev["cardinality"], 1)
    null_rate_prev = prev["null_count"] / max(prev["count"], 1)
    null_rate_curr = curr["null_count"] / max(curr["count"], 1)
    if cardinality_change > 0.5:  # cardinality jumped >50%
        alert(f"WARN: {field} cardinality changed {prev['cardinality']} → {curr['cardinality']}")
    if abs(null_rate_curr - null_rate_prev) > 0.05:  # null rate shifted >5pp
        alert(f"WARN: {field} null rate changed {null_rate_prev:.1%} → {null_rate_curr:.1%}")


# For numeric fields, compute PSI over bucketed distributions
def compute_psi(expected_dist: list[float], actual_dist: list[float]) -> float:
    psi = 0.0
    for e, a in zip(expected_dist, actual_dist):
        e = max(e, 1e-10)
        a = max(a, 1e-10)
        psi += (a - e) * math.log(a / e)
    return psi
"""
"""The document's, put right: rows are counted with those that are null, `alert` is given, the logarithm is back, and the lake is
not on `s3://`, which is Amazon's EMR alone."""

EVENTS = """
    SELECT date('2024-01-14') AS date, element_at(array('signup', 'login', 'purchase', 'churn'), int(id % 4) + 1) AS event_type,
        double(id % 90) AS amount, concat('s', id % 5) AS status
    FROM range(1000)
    UNION ALL
    SELECT date('2024-01-15'), element_at(array('signup', 'login', 'purchase', 'churn'), int(id % 4) + 1),
        CASE WHEN id % 2 = 0 THEN null ELSE 100 * double(id % 90) END, concat('s', id % 50)
    FROM range(1000)
"""
"""As the document tells it: `status` goes from 5 values to 50, and `amount` from 45 on average to 4500. And half is null."""


@pytest.fixture(scope="module")
def lake(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("lake")
    spark.sql(EVENTS).write.partitionBy("date").parquet(str(lake / "user-events"))
    return lake


@pytest.fixture(scope="module")
def checked(lake: Path) -> dict[str, Any]:
    """The names of the snippet after it has run, and what it has alerted of."""
    alerts: list[str] = []
    names = {"stoker": stoker, "math": math, "lake": lake, "alert": alerts.append, "alerts": alerts}
    exec(compile(SNIPPET, "snippet", "exec"), names)
    return names


@pytest.fixture
def days(spark: "SparkSession", lake: Path) -> "tuple[DataFrame, DataFrame]":
    events = lake / "user-events"
    yesterday, today = (stoker.spark.partition_path(events, day) for day in ("2024-01-14", "2024-01-15"))
    return spark.read.parquet(yesterday), spark.read.parquet(today)


def field_profile(count: int = 100, cardinality: int = 10, nulls: int = 0, data_type: str = "string") -> FieldProfile:
    return FieldProfile(
        field="status",
        type=data_type,
        count=count,
        cardinality=cardinality,
        null_count=nulls,
        minimum=None,
        maximum=None,
    )


def warnings(expected: FieldProfile, actual: FieldProfile, **thresholds: float) -> list[str]:
    profiles = (Profile(fields={each.field: each}) for each in (expected, actual))
    return list(stoker.spark.profile_drift(*profiles, thresholds=DriftThresholds(**thresholds)).warnings)


@pytest.mark.acceptance("S125")
def test_the_daily_check_of_the_document(checked: dict[str, Any]) -> None:
    """The document's daily check runs on Stoker's session, over partitions date=..., and alerts of exactly what has changed."""
    assert checked["alerts"] == [
        "WARN: amount null rate changed 0.0% → 50.0%",
        "WARN: status cardinality changed 5 → 50",
    ]


@pytest.mark.acceptance("S125", "B269", "B270")
def test_ours_warns_as_the_document_does(checked: dict[str, Any], days: "tuple[DataFrame, DataFrame]") -> None:
    """Profiles of the same two days, each of one pass, have the same counts, and the same warnings word for word."""
    profiles = [stoker.spark.profile(day, FIELDS) for day in days]
    assert list(stoker.spark.profile_drift(*profiles).warnings) == checked["alerts"]
    for day, profile in zip(("yesterday", "today"), profiles, strict=True):
        for field, found in profile.fields.items():
            theirs = checked["field_profile"](checked[day], field)
            ours = (found.count, found.cardinality, found.null_count, found.minimum, found.maximum)
            assert ours == tuple(theirs.values())


@pytest.mark.acceptance("B270")
def test_null_rates_are_of_all_rows(days: "tuple[DataFrame, DataFrame]") -> None:
    """Of a field that is null in every second row the null rate is 50 %: rows are counted, not values."""
    from pyspark.sql import functions

    today = days[1]
    assert stoker.spark.profile(today, ["amount"])["amount"].null_rate == 0.5
    as_the_document_counts = today.agg(functions.count("amount")).collect()[0][0]
    assert today.where("amount IS NULL").count() / as_the_document_counts == 1.0


@pytest.mark.acceptance("S126")
def test_the_index_of_the_document(checked: dict[str, Any]) -> None:
    """The document's compute_psi, with the logarithm, is our index of the same buckets with its floor for empty ones."""
    for expected, actual in [
        ([0.25, 0.25, 0.25, 0.25], [0.1, 0.2, 0.3, 0.4]),
        ([0.5, 0.5, 0.0], [0.4, 0.4, 0.2]),
        ([1.0, 0.0], [0.0, 1.0]),
    ]:
        found = stoker.spark.population_stability_index(expected, actual, floor=1e-10)
        assert checked["compute_psi"](expected, actual) == pytest.approx(found)
    assert stoker.spark.population_stability_index([0.5, 0.5], [0.8, 0.2]) == pytest.approx(0.3 * math.log(4))


@pytest.mark.acceptance("S126", "B267", "B268")
def test_a_field_whose_meaning_has_changed(days: "tuple[DataFrame, DataFrame]") -> None:
    """Amounts a hundred times as large, and unknown statuses, are an alert by PSI and by chi-square; what stayed is none."""
    found = stoker.spark.distribution_drift(*days, FIELDS)
    assert {field: drift.shift for field, drift in found.items()} == {
        "event_type": Shift.NONE,
        "amount": Shift.ALERT,
        "status": Shift.ALERT,
    }
    assert [drift.chi_square.differs() for drift in found.values()] == [False, True, True]
    assert found["event_type"].psi == pytest.approx(0)
    assert found["event_type"].warnings == ()
    assert [(each.expected, each.actual) for each in found["status"].buckets] == [*[(200, 20)] * 5, (0, 900)]
    assert found["status"].warnings == (
        "ALERT: status distribution shifted, PSI 10.266 (chi-square 1636.4, p < 0.0001)",
    )


@pytest.mark.acceptance("B267", "B268")
@pytest.mark.parametrize(
    ("paid", "shift", "differs"), [(500, Shift.NONE, False), (700, Shift.INVESTIGATE, True), (800, Shift.ALERT, True)]
)
def test_known_shares_of_a_frame(spark: "SparkSession", paid: int, shift: Shift, differs: bool) -> None:
    """A boolean that is true in 50, 70 and 80 % of the rows, after 50 %: no shift, one to investigate, and an alert."""
    expected, actual = (spark.range(1000).selectExpr(f"id < {count} AS paid") for count in (500, paid))
    found = stoker.spark.distribution_drift(expected, actual, ["paid"])["paid"]
    change = (paid - 500) / 1000
    assert found.psi == pytest.approx(change * math.log((0.5 + change) / (0.5 - change)))
    assert found.shift is shift
    assert found.chi_square.differs() is differs
    assert len(found.warnings) == (shift is not Shift.NONE)


def test_edges_and_thresholds_of_your_own(days: "tuple[DataFrame, DataFrame]") -> None:
    found = stoker.spark.distribution_drift(
        *days, ["amount"], edges={"amount": [45]}, thresholds=DriftThresholds(alert_above=5)
    )["amount"]
    assert str(found).splitlines() == [
        f"amount: PSI {found.psi:.3f} (chi-square {found.chi_square.statistic:.1f}, p < 0.0001)",
        "          expected  actual",
        "up to 45     51.6%    0.0%",
        "above 45     48.4%  100.0%",
    ]
    assert found.shift is Shift.INVESTIGATE


@pytest.mark.acceptance("B269")
@pytest.mark.parametrize(
    ("expected", "actual", "warns"),
    [(5, 50, True), (10, 15, False), (10, 16, True), (10, 5, False), (10, 4, True), (0, 0, False), (0, 1, True)],
)
def test_cardinality(expected: int, actual: int, warns: bool) -> None:
    """A cardinality that is more than 50 % above or below the expected one warns; one of exactly 50 % does not."""
    found = warnings(field_profile(cardinality=expected), field_profile(cardinality=actual))
    assert found == [f"WARN: status cardinality changed {expected} → {actual}"] * warns


@pytest.mark.acceptance("B270")
@pytest.mark.parametrize(
    ("expected", "actual", "warns"),
    [(0, 5, False), (0, 6, True), (15, 20, False), (20, 15, False), (25, 30, False), (20, 14, True), (100, 0, True)],
)
def test_null_rate(expected: int, actual: int, warns: bool) -> None:
    """A null rate that is more than 5 points above or below the expected one warns; one of exactly 5 does not."""
    found = warnings(field_profile(nulls=expected), field_profile(count=1000, nulls=10 * actual))
    assert found == [f"WARN: status null rate changed {expected}.0% → {actual}.0%"] * warns


def test_thresholds_are_yours_to_choose() -> None:
    changed = (field_profile(), field_profile(cardinality=12, nulls=2))
    assert warnings(*changed) == []
    assert len(warnings(*changed, cardinality_change=0.1, null_rate_shift=0.01)) == 2


def test_a_change_says_how_much() -> None:
    expected, actual = (
        Profile(fields={"status": each}) for each in (field_profile(), field_profile(cardinality=4, nulls=7))
    )
    found = stoker.spark.profile_drift(expected, actual).fields["status"]
    assert (found.cardinality_change, found.null_rate_shift) == (0.6, 0.07)


def test_fields_that_come_and_go_and_change_their_type() -> None:
    expected = Profile(fields={"status": field_profile(), "region": field_profile()})
    actual = Profile(fields={"status": field_profile(data_type="int"), "country": field_profile()})
    assert stoker.spark.profile_drift(expected, actual).warnings == (
        "WARN: region is gone",
        "WARN: country is new",
        "WARN: status type changed string → int",
    )


@pytest.mark.parametrize(("expected", "actual", "empty"), [(0, 1, "expected"), (1, 0, "actual")])
def test_a_day_without_rows_is_not_compared(expected: int, actual: int, empty: str) -> None:
    with pytest.raises(NotComparable, match=f"the {empty} profile is of a sample without rows"):
        warnings(field_profile(count=expected), field_profile(count=actual))


def test_the_samples_are_read_as_often_as_promised(spark: "SparkSession") -> None:
    """The expected one twice, the actual one once, for two fields and more."""
    read = [spark.sparkContext.accumulator(0), spark.sparkContext.accumulator(0)]

    def sample(number: int) -> "DataFrame":
        def row(value: int) -> tuple[float, str]:
            read[number].add(1)
            return float(value), str(value % 3)

        return spark.createDataFrame(
            spark.sparkContext.range(1000, numSlices=2).map(row), "amount double, letter string"
        )

    found = stoker.spark.distribution_drift(sample(0), sample(1), ["amount", "letter"])
    assert [drift.psi for drift in found.values()] == [0, 0]
    assert [each.value for each in read] == [2000, 1000]
