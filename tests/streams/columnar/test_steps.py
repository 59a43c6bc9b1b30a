"""Rows that are looked up in a table, on columns: as Spark joins them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from stoker.streams.columnar.expressions import Attribute, Comparison, Literal, Unsupported
from stoker.streams.columnar.steps import Frame, Lookup, Plan, Scan, Where
from stoker.streams.state.store import no_rows
from tests.streams.columnar.hostile_rows import TEXTS, as_batch, exactly, planned, spark_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Joined = Callable[["DataFrame", "DataFrame"], "DataFrame"]

STREAM: Final = "key string, value struct<wanted: {kind}, n: int>, offset bigint, timestamp timestamp"
TABLE: Final = (
    "_key {kind}, name string, rank int, d double, inner struct<s: string, n: int>, list array<string>, "
    "money decimal(10,2), _timestamp timestamp, _partition int, _deleted boolean"
)
DETAILS: Final[tuple[dict[str, Any], ...]] = (
    {"name": "a", "rank": 1, "d": -0.0, "inner": {"s": "x", "n": None}, "list": ["a", None], "money": Decimal("1.10")},
    {"name": None, "rank": None, "d": None, "inner": None, "list": None, "money": None},
    {"name": "", "rank": -1, "d": float("nan"), "inner": {"s": None, "n": 2}, "list": [], "money": Decimal("0.00")},
)
MOMENT: Final = datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC)
KEYS: Final[Mapping[str, tuple[Any, ...]]] = {
    "string": tuple(each for each in TEXTS if each is not None),
    "int": (0, 1, -1, 2**31 - 1),
    "bigint": (0, 1, 2**53, 2**53 + 1),
    "boolean": (True,),
    "date": (date(1970, 1, 1), date(2024, 2, 29)),
    "timestamp": (MOMENT, datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
    "decimal(10,2)": (Decimal("1.10"), Decimal("-1.10"), Decimal("0.00")),
    "binary": (b"", b"\xff", b"a"),
}
MORE: Final[Mapping[str, tuple[Any, ...]]] = {
    "string": ("missing", "\u00c9"),
    "int": (17, -(2**31)),
    "bigint": (-(2**63), 3),
    "boolean": (False,),
    "date": (date(1, 1, 3),),
    "timestamp": (datetime(2024, 2, 29, 12, tzinfo=UTC),),
    "decimal(10,2)": (Decimal("99.99"),),
    "binary": (b"\0", b"b"),
}
"""That the table does not have."""


@dataclass(kw_only=True)
class Meeting:
    """A stream whose rows ask for keys that are there, that are not, and for null; and a table."""

    spark: "SparkSession"
    kind: str = "string"
    table_kind: str | None = None

    def __post_init__(self) -> None:
        self.stream = self.spark.createDataFrame([], STREAM.format(kind=self.kind)).schema
        table = TABLE.format(kind=self.table_kind or self.kind)
        self.table = self.spark.createDataFrame([], table).schema
        asked = [*KEYS[self.kind], None, *MORE[self.kind], *KEYS[self.kind]]
        values: list[dict[str, Any] | None] = [{"wanted": each, "n": n} for n, each in enumerate(asked)]
        self.batch = as_batch(
            [
                {"key": f"key {number}", "value": value, "offset": number, "timestamp": MOMENT}
                for number, value in enumerate([*values, None])
            ],
            self.stream,
        )
        rows = [
            {"_key": each, **DETAILS[n % 3], "_timestamp": MOMENT, "_partition": 0, "_deleted": False}
            for n, each in enumerate(KEYS[self.kind])
        ]
        self.rows = pa.Table.from_batches([as_batch(rows, self.table)])

    def plan(self, joined: "Joined") -> Plan:
        nothing = self.spark.createDataFrame([], self.stream)
        frame = joined(nothing, no_rows(self.spark, self.table).drop("_deleted"))
        return planned(frame, self.stream, to_arrow_schema(self.table, timezone="UTC"))

    def judged(self, joined: "Joined") -> pa.Table:
        stream = spark_rows(self.spark, self.batch, self.stream)
        table = self.spark.createDataFrame(self.rows, self.table).drop("_deleted")
        return joined(stream, table).toArrow()


def lookup(how: str, *, where: str = "true", key: str = "wanted", columns: str | None = None) -> "Joined":
    """As streams/compiler/lookups.py does it."""

    def joined(stream: "DataFrame", table: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as F  # noqa: N812

        rows = stream.selectExpr("value.*", "key AS _key", "offset AS _offset", f"value.{key} AS _looked_for")
        details = "struct(name, rank, d, inner, list, money) AS _found"
        both = rows.join(F.broadcast(table.selectExpr("_key AS _looked_for", details)), ["_looked_for"], "left")
        if how == "inner":
            both = both.where("_found IS NOT NULL")
        chosen = [columns] if columns else ["name", "rank", "d", "inner", "list", "money"]
        flat = both.selectExpr("_offset", "_key", "n", "wanted", "_found.*")
        return flat.where(where).selectExpr("_offset", "_key", "n", *chosen)

    return joined


def in_order(found: pa.Table | pa.RecordBatch) -> pa.Table:
    table = pa.Table.from_batches([found]) if isinstance(found, pa.RecordBatch) else found
    return table.sort_by("_offset")


def check(meeting: Meeting, joined: "Joined") -> int:
    """That both give the same rows. How many they are."""
    plan = meeting.plan(joined)
    made = in_order(plan.of(meeting.batch, plan.table(meeting.rows)))
    assert exactly(made) == exactly(in_order(meeting.judged(joined)), made.schema)
    return len(made)


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("kind", KEYS)
def test_each_row_finds_what_the_table_has_for_its_key(spark: "SparkSession", kind: str, how: str) -> None:
    """Keys that are missing and null, and values that are null, have nothing; of the others all, null by null."""
    meeting = Meeting(spark=spark, kind=kind)
    found = check(meeting, lookup(how))
    assert found == (2 * len(KEYS[kind]) if how == "inner" else meeting.batch.num_rows)


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize(
    "where",
    [
        "rank > 0",
        "rank IS NULL",
        "name IS NULL",
        "coalesce(name, 'none') = 'none'",
        "NOT (rank > 0)",
        "rank = 9999999999",  # no int is, which Spark knows: of the table nothing is left
        "wanted = 'abc'",  # and so is the key of the table
        "wanted > 'a' AND name <> ''",
        "inner IS NULL AND n < 40",
        "false",
    ],
)
def test_what_was_found_is_filtered(spark: "SparkSession", how: str, where: str) -> None:
    """Spark moves conditions to the table's side, and infers others."""
    check(Meeting(spark=spark), lookup(how, where=where))


def test_a_condition_of_both_sides(spark: "SparkSession") -> None:
    """Of an inner join it becomes a part of the join, which is left to Spark."""
    joined = {how: lookup(how, where="d = double('NaN') OR n > 3") for how in ("inner", "left")}
    assert check(Meeting(spark=spark), joined["left"])
    with pytest.raises(Unsupported):
        Meeting(spark=spark).plan(joined["inner"])


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize(
    "columns", ["name", "rank + 0.5D AS more", "coalesce(name, wanted) AS name", "d > 0 AS positive", "'x' AS x"]
)
def test_what_was_found_is_computed_with(spark: "SparkSession", how: str, columns: str) -> None:
    check(Meeting(spark=spark), lookup(how, columns=columns))


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_key_that_is_narrower_than_the_tables(spark: "SparkSession", how: str) -> None:
    check(Meeting(spark=spark, kind="int", table_kind="bigint"), lookup(how))


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_table_that_has_no_rows_any_more(spark: "SparkSession", how: str) -> None:
    """All of them were deleted."""
    meeting = Meeting(spark=spark)
    meeting.rows = meeting.rows.slice(0, 0)
    assert check(meeting, lookup(how)) == (0 if how == "inner" else meeting.batch.num_rows)


def test_a_table_in_many_pieces(spark: "SparkSession") -> None:
    meeting = Meeting(spark=spark)
    meeting.rows = pa.concat_tables([meeting.rows.slice(each, 1) for each in range(meeting.rows.num_rows)])
    check(meeting, lookup("left"))


def test_a_stream_without_rows(spark: "SparkSession") -> None:
    meeting = Meeting(spark=spark)
    meeting.batch = meeting.batch.slice(0, 0)
    assert check(meeting, lookup("left")) == 0


@pytest.mark.parametrize("kind", ["double", "float", "struct<a: string>", "array<string>", "string collate UTF8_LCASE"])
def test_keys_that_are_left_to_spark(spark: "SparkSession", kind: str) -> None:
    """Of which Spark takes for equal what Arrow does not, or which Arrow cannot look for."""
    stream = spark.createDataFrame([], STREAM.format(kind=kind))
    table = spark.createDataFrame([], TABLE.format(kind=kind)).schema
    frame = lookup("left")(stream, no_rows(spark, table).drop("_deleted"))
    with pytest.raises(Unsupported):
        planned(frame, stream.schema, to_arrow_schema(table, timezone="UTC"))


def of_another_column(stream: "DataFrame", table: "DataFrame") -> "DataFrame":
    return stream.join(table, stream.value.wanted == table.name, "left").select("offset", "rank")


def of_a_computed_key(stream: "DataFrame", table: "DataFrame") -> "DataFrame":
    renamed = table.selectExpr("name AS _key", "rank")
    return stream.join(renamed, stream.value.wanted == renamed._key, "left").select("offset", "rank")


def by_more_than_the_key(stream: "DataFrame", table: "DataFrame") -> "DataFrame":
    condition = (stream.value.wanted == table._key) & (stream.value.n > table["rank"])
    return stream.join(table, condition, "left").select("offset", "rank")


def by_less_than_the_key(stream: "DataFrame", table: "DataFrame") -> "DataFrame":
    return stream.join(table, stream.value.wanted < table._key, "left").select("offset", "rank")


def by_both_sides(stream: "DataFrame", table: "DataFrame") -> "DataFrame":
    return stream.join(table, stream.value.n == stream.value.n + table["rank"], "left").select("offset", "rank")


def null_safely(stream: "DataFrame", table: "DataFrame") -> "DataFrame":
    return stream.join(table, stream.value.wanted.eqNullSafe(table._key), "left").select("offset", "rank")


def crosswise(stream: "DataFrame", table: "DataFrame") -> "DataFrame":
    return stream.crossJoin(table).select("offset", "rank")


def twice(stream: "DataFrame", table: "DataFrame") -> "DataFrame":
    once = stream.join(table.selectExpr("_key", "rank"), stream.value.wanted == table._key, "left")
    again = table.selectExpr("_key AS other", "name")
    return once.join(again, once.key == again.other, "left").select("offset", "rank", "name")


def turned(stream: "DataFrame", table: "DataFrame") -> "DataFrame":
    return table.join(stream, stream.value.wanted == table._key, "left").select("offset", "rank")


def with_itself(stream: "DataFrame", table: "DataFrame") -> "DataFrame":
    other = stream.selectExpr("key AS _key", "offset AS other")
    return stream.join(other, stream.value.wanted == other._key).select("offset", "other")


def kind_of_join(how: str) -> "Joined":
    return lambda stream, table: stream.join(table, stream.value.wanted == table._key, how).select("offset")


@pytest.mark.parametrize(
    "joined",
    [
        of_another_column,
        of_a_computed_key,
        by_more_than_the_key,
        by_less_than_the_key,
        by_both_sides,
        null_safely,
        crosswise,
        twice,
        turned,
        with_itself,
        *[pytest.param(kind_of_join(how), id=how) for how in ("right", "outer", "left_semi", "left_anti")],
    ],
)
def test_joins_that_are_left_to_spark(spark: "SparkSession", joined: "Joined") -> None:
    """In which a row may meet more than one, or none is kept, or what is not the table's key counts."""
    with pytest.raises(Unsupported):
        Meeting(spark=spark).plan(joined)


# -- steps by themselves

KEY_COLUMN, NUMBER_COLUMN, TABLE_KEY = 1, 2, 3


def test_a_condition_that_all_rows_meet_copies_nothing() -> None:
    frame = Frame(2, {NUMBER_COLUMN: pa.array([1, 2], pa.int64())})
    condition = Comparison("GreaterThan", Attribute(NUMBER_COLUMN), Literal(0, pa.int64()))
    assert Where(condition).of(frame, None) is frame


def test_a_column_that_is_not_read_is_told_before_there_are_rows() -> None:
    scan = Scan({KEY_COLUMN: "key", NUMBER_COLUMN: "number"})
    plan = Plan(scan=scan, steps=(), output=((KEY_COLUMN, "key"), (NUMBER_COLUMN, "number")))
    read = pa.RecordBatch.from_arrays([pa.array([], pa.string())], names=["key"])
    with pytest.raises(Unsupported, match="number"):
        plan.of(read, None)


def test_null_is_no_key() -> None:
    """Neither of a row nor of a table, whatever it has under it."""
    frame = Frame(3, {KEY_COLUMN: pa.array(["a", None, "b"])})
    table = Frame(2, {TABLE_KEY: pa.array([None, "b"]), NUMBER_COLUMN: pa.array([1, 2])})
    found = Lookup(Attribute(KEY_COLUMN), Attribute(TABLE_KEY), keeps_all=True).of(frame, table)
    assert found.columns[NUMBER_COLUMN].to_pylist() == [None, None, 2]
    found = Lookup(Attribute(KEY_COLUMN), Attribute(TABLE_KEY), keeps_all=False).of(frame, table)
    assert (found.rows, found.columns[KEY_COLUMN].to_pylist()) == (1, ["b"])
