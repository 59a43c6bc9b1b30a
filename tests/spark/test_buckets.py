"""Buckets that suit a sample, and what is counted in them."""

import math
from typing import TYPE_CHECKING, Any

import pytest

from stoker.spark.buckets import OTHERS, Buckets, Edges, Values, counted, find_buckets, given_edges, shared_fields
from stoker.spark.profiles import UnknownField, UnusableField
from stoker.spark.stability import NotComparable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAN = math.nan
LEAST = math.nextafter(0, -math.inf)
SAMPLE = """
    SELECT
        double(id) AS many,
        int(id % 3) AS few,
        CASE WHEN id % 2 = 0 THEN 0 ELSE id END AS half_zero,
        string(id % 4) AS letter,
        CASE WHEN id < 500 THEN concat('common-', id % 25) ELSE concat('user-', id) END AS some_common,
        id % 2 = 0 AS flag,
        CASE WHEN id % 10 = 0 THEN null ELSE 'only' END AS with_nulls,
        CASE WHEN id % 4 = 0 THEN double('nan') ELSE id END AS with_nan,
        decimal(id) / 10 AS price,
        int(null) AS nothing,
        current_timestamp() AS at
    FROM range(1000)
"""
SUITABLE: dict[str, Buckets] = {
    "few": Values((0.0, 1.0, 2.0)),
    "letter": Values(("0", "1", "2", "3")),
    "flag": Values(("false", "true")),
    "with_nulls": Values(("only",)),
}
LABELS = {
    "many": ["up to 99", "99 to 199", "199 to 299", *[f"{low}99 to {low + 1}99" for low in range(2, 8)], "above 899"],
    "half_zero": ["below 0", "0", "0 to 199", "199 to 399", "399 to 599", "599 to 799", "above 799"],
    "few": ["0", "1", "2", OTHERS],
}


@pytest.fixture(scope="module")
def sample(spark: "SparkSession") -> "DataFrame":
    return spark.sql(SAMPLE)


def buckets_of(sample: "DataFrame", *fields: str) -> dict[str, Buckets]:
    shared = shared_fields(sample, sample, fields)
    return find_buckets(sample, [before for before, _ in shared.values()])


def test_a_field_with_few_values_has_a_bucket_for_each(sample: "DataFrame") -> None:
    assert buckets_of(sample, *SUITABLE) == SUITABLE


def test_a_number_with_many_values_is_cut_at_its_deciles(sample: "DataFrame") -> None:
    found = buckets_of(sample, "many", "price", "half_zero", "with_nan")
    assert found["many"] == Edges(tuple(float(tenth * 100 - 1) for tenth in range(1, 10)))
    assert found["price"] == Edges(tuple(tenth * 10 - 0.1 for tenth in range(1, 10)))
    assert found["half_zero"] == Edges((LEAST, 0.0, 199.0, 399.0, 599.0, 799.0))
    assert len(found["with_nan"].labels()) == 8  # seven deciles are numbers


def test_of_many_strings_the_frequent_ones_have_buckets(sample: "DataFrame") -> None:
    found = buckets_of(sample, "some_common")["some_common"]
    assert isinstance(found, Values)
    assert len(found.values) == 20
    assert all(str(value).startswith("common-") for value in found.values)


@pytest.mark.parametrize("rows", [1_000, 50_000])
def test_rare_strings_make_no_buckets(spark: "SparkSession", rows: int) -> None:
    rare = spark.range(rows).selectExpr("concat('user-', id) AS user")
    with pytest.raises(
        NotComparable, match=r"'user' of the expected sample makes no buckets: .*than 5%.*profile_drift"
    ):
        buckets_of(rare, "user")


@pytest.mark.parametrize("field", LABELS)
def test_labels_say_what_is_in_a_bucket(sample: "DataFrame", field: str) -> None:
    labels = buckets_of(sample, field)[field].labels()
    assert labels == LABELS[field]


def test_large_numbers_are_shown_in_full() -> None:
    assert Edges((0.000125, 1234567.0)).labels() == ["up to 0.000125", "0.000125 to 1,234,567", "above 1,234,567"]


@pytest.mark.parametrize(
    ("buckets", "values", "counts"),
    [
        (Edges((0.0, 10.0)), [-5.0, 0.0, 0.1, 10.0, 10.1, math.inf, -math.inf, NAN, None], [3, 2, 3]),
        (Edges((LEAST, 0.0)), [-1.0, -0.0, 0.0, 1.0, 1.0], [1, 2, 2]),
        (Values((1.0, 5.0)), [1.0, 1.0, 5.0, 2.0, NAN, None], [2, 1, 2]),
        (Values((NAN, 5.0)), [NAN, 5.0, 2.0], [1, 1, 1]),
    ],
    ids=["edges", "a value of its own", "values", "not a number"],
)
def test_values_are_counted_in_their_buckets(
    spark: "SparkSession", buckets: Buckets, values: list[Any], counts: list[int]
) -> None:
    frame = spark.createDataFrame([(value,) for value in values], "number double")
    shared = shared_fields(frame, frame, ["number"])
    assert counted(frame, frame, shared, {"number": buckets}) == {"number": (counts, counts)}


def test_integers_are_counted_beside_decimals(spark: "SparkSession", sample: "DataFrame") -> None:
    other = spark.sql("SELECT decimal(id) AS few, string(id) AS letter FROM range(5)")
    shared = shared_fields(sample, other, ["few", "letter"])
    found = counted(sample, other, shared, buckets_of(sample, "few", "letter"))
    assert found == {"few": ([334, 333, 333, 0], [1, 1, 1, 2]), "letter": ([250] * 4 + [0], [1, 1, 1, 1, 1])}


@pytest.mark.parametrize(
    ("edges", "problem", "message"),
    [
        ({"price": [1]}, UnknownField, "edges for 'price', which is not compared. Compared are: many, letter"),
        ({"letter": [1]}, UnusableField, "edges for 'letter', which is string: only numbers have edges"),
        ({"many": []}, NotComparable, r"the edges of 'many' make no buckets: \[\]"),
        ({"many": [5, 3]}, NotComparable, r"make no buckets: \[5, 3\]. Give at least one, each greater"),
        ({"many": [3, 3]}, NotComparable, "make no buckets"),
    ],
)
def test_edges_that_cannot_be(sample: "DataFrame", edges: dict[str, list[float]], problem: type, message: str) -> None:
    with pytest.raises(problem, match=message):
        given_edges(edges, shared_fields(sample, sample, ["many", "letter"]))


@pytest.mark.parametrize(
    ("fields", "problem", "message"),
    [
        (["amount"], UnknownField, "no field 'amount' in the expected sample. Existing fields: many"),
        (["price"], UnknownField, "no field 'price' in the actual sample. Existing fields: many, few, at"),
        (["at"], UnusableField, r"'at' of the expected sample is timestamp: .*hour\(\)"),
        (["few"], UnusableField, "'few' is int in the expected sample and string in the actual one: cast"),
    ],
)
def test_fields_that_cannot_be_compared(sample: "DataFrame", fields: list[str], problem: type, message: str) -> None:
    with pytest.raises(problem, match=message):
        shared_fields(sample, sample.selectExpr("many", "string(few) AS few", "at"), fields)


@pytest.mark.parametrize("field", ["nothing", "many"])
def test_a_sample_without_values(sample: "DataFrame", field: str) -> None:
    expected = sample if field == "nothing" else sample.limit(0)
    with pytest.raises(
        NotComparable, match=f"'{field}' has no values in the expected sample: it has no rows, or only nulls"
    ):
        buckets_of(expected, field)


def test_an_actual_sample_without_values(sample: "DataFrame") -> None:
    empty = sample.where("many < 0")
    shared = shared_fields(sample, empty, ["many"])
    with pytest.raises(NotComparable, match="'many' has no values in the actual sample"):
        counted(sample, empty, shared, {"many": Edges((5.0,))})
