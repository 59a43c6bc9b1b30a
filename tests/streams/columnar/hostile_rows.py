"""Records with all that two engines may see differently, as Arrow columns and as Spark's rows."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from stoker.streams.columnar.sink import columnar_plan
from stoker.streams.columnar.steps import Plan
from stoker.streams.used_columns import whole_plans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

VALUE: Final = (
    "s string, t string, b tinyint, h smallint, i int, j int, l bigint, m bigint, d double, e double, f float, g float, "
    "flag boolean, other boolean, at timestamp, until timestamp, local timestamp_ntz, day date, night date, "
    "money decimal(10,2), tip decimal(10,2), large decimal(38,0), inner struct<s: string, n: int, deep: struct<x: double>>, "
    "list array<string>, tags map<string,int>, raw binary, `odd.name [0]` string, CamelCase int"
)
SCHEMA: Final = (
    f"key string, value struct<{VALUE}>, partition int, offset bigint, timestamp timestamp, streamTime bigint"
)

NAN: Final = float("nan")
INFINITY: Final = float("inf")
TEXTS: Final = (
    None, "", "a", "A", "abc", "ABC", "abcabc", "a%b", "a_b", "a.b", "[x]", ".*", "\\", "a\0b", "\0", " a", "a ", "\n",
    "\u00e9", "e\u0301", "\u00df", "ss", "\uffff", "\U0001f600", "1", "1.0", "true", "null",
)  # fmt: skip
DOUBLES: Final = (
    None,
    NAN,
    INFINITY,
    -INFINITY,
    0.0,
    -0.0,
    5e-324,
    1.7976931348623157e308,
    0.1,
    0.5,
    1.0,
    2.0**53,
    -3.5,
)
FLOATS: Final = (None, NAN, INFINITY, -INFINITY, 0.0, -0.0, 0.5, 1.0, 3.4028234663852886e38, 16_777_216.0)
INTS: Final = (None, 0, 1, -1, 5, 7, 2**31 - 1, -(2**31))
LONGS: Final = (None, 0, 1, 5, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63))
MOMENTS: Final = (
    None,
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC),
    datetime(2024, 2, 29, 12, tzinfo=UTC),
    datetime(1, 1, 3, tzinfo=UTC),
    datetime(9999, 12, 30, tzinfo=UTC),
)
DAYS: Final = (None, date(1970, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(1, 1, 3), date(9999, 12, 30))
MONEY: Final = (None, Decimal("0.00"), Decimal("1.10"), Decimal("-1.10"), Decimal("99999999.99"))
LARGE: Final = (None, Decimal(0), Decimal(10**38 - 1), Decimal(-(10**38) + 1))
INNER: Final = (
    None,
    {"s": None, "n": None, "deep": None},
    {"s": "abc", "n": 5, "deep": {"x": None}},
    {"s": "", "n": 0, "deep": {"x": NAN}},
    {"s": "a", "n": -1, "deep": {"x": -0.0}},
)
LISTS: Final[tuple[Any, ...]] = (None, [], ["a"], ["a", None], ["", "b"])
TAGS: Final[tuple[Any, ...]] = (None, [], [("a", 1)], [("a", None), ("b", 2)])
BYTES: Final = (None, b"", b"\0", b"\xff\xfe", b"a")
FLAGS: Final = (None, True, False)

_POOLS: Final[Mapping[str, Sequence[Any]]] = {
    "s": TEXTS,
    "t": TEXTS,
    "b": (None, 0, 1, 5, 127, -128),
    "h": (None, 0, 1, 5, 32_767, -32_768),
    "i": INTS,
    "j": INTS,
    "l": LONGS,
    "m": LONGS,
    "d": DOUBLES,
    "e": DOUBLES,
    "f": FLOATS,
    "g": FLOATS,
    "flag": FLAGS,
    "other": FLAGS,
    "at": MOMENTS,
    "until": MOMENTS,
    "local": tuple(each and each.replace(tzinfo=None) for each in MOMENTS),
    "day": DAYS,
    "night": DAYS,
    "money": MONEY,
    "tip": MONEY,
    "large": LARGE,
    "inner": INNER,
    "list": LISTS,
    "tags": TAGS,
    "raw": BYTES,
    "odd.name [0]": ("abc", None, ""),
    "CamelCase": (1, None, 2),
}
_SECOND: Final = frozenset({"t", "j", "m", "e", "g", "other", "until", "night", "tip"})
"""Each of their values meets each of the column before."""


def value_of(number: int) -> dict[str, Any] | None:
    """Every 50th is null, and every 49th has nothing but nulls."""
    if number % 50 == 49:
        return None
    if number % 49 == 48:
        return dict.fromkeys(_POOLS)
    return {
        name: pool[(number // len(pool) if name in _SECOND else number) % len(pool)] for name, pool in _POOLS.items()
    }


def hostile_rows(count: int = len(TEXTS) ** 2 + 40) -> list[dict[str, Any]]:
    return [
        {
            "key": TEXTS[number % len(TEXTS)],
            "value": value_of(number),
            "partition": number % 2,
            "offset": number,
            "timestamp": MOMENTS[1 + number % 4],
            "streamTime": number,
        }
        for number in range(count)
    ]


def as_batch(rows: Sequence[Mapping[str, Any]], schema: "StructType") -> pa.RecordBatch:
    """As a reader gives them."""
    columns = to_arrow_schema(schema, timezone="UTC")
    return pa.RecordBatch.from_arrays(
        [pa.array([row[each.name] for row in rows], each.type) for each in columns], schema=columns
    )


def spark_rows(spark: "SparkSession", batch: pa.RecordBatch, schema: "StructType") -> "DataFrame":
    return spark.createDataFrame(pa.Table.from_batches([batch]), schema)


def planned(frame: "DataFrame", read: "StructType", table: pa.Schema | None = None) -> Plan:
    """Of a frame that is made of no rows. Raises Unsupported."""
    with whole_plans(frame.sparkSession):
        return columnar_plan(frame, read, table)


def exactly(found: pa.Table | pa.RecordBatch | pa.ChunkedArray | pa.Array, schema: Any = None) -> list[str]:
    """The rows as texts: 0.0 is another than -0.0, and NaN the same as NaN."""
    if isinstance(found, pa.RecordBatch):
        found = pa.Table.from_batches([found])
    return [repr(each) for each in (found if schema is None else found.cast(schema)).to_pylist()]
