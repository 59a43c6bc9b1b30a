"""Typed columns through a topic and back: written by Spark and read by Spark, in each format."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from stoker.client.cluster_pool import close_idle_clusters
from tests.registry.registry_process import RegistryProcess
from tests.spark.topics import Topics


@pytest.fixture(scope="module")
def topics(broker: str) -> Iterator[Topics]:
    yield Topics(broker)
    close_idle_clusters()


@pytest.mark.parametrize("form", ["avro", "json", "protobuf"])
def test_columns_come_back(spark: SparkSession, topics: Topics, registry: RegistryProcess, form: str) -> None:
    topic = topics.create(partitions=2)
    formats = {"key.format": "string", "value.format": form, "schema.registry.url": registry.url}
    rows = spark.range(500).select(
        f.col("id").cast("string").alias("key"),
        f.struct(
            "id",
            f.when(f.col("id") % 3 == 0, f.concat(f.lit('"ž" '), "id")).alias("note"),
            (f.col("id") / 7).alias("amount"),
            f.struct(f.lit("Praha").alias("city"), (f.col("id") % 5).cast("int").alias("zip")).alias("address"),
            f.transform(f.sequence(f.lit(1), f.col("id") % 4 + 1), lambda each: each * 10).alias("counts"),
            f.timestamp_millis(f.col("id") * 1001).alias("at"),
        ).alias("value"),
    )
    sink = {"kafka.bootstrap.servers": topic.bootstrap_servers, "topic": topic.name, "delivery": "at-least-once"}
    rows.write.format("stoker").mode("append").options(**sink, **formats).save()
    source = {
        "kafka.bootstrap.servers": topic.bootstrap_servers,
        "subscribe": topic.name,
        "startingOffsets": "earliest",
    }
    found = spark.read.format("stoker").options(**source, **formats).load()
    if form == "json":  # whose schemas have no moments: they are text
        assert found.schema["value"].dataType["at"].dataType.simpleString() == "string"  # type: ignore[index]
        wanted = rows.schema["value"].dataType.simpleString()
        found = spark.read.format("stoker").options(**source, **formats).schema(f"key string, value {wanted}").load()
    assert sorted(found.select("key", "value").collect(), key=repr) == sorted(rows.collect(), key=repr)
