"""What a task remembers of its rows, by which it knows them again when it is run once more."""

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.spark.row_writer import RowWriter
from stoker.spark.sink_plan import sink_plan

NOBODY = "localhost:1"
SCHEMA = StructType(
    [StructField("key", BinaryType()), StructField("value", BinaryType()), StructField("topic", StringType())]
)
ROWS = [
    {"key": None, "value": b"a", "topic": "x"},
    {"key": None, "value": None, "topic": "y"},
    {"key": b"k", "value": b"c", "topic": "x"},
    {"key": b"", "value": b"d", "topic": "x"},
    {"key": None, "value": b"e", "topic": "y"},
]
ARROW = pa.schema([("key", pa.binary()), ("value", pa.binary()), ("topic", pa.string())])


@pytest.mark.parametrize("topic", [{}, {"topic": "z"}], ids=["by row", "one"])
def test_rows_are_known_again_however_they_are_cut_and_in_any_order(topic: dict[str, str]) -> None:
    """A shuffle gives a task its rows in another order when it is run again."""
    plan = sink_plan({"kafka.bootstrap.servers": NOBODY, **topic}, SCHEMA)
    found = set()
    for rows in (ROWS, ROWS[::-1], ROWS[2:] + ROWS[:2]):
        for size in range(1, len(rows) + 1):
            with Cluster(client_properties(NOBODY)) as cluster:
                writer = RowWriter(plan, cluster, None, start=0, with_digest=True)
                for begin in range(0, len(rows), size):
                    writer.write(pa.RecordBatch.from_pylist(rows[begin : begin + size], schema=ARROW))
                found.add((writer.rows, writer.digest))
    assert len(found) == 1
