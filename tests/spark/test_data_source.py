"""`format("stoker")` in Spark itself."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions

from stoker.client.cluster_pool import close_idle_clusters
from tests.clients.client import eventually
from tests.registry.registry_process import RegistryProcess
from tests.spark.doomed_query import PRODUCED, RESOLVED, RUNNING
from tests.spark.topics import NOON, Sent, Topic, Topics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

REPOSITORY = Path(__file__).parents[2]
STARTING_SECONDS = 100


@pytest.fixture(scope="module")
def topics(broker: str) -> Iterator[Topics]:
    yield Topics(broker)
    close_idle_clusters()


@pytest.fixture(scope="module")
def numbers(topics: Topics) -> Topic:
    """0 to 99, in turn in two partitions, a second apart."""
    topic = topics.create(partitions=2)
    topic.send_values(range(100), partitions=2)
    return topic


def values(frame: "DataFrame") -> list[int]:
    return sorted(int(row[0]) for row in frame.selectExpr("cast(value as string)").collect())


def progress(query: "StreamingQuery") -> Any:
    """Of its only source."""
    assert query.lastProgress is not None
    return query.lastProgress["sources"][0]


class Sink:
    """Where a stream goes, batch by batch."""

    def __init__(self, checkpoint: str) -> None:
        self._checkpoint = checkpoint
        self.batches: list[list[str]] = []

    def run(self, frame: "DataFrame", **trigger: Any) -> None:
        """Until the trigger is done."""
        query = (
            frame.selectExpr("cast(value as string) as value")
            .writeStream.foreachBatch(self._keep)
            .option("checkpointLocation", self._checkpoint)
            .trigger(**trigger)
            .start()
        )
        try:
            assert query.awaitTermination(60)
        finally:
            query.stop()

    def _keep(self, frame: "DataFrame", batch_id: int) -> None:
        assert batch_id == len(self.batches)
        self.batches.append(sorted(row.value for row in frame.collect()))


def test_what_was_loaded_ends_where_the_topic_ended_at_first(spark: "SparkSession", topics: Topics) -> None:
    topic = topics.create()
    topic.send_values(range(3))
    frame = topic.read(spark)
    assert values(frame) == [0, 1, 2]
    topic.send_values([3])
    assert values(frame) == [0, 1, 2]
    assert values(topic.read(spark)) == [0, 1, 2, 3]


def test_spark_finds_the_source_and_has_its_columns(spark: "SparkSession", topics: Topics) -> None:
    topic = topics.create()
    topic.send([Sent(0, b"v", b"k", (("h", b"1"),)), Sent(0, None)])
    frame = topic.read(spark, includeHeaders=True)
    assert frame.dtypes == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
        ("headers", "array<struct<key:string,value:binary>>"),
    ]
    first, second = frame.withColumn("timestamp", functions.unix_millis("timestamp")).orderBy("offset").collect()
    assert tuple(first) == (b"k", b"v", topic.name, 0, 0, NOON, 0, [("h", b"1")])
    assert tuple(second) == (None, None, topic.name, 0, 1, NOON, 0, None)


def test_a_schema_is_a_projection(spark: "SparkSession", numbers: Topic) -> None:
    frame = spark.read.format("stoker").schema("offset bigint, partition int").options(**numbers.options).load()
    assert frame.columns == ["offset", "partition"]
    assert frame.agg(functions.sum("offset"), functions.sum("partition")).first() == (2 * sum(range(50)), 50)


def test_a_wrong_option_is_told_when_the_query_is_defined(spark: "SparkSession", numbers: Topic) -> None:
    with pytest.raises(Exception, match=r"there is no option 'startingoffset' .*did you mean: startingOffsets"):
        numbers.read(spark, startingOffset="earliest")


def test_queries_over_one_load_do_not_get_each_others_filters(spark: "SparkSession", numbers: Topic) -> None:
    frame = numbers.read(spark)
    odd = frame.where("partition = 1")
    assert values(odd) == list(range(1, 100, 2))
    assert values(frame) == list(range(100))
    assert odd.union(frame).union(frame.where("partition = 0")).count() == 200


@pytest.mark.parametrize("enabled", [True, False])
def test_filters_are_pushed_where_that_is_asked_for(spark: "SparkSession", numbers: Topic, enabled: bool) -> None:
    """The last piece of the topic is gone for who does not ask for it: what is pushed is not only left out later."""
    conf = "spark.sql.python.filterPushdown.enabled"
    before = spark.conf.get(conf)
    assert before is not None
    spark.conf.set(conf, enabled)
    try:
        frame = numbers.read(spark, pushFilters=True).where(
            f"partition = 1 and offset >= 40 and timestamp < timestamp_millis({NOON + 95_000}) and topic != 'x'"
        )
        assert values(frame) == [81, 83, 85, 87, 89, 91, 93]
        assert ("Filter (" in frame._jdf.queryExecution().executedPlan().toString()) is not enabled
    finally:
        spark.conf.set(conf, before)


def test_a_stream_reads_what_is_available_now_in_limited_batches_and_goes_on_later(
    spark: "SparkSession", topics: Topics, checkpoint: str
) -> None:
    topic = topics.create(partitions=2)
    topic.send_values(range(10), partitions=2)
    sink = Sink(checkpoint)
    frame = topic.stream(spark, startingOffsets="earliest", maxOffsetsPerTrigger=4)
    sink.run(frame, availableNow=True)
    assert [len(batch) for batch in sink.batches] == [4, 4, 2]
    topic.send_values(range(10, 13), partitions=2)
    sink.run(frame, availableNow=True)
    topic.send_values(range(13, 20), partitions=2)
    sink.run(frame, once=True)
    assert [len(batch) for batch in sink.batches] == [4, 4, 2, 3, 7], "Trigger.Once has no limit"
    assert sorted(int(value) for batch in sink.batches for value in batch) == list(range(20))


def test_a_stream_that_runs_on_sees_what_comes(spark: "SparkSession", topics: Topics, checkpoint: str) -> None:
    topic = topics.create()
    sink = Sink(checkpoint)
    query = (
        topic.stream(spark)
        .selectExpr("cast(value as string) as value")
        .writeStream.foreachBatch(sink._keep)
        .option("checkpointLocation", checkpoint)
        .trigger(processingTime="50 milliseconds")
        .start()
    )
    try:
        eventually(lambda: sink.batches, bool, seconds=60)
        for value in ("one", "two"):
            topic.send_values([value])
            eventually(lambda: sink.batches[-1], lambda batch, value=value: batch == [value], seconds=60)  # type: ignore[misc]
        eventually(lambda: json.loads(progress(query)["latestOffset"]), lambda latest: latest == {topic.name: {"0": 2}})
    finally:
        query.stop()


def test_lost_records_end_the_query_with_the_reason(spark: "SparkSession", topics: Topics, checkpoint: str) -> None:
    topic, other = topics.create(), topics.create()
    topic.send_values(["gone"])
    sink = Sink(checkpoint)
    both = f"{topic.name},{other.name}"
    sink.run(topic.stream(spark, subscribe=both, startingOffsets="earliest"), availableNow=True)
    topics.delete(topic)
    with pytest.raises(StreamingQueryException, match=f"no longer a partition {topic.name}-0.*failOnDataLoss"):
        sink.run(topic.stream(spark, subscribe=both), availableNow=True)
    other.send_values(["there"])
    sink.run(topic.stream(spark, subscribe=both, failOnDataLoss=False), availableNow=True)
    assert sink.batches == [["gone"], ["there"]]


def test_a_task_that_is_run_again_reads_the_same(spark: "SparkSession", numbers: Topic) -> None:
    @functions.udf("string", useArrow=False)
    def fail_at_first(value: str) -> str:
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() == 0 and int(value) > 90:
            raise RuntimeError("a task that fails once")
        return value

    frame = numbers.read(spark)
    assert values(frame.select(fail_at_first(frame.value.cast("string")).alias("value"))) == list(range(100))


def wait_for(signal_file: Path, driver: "subprocess.Popen[bytes]") -> None:
    """A Spark that starts beside other tests takes its time."""
    deadline = time.monotonic() + STARTING_SECONDS
    while not signal_file.exists():
        assert driver.poll() is None, signal_file.with_name("log").read_text()
        assert time.monotonic() < deadline, signal_file.with_name("log").read_text()
        time.sleep(0.05)


@pytest.mark.timeout(300)
def test_a_crash_in_the_first_batch_loses_nothing_and_doubles_nothing(
    spark: "SparkSession", topics: Topics, tmp_path: Path
) -> None:
    """Records that came after the query began at "latest", and before it crashed in its first batch."""
    topic = topics.create(partitions=2)
    topic.send_values(["old"] * 4, partitions=2)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)])}
    command = [sys.executable, "-m", "tests.spark.doomed_query", topic.bootstrap_servers, topic.name, str(tmp_path)]
    with (tmp_path / "log").open("wb") as log:
        driver = subprocess.Popen(
            command, env=environment, cwd=REPOSITORY, stdout=log, stderr=log, start_new_session=True
        )
    try:
        wait_for(tmp_path / RESOLVED, driver)
        topic.send_values([f"first {number}" for number in range(4)], partitions=2)
        (tmp_path / PRODUCED).touch()
        wait_for(tmp_path / RUNNING, driver)
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
        assert [(tmp_path / "checkpoint" / kind / "0").exists() for kind in ("offsets", "commits")] == [True, False]
        topic.send_values([f"second {number}" for number in range(4)], partitions=2)
    finally:
        if driver.poll() is None:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
    query = (
        topic.stream(spark)
        .selectExpr("cast(value as string) as value")
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    assert query.awaitTermination(60)
    found = sorted(row.value for row in spark.read.parquet(str(tmp_path / "out")).collect())
    assert found == sorted(f"{when} {number}" for when in ("first", "second") for number in range(4))


ORDER_1 = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
ORDER_2 = {
    **ORDER_1,
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": "string", "default": "none"}],
}


def avro(schema_id: int, schema: dict[str, Any], value: dict[str, Any]) -> bytes:
    out = BytesIO(b"\0" + schema_id.to_bytes(4))
    out.seek(5)
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def test_avro_values_are_typed_columns(spark: "SparkSession", topics: Topics, registry: RegistryProcess) -> None:
    topic = topics.create()
    first, second = (registry.register(f"{topic.name}-value", json.dumps(schema)) for schema in (ORDER_1, ORDER_2))
    topic.send(
        [
            Sent(0, avro(first, ORDER_1, {"id": 1})),
            Sent(0, avro(second, ORDER_2, {"id": 2, "note": "new"})),
            Sent(0, None),
            Sent(0, b"garbage"),
        ]
    )
    typed = {"value__format": "avro", "schema__registry__url": registry.url}
    frame = topic.read(spark, **typed, on__error="column").orderBy("offset")
    assert dict(frame.dtypes)["value"] == "struct<id:bigint,note:string>"
    found = frame.select("value", "error.reason", "error.offset").collect()
    assert [row.value for row in found] == [(1, "none"), (2, "new"), None, None]
    assert [row.offset for row in found] == [None, None, None, 3]
    old = topic.read(spark, **typed, value__schema__version=1, on__error="drop")
    assert dict(old.dtypes)["value"] == "struct<id:bigint>"
    assert old.count() == 3
    projected = (
        spark.read.format("stoker")
        .schema("value struct<note: string>")
        .options(**topic.options, **{"value.format": "avro", "schema.registry.url": registry.url, "on.error": "drop"})
        .load()
    )
    assert sorted(row.note or "" for row in projected.select("value.note").collect()) == ["", "new", "none"]
