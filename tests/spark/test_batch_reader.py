"""The reader of a batch without Spark: what is in its rows, and where it begins and ends."""

import pickle
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from confluent_kafka import TopicPartition as Place
from pyspark.sql.datasource import EqualTo, GreaterThanOrEqual, InputPartition, LessThan
from pyspark.sql.types import ArrayType, BinaryType, IntegerType, LongType, StringType, StructField, StructType

from stoker.client.cluster import Cluster
from stoker.client.cluster_pool import close_idle_clusters
from stoker.client.properties import client_properties
from stoker.spark.batch_reader import BatchReader, FilteringBatchReader
from stoker.spark.data_source import StokerDataSource
from stoker.spark.errors import BadRecord, DataLost, InvalidOption
from stoker.wire.record_batch import Record, build_batch
from tests.client.written_batches import write_batches
from tests.spark.topics import NOON, WAIT_SECONDS, Sent, Topic, Topics, written


@pytest.fixture(scope="module")
def topics(broker: str) -> Iterator[Topics]:
    yield Topics(broker)
    close_idle_clusters()


@pytest.fixture(scope="module")
def numbers(topics: Topics) -> Topic:
    """0 to 9, in turn in two partitions, a second apart."""
    topic = topics.create(partitions=2)
    topic.send_values(range(10), partitions=2)
    return topic


def batch_reader(topic: Topic, *columns: StructField, **options: object) -> BatchReader:
    given = {name: value for name, value in (topic.options | written(options)).items() if value != "None"}
    source = StokerDataSource({name: value.replace("TOPIC", topic.name) for name, value in given.items()})
    reader = source.reader(StructType(list(columns)) if columns else source.schema())
    assert isinstance(reader, BatchReader)
    return reader


def rows(reader: BatchReader) -> list[dict[str, Any]]:
    at_tasks: BatchReader = pickle.loads(pickle.dumps(reader))
    tasks = pickle.loads(pickle.dumps(reader.partitions()))
    return [row for task in tasks for batch in at_tasks.read(task) for row in batch.to_pylist()]


def values(reader: BatchReader) -> list[str]:
    return sorted(row["value"].decode() for row in rows(reader))


def test_the_columns_are_those_of_sparks_own_source(topics: Topics) -> None:
    topic = topics.create(partitions=2)
    topic.send(
        [
            Sent(1, b"value", b"key", (("a", b"1"), ("b", None), ("a", b"")), NOON),
            Sent(1, None, None, (), NOON + 1),
        ]
    )
    assert rows(batch_reader(topic, includeHeaders="true")) == [
        {
            "key": b"key",
            "value": b"value",
            "topic": topic.name,
            "partition": 1,
            "offset": 0,
            "timestamp": datetime.fromtimestamp(NOON / 1000, UTC),
            "timestampType": 0,
            "headers": [{"key": "a", "value": b"1"}, {"key": "b", "value": None}, {"key": "a", "value": b""}],
        },
        {
            "key": None,
            "value": None,
            "topic": topic.name,
            "partition": 1,
            "offset": 1,
            "timestamp": datetime.fromtimestamp((NOON + 1) / 1000, UTC),
            "timestampType": 0,
            "headers": None,
        },
    ]


def test_times_that_the_broker_sets_are_of_type_1(topics: Topics) -> None:
    topic = topics.create(message_timestamp_type="LogAppendTime")
    topic.send([Sent(0, b"value", timestamp=NOON)])
    (row,) = rows(batch_reader(topic))
    assert row["timestampType"] == 1
    assert row["timestamp"] > datetime.fromtimestamp(NOON / 1000, UTC)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, range(10)),
        ({"startingOffsets": '{"TOPIC": {"0": 2, "1": -2}}'}, [1, 3, 4, 5, 6, 7, 8, 9]),
        ({"endingOffsets": '{"TOPIC": {"0": 2, "1": -1}}'}, [0, 1, 2, 3, 5, 7, 9]),
        ({"startingTimestamp": NOON + 4000, "endingTimestamp": NOON + 7000}, [4, 5, 6]),
        ({"endingTimestamp": NOON + 99_000}, range(10)),
        (
            {
                "startingOffsetsByTimestamp": f'{{"TOPIC": {{"0": {NOON + 8000}, "1": {NOON}}}}}',
                "endingOffsetsByTimestamp": f'{{"TOPIC": {{"0": {NOON + 99_000}, "1": {NOON + 3000}}}}}',
            },
            [1, 8],
        ),
        ({"subscribe": None, "assign": '{"TOPIC": [1]}'}, [1, 3, 5, 7, 9]),
        ({"subscribe": None, "subscribePattern": "TOPI[C]|TOPIC"}, range(10)),
        ({"minPartitions": 6}, range(10)),
        ({"maxRecordsPerPartition": 1}, range(10)),
    ],
)
def test_what_is_read(numbers: Topic, options: dict[str, object], expected: list[int]) -> None:
    assert values(batch_reader(numbers, **options)) == [str(number) for number in expected]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"startingOffsets": '{"TOPIC": {"0": 4, "1": 0}}', "endingOffsets": '{"TOPIC": {"0": 2, "1": 2}}'},
         "startingOffsets of TOPIC-0 is 4, which lies behind its end, 2"),
        ({"endingOffsets": '{"TOPIC": {"0": 2}}'}, "endingOffsets must name every partition .* TOPIC-1"),
        ({"subscribe": "nowhere-at-all"}, "there is no topic 'nowhere-at-all'; create it first"),
    ],
)  # fmt: skip
def test_what_cannot_be_read(numbers: Topic, options: dict[str, object], complaint: str) -> None:
    with pytest.raises(InvalidOption, match=complaint.replace("TOPIC", numbers.name)):
        batch_reader(numbers, **options).partitions()


def test_an_end_that_is_not_there_is_lost(numbers: Topic) -> None:
    beyond = {"endingOffsets": '{"TOPIC": {"0": 99, "1": -1}}'}
    with pytest.raises(DataLost, match=f"{numbers.name}-0 is to be read up to offset 99, but ends at 5"):
        batch_reader(numbers, **beyond).partitions()
    assert len(values(batch_reader(numbers, **beyond, failOnDataLoss="false"))) == 10


def test_a_start_that_is_gone_is_lost(topics: Topics) -> None:
    topic = topics.create()
    topic.send_values(range(5))
    for done in topics.admin.delete_records([Place(topic.name, 0, 3)]).values():
        done.result(WAIT_SECONDS)
    from_zero = {"startingOffsets": '{"TOPIC": {"0": 0}}'}
    with pytest.raises(DataLost, match="from offset 0 to 5, but begins at 3 now"):
        batch_reader(topic, **from_zero).partitions()
    assert values(batch_reader(topic, **from_zero, failOnDataLoss="false")) == ["3", "4"]
    assert values(batch_reader(topic)) == ["3", "4"]


def test_where_there_is_nothing_spark_hands_over_a_partition_of_its_own(topics: Topics) -> None:
    reader = batch_reader(topics.create())
    assert reader.partitions() == []
    assert list(reader.read(InputPartition(None))) == []


@pytest.mark.parametrize(
    "columns",
    [
        [StructField("offset", LongType())],
        [StructField("value", BinaryType()), StructField("partition", IntegerType(), nullable=False)],
        [StructField("headers", ArrayType(StructType().add("key", StringType()).add("value", BinaryType())))],
    ],
)
def test_a_given_schema_says_which_columns_are_made(numbers: Topic, columns: list[StructField]) -> None:
    found = rows(batch_reader(numbers, *columns))
    assert len(found) == 10
    assert list(found[0]) == [column.name for column in columns]


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        (StructField("ofset", LongType()),
         "asks for a column 'ofset'. The columns are: key, value, topic, partition, offset, timestamp, timestampType"),
        (StructField("error", StringType()), "asks for a column 'error'; on.error=column adds it"),
        (StructField("value", BinaryType(), nullable=False), "asks for value that is never null"),
        (StructField("offset", IntegerType()), "asks for offset as int, but it is bigint"),
        (StructField("value", StringType()), "asks for value as string, but it is binary; value.format says how"),
    ],
)  # fmt: skip
def test_a_schema_that_cannot_be_had(numbers: Topic, column: StructField, complaint: str) -> None:
    with pytest.raises(InvalidOption, match=complaint):
        batch_reader(numbers, column)


@pytest.fixture(scope="module")
def texts(topics: Topics) -> Topic:
    """Good text, and some that is no UTF-8."""
    topic = topics.create(partitions=3)
    topic.send(
        [
            Sent(2, b"zero", b"k0"),
            Sent(2, b"\xff\xfe", b"k1"),
            Sent(2, None, None),
            Sent(2, b"three", b"\xff"),
            Sent(2, b"\xc3", b"\xc3"),
        ]
    )
    return topic


def test_a_bad_record_fails_the_task_unless_another_thing_is_wanted(texts: Topic) -> None:
    reader = batch_reader(texts, value__format="string")
    with pytest.raises(BadRecord, match=f"offset 1 of partition 2 of topic '{texts.name}' cannot be decoded: value: .*UTF-8.*on.error=column"):  # fmt: skip
        rows(reader)


def test_a_bad_record_becomes_nulls_and_a_reason(texts: Topic) -> None:
    found = rows(batch_reader(texts, on__error="column", key__format="string", value__format="string"))
    assert [(row["key"], row["value"]) for row in found] == [
        ("k0", "zero"),
        ("k1", None),
        (None, None),
        (None, "three"),
        (None, None),
    ]
    errors = [row["error"] for row in found]
    assert errors[0] is errors[2] is None
    assert [(error["topic"], error["partition"], error["offset"]) for error in errors if error] == [
        (texts.name, 2, offset) for offset in (1, 3, 4)
    ]
    assert errors[1]["reason"].startswith("value: ")
    assert errors[3]["reason"].startswith("key: ")
    assert errors[4]["reason"].startswith("key: ")
    assert "; value: " in errors[4]["reason"]


def test_errors_are_told_also_without_the_columns(texts: Topic) -> None:
    error = StructType().add("reason", StringType()).add("topic", StringType())
    error.add("partition", IntegerType()).add("offset", LongType())
    columns = StructField("offset", LongType()), StructField("error", error)
    found = rows(batch_reader(texts, *columns, on__error="column", value__format="string"))
    assert [row["offset"] for row in found if row["error"] is not None] == [1, 4]


def test_json_is_read_by_the_schema_that_is_given(topics: Topics) -> None:
    topic = topics.create()
    topic.send([Sent(0, b'{"id": 5, "more": true}'), Sent(0, b"{"), Sent(0, None), Sent(0, b'{"id": null}')])
    value = StructField("value", StructType().add("id", LongType()))
    found = rows(batch_reader(topic, value, value__format="json", on__error="drop"))
    assert [row["value"] for row in found] == [{"id": 5}, None, {"id": None}]
    with pytest.raises(BadRecord, match="offset 1 of partition 0"):
        rows(batch_reader(topic, value, value__format="json"))


def test_bad_records_are_left_out_and_counted(texts: Topic, caplog: pytest.LogCaptureFixture) -> None:
    found = rows(batch_reader(texts, on__error="drop", key__format="string", value__format="string"))
    assert [row["value"] for row in found] == ["zero", None]
    (warning,) = [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]
    assert "3 records could not be decoded" in warning
    assert "the first, at offset 1: value: " in warning


def test_filters_leave_what_is_not_wanted_unread(numbers: Topic) -> None:
    plain = batch_reader(numbers)
    reader = FilteringBatchReader(plain._options, plain._rows)
    late = GreaterThanOrEqual(("timestamp",), datetime.fromtimestamp(NOON / 1000 + 3, UTC))
    on_value = EqualTo(("value",), b"5")
    assert list(reader.pushFilters([EqualTo(("partition",), 1), late, LessThan(("offset",), 4), on_value])) == [
        on_value
    ]
    (task,) = reader.partitions()
    assert task.wanted[1:] == (1, 1, 4)  # type: ignore[attr-defined]
    assert values(reader) == ["3", "5", "7"]


def test_filters_and_given_offsets_go_together(numbers: Topic) -> None:
    plain = batch_reader(numbers, startingOffsets='{"TOPIC": {"0": 1, "1": 1}}')
    reader = FilteringBatchReader(plain._options, plain._rows)
    reader.pushFilters([EqualTo(("partition",), 0)])
    assert values(reader) == ["2", "4", "6", "8"]


@pytest.mark.parametrize(("size", "lengths"), [(5_000_000, [0, 1, 1]), (5, [2])])
def test_a_large_batch_is_not_the_first_that_pyspark_gets(topics: Topics, size: int, lengths: list[int]) -> None:
    """It keeps that one until the task ends."""
    topic = topics.create(max_message_bytes="6000000")
    with Cluster(client_properties(topic.bootstrap_servers)) as cluster:
        write_batches(cluster, topic.name, *[build_batch([Record(value=bytes(size))])] * 2)
    reader = batch_reader(topic)
    [task] = reader.partitions()
    batches = list(reader.read(task))
    assert [len(batch) for batch in batches] == lengths
    assert len({batch.schema for batch in batches}) == 1
