"""All rows of a store at once, of the files of its parts: what Spark finds in the same files."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pytest

from stoker.streams.state.latest_rows import latest_rows
from stoker.streams.state.manifest import StoreFiles
from stoker.streams.state.store import Store, no_rows
from tests.streams.state.written_state import STRING_COUNTS, WrittenState, counts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOMENT: Final = datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC)
DETAILS: Final = (
    "name string, d double, inner struct<s: string, at: timestamp>, list array<string>, tags map<string, int>, "
    "money decimal(10,2), _timestamp timestamp, _partition int, _deleted boolean"
)


def found(state: WrittenState, store: str = "counts") -> dict[Any, Any]:
    """By key; each of them is there once."""
    rows = latest_rows(state.directory, store, state.manifest.stores[store]).to_pylist()
    assert len({row["_key"] for row in rows}) == len(rows)
    assert not any(row["_deleted"] for row in rows)
    return {row["_key"]: row["count"] for row in rows}


def test_one_part(state: WrittenState) -> None:
    state.commit("counts", STRING_COUNTS, counts(a=1, b=2, c=3))
    assert found(state) == {"a": 1, "b": 2, "c": 3}


def test_the_last_part_that_has_a_key_counts(state: WrittenState) -> None:
    """Also if others came after it that do not have it."""
    state.commit("counts", STRING_COUNTS, counts(a=1, b=2, c=3))
    state.commit("counts", STRING_COUNTS, counts(b=20, d=4))
    state.commit("counts", STRING_COUNTS, counts(a=100))
    state.commit("counts", STRING_COUNTS, counts(d=400, e=5))
    assert found(state) == {"a": 100, "b": 20, "c": 3, "d": 400, "e": 5}


def test_what_is_deleted_is_gone_until_it_comes_back(state: WrittenState) -> None:
    """A row of an earlier part does not show through."""
    state.commit("counts", STRING_COUNTS, counts(a=1, b=2, c=3))
    state.commit("counts", STRING_COUNTS, counts(a=None, b=None))
    assert found(state) == {"c": 3}
    state.commit("counts", STRING_COUNTS, counts(b=22))
    assert found(state) == {"b": 22, "c": 3}
    state.commit("counts", STRING_COUNTS, counts(b=None, c=None))
    assert found(state) == {}


def test_all_is_deleted_from_the_start(state: WrittenState) -> None:
    state.commit("counts", STRING_COUNTS, counts(a=None))
    assert found(state) == {}
    assert latest_rows(state.directory, "counts", state.manifest.stores["counts"]).schema == STRING_COUNTS


def test_a_store_that_was_written_anew(state: WrittenState) -> None:
    """Parts before the base do not count, though they may still be there."""
    state.commit("counts", STRING_COUNTS, counts(a=1, b=2))
    state.commit_base("counts", STRING_COUNTS, counts(b=2))
    state.commit("counts", STRING_COUNTS, counts(c=3))
    assert found(state) == {"b": 2, "c": 3}


def test_a_part_that_was_removed(state: WrittenState) -> None:
    """Half a table is none."""
    state.commit("counts", STRING_COUNTS, counts(a=1))
    state.commit("counts", STRING_COUNTS, counts(b=2))
    state.directory.remove_part("counts", "batch-0")
    with pytest.raises(FileNotFoundError):
        found(state)


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("string", ["", "a", "A", "\u00e9", "e\u0301", "\U0001f600"]),
        ("bigint", [0, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]),
        ("int", [0, 1, -1, 2, 3, 4]),
        ("boolean", [True, False]),
        ("date", [date(1970, 1, 1), date(2024, 2, 29), date(1969, 12, 31)]),
        ("timestamp", [MOMENT, datetime(1970, 1, 1, tzinfo=UTC), datetime(1999, 9, 9, tzinfo=UTC)]),
        ("decimal(10,2)", [Decimal("1.10"), Decimal("-1.10"), Decimal("0.00")]),
        ("binary", [b"", b"\xff", b"a"]),
    ],
)
def test_the_rows_that_spark_finds(spark: "SparkSession", state: WrittenState, kind: str, keys: list[Any]) -> None:
    """In parts that Spark has written, with columns of all kinds."""
    schema = spark.createDataFrame([], f"_key {kind}, {DETAILS}").schema

    def row(key: Any, number: int, is_deleted: bool = False) -> tuple[Any, ...]:
        inner = None if number % 2 else {"s": f"{number}", "at": MOMENT}
        plain = (f"name {number}", -0.0, inner, ["a", None], {"a": number}, Decimal(number), MOMENT, number)
        return (key, *(plain if not is_deleted else [None] * len(plain)), is_deleted)

    parts = [
        [row(each, number) for number, each in enumerate(keys)],
        [row(keys[0], 10, is_deleted=True), row(keys[-1], 11)],
        [row(keys[1], 12)],
    ]
    files = StoreFiles()
    for number, rows in enumerate(parts):
        store = Store(spark, state.directory, "table", files, ["_key"], number)
        store.write(spark.createDataFrame(rows, schema))
        files = store.after
    expected = store.rows_after(no_rows(spark, schema)).toArrow()
    made = latest_rows(state.directory, "table", files).drop_columns(["_deleted"])
    made = made.select(expected.schema.names).cast(expected.schema)
    assert made.num_rows == len(keys) - 1
    assert _by_key(made) == _by_key(expected)


def _by_key(rows: pa.Table) -> list[str]:
    return sorted(repr(row) for row in rows.to_pylist())
