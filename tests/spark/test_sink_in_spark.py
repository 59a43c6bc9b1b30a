"""Writing with Spark: batches, streams, typed columns, and what is refused before anything is written."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

import stoker.spark
from tests.clients.client import eventually
from tests.faults.broker_process import BrokerProcess
from tests.registry.registry_process import RegistryProcess
from tests.spark.topics import Topic, Topics

ROWS = 1000


@pytest.fixture(scope="module")
def topics(broker: str) -> Topics:
    return Topics(broker)


def numbers(spark: SparkSession) -> DataFrame:
    """Keys and values of text."""
    return spark.range(ROWS).select(
        f.col("id").cast("string").alias("key"), f.concat(f.lit("value "), "id").alias("value")
    )


def sink_of(topic: Topic, **options: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": topic.bootstrap_servers,
        "topic": topic.name,
        "delivery": "at-least-once",
    } | options


def values(spark: SparkSession, topic: Topic) -> list[str]:
    return sorted(row[0] for row in topic.read(spark).select(f.col("value").cast("string")).collect())


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_a_batch(spark: SparkSession, topics: Topics, delivery: str) -> None:
    topic = topics.create(partitions=3)
    numbers(spark).write.format("stoker").mode("append").options(**sink_of(topic, delivery=delivery)).save()
    assert values(spark, topic) == sorted(f"value {number}" for number in range(ROWS))


@pytest.mark.both_backends
def test_a_stream_from_topic_to_topic(spark: SparkSession, topics: Topics, checkpoint: str) -> None:
    """What a source gives can be written as it is, headers and times too; a query that is started again goes on."""
    source, target = (topics.create(partitions=2, retention_ms="-1") for _ in range(2))

    def run() -> None:
        read = source.stream(spark, startingOffsets="earliest", includeHeaders="true", maxOffsetsPerTrigger=30)
        options = sink_of(target, checkpointLocation=checkpoint)
        query = read.writeStream.format("stoker").options(**options).trigger(availableNow=True).start()
        query.awaitTermination()

    source.send_values(range(100), partitions=2)
    run()
    source.send_values(range(100, 150), partitions=2)
    run()
    columns = ["key", "value", "partition", "timestamp", "headers"]
    written, original = (
        sorted(each.read(spark, includeHeaders="true").select(*columns).collect(), key=lambda row: int(row["value"]))
        for each in (target, source)
    )
    assert len(written) == 150
    assert written == original


def test_a_stream_that_a_thread_starts(spark: SparkSession, topics: Topics, checkpoint: str) -> None:
    """Spark knows of no session in a thread of one's own until `stoker.spark.session()` is called there."""
    source, target = topics.create(), topics.create()
    source.send_values(range(10))

    def run() -> None:
        read = source.stream(stoker.spark.session(), startingOffsets="earliest")
        options = sink_of(target, checkpointLocation=checkpoint)
        read.writeStream.format("stoker").options(**options).trigger(availableNow=True).start().awaitTermination()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(run).result()
    assert values(spark, target) == sorted(map(str, range(10)))


def test_typed_columns_by_a_schema_that_is_made_of_them(
    spark: SparkSession, registry: RegistryProcess, broker: str
) -> None:
    """The columns that are not the record's own become the fields of the value."""
    topic = Topics(broker).create(partitions=2)
    orders = spark.range(50).select(
        f.concat(f.lit("customer-"), f.col("id") % 7).alias("key"),
        "id",
        (f.col("id") * 1.5).alias("amount"),
        f.when(f.col("id") % 2 == 0, f.lit("even")).alias("note"),
    )
    typed = {"value.format": "avro", "schema.registry.url": registry.url}
    orders.write.format("stoker").mode("append").options(**sink_of(topic), **typed).save()
    read = spark.read.format("stoker").options(**topic.options, **typed).load()
    assert sorted(read.select(f.col("key").cast("string"), "value.*").collect()) == sorted(orders.collect())


@pytest.mark.parametrize("form", ["avro", "json"])
def test_structs_as_keys_and_values(spark: SparkSession, registry: RegistryProcess, broker: str, form: str) -> None:
    topic = Topics(broker).create()
    pairs = spark.range(20).select(
        f.struct(f.col("id").alias("customer")).alias("key"), f.struct("id", f.lit("x").alias("note")).alias("value")
    )
    typed = {"value.format": form, "key.format": form, "schema.registry.url": registry.url}
    pairs.write.format("stoker").mode("append").options(**sink_of(topic), **typed).save()
    read = spark.read.format("stoker").options(**topic.options, **typed).load()
    assert sorted(read.select("key", "value").collect()) == sorted(pairs.collect())


REFUSED = {
    "overwrite": ("overwrite", {}, r'mode\("append"\)'),
    "an option that is none": ("append", {"topik": "x"}, "did you mean: topic"),
    "no brokers": ("append", {"kafka.bootstrap.servers": ""}, "kafka.bootstrap.servers is missing"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_before_anything_is_written(spark: SparkSession, broker: str, case: str) -> None:
    mode, options, message = REFUSED[case]
    given = {"kafka.bootstrap.servers": broker, "topic": "nowhere"} | options
    with pytest.raises(PySparkException, match=message):
        numbers(spark).write.format("stoker").mode(mode).options(**given).save()


def test_output_mode_update_is_not_for_python_sources(spark: SparkSession, broker: str, checkpoint: str) -> None:
    """Spark itself refuses it; `foreachBatch` with a named sink, or `complete`, takes its place."""
    stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    counts = stream.groupBy((f.col("value") % 3).cast("string").alias("key")).agg(
        f.count("*").cast("string").alias("value")
    )
    options = {"kafka.bootstrap.servers": broker, "topic": "nowhere", "checkpointLocation": checkpoint}
    query = counts.writeStream.format("stoker").outputMode("update").options(**options).start()
    with pytest.raises(PySparkException, match="does not support Update mode"):
        query.awaitTermination()


def test_columns_that_are_no_part_of_a_record_are_refused_by_name(spark: SparkSession, broker: str) -> None:
    with pytest.raises(PySparkException, match=r"`amount`: no part of a record"):
        numbers(spark).withColumn("amount", f.lit(1)).write.format("stoker").mode("append").options(
            **{"kafka.bootstrap.servers": broker, "topic": "nowhere"}
        ).save()


def test_a_stream_outlives_a_broker_that_is_killed(spark: SparkSession, tmp_path: Path, checkpoint: str) -> None:
    """At least once: all rows of the micro-batches that are done are there, though the broker was away for a while."""
    with BrokerProcess(tmp_path / "data") as broker:
        topic = Topics(broker.bootstrap_servers).create(partitions=2)
        stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 500).load()
        rows = stream.select(f.col("value").cast("string"))
        options = sink_of(topic, checkpointLocation=checkpoint, delivery="at-least-once")
        query = rows.writeStream.format("stoker").options(**options).start()
        try:
            for batch in (1, 3):
                done = eventually(lambda: last_batch(query), lambda last, wanted=batch: last >= wanted, seconds=60)  # type: ignore[misc]
                assert done >= batch, query.exception()
                if batch == 1:
                    broker.kill()
                    broker.start()
        finally:
            query.stop()
        found = set(map(int, values(spark, topic)))
        assert found >= set(range(500 * (last_batch(query) + 1)))


def last_batch(query: StreamingQuery) -> int:
    progress = query.lastProgress
    return -1 if progress is None else progress.batchId
