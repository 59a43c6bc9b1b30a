"""Rows to records on real brokers, without Spark: what a task does with the Arrow batches that it is given."""

import pickle
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource
from pyspark.sql.pandas.types import from_arrow_schema

from stoker.client.errors import KafkaRefused, ProduceRefused
from stoker.spark.errors import UnwritableRow
from stoker.spark.partitioner import by_key
from stoker.spark.sink import CHUNK_BYTES, CHUNK_ROWS, SinkTask, write_task
from stoker.spark.sink_plan import sink_plan
from stoker.wire.error_codes import ErrorCode
from tests.clients.client import eventually
from tests.spark.topics import WAIT_SECONDS, Topic, Topics, written

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
TIME = pa.timestamp("us", "UTC")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(scope="module")
def topics(broker: str) -> Topics:
    return Topics(broker)


class Stored(NamedTuple):
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]
    timestamp: int


def stored(topic: Topic) -> list[Stored]:
    """All that is in the topic, partition by partition."""
    settings = {"group.id": "none", "enable.auto.commit": False, "fetch.wait.max.ms": 10, "log_level": 0}
    consumer = Consumer({"bootstrap.servers": topic.bootstrap_servers, **settings})
    try:
        found = []
        for partition in sorted(consumer.list_topics(topic.name, WAIT_SECONDS).topics[topic.name].partitions):
            end = consumer.get_watermark_offsets(Place(topic.name, partition), WAIT_SECONDS)[1]
            consumer.assign([Place(topic.name, partition, 0)])
            for _ in range(end):
                message = consumer.poll(WAIT_SECONDS)
                assert message is not None
                assert message.error() is None
                headers: Any = message.headers() or []
                found.append(Stored(partition, message.key(), message.value(), headers, message.timestamp()[1]))
        return found
    finally:
        consumer.close()


def write(topic: Topic, *batches: pa.RecordBatch, topic_option: bool = True, **options: object) -> int:
    """As Spark does: planned here, pickled, and run there."""
    given = {"kafka.bootstrap.servers": topic.bootstrap_servers, "delivery": "at-least-once"} | written(options)
    if topic_option:
        given["topic"] = topic.name
    plan = sink_plan(given, from_arrow_schema(batches[0].schema))
    return write_task(pickle.loads(pickle.dumps(plan)), iter(batches), SinkTask("sink", 0)).rows


def rows(**columns: Any) -> pa.RecordBatch:
    return pa.record_batch(columns)


def texts(*values: str | None) -> pa.Array:
    return pa.array(values, type=pa.string())


def test_keys_values_headers_and_times(topics: Topics) -> None:
    topic = topics.create()
    moment = datetime(2026, 1, 2, 3, 4, 5, 678_900, tzinfo=UTC)
    batch = rows(
        key=texts("a", None, ""),
        value=pa.array([b"\0\xff", None, b""], type=pa.binary()),
        headers=pa.array([[{"key": "h", "value": b"1"}, {"key": "h", "value": None}], None, []], type=HEADERS),
        timestamp=pa.array([moment, datetime.fromtimestamp(0, UTC), moment], type=TIME),
    )
    assert write(topic, batch) == 3
    at = 1_767_323_045_678
    assert stored(topic) == [
        Stored(0, b"a", b"\0\xff", [("h", b"1"), ("h", None)], at),
        Stored(0, None, None, [], 0),
        Stored(0, b"", b"", [], at),
    ]


def test_keys_go_where_javas_producer_puts_them(topics: Topics) -> None:
    topic = topics.create(partitions=7)
    keys = [f"customer-{number}" for number in range(500)]
    write(topic, rows(key=texts(*keys), value=texts(*keys)))
    expected = by_key(pa.array([key.encode() for key in keys]), 7).tolist()
    assert {each.key: each.partition for each in stored(topic)} == {
        key.encode(): partition for key, partition in zip(keys, expected, strict=True)
    }


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_in_batches_of_many_sizes(topics: Topics, codec: str) -> None:
    topic = topics.create(partitions=3)
    random = np.random.default_rng(5)
    values = [b"%d " % number + random.bytes(int(size)) for number, size in enumerate(random.integers(0, 3000, 400))]
    batches = [rows(value=pa.array(values[begin : begin + 57])) for begin in range(0, 400, 57)]
    write(topic, *batches, kafka__compression__type=codec, kafka__batch__size=20_000)
    found = stored(topic)
    assert sorted(each.value or b"" for each in found) == sorted(values)
    assert {each.partition for each in found} == {0, 1, 2}
    for partition in range(3):
        numbers = [int((each.value or b"").split()[0]) for each in found if each.partition == partition]
        assert numbers == sorted(numbers)


def test_rows_name_their_topics_and_partitions(topics: Topics) -> None:
    first, second = topics.create(partitions=3), topics.create(partitions=2)
    names = texts(first.name, second.name, first.name, second.name)
    batch = rows(
        value=texts("a", "b", "c", "d"),
        topic=names,
        partition=pa.array([2, 1, 0, None], type=pa.int32()),
        key=texts("k", "k", None, "k"),
    )
    write(first, batch, topic_option=False)
    assert [(each.partition, each.value) for each in stored(first)] == [(0, b"c"), (2, b"a")]
    place = int(by_key(pa.array([b"k"]), 2)[0])
    assert [(each.partition, each.value) for each in stored(second)] == sorted([(1, b"b"), (place, b"d")])


def test_the_option_topic_is_stronger_than_the_column(topics: Topics) -> None:
    topic = topics.create()
    write(topic, rows(value=texts("a", "b"), topic=texts("elsewhere", None)))
    assert [each.value for each in stored(topic)] == [b"a", b"b"]


def test_a_row_without_a_topic_is_refused_by_its_number(topics: Topics) -> None:
    topic = topics.create()
    first = rows(value=texts(*"abc"), topic=texts(*[topic.name] * 3))
    with pytest.raises(UnwritableRow, match="row 4 has no topic"):
        write(topic, first, rows(value=texts("d", "e"), topic=texts(topic.name, None)), topic_option=False)


def test_a_partition_that_is_not_there_is_refused_by_row(topics: Topics) -> None:
    topic = topics.create(partitions=2)
    with pytest.raises(UnwritableRow, match=r"row 1 asks for partition 2 .* 0 to 1"):
        write(topic, rows(value=texts("a", "b"), partition=pa.array([0, 2], type=pa.int32())))


def test_a_row_that_the_topic_does_not_take_is_refused_by_row_size_and_limit(topics: Topics) -> None:
    topic = topics.create(max_message_bytes="3000")
    with pytest.raises(UnwritableRow, match=rf"row 1 makes a batch of 50\d\d bytes, topic '{topic.name}' takes 3000"):
        write(topic, rows(value=texts("small", "x" * 5000)))
    with pytest.raises(UnwritableRow, match=r"takes 1000.*kafka.max.request.size"):
        write(topic, rows(value=texts("x" * 2000)), kafka__max__request__size=1000)
    write(topic, rows(value=texts("x" * 5000)), kafka__compression__type="zstd")
    write(topic, rows(value=texts(*["x" * 2000] * 4)))
    assert [len(each.value or b"") for each in stored(topic)] == [5000, *[2000] * 4]


def test_a_topic_that_takes_less_than_it_did_is_asked_again_after_a_failure(topics: Topics) -> None:
    """What it took is remembered; the broker says that it takes less now; the task that is run again knows."""
    topic = topics.create(max_message_bytes="3000")
    several = rows(value=texts(*["x" * 900] * 3))
    write(topic, several)
    lower = ConfigResource(ConfigResource.Type.TOPIC, topic.name, incremental_configs=[])
    lower.add_incremental_config(ConfigEntry("max.message.bytes", "2000", incremental_operation=AlterConfigOpType.SET))
    for done in topics.admin.incremental_alter_configs([lower]).values():
        done.result(WAIT_SECONDS)

    def is_refused() -> bool:
        try:
            write(topic, several)
        except ProduceRefused as refused:
            return refused.error_code is ErrorCode.MESSAGE_TOO_LARGE
        return False

    assert eventually(is_refused, bool)
    assert write(topic, several) == 3


def test_a_topic_that_takes_large_rows(topics: Topics) -> None:
    topic = topics.create(max_message_bytes="12000000")
    sizes = [10_000_000, 5, 3_000_000, 5]
    write(topic, rows(value=pa.array([bytes(size) for size in sizes])))
    assert [len(each.value or b"") for each in stored(topic)] == sizes


def test_a_time_before_kafkas_first_is_refused(topics: Topics) -> None:
    topic = topics.create()
    before = datetime(1969, 12, 31, tzinfo=UTC)
    with pytest.raises(UnwritableRow, match="row 0 is of 1969-12-31"):
        write(topic, rows(value=texts("a"), timestamp=pa.array([before], type=TIME)))


def test_a_topic_that_cannot_be_is_refused_by_name(topics: Topics) -> None:
    topic = topics.create()
    with pytest.raises(KafkaRefused, match="topic 'no/topic' cannot be written to"):
        write(topic, rows(value=texts("a"), topic=texts("no/topic")), topic_option=False)


def test_a_task_without_rows_asks_nobody() -> None:
    nobody = Topic("127.0.0.1:1", "orders", None)  # type: ignore[arg-type]
    assert write(nobody, rows(value=texts())) == 0


def test_more_rows_and_bytes_than_are_worked_on_at_once(topics: Topics) -> None:
    topic = topics.create(partitions=2)
    many = pa.array([b"%d" % number for number in range(CHUNK_ROWS + 1000)])
    assert write(topic, rows(value=many, partition=pa.array(np.zeros(len(many), dtype=np.int32)))) == len(many)
    large = pa.array([b"%02d" % number + bytes(CHUNK_BYTES // 20) for number in range(50)])
    write(topic, rows(value=large, partition=pa.array(np.ones(50, dtype=np.int32))))
    with_offsets = Consumer({"bootstrap.servers": topic.bootstrap_servers, "group.id": "none", "log_level": 0})
    try:
        ends = [with_offsets.get_watermark_offsets(Place(topic.name, number), WAIT_SECONDS)[1] for number in (0, 1)]
    finally:
        with_offsets.close()
    assert ends == [len(many), 50]
