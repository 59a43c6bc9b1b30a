"""The queries: from a topic, to a topic, and micro-batches, with whichever connector."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.streaming.query import StreamingQuery

from side_by_side import processes, spark_topics
from side_by_side.bench import Bench
from side_by_side.peers import Peer
from side_by_side.processes import LoadFailed
from side_by_side.spark_engine import STOKER, Connector
from side_by_side.spark_topics import Place

METADATA = ("key", "partition", "offset", "timestamp")
SINK_FILES, FILES_A_BATCH = 8, 2
VALUE_SIZE = 100
QUERY_TIMEOUT_SECONDS = 300
Sums = Mapping[str, tuple[float, int]]

_numbers = itertools.count()


def read(spark: SparkSession, connector: Connector, broker: Peer, topic: str, **options: str) -> DataFrame:
    return (
        spark.read.format(connector.format)
        .option("kafka.bootstrap.servers", broker.brokers)
        .option("subscribe", topic)
        .options(**options)
        .load()
    )


def raw(spark: SparkSession, connector: Connector, place: Place, topic: str) -> DataFrame:
    """A topic as it is, all columns."""
    return read(spark, connector, place.broker, topic)


def orders(spark: SparkSession, connector: Connector, place: Place, topic: str) -> DataFrame:
    """A topic of orders, decoded: four columns of metadata, and `value`."""
    if connector is STOKER:
        options = {"value.format": "avro", "schema.registry.url": place.registry_url}
        return read(spark, connector, place.broker, topic, **options).select(*METADATA, "value")
    body = f.expr("substring(value, 6)")
    value = from_avro(body, spark_topics.ORDER_SCHEMA).alias("value")
    return read(spark, connector, place.broker, topic).select(*METADATA, value)


def amounts(spark: SparkSession, connector: Connector, place: Place, topic: str) -> DataFrame:
    """Of a topic of orders nothing but who ordered for how much: `value` with two fields."""
    if connector is STOKER:
        return (
            spark.read.format(connector.format)
            .schema(f"value {spark_topics.AMOUNT_TYPE}")
            .options(**{"kafka.bootstrap.servers": place.broker.brokers, "subscribe": topic})
            .options(**{"value.format": "avro", "schema.registry.url": place.registry_url})
            .load()
        )
    body = f.expr("substring(value, 6)")
    value = from_avro(body, spark_topics.ORDER_SCHEMA, {"avroSchema": spark_topics.AMOUNT_SCHEMA}).alias("value")
    return read(spark, connector, place.broker, topic).select(value)


def events(spark: SparkSession, connector: Connector, place: Place, topic: str) -> DataFrame:
    """A topic of JSON, decoded: four columns of metadata, and `value`."""
    if connector is STOKER:
        return (
            spark.read.format(connector.format)
            .schema(f"key binary, partition int, offset bigint, timestamp timestamp, value {spark_topics.EVENT_TYPE}")
            .options(**{"kafka.bootstrap.servers": place.broker.brokers, "subscribe": topic, "value.format": "json"})
            .load()
        )
    value = f.from_json(f.col("value").cast("string"), spark_topics.EVENT_TYPE).alias("value")
    return read(spark, connector, place.broker, topic).select(*METADATA, value)


def to_nowhere(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


def to_parquet(rows: DataFrame, directory: Path) -> None:
    rows.write.mode("overwrite").parquet(str(directory))


def sums_by_customer(rows: DataFrame) -> Sums:
    """Of each customer the sum of all amounts, and how many there were."""
    grouped = rows.groupBy("value.customer_id").agg(f.sum("value.amount"), f.count("*"))
    return {customer: (amount, count) for customer, amount, count in grouped.collect()}


def write_source(spark: SparkSession, directory: Path, count: int) -> Path:
    """Files of records with a key of 12 bytes and a value of 50, from which a streaming query writes to a topic."""
    path = directory / f"records-{count}"
    if not path.exists():
        rows = spark.range(0, count, 1, SINK_FILES).select(
            f.encode(f.format_string("k%011d", f.col("id") * 7919 % 1_000_000), "utf-8").alias("key"),
            f.encode(f.format_string("%050d", "id"), "utf-8").alias("value"),
        )
        rows.write.parquet(str(path))
    return path


def write_to_topic(
    bench: Bench, spark: SparkSession, connector: Connector, broker: Peer, topic: str, source: Path
) -> float:
    """Seconds that a streaming query spent in its batches, files to a topic, four micro-batches of two tasks each."""
    rows = spark.readStream.schema("key binary, value binary").option("maxFilesPerTrigger", FILES_A_BATCH)
    query = (
        rows.parquet(str(source))
        .writeStream.format(connector.format)
        .option("kafka.bootstrap.servers", broker.brokers)
        .option("topic", topic)
        .option("checkpointLocation", str(_checkpoint(bench)))
        .options(**connector.sink_options)
        .trigger(availableNow=True)
        .start()
    )
    with _stopping(query):
        if not query.awaitTermination(QUERY_TIMEOUT_SECONDS):
            raise LoadFailed(f"{connector.format} wrote no {topic} in {QUERY_TIMEOUT_SECONDS} s")
    return sum(float(each["durationMs"]["addBatch"]) for each in query.recentProgress) / 1000


def check_written(broker: Peer, topic: str, count: int) -> None:
    """Refuse a sample of other records than asked; the markers of transactions have offsets too."""
    ends = broker.record_count(topic, spark_topics.PARTITIONS)
    markers = spark_topics.PARTITIONS * SINK_FILES
    if not count <= ends <= count + markers:
        raise LoadFailed(f"{topic} has {ends} records and markers, {count} were written")


def micro_batches(
    bench: Bench,
    spark: SparkSession,
    connector: Connector,
    broker: Peer,
    *,
    rate: int,
    seconds: int,
    to_topic: bool,
) -> list[float]:
    """Milliseconds of each micro-batch that had records, while so many records a second are produced."""
    count = rate * seconds
    with bench.topic(broker, spark_topics.PARTITIONS) as topic, bench.topic(broker, spark_topics.PARTITIONS) as result:
        rows = (
            spark.readStream.format(connector.format)
            .option("kafka.bootstrap.servers", broker.brokers)
            .option("subscribe", topic)
            .load()
        )
        if to_topic:
            writer = rows.select("key", "value").writeStream.format(connector.format)
            writer = writer.option("kafka.bootstrap.servers", broker.brokers).option("topic", result)
        else:
            writer = rows.writeStream.format("noop")
        query = writer.option("checkpointLocation", str(_checkpoint(bench))).start()
        with _stopping(query):
            query.processAllAvailable()  # it has found where the topic ends
            place = [broker.brokers, topic, str(spark_topics.PARTITIONS), str(count)]
            program = [bench.programs.rdkafka_load, bench.programs.librdkafka]
            processes.run([*program, "pace", *place, str(VALUE_SIZE), str(rate), "5"])
            query.processAllAvailable()
    batches = [each for each in query.recentProgress if each["numInputRows"]]
    arrived = sum(each["numInputRows"] for each in batches)
    if arrived != count:
        raise LoadFailed(f"{connector.format} read {arrived} of {count} records")
    return [float(each["durationMs"]["triggerExecution"]) for each in batches]


def _checkpoint(bench: Bench) -> Path:
    return bench.directory / f"checkpoint-{next(_numbers)}"


@contextmanager
def _stopping(query: StreamingQuery) -> Iterator[None]:
    try:
        yield
    finally:
        query.stop()
