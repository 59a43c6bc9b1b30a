"""What is computed of Arrow columns is what Spark computes of the same rows, or is Spark's to do: Spark is the judge."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.streams.columnar.expressions import Unsupported
from stoker.streams.columnar.steps import Plan
from tests.streams.columnar.hostile_rows import SCHEMA, as_batch, exactly, hostile_rows, planned, spark_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

COMPARED: Final = [
    f"value.{left} {operator} value.{right}"
    for left, right in (("s", "t"), ("i", "j"), ("l", "m"), ("d", "e"), ("f", "g"), ("at", "until"), ("day", "night"))
    for operator in ("=", "<>", "<", "<=", ">", ">=")
]
WIDENED: Final = [
    f"value.{left} {operator} value.{right}"
    for left, right in (("b", "h"), ("b", "l"), ("i", "f"), ("h", "i"), ("i", "l"), ("i", "d"), ("f", "d"), ("h", "d"))
    for operator in ("=", "<", ">=")
]
TAKEN_CONDITIONS: Final = [
    *COMPARED,
    *WIDENED,
    "value.flag",
    "NOT value.flag",
    "value.flag AND value.other",
    "value.flag OR value.other",
    "NOT (value.flag AND value.other)",
    "NOT (value.flag OR NOT value.other)",
    "value.flag AND value.i > 0",
    "value.flag OR value.i > 0 OR value.s IS NULL",
    "value.flag = true",
    "value.flag IS NULL",
    "value IS NULL",
    "value IS NOT NULL",
    "value.inner IS NULL",
    "value.list IS NULL",
    "value.tags IS NOT NULL",
    "value.money IS NULL",
    "value.raw IS NULL OR value.local IS NULL",
    "value.i = 5",
    "value.b > 5",
    "value.l = 9007199254740993",
    "value.l > 2147483647",
    "value.l BETWEEN 0 AND 9007199254740992",
    "value.i BETWEEN 1 AND 7",
    "value.d > 0",
    "value.d >= 0.0D",
    "value.d < 0.0D",
    "value.d = -0.0D",
    "value.d = 0.1D",
    "value.d = double('NaN')",
    "value.d < double('NaN')",
    "value.d >= double('NaN')",
    "value.d > double('Infinity')",
    "value.d <= double('-Infinity')",
    "NOT (value.d > 1)",
    "value.f > 0.5F",
    "value.f = float('NaN')",
    "value.f <= float('3.4028235E38')",
    "value.s = ''",
    "value.s > 'a'",
    "value.s < '\uffff'",
    "value.s >= '\U0001f600'",
    "value.s <> 'a'",
    "value.s = 'a\\0b'",
    "value.i IN (1, 5, 7)",
    "value.i NOT IN (1, 5)",
    "value.l IN (9007199254740992, 1, 1)",
    "value.s IN ('', 'a', '\u00e9')",
    "value.s NOT IN ('a', 'A')",
    "value.i = 1 OR value.i = 5 OR value.i = 7",
    "value.s LIKE 'a%'",
    "value.s LIKE '%b'",
    "value.s LIKE '%bc%'",
    "value.s LIKE '%.%'",
    "value.s LIKE '%[%'",
    "value.s LIKE '\u00e9%'",
    "value.s LIKE 'abc'",
    "value.s LIKE ''",
    "value.s NOT LIKE 'a%'",
    "startswith(value.s, '')",
    "endswith(value.s, '')",
    "contains(value.s, '')",
    "contains(value.s, '.*')",
    "startswith(value.s, '[')",
    "endswith(value.s, '\\\\')",
    "contains(value.s, '\\0')",
    "endswith(value.s, '\u0301')",
    "value.`odd.name [0]` = 'abc'",
    "value.camelcase = 1",
    "coalesce(value.flag, value.other, false)",
    "NOT coalesce(value.i > 1, false)",
    "coalesce(value.i, 5) = 5",
    "value.d + value.e > 1.0D",
    "value.d * 2 >= value.e",
    "key = 'abc' AND partition = 1 AND offset < 100",
    "timestamp > value.at",
    "true",
    "false",
    "value.i = 9999999999",  # which no int is: Spark knows it
    "value.i < 9999999999",
    "value.flag AND NOT value.flag",
    "CAST(NULL AS boolean)",
    "value.i NOT IN (1, NULL)",
    "value.i IN (NULL)",
    "value.inner = value.inner",
    "rand() < 2",
]
"""That are run on columns: if one is not any more, it is known by this list."""
PLAIN: Final = ("s", "b", "h", "i", "l", "d", "f", "flag", "at", "local", "day", "money", "large", "inner", "list", "tags", "raw")  # fmt: skip
TAKEN_COLUMNS: Final = [
    *[f"value.{name}" for name in PLAIN],
    "value",
    "value.d > value.e",
    "value.d = value.e",
    "value.s < value.t",
    "value.flag AND value.other",
    "value.flag OR value.other",
    "NOT value.flag",
    "value.i IN (1, 5)",
    "value.s LIKE 'a%'",
    "value.i IS NULL",
    "value.d + value.e",
    "value.d - value.e",
    "value.d * value.e",
    "value.d * 0 - 1.5D",
    "value.i + value.d",
    "value.f * value.d",
    "CAST(value.b AS int)",
    "CAST(value.h AS bigint)",
    "CAST(value.i AS double)",
    "CAST(value.f AS double)",
    "CAST(value.i AS bigint)",
    "coalesce(value.s, value.t)",
    "coalesce(value.s, value.t, 'none')",
    "coalesce(value.i, value.l)",
    "coalesce(value.i, value.d)",
    "coalesce(value.d, 0.0D)",
    "coalesce(value.f, value.d)",
    "coalesce(value.money, value.tip)",
    "coalesce(value.at, value.until, timestamp)",
    "coalesce(value.day, value.night)",
    "coalesce(value.list, value.list)",
    "coalesce(value.raw, value.raw)",
    "struct(value.s, value.i, value.d)",
    "named_struct('a', value.inner, 'b', struct(value.list, value.tags))",
    "struct(value.flag AND value.other AS both, coalesce(value.s, 'none') AS s)",
    "'text'",
    "1.5D",
    "7",
    "true",
    "9223372036854775807",
    "float('NaN')",
    "-0.0D",
]
REFUSED_CONDITIONS: Final = [
    "value.money > value.tip",
    "value.money > 1.5",
    "value.large = 0",
    "value.i / 2 > 1",
    "value.i % 2 = 0",
    "value.i + 1 > 0",
    "value.l * value.m = 0",
    "value.l = value.d",  # a long as a double
    "value.s = value.i",  # text as a number, which may fail
    "value.i <=> value.j",
    "value.flag = value.other",
    "value.flag < value.other",
    "value.d IN (0.0D, 1.0D)",
    "value.i IN (1, NULL)",
    "value.i IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)",
    "value.i IN (value.j, 5)",
    "value.s LIKE 'a_b'",
    "value.s LIKE 'a%c'",
    "value.s RLIKE '^a'",
    "startswith(value.s, value.t)",
    "contains(value.raw, X'ff')",
    "value.raw = X'ff'",
    "value.inner.n > 0",
    "value.inner.deep IS NOT NULL",
    "startswith(value.inner.s, 'a')",
    "value.list = array('a')",
    "isnan(value.d)",
    "upper(value.s) = 'ABC'",
    "length(value.s) = 1",
    "value.at > '2024-01-01'",
    "value.at > value.day",
    "value.at > value.local",
    "rand() < 0.5D",
    "offset > monotonically_increasing_id()",
]
REFUSED_COLUMNS: Final = [
    "value.i + value.j",
    "value.l - 1",
    "-value.d",
    "value.f + value.g",
    "value.d / value.e",
    "CAST(value.i AS string)",
    "CAST(value.l AS double)",
    "CAST(value.d AS float)",
    "CAST(value.l AS int)",
    "CAST(value.flag AS int)",
    "CAST(value.at AS bigint)",
    "CAST(value.day AS timestamp)",
    "CAST(value.i AS decimal(20,0))",
    "coalesce(value.money, value.large)",
    "coalesce(value.s, value.i)",
    "coalesce(value.inner, named_struct('s', value.s, 'n', 1, 'deep', NULL))",
    "value.inner.deep",
    "value.inner.s",
    "CASE WHEN value.flag THEN 1 ELSE 2 END",
    "if(value.flag, value.i, value.j)",
    "nullif(value.i, 5)",
    "greatest(value.i, value.j)",
    "concat(value.s, value.t)",
    "value.list[0]",
    "value.tags['a']",
    "array(value.s)",
    "struct(1 AS one)",
    "CAST(NULL AS int)",
    "1.5",
    "current_timestamp()",
    "uuid()",
    "year(value.day)",
    "date_add(value.day, 1)",
    "sha2(value.s, 256)",
    "to_json(value.inner)",
]


class Judge(NamedTuple):
    """Spark's answers to all cases, asked for at once."""

    spark: "SparkSession"
    schema: "StructType"
    batch: pa.RecordBatch
    answers: Mapping[str, pa.ChunkedArray]

    @property
    def nothing(self) -> "DataFrame":
        return self.spark.createDataFrame([], self.schema)

    def plan_of_condition(self, condition: str) -> Plan:
        return planned(self.nothing.where(condition).select("offset"), self.schema)

    def plan_of_column(self, expression: str) -> Plan:
        return planned(self.nothing.selectExpr(f"{expression} AS made"), self.schema)


@pytest.fixture(scope="module")
def judge(spark: "SparkSession") -> Judge:
    nothing = spark.createDataFrame([], SCHEMA)
    batch = as_batch(hostile_rows(), nothing.schema)
    asked = list(dict.fromkeys([*TAKEN_CONDITIONS, *TAKEN_COLUMNS]))
    rows = spark_rows(spark, batch, nothing.schema)
    found = rows.selectExpr(*[f"{each} AS c{number}" for number, each in enumerate(asked)]).toArrow()
    return Judge(spark, nothing.schema, batch, dict(zip(asked, found.columns, strict=True)))


@pytest.mark.parametrize("condition", TAKEN_CONDITIONS)
def test_the_rows_that_meet_a_condition(judge: Judge, condition: str) -> None:
    """Those and no others for which Spark says true."""
    made = judge.plan_of_condition(condition).of(judge.batch, None)
    answers = judge.answers[condition].to_pylist()
    assert made["offset"].to_pylist() == [number for number, is_met in enumerate(answers) if is_met]


@pytest.mark.parametrize("expression", TAKEN_COLUMNS)
def test_a_column_is_what_spark_computes(judge: Judge, expression: str) -> None:
    """To the last bit, in every row."""
    made = judge.plan_of_column(expression).of(judge.batch, None)["made"]
    assert exactly(made) == exactly(judge.answers[expression], made.type)


@pytest.mark.parametrize("condition", REFUSED_CONDITIONS)
def test_a_condition_that_is_left_to_spark(judge: Judge, condition: str) -> None:
    """It is refused before there are rows."""
    with pytest.raises(Unsupported):
        judge.plan_of_condition(condition)


@pytest.mark.parametrize("expression", REFUSED_COLUMNS)
def test_a_column_that_is_left_to_spark(judge: Judge, expression: str) -> None:
    with pytest.raises(Unsupported):
        judge.plan_of_column(expression)


@pytest.mark.parametrize(
    "expression", ["value.d * value.e", "value.s", "coalesce(value.i, value.l)", "struct(value.inner, value.list)"]
)
def test_rows_that_are_filtered_before(judge: Judge, expression: str) -> None:
    """Columns of which some rows are left, and none, and slices of columns, are columns as any."""
    frame = judge.nothing.where("value.flag AND value.inner IS NOT NULL").selectExpr(f"{expression} AS made")
    plan = planned(frame, judge.schema)
    halves = [judge.batch.slice(0, 333), judge.batch.slice(333), judge.batch.slice(5, 0)]
    made = pa.Table.from_batches([plan.of(each, None) for each in halves])
    rows = spark_rows(judge.spark, judge.batch, judge.schema)
    expected = rows.where("value.flag AND value.inner IS NOT NULL").selectExpr(f"{expression} AS made").toArrow()
    assert 0 < made.num_rows < judge.batch.num_rows
    assert exactly(made) == exactly(expected, made.schema)


def test_a_choice_of_structs_that_differ_in_what_may_be_null(spark: "SparkSession") -> None:
    """For Spark they are of one type, for Arrow they are not."""
    nothing = spark.createDataFrame([], "value struct<a: struct<x: int not null>, i: int>")
    with pytest.raises(Unsupported):
        planned(nothing.selectExpr("coalesce(value.a, struct(value.i AS x)) AS made"), nothing.schema)


COLLATED: Final = (
    "key string collate UTF8_LCASE, value struct<a: string collate UTF8_LCASE, b: string collate UTF8_LCASE, s: string>"
)


@pytest.mark.parametrize(
    "condition",
    [
        "value.a = value.b",
        "value.a < value.b",
        "value.a = 'abc'",
        "value.a IN ('a', 'b')",
        "startswith(value.a, 'A')",
        "key = 'a'",
        "key = value.a",
        "value.s = 'ABC' COLLATE UTF8_LCASE",
        "value.s COLLATE UNICODE_CI = 'ABC'",
        "CAST(value.s AS STRING COLLATE UTF8_LCASE) IN ('a', 'B')",
        "startswith(value.s COLLATE UTF8_LCASE, 'A')",
    ],
)
def test_text_with_a_collation_is_left_to_spark(spark: "SparkSession", condition: str) -> None:
    """Arrow compares bytes alone."""
    nothing = spark.createDataFrame([], COLLATED)
    with pytest.raises(Unsupported):
        planned(nothing.where(condition).selectExpr("value.s"), nothing.schema)


GENERATED: Final = "value struct<d: double, e: double, s: string, t: string, l: bigint, flag: boolean>, offset bigint"
GENERATED_COLUMNS: Final = [
    "value.d < value.e OR value.s = value.t",
    "value.d >= value.e AND NOT value.flag",
    "value.s < value.t",
    "value.d * value.e + 1",
    "coalesce(value.d - value.e, value.e, 0.0D)",
    "value.l > 0 OR coalesce(value.flag, startswith(value.s, 'a'))",
    "NOT (value.l IN (0, 1, -1) AND contains(value.t, 'a'))",
]
_double = st.none() | st.sampled_from([0.0, -0.0, float("nan")]) | st.floats(width=64)
_text = st.none() | st.text(max_size=3) | st.text("aA%", max_size=2)
_value = st.fixed_dictionaries(
    {
        "d": _double,
        "e": _double,
        "s": _text,
        "t": _text,
        "l": st.none() | st.integers(-1, 1) | st.integers(-(2**63), 2**63 - 1),
        "flag": st.none() | st.booleans(),
    }
)


@settings(max_examples=15)
@given(values=st.lists(st.none() | _value, min_size=1, max_size=60))
def test_columns_of_whatever_comes(
    spark: "SparkSession", generated_plan: Plan, values: list[dict[str, Any] | None]
) -> None:
    """Spark and Arrow agree on rows that nobody has thought of."""
    schema = spark.createDataFrame([], GENERATED).schema
    batch = as_batch([{"value": value, "offset": number} for number, value in enumerate(values)], schema)
    made = generated_plan.of(batch, None)
    expected = spark_rows(spark, batch, schema).selectExpr(*_generated()).toArrow()
    assert exactly(made) == exactly(expected, made.schema)


@pytest.fixture(scope="module")
def generated_plan(spark: "SparkSession") -> Plan:
    nothing = spark.createDataFrame([], GENERATED)
    return planned(nothing.selectExpr(*_generated()), nothing.schema)


def _generated() -> list[str]:
    return [f"{each} AS c{number}" for number, each in enumerate(GENERATED_COLUMNS)]
