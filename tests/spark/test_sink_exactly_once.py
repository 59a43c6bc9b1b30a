"""Writing with Spark, exactly once: what a batch that is run again writes, and a job."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tests.spark.topics import Topic, Topics

ROWS = 100


@pytest.fixture(scope="module")
def topics(broker: str) -> Topics:
    return Topics(broker)


@pytest.fixture
def source(topics: Topics) -> Topic:
    topic = topics.create(partitions=2, retention_ms="-1")
    topic.send_values(range(ROWS), partitions=2)
    return topic


def sink_of(topic: Topic, **options: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": topic.bootstrap_servers, "topic": topic.name} | options


def values(spark: SparkSession, topic: Topic) -> Counter[int]:
    rows = topic.read(spark, kafka__isolation__level="read_committed").select(f.col("value").cast("string"))
    return Counter(int(row[0]) for row in rows.collect())


def run(rows: DataFrame, target: Topic, checkpoint: Path) -> None:
    options = sink_of(target, checkpointLocation=str(checkpoint))
    rows.writeStream.format("stoker").options(**options).trigger(availableNow=True).start().awaitTermination()


def forget_the_end_of_the_last_batch(checkpoint: Path) -> None:
    """As if the driver had died when the tasks were done: Spark runs the batch again."""
    commits = checkpoint / "commits"
    last = max((path for path in commits.iterdir() if path.name.isdecimal()), key=lambda path: int(path.name))
    last.unlink()
    (commits / f".{last.name}.crc").unlink(missing_ok=True)


@pytest.mark.both_backends
def test_a_batch_that_is_run_again(spark: SparkSession, topics: Topics, source: Topic, tmp_path: Path) -> None:
    target = topics.create(partitions=3)
    for _ in range(2):
        run(source.stream(spark, startingOffsets="earliest", maxOffsetsPerTrigger=40).select("value"), target, tmp_path)
        assert values(spark, target) == Counter(range(ROWS))
        forget_the_end_of_the_last_batch(tmp_path)


def test_a_batch_that_is_run_again_by_other_tasks(
    spark: SparkSession, topics: Topics, source: Topic, tmp_path: Path
) -> None:
    """It is refused until there are as many tasks as before; then the number may change."""
    target = topics.create(partitions=3)
    read = source.stream(spark, startingOffsets="earliest").select("value")
    run(read.repartition(4, "value"), target, tmp_path)
    forget_the_end_of_the_last_batch(tmp_path)
    with pytest.raises(StreamingQueryException, match="must give each task the same rows"):
        run(read.repartition(2, "value"), target, tmp_path)
    assert values(spark, target) == Counter(range(ROWS))
    run(read.repartition(4, "value"), target, tmp_path)
    source.send_values(range(ROWS, 2 * ROWS), partitions=2)
    run(read.repartition(2, "value"), target, tmp_path)
    assert values(spark, target) == Counter(range(2 * ROWS))


def test_named_writes_of_a_batch(spark: SparkSession, topics: Topics, source: Topic, tmp_path: Path) -> None:
    """In foreachBatch each name is a sink of its own, and a batch that is run again is written once to each."""
    targets = [topics.create(partitions=2) for _ in range(2)]

    def write(rows: DataFrame, _: int) -> None:
        for number, target in enumerate(targets):
            options = sink_of(target, **{"sink.id": f"target-{number}"})
            rows.write.format("stoker").mode("append").options(**options).save()

    for _ in range(2):
        read = source.stream(spark, startingOffsets="earliest").select("value")
        query = read.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path))
        query.trigger(availableNow=True).start().awaitTermination()
        forget_the_end_of_the_last_batch(tmp_path)
    assert [values(spark, target) for target in targets] == [Counter(range(ROWS))] * 2


def test_a_named_write_that_is_run_again(spark: SparkSession, topics: Topics) -> None:
    target = topics.create(partitions=3)
    rows = spark.range(ROWS).select(f.col("id").cast("string").alias("value")).repartition(3, "value")

    def write(frame: DataFrame) -> None:
        options = sink_of(target, **{"sink.id": f"job-of-{target.name}"})
        frame.write.format("stoker").mode("append").options(**options).save()

    write(rows)
    write(rows)
    assert values(spark, target) == Counter(range(ROWS))
    with pytest.raises(PySparkException, match="must give each task the same rows"):
        write(rows.where("value <> '7'"))
    assert values(spark, target) == Counter(range(ROWS))


def test_a_write_without_a_name_is_new_each_time(spark: SparkSession, topics: Topics) -> None:
    target = topics.create(partitions=3)
    rows = spark.range(ROWS).select(f.col("id").cast("string").alias("value"))
    for _ in range(2):
        rows.write.format("stoker").mode("append").options(**sink_of(target)).save()
    assert values(spark, target) == Counter([*range(ROWS), *range(ROWS)])


def test_a_query_has_no_name_but_its_own(spark: SparkSession, topics: Topics, source: Topic, tmp_path: Path) -> None:
    options = sink_of(topics.create(), checkpointLocation=str(tmp_path), **{"sink.id": "mine"})
    query = source.stream(spark).select("value").writeStream.format("stoker").options(**options).start()
    with pytest.raises(StreamingQueryException, match=r"sink\.id is for df\.write"):
        query.processAllAvailable()
