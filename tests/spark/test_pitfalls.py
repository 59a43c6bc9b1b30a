"""What happens to a running query when the world around it does not stand still.

A first batch that is killed, a task that is run again, deleted topics and expired offsets are in test_data_source.py and
test_stream_reader.py; what is lost when Spark itself is killed, in faults/.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.clients.client import eventually
from tests.faults.broker_process import BrokerProcess
from tests.registry.registry_process import RegistryProcess
from tests.spark.faults.killable_brokers import three_nodes
from tests.spark.topics import Sent, Topic, Topics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

DOWN_SECONDS = 10.0
FIRST = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
WITH_NOTE = {**FIRST, "fields": [*FIRST["fields"], {"name": "note", "type": "string", "default": "none"}]}
WITH_FLAG = {**FIRST, "fields": [*FIRST["fields"], {"name": "paid", "type": "boolean", "default": False}]}


@pytest.fixture(scope="module")
def mortal_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("mortal") / "data") as broker:
        yield broker


@pytest.fixture(scope="module")
def mortal_registry(mortal_broker: BrokerProcess) -> Iterator[RegistryProcess]:
    with RegistryProcess(mortal_broker.bootstrap_servers) as registry:
        yield registry


class Orders:
    """A topic of Avro orders, and a query that runs over it and keeps what it has read."""

    def __init__(self, topic: Topic, registry: RegistryProcess) -> None:
        self.topic = topic
        self._client = SchemaRegistryClient({"url": registry.url})
        self._options = {"value.format": "avro", "schema.registry.url": registry.url, "startingOffsets": "earliest"}
        self.seen: list[Any] = []
        self.query: StreamingQuery | None = None

    def encoded(self, schema: dict[str, Any], *orders: dict[str, Any]) -> list[Sent]:
        """Registers the schema."""
        serialize = AvroSerializer(self._client, json.dumps(schema))
        context = SerializationContext(self.topic.name, MessageField.VALUE)
        return [Sent(0, serialize(order, context)) for order in orders]

    def read(self, spark: "SparkSession", checkpoint: str) -> None:
        frame = spark.readStream.format("stoker").options(**self.topic.options, **self._options).load()
        self.query = frame.writeStream.foreachBatch(self._keep).option("checkpointLocation", checkpoint).start()

    def _keep(self, frame: "DataFrame", batch: int) -> None:
        self.seen += [tuple(row.value) for row in frame.select("value").collect()]

    def wait_for(self, *orders: tuple[Any, ...]) -> None:
        assert self.query is not None
        found = eventually(
            lambda: self.seen, lambda seen: len(seen) >= len(orders) or not self.query_is_active, seconds=60
        )
        assert self.query_is_active, self.query.exception()
        assert found == list(orders)

    @property
    def query_is_active(self) -> bool:
        return self.query is not None and self.query.isActive

    def stays_active_for(self, seconds: float) -> None:
        assert self.query is not None
        assert not self.query.awaitTermination(int(seconds)), self.query.exception()


@pytest.fixture
def orders(
    spark: "SparkSession", mortal_broker: BrokerProcess, mortal_registry: RegistryProcess, checkpoint: str
) -> Iterator[Orders]:
    """One order of the first schema has been read."""
    orders = Orders(Topics(mortal_broker.bootstrap_servers).create(), mortal_registry)
    orders.topic.send(orders.encoded(FIRST, {"id": 1}))
    orders.read(spark, checkpoint)
    orders.wait_for((1,))
    yield orders
    assert orders.query is not None
    orders.query.stop()


def test_a_schema_that_is_registered_after_the_query_started(orders: Orders) -> None:
    """The query goes on with the columns it began with, and reads what is written by the new one."""
    orders.topic.send(orders.encoded(WITH_NOTE, {"id": 2, "note": "new"}))
    orders.topic.send(orders.encoded(FIRST, {"id": 3}))
    orders.wait_for((1,), (2,), (3,))


def test_a_registry_that_is_down_for_ten_seconds(orders: Orders, mortal_registry: RegistryProcess) -> None:
    """A batch with a schema that nobody has asked for yet waits for the registry."""
    unknown = orders.encoded(WITH_FLAG, {"id": 4, "paid": True})
    mortal_registry.kill()
    orders.topic.send(unknown)
    orders.stays_active_for(DOWN_SECONDS)
    assert orders.seen == [(1,)]
    mortal_registry.start()
    orders.wait_for((1,), (4,))


def test_a_broker_that_is_down_for_ten_seconds(orders: Orders, mortal_broker: BrokerProcess) -> None:
    """The query waits for it, and goes on where it was."""
    more = orders.encoded(FIRST, {"id": 5})
    mortal_broker.kill()
    orders.stays_active_for(DOWN_SECONDS)
    mortal_broker.start()
    orders.topic.send(more)
    orders.wait_for((1,), (5,))


def sent_now(value: bytes) -> Sent:
    return Sent(0, value, timestamp=time.time_ns() // 1_000_000)


@pytest.mark.java
def test_a_partition_that_moves_to_another_broker(spark: "SparkSession", tmp_path: Path, checkpoint: str) -> None:
    """The leader is killed; the query goes on with the next one, and so does a read that begins with the dead one's address."""
    with three_nodes(tmp_path) as kafka:
        kafka.create_topic("moving", 1)
        topic = Topic(kafka.bootstrap_servers, "moving", Producer({"bootstrap.servers": kafka.bootstrap_servers}))
        topic.send([sent_now(b"1")])
        seen: list[str] = []

        def keep(frame: "DataFrame", batch: int) -> None:
            seen.extend(row.value.decode() for row in frame.collect())

        read = topic.stream(spark, startingOffsets="earliest").select("value")
        query = read.writeStream.foreachBatch(keep).option("checkpointLocation", checkpoint).start()
        try:
            assert eventually(lambda: list(seen), bool, seconds=60) == ["1"]
            kafka.kill_leader_of("moving")
            topic.send([sent_now(b"2"), sent_now(b"3")])
            found = eventually(lambda: list(seen), lambda all_: len(all_) > 2 or not query.isActive, seconds=60)
            assert found == ["1", "2", "3"], query.exception()
        finally:
            query.stop()
        assert topic.read(spark).count() == 3
