"""Profiles of frames: what is in them, and that they come back from the partition of their day as they were."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import stoker.spark
from stoker.spark.profiles import (
    InvalidDay,
    NoFileSystem,
    NotAProfile,
    Profile,
    ProfileNotFound,
    UnknownField,
    UnusableField,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY = date(2024, 1, 15)
NOON = datetime(2024, 1, 15, 12, 30, 0, 123456, tzinfo=UTC)
WALL = NOON.replace(tzinfo=None)
TYPES: dict[str, tuple[str, list[Any], int, Any, Any]] = {
    "text": ("string", ["b", "", "a", "b"], 3, "", "b"),
    "bytes": ("binary", [b"\xff", b"\x00", b"\xff"], 2, b"\x00", b"\xff"),
    "truth": ("boolean", [True, False, True], 2, False, True),
    "tiny": ("tinyint", [3, -4, 3], 2, -4, 3),
    "whole": ("bigint", [2**62, -5], 2, -5, 2**62),
    "half": ("float", [0.5, 1.5, 0.0, -0.0], 3, 0.0, 1.5),
    "real": ("double", [0.1, -2.5, 1e300], 3, -2.5, 1e300),
    "price": ("decimal(10,2)", [Decimal("9.99"), Decimal("-0.10")], 2, Decimal("-0.10"), Decimal("9.99")),
    "day": ("date", [DAY, date(2023, 12, 31)], 2, date(2023, 12, 31), DAY),
    "local": ("timestamp_ntz", [WALL, WALL], 1, WALL, WALL),
    "moment": ("timestamp", [NOON], 1, NOON, NOON),
    "nothing": ("int", [], 0, None, None),
}
"""By field: its type, its values (the other rows of five are null), how many there are, the least, and the greatest."""


@pytest.fixture(scope="module")
def all_types(spark: "SparkSession") -> "DataFrame":
    columns = [values + [None] * (5 - len(values)) for _, values, *_ in TYPES.values()]
    schema = ", ".join(f"{name} {each[0]}" for name, each in TYPES.items())
    return spark.createDataFrame(list(zip(*columns, strict=True)), schema)


@pytest.fixture(scope="module")
def profiled(all_types: "DataFrame") -> Profile:
    return stoker.spark.profile(all_types)


@pytest.fixture(scope="module")
def nested(spark: "SparkSession") -> "DataFrame":
    """As `format("stoker")` gives it, with names that are hard to quote."""
    rows = [(("ada", 5, ["x"]), "k", 1), (("ben", None, []), "k", 2), (None, None, 3)]
    return spark.createDataFrame(
        rows, "value struct<name: string, cents: int, tags: array<string>>, key string, `a.b``c` int"
    )


@pytest.mark.parametrize("field", TYPES)
def test_a_field_of_each_type(profiled: Profile, field: str) -> None:
    data_type, values, cardinality, minimum, maximum = TYPES[field]
    found = profiled[field]
    assert (found.field, found.type, found.count) == (field, data_type, 5)
    assert (found.cardinality, found.null_count) == (cardinality, 5 - len(values))
    assert found.null_rate == (5 - len(values)) / 5
    assert (found.minimum, found.maximum) == (minimum, maximum)
    assert type(found.minimum) is type(minimum)


@pytest.mark.acceptance("S125")
def test_a_profile_comes_back_from_the_partition_of_its_day(
    spark: "SparkSession", profiled: Profile, tmp_path: Path
) -> None:
    """A profile is written to and read from the path date=2024-01-15, with all types, and Spark sees the day as a column."""
    place = stoker.spark.write_profile(spark, profiled, tmp_path, DAY)
    assert place == f"{tmp_path}/date=2024-01-15"
    assert stoker.spark.read_profile(spark, tmp_path, "2024-01-15") == profiled
    stored = spark.read.parquet(str(tmp_path)).where("field = 'text'")
    assert [(row["date"], row["count"], row["null_rate"]) for row in stored.collect()] == [(DAY, 5, 0.2)]


def test_the_zone_of_the_session_is_not_that_of_the_profile(
    spark: "SparkSession", all_types: "DataFrame", profiled: Profile
) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Pacific/Auckland")
    try:
        assert stoker.spark.profile(all_types, ["moment", "local"])["moment"] == profiled["moment"]
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))


def test_a_day_may_be_run_again(spark: "SparkSession", profiled: Profile, tmp_path: Path) -> None:
    stoker.spark.write_profile(spark, profiled, tmp_path, DAY)
    second = Profile(fields={"text": profiled["text"]})
    stoker.spark.write_profile(spark, second, f"{tmp_path}/", datetime(2024, 1, 15, 23, tzinfo=UTC))
    assert stoker.spark.read_profile(spark, tmp_path, DAY) == second


def test_a_day_without_a_profile(spark: "SparkSession", profiled: Profile, tmp_path: Path) -> None:
    with pytest.raises(ProfileNotFound, match=f"There is none in {tmp_path} at all"):
        stoker.spark.read_profile(spark, tmp_path, DAY)
    for day in ("2024-01-14", "2024-01-13"):
        stoker.spark.write_profile(spark, profiled, tmp_path, day)
    with pytest.raises(ProfileNotFound, match=r"date=2024-01-15\. There are profiles of: 2024-01-13, 2024-01-14$"):
        stoker.spark.read_profile(spark, tmp_path, DAY)


def test_data_is_not_overwritten_by_a_profile(
    spark: "SparkSession", all_types: "DataFrame", profiled: Profile, tmp_path: Path
) -> None:
    orders = stoker.spark.partition_path(tmp_path, DAY)
    all_types.select("text", "whole").write.parquet(orders)
    with pytest.raises(NotAProfile, match=r"holds no profile, but rows of text, whole\. Give profiles a directory of"):
        stoker.spark.write_profile(spark, profiled, tmp_path, DAY)
    with pytest.raises(NotAProfile):
        stoker.spark.read_profile(spark, tmp_path, DAY)
    assert spark.read.parquet(orders).count() == 5


def test_what_is_not_even_parquet_is_not_overwritten(spark: "SparkSession", profiled: Profile, tmp_path: Path) -> None:
    table = tmp_path / "date=2024-01-15" / "orders.csv"
    table.parent.mkdir()
    table.write_text("a,b\n1,2\n")
    with pytest.raises(NotAProfile, match=r"holds no profile, but orders\.csv"):
        stoker.spark.write_profile(spark, profiled, tmp_path, DAY)
    assert table.read_text() == "a,b\n1,2\n"


def test_what_a_broken_run_has_left_is_replaced(spark: "SparkSession", profiled: Profile, tmp_path: Path) -> None:
    (tmp_path / "date=2024-01-15" / "_temporary").mkdir(parents=True)
    stoker.spark.write_profile(spark, profiled, tmp_path, DAY)
    assert stoker.spark.read_profile(spark, tmp_path, DAY) == profiled


@pytest.mark.acceptance("S125")
def test_a_path_that_spark_has_no_file_system_for(spark: "SparkSession", profiled: Profile) -> None:
    """The document's s3:// paths are refused with what to write instead."""
    with pytest.raises(NoFileSystem, match=r"s3://lake/orders/date=.*No FileSystem for scheme.*For S3 it is s3a://"):
        stoker.spark.write_profile(spark, profiled, "s3://lake/orders", DAY)


def test_a_day_is_a_date() -> None:
    with pytest.raises(InvalidDay, match=r"'yesterday' is no day\. Give a date, or text as 2024-01-15"):
        stoker.spark.partition_path("lake", "yesterday")


def test_fields_of_structs_are_named_with_dots(nested: "DataFrame") -> None:
    found = stoker.spark.profile(nested)
    assert list(found.fields) == ["value.name", "value.cents", "key", "a.b`c"]
    assert (found["value.cents"].null_count, found["value.name"].null_count) == (2, 1)
    assert (found["key"].cardinality, found["a.b`c"].maximum) == (1, 3)
    assert list(stoker.spark.profile(nested, ["key", "value.name", "key"]).fields) == ["key", "value.name"]


@pytest.mark.parametrize(
    ("fields", "problem", "message"),
    [
        (["amount"], UnknownField, r"no field 'amount' in the frame. Existing fields: value.name, .*, key, a\.b`c$"),
        ("keys", UnknownField, "no field 'keys' in the frame"),
        ([], UnknownField, "no field is named. Fields of the frame: value.name"),
        (
            ["value"],
            UnusableField,
            "'value' is a struct in the frame. Name its fields: value.name, value.cents, value.tags",
        ),
        (
            ["value.tags"],
            UnusableField,
            r"'value.tags' of the frame is array<string>.*explode.*: value.name, value.cents",
        ),
    ],
)
def test_fields_that_cannot_be_profiled(nested: "DataFrame", fields: Any, problem: type, message: str) -> None:
    with pytest.raises(problem, match=message):
        stoker.spark.profile(nested, fields)


def test_a_frame_without_anything_to_profile(nested: "DataFrame") -> None:
    with pytest.raises(UnusableField, match="no field to profile: tags is array<string>"):
        stoker.spark.profile(nested.select("value.tags"))


def test_a_field_that_the_profile_does_not_have(profiled: Profile) -> None:
    with pytest.raises(UnknownField, match=r"no field 'amount' in the profile. It has: text, bytes"):
        profiled["amount"]


def test_a_frame_without_rows(spark: "SparkSession", nested: "DataFrame", tmp_path: Path) -> None:
    found = stoker.spark.profile(nested.limit(0), ["key"])
    assert (found["key"].count, found["key"].cardinality, found["key"].null_rate) == (0, 0, 0.0)
    assert found["key"].minimum is None
    stoker.spark.write_profile(spark, found, tmp_path, DAY)
    assert stoker.spark.read_profile(spark, tmp_path, DAY) == found


def test_cardinality_is_about_right(spark: "SparkSession") -> None:
    exact, estimated = (1, 5, 300), (2_000, 50_000)
    frame = spark.range(100_000).selectExpr(*(f"concat('v', id % {each}) AS `{each}`" for each in exact + estimated))
    found = [each.cardinality for each in stoker.spark.profile(frame).fields.values()]
    assert found == [*exact, *(pytest.approx(each, rel=0.02) for each in estimated)]


@pytest.fixture
def passes(spark: "SparkSession") -> "tuple[DataFrame, Any]":
    """A frame of a thousand rows and thirty fields, and how many rows have been read of it."""
    read = spark.sparkContext.accumulator(0)

    def row(number: int) -> tuple[int, ...]:
        read.add(1)
        return (number,) * 30

    rows = spark.sparkContext.range(1000, numSlices=2).map(row)
    return spark.createDataFrame(rows, ", ".join(f"field_{number} bigint" for number in range(30))), read


def test_all_fields_are_profiled_in_one_pass(passes: "tuple[DataFrame, Any]") -> None:
    frame, read = passes
    found = stoker.spark.profile(frame)
    assert read.value == 1000
    assert {(each.count, each.minimum, each.maximum) for each in found.fields.values()} == {(1000, 0, 999)}


def test_a_profile_is_shown_as_a_table(spark: "SparkSession") -> None:
    frame = spark.createDataFrame([("a", 1.5), ("x" * 40, None), ("b", None)], "name string, amount double")
    assert str(stoker.spark.profile(frame)).splitlines() == [
        "field   type    count  cardinality  nulls  null rate  minimum  maximum",
        "name    string      3            3      0       0.0%  a        xxxxxxxxxxxxxxxxxxxxxxx…",
        "amount  double      3            1      2      66.7%  1.5      1.5",
    ]
