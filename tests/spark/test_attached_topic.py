"""The columns of a table that is a topic, and which filters go where: without Spark's JVM."""

import pickle

import pyarrow as pa
import pytest
from pyspark.sql.datasource import DataSourceReader, EqualTo, Filter, GreaterThan, InputPartition, IsNotNull, Not
from pyspark.sql.types import BinaryType, DataType, IntegerType, LongType, StringType, StructType

from stoker.spark.attached_topic import Column, FilteringAttachedReader, layout_of

KAFKA = (
    StructType()
    .add("topic", StringType())
    .add("partition", IntegerType())
    .add("offset", LongType())
    .add("timestampType", IntegerType())
)


def source(value: DataType) -> StructType:
    schema = StructType().add("key", BinaryType()).add("value", value)
    return StructType([*schema.fields, *KAFKA.fields])


ORDER = StructType().add("id", LongType()).add("customer", StringType())


@pytest.mark.parametrize(
    ("value", "names"),
    [
        pytest.param(ORDER, ["id", "customer", "_key", "_partition", "_offset"], id="struct"),
        pytest.param(BinaryType(), ["value", "_key", "_partition", "_offset"], id="binary"),
        pytest.param(StructType(), ["value", "_key", "_partition", "_offset"], id="struct of nothing"),
        pytest.param(
            StructType().add("_KEY", LongType()).add("__key", LongType()),
            ["_KEY", "__key", "___key", "_partition", "_offset"],
            id="names of ours",
        ),
        pytest.param(
            StructType().add("id", LongType()).add("ID", LongType()),
            ["value", "_key", "_partition", "_offset"],
            id="fields that Spark cannot tell apart",
        ),
    ],
)
def test_columns_of_a_table(value: DataType, names: list[str]) -> None:
    layout = layout_of(source(value))
    assert layout.schema.names == names
    assert [each.name for each in layout.columns] == names


def test_the_source_is_asked_for_what_the_table_has() -> None:
    asked = layout_of(source(ORDER)).source_schema()
    assert asked.names == ["value", "key", "partition", "offset"]
    assert asked["value"].dataType == ORDER


def test_rows_are_flattened_and_a_tombstone_is_all_null() -> None:
    layout = layout_of(source(ORDER))
    value = pa.array([{"id": 1, "customer": "a"}, None], pa.struct([("id", pa.int64()), ("customer", pa.string())]))
    batch = pa.RecordBatch.from_arrays(
        [value, pa.array([b"k", b"l"]), pa.array([0, 0], pa.int32()), pa.array([7, 8])],
        names=["value", "key", "partition", "offset"],
    )
    assert layout.flat(batch).to_pylist() == [
        {"id": 1, "customer": "a", "_key": b"k", "_partition": 0, "_offset": 7},
        {"id": None, "customer": None, "_key": b"l", "_partition": 0, "_offset": 8},
    ]


def test_rows_of_the_table_become_rows_for_the_sink() -> None:
    layout = layout_of(source(ORDER))
    batch = pa.RecordBatch.from_pylist(
        [{"id": 1, "customer": "a", "_key": b"k", "_partition": 0, "_offset": None}],
        schema=pa.schema(
            [
                ("id", pa.int64()),
                ("customer", pa.string()),
                ("_key", pa.binary()),
                ("_partition", pa.int32()),
                ("_offset", pa.int64()),
            ]
        ),
    )
    assert layout.nested(batch).to_pylist() == [{"value": {"id": 1, "customer": "a"}, "key": b"k", "partition": 0}]
    assert layout.sink_schema().names == ["value", "key", "partition"]


def test_a_layout_can_be_sent_to_a_worker() -> None:
    layout = layout_of(source(ORDER))
    assert pickle.loads(pickle.dumps(layout)) == layout
    assert layout.columns[0] == Column("id", "value", "id")


class TakesOffsets(DataSourceReader):
    """Takes what is on the offset."""

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:
        self.seen = filters
        return [each for each in filters if "offset" not in str(each)]

    def read(self, partition: InputPartition) -> None:  # type: ignore[override]
        raise AssertionError("nothing is read here")


def test_filters_reach_the_source_by_its_own_names() -> None:
    inner = TakesOffsets()
    of_a_field, of_the_key = IsNotNull(("id",)), EqualTo(("_key",), b"k")
    on_offset, not_on_offset = GreaterThan(("_offset",), 5), Not(EqualTo(("_offset",), 7))
    left = FilteringAttachedReader(inner, layout_of(source(ORDER))).pushFilters(
        [of_a_field, of_the_key, on_offset, not_on_offset]
    )
    assert inner.seen == [EqualTo(("key",), b"k"), GreaterThan(("offset",), 5), Not(EqualTo(("offset",), 7))]
    assert [each is mine for each, mine in zip(left, [of_a_field, of_the_key], strict=True)] == [True, True]
