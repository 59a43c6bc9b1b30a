"""Topics as tables: `stoker.spark.attach` and SQL."""

import json
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import fastavro
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

import stoker.spark
from stoker.spark.catalog import TopicsLeftOut
from stoker.spark.errors import InvalidOption
from tests.registry.registry_process import RegistryProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from stoker.spark.catalog import Attachment

FIELDS = [{"name": "customer", "type": "string"}, {"name": "cents", "type": "long"}]
ORDER = {"type": "record", "name": "Order", "fields": FIELDS}
ORDERS = [("ada", 250), ("ben", 100), ("ada", 50)]


@pytest.fixture(scope="module")
def topics(broker: str, registry: RegistryProcess) -> None:
    """sales: Avro, three orders. words.of-people: strings. _hidden and odd_name/odd-name: nothing."""
    names = ["sales", "words.of-people", "_hidden", "odd_name", "odd-name"]
    admin = AdminClient({"bootstrap.servers": broker})
    for made in admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
        made.result()
    schema_id = registry.register("sales-value", json.dumps(ORDER))
    producer = Producer({"bootstrap.servers": broker})
    for customer, cents in ORDERS:
        value = BytesIO(b"\0" + schema_id.to_bytes(4, "big"))
        value.seek(5)
        fastavro.schemaless_writer(value, ORDER, {"customer": customer, "cents": cents})
        producer.produce("sales", value.getvalue(), customer)
    producer.produce("words.of-people", "hello", "k")
    producer.flush()


@pytest.fixture
def attached(spark: "SparkSession", broker: str, registry: RegistryProcess, topics: None) -> "Iterator[Attachment]":
    attachment = stoker.spark.attach(
        spark,
        broker,
        registry=registry.url,
        topics=["sales", "words.of-people"],
        key_format="string",
        value_format="string",
    )
    yield attachment
    attachment.detach()


def test_fields_are_columns(spark: "SparkSession", attached: "Attachment") -> None:
    totals = spark.sql("SELECT customer, sum(cents) AS total FROM stoker.sales GROUP BY customer ORDER BY customer")
    assert [tuple(row) for row in totals.collect()] == [("ada", 300), ("ben", 100)]


def test_what_kafka_knows_of_a_record_comes_with_it(spark: "SparkSession", attached: "Attachment") -> None:
    found = spark.sql("SELECT _key, _partition, _offset, cents FROM stoker.sales WHERE _offset >= 1 ORDER BY _offset")
    assert [tuple(row) for row in found.collect()] == [("ben", 0, 1, 100), ("ada", 0, 2, 50)]
    assert spark.table("stoker.sales").columns == ["customer", "cents", "_key", "_partition", "_offset", "_timestamp"]


def test_a_topic_with_a_name_that_spark_does_not_allow(spark: "SparkSession", attached: "Attachment") -> None:
    assert attached.tables["words.of-people"].name == "stoker.words_of_people"
    assert spark.sql("SELECT value FROM stoker.words_of_people").collect() == [("hello",)]


def test_tables_are_listed_with_what_they_are(spark: "SparkSession", attached: "Attachment") -> None:
    listed = {each.name for each in spark.catalog.listTables("stoker") if not each.isTemporary}
    assert listed == {"sales", "words_of_people"}
    of_kafka = "_key, _partition, _offset, _timestamp"
    assert str(attached).splitlines() == [
        f"stoker.sales: topic sales, keys string, values avro (customer, cents, {of_kafka})",
        f"stoker.words_of_people: topic words.of-people, keys string, values string (value, {of_kafka})",
    ]


def test_a_query_may_say_where_to_begin(spark: "SparkSession", attached: "Attachment") -> None:
    found = spark.sql("""SELECT cents FROM stoker.sales WITH (startingOffsets='{"sales":{"0":2}}')""")
    assert found.collect() == [(50,)]


def test_a_table_is_read_as_a_stream(spark: "SparkSession", attached: "Attachment", checkpoint: str) -> None:
    stream = spark.readStream.option("startingOffsets", "earliest").table("stoker.sales")
    query = (
        stream.select("customer", "cents")
        .writeStream.format("memory")
        .queryName("sales_seen")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert sorted(tuple(row) for row in spark.table("sales_seen").collect()) == sorted(ORDERS)


def test_rows_are_inserted(spark: "SparkSession", broker: str, registry: RegistryProcess) -> None:
    """By the schema of the table; offsets and times are the broker's."""
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic("bought", 1, 1)])["bought"].result()
    registry.register("bought-value", json.dumps(ORDER))
    attachment = stoker.spark.attach(
        spark,
        broker,
        registry=registry.url,
        topics=["bought"],
        key_format="string",
        database="shop",
        options={"delivery": "at-least-once"},
    )
    spark.sql("INSERT INTO shop.bought (customer, cents, _key) VALUES ('ada', 5, 'k'), ('ben', 7, NULL)")
    found = spark.sql("SELECT customer, cents, _key, _offset FROM shop.bought ORDER BY _offset").collect()
    assert sorted(tuple(row)[:3] for row in found) == [("ada", 5, "k"), ("ben", 7, None)]
    assert [row._offset for row in found] == [0, 1]
    attachment.detach()


def test_refresh_takes_over_new_fields_and_new_topics(
    spark: "SparkSession", broker: str, registry: RegistryProcess
) -> None:
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic("growing", 1, 1)])["growing"].result()
    attachment = stoker.spark.attach(spark, broker, registry=registry.url, topics="growing.*", database="grows")
    assert spark.table("grows.growing").columns[0] == "value"
    registry.register("growing-value", json.dumps(ORDER))
    admin.create_topics([NewTopic("growing_too", 1, 1)])["growing_too"].result()
    assert attachment.refresh().tables.keys() == {"growing", "growing_too"}
    assert spark.table("grows.growing").columns[:2] == ["customer", "cents"]
    admin.delete_topics(["growing_too"])["growing_too"].result()
    assert attachment.refresh().tables.keys() == {"growing"}
    assert not spark.catalog.tableExists("grows.growing_too")
    attachment.detach()
    assert not spark.catalog.databaseExists("grows")


def test_a_wrong_option_is_refused_once(spark: "SparkSession", broker: str) -> None:
    with pytest.raises(InvalidOption, match="there is no option 'includeheader'"):
        stoker.spark.attach(spark, broker, options={"includeHeader": True})


def test_what_cannot_be_a_table_is_named(spark: "SparkSession", broker: str, topics: None) -> None:
    with pytest.warns(TopicsLeftOut, match=r"odd-name: the table odd_name is the topic odd_name; names=\{'odd-name'"):
        attachment = stoker.spark.attach(spark, broker, topics="odd.*", database="odd")
    assert list(attachment.left_out) == ["odd-name"]
    assert list(attachment.tables) == ["odd_name"]
    attachment.detach()


def test_tables_of_others_are_left_alone(spark: "SparkSession", broker: str, topics: None) -> None:
    spark.sql("CREATE DATABASE theirs")
    spark.sql("CREATE TABLE theirs.sales (id INT) USING parquet")
    with pytest.warns(TopicsLeftOut, match=r"sales: there is a table theirs\.sales already, which is no topic"):
        attachment = stoker.spark.attach(spark, broker, topics=["sales"], database="theirs")
    attachment.detach()
    assert spark.table("theirs.sales").columns == ["id"]
    spark.sql("DROP DATABASE theirs CASCADE")


def test_the_database_is_in_no_directory_of_the_user(spark: "SparkSession", attached: "Attachment") -> None:
    directory = Path(spark.catalog.getDatabase("stoker").locationUri.removeprefix("file:"))
    assert directory.parent == Path(tempfile.gettempdir())
    attached.detach()
    assert not directory.exists()
