"""JSON as Spark's own functions read and write it, and where ours differ on purpose."""

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructType, _parse_datatype_string

from stoker.spark.formats.json_decoding import JsonDecoder
from stoker.spark.formats.json_encoding import JsonEncoder
from tests.spark.formats.byte_columns import byte_column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMN = """
    id string, count bigint, small tinyint, amount double, price decimal(10,2), paid boolean, day date, at timestamp,
    tags array<string>, address struct<city string, zip int>, notes map<string,bigint>, raw binary
"""
ALIKE = [
    '{"id": "a", "count": 1, "small": -5, "amount": 1.5, "price": 2.345, "paid": true, "day": "2026-01-02"}',
    '{"at": "2026-01-02T03:04:05.678901Z", "tags": ["x", null], "address": {"city": "Praha"}, "notes": {"n": 1, "m": null}}',
    '{"at": "2026-01-02T03:04:05+02:00", "raw": "/wA=", "unknown": [{}]}',
    '{"id": 5, "tags": [1, {"a": [true]}], "amount": 3}',
    '{"id": {"a": 1.5, "b": null}, "amount": "NaN"}',
    '{"id": "x", "id": "y"}',
    ' {"id": "ž\\u00e9\\n"} ',
    '{"address": null, "tags": [], "notes": {}}',
    "{}",
]
DIFFERENT = ["", "{", '{"count": "x", "id": "a"}', '{"count": 5.0}', "null"]
"""Spark makes nulls of these: of each field. Here the first three are bad, 5.0 is an integer, and null is null."""


@pytest.mark.parametrize("has_maps", [True, False])
def test_reading(spark: "SparkSession", has_maps: bool) -> None:
    """Whatever both can read is the same; with maps it is read one by one, without them together."""
    column = _parse_datatype_string(
        COLUMN if has_maps else COLUMN.replace(", notes map<string,bigint>, raw binary", "")
    )
    assert isinstance(column, StructType)
    texts = spark.createDataFrame([(text,) for text in ALIKE], "value string").coalesce(1)
    theirs = texts.select(F.from_json("value", column, {"timeZone": "UTC"}).alias("found")).toArrow().column("found")
    ours = JsonDecoder(column).decode(byte_column([text.encode() for text in ALIKE]))
    assert ours.reasons == []
    assert plain(ours.column.to_pylist()) == plain(theirs.combine_chunks().cast(ours.column.type).to_pylist())
    odd = JsonDecoder(column).decode(byte_column([text.encode() for text in DIFFERENT]))
    assert odd.bad.tolist() == [0, 1, 2]
    assert [row and row["count"] for row in odd.column.to_pylist()] == [None, None, None, 5, None]


def test_writing(spark: "SparkSession") -> None:
    """Values are the same; moments are written in UTC and with all digits, so only those differ as text."""
    column = _parse_datatype_string(COLUMN)
    found = JsonDecoder(column).decode(byte_column([text.encode() for text in ALIKE])).column
    table = pa.table({"value": found.cast(to_arrow_type(column, timezone="UTC"))})
    frame = spark.createDataFrame(table).coalesce(1)
    zone = {"timeZone": "UTC", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS][XXX]"}
    theirs = frame.select(F.to_json("value", zone).alias("text")).toArrow().column("text").to_pylist()
    ours = JsonEncoder(None, found.type).encode(found).to_pylist()
    assert [without_trailing_zeros(json.loads(text)) for text in ours] == [
        without_trailing_zeros(json.loads(text)) for text in theirs
    ]


def without_trailing_zeros(row: dict[str, Any]) -> dict[str, Any]:
    return row | ({"at": row["at"].replace(".000000Z", "Z")} if "at" in row else {})


def plain(value: Any) -> Any:
    """NaN equals itself here."""
    return json.loads(json.dumps(value, default=str))
