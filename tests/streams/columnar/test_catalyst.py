"""Spark's plans as it tells them: what becomes steps, and what is refused by its name."""

import json
import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import pytest

from stoker.streams.columnar.catalyst import check_lasting, plan_of
from stoker.streams.columnar.expressions import Unsupported
from stoker.streams.columnar.steps import Plan, Project, Where
from stoker.streams.used_columns import whole_plans
from tests.streams.columnar.hostile_rows import SCHEMA, as_batch, exactly, hostile_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Made = Callable[[DataFrame], DataFrame]

SOURCE: Final = {"class": "org.apache.spark.sql.execution.LogicalRDD", "num-children": 0, "output": []}
"""A leaf without columns, as JSON."""


def optimized(frame: "DataFrame") -> str:
    with whole_plans(frame.sparkSession):
        return str(frame._jdf.queryExecution().optimizedPlan().toJSON())


def test_a_plan_is_steps_from_the_source_on(spark: "SparkSession") -> None:
    """With the columns by their names at both ends."""
    frame = spark.createDataFrame([], SCHEMA).where("value.i > 1").selectExpr("key", "value.i AS number", "'x' AS x")
    plan = plan_of(optimized(frame))
    assert sorted(plan.scan.names.values()) == ["key", "offset", "partition", "streamTime", "timestamp", "value"]
    assert [type(each) for each in plan.steps] == [Where, Project]
    assert [name for _, name in plan.output] == ["key", "number", "x"]
    assert (plan.table_scan, plan.table_steps) == (None, ())


def test_a_plan_is_sent_to_tasks(spark: "SparkSession") -> None:
    """What arrives there does the same."""
    nothing = spark.createDataFrame([], SCHEMA)
    frame = nothing.where("value.s LIKE 'a%' OR coalesce(value.flag, value.i IN (1, 5))")
    plan = plan_of(optimized(frame.selectExpr("offset", "struct(value.s, value.d * 2 AS d) AS made")))
    arrived: Plan = pickle.loads(pickle.dumps(plan))
    batch = as_batch(hostile_rows(100), nothing.schema)
    assert arrived == plan
    assert exactly(arrived.of(batch, None)) == exactly(plan.of(batch, None)) != []


@pytest.mark.parametrize("condition", ["false", "value.i = 9999999999", "value.flag AND NOT value.flag", "1 > 2"])
def test_a_condition_that_is_never_met_leaves_no_rows(spark: "SparkSession", condition: str) -> None:
    """Spark makes a relation without rows of it, which is not to be taken for the source."""
    nothing = spark.createDataFrame([], SCHEMA)
    plan = plan_of(optimized(nothing.where(condition).select("key", "offset")))
    assert plan.of(as_batch(hostile_rows(60), nothing.schema), None).num_rows == 0


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (lambda frame: frame.limit(5), "Limit"),
        (lambda frame: frame.select("key").distinct(), "Aggregate"),
        (lambda frame: frame.groupBy("key").count(), "Aggregate"),
        (lambda frame: frame.orderBy("key"), "Sort"),
        (lambda frame: frame.union(frame), "Union"),
        (lambda frame: frame.repartition(3), "Repartition"),
        (lambda frame: frame.sample(0.5), "Sample"),
        (lambda frame: frame.selectExpr("explode(value.list)"), "Generate"),
        (lambda frame: frame.selectExpr("row_number() OVER (ORDER BY key)"), "Window"),
        (lambda frame: frame.selectExpr("upper(key)"), "Upper"),
        (lambda frame: frame.selectExpr("value.inner.n"), "computed"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_is_not_known_is_told_by_its_name(spark: "SparkSession", made: "Made", name: str) -> None:
    frame = made(spark.createDataFrame([], SCHEMA).select("key", "value", "offset"))
    with pytest.raises(Unsupported, match=name):
        plan_of(optimized(frame))


def test_a_class_that_spark_has_yet_to_invent() -> None:
    new = {"class": "org.apache.spark.sql.NewRelation", "num-children": 1, "child": 0}
    with pytest.raises(Unsupported, match="NewRelation"):
        plan_of(json.dumps([new, SOURCE]))


# -- what means the same in every micro-batch


@pytest.mark.parametrize(
    "column",
    [
        "unix_timestamp()",
        "unix_millis(now())",
        "year(current_date())",
        "date_format(current_timestamp(), 'yyyy')",
        "unix_millis(localtimestamp())",
        "unix_micros(TIMESTAMP 'now')",
        "unix_millis(to_timestamp('now'))",
        "unix_millis(try_cast(' Now' AS timestamp))",
        "datediff('tomorrow', '2020-01-01')",
        "hour('yesterday UTC')",
        "(SELECT unix_timestamp())",
        "coalesce(value.l, unix_timestamp())",
    ],
)
@pytest.mark.parametrize("place", ["column", "condition"])
def test_what_depends_on_the_time_does_not_last(spark: "SparkSession", column: str, place: str) -> None:
    """By the optimized plan it could not be told: there it is a literal as any."""
    nothing = spark.createDataFrame([], SCHEMA)
    frame = nothing.selectExpr(column) if place == "column" else nothing.where(f"length({column}) > 1")
    with pytest.raises(Unsupported, match="time"):
        check_lasting(_analyzed(frame))


@pytest.mark.parametrize(
    "column",
    [
        "value.i + 1",
        "value.at > value.until",
        "CAST(NULL AS timestamp)",
        "coalesce(value.at, timestamp)",
        "value.s = 'knows'",
        "'nowhere'",
        "5 + 1",
    ],
)
def test_what_lasts(spark: "SparkSession", column: str) -> None:
    check_lasting(_analyzed(spark.createDataFrame([], SCHEMA).selectExpr(column)))


def _analyzed(frame: "DataFrame") -> Any:
    return frame._jdf.queryExecution().analyzed().toJSON()
