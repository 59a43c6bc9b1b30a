"""The engine on a broker and a registry of their own: the statements of the documents, as they are written there."""

import io
import json
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from confluent_kafka import Producer

from stoker.streams.sql import SqlError
from stoker.streams.sql.engine import SqlEngine
from stoker.streams.sql.results import Live, Message, Rows
from tests.clients.drivers.confluent import ConfluentKafka
from tests.registry.registry_process import RegistryProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WAIT_SECONDS = 90.0
SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "order_id", "type": "string"},
        {"name": "customer_id", "type": "string"},
        {"name": "total", "type": "double"},
    ],
}
CREATE_STREAM = """-- Create a stream from a topic
CREATE STREAM orders (
    order_id VARCHAR,
    customer_id VARCHAR,
    total DOUBLE
) WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='AVRO');"""
CREATE_STREAM_AS = """-- Continuous query: filter high-value orders into a new topic
CREATE STREAM high_value_orders AS
SELECT * FROM orders WHERE total > 1000;"""
CREATE_TABLE_AS = """-- Materialized view: running total per customer
CREATE TABLE customer_totals AS
SELECT customer_id, SUM(total) AS lifetime_value
FROM orders GROUP BY customer_id;"""
FIRST_ORDERS = [("o1", "c1", 1000.0), ("o2", "c1", 1001.0), ("o3", "c2", 5.5), ("o4", "c3", 2000.0)]


class Shop:
    """The topic `orders`, and an engine that is started again on the same state."""

    def __init__(self, broker: str, registry: RegistryProcess, state_dir: Path, spark: "SparkSession") -> None:
        self.broker = broker
        self._registry = registry.url
        self._state_dir = state_dir
        self._spark = spark
        self._schema_id = registry.register("orders-value", json.dumps(SCHEMA))
        self._producer = Producer({"bootstrap.servers": broker})
        self.orders: list[tuple[str, str, float]] = []
        with closing(ConfluentKafka(broker)) as kafka:
            kafka.delete_if_there("orders")
            kafka.create_ready_topic("orders", partitions=2)
        self.engine = self._started()

    def _started(self) -> SqlEngine:
        return SqlEngine(self.broker, self._registry, "shop", str(self._state_dir), self._spark)

    def again(self) -> None:
        self.engine.close()
        self.engine = self._started()

    def send(self, *orders: tuple[str, str, float]) -> None:
        for order_id, customer_id, total in orders:
            content = io.BytesIO()
            content.write(struct.pack(">bI", 0, self._schema_id))
            order = {"order_id": order_id, "customer_id": customer_id, "total": total}
            fastavro.schemaless_writer(content, SCHEMA, order)
            self._producer.produce("orders", content.getvalue(), key=customer_id.encode())
        assert self._producer.flush(30) == 0
        self.orders += orders

    def totals(self) -> dict[str, float]:
        """Computed of all orders at once."""
        return {
            each: sum(total for _, customer, total in self.orders if customer == each) for _, each, _ in self.orders
        }

    def rows(self, statement: str) -> list[Any]:
        (result,) = self.engine.execute(statement)
        assert isinstance(result, Rows)
        return sorted(tuple(each) for each in result.rows)

    def pushed(self, statement: str) -> list[Any]:
        (result,) = self.engine.execute(statement)
        assert isinstance(result, Live)
        return list(result.rows)


@pytest.fixture(scope="module")
def shop(spark: "SparkSession", broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with RegistryProcess(broker, options={"kafkastore.topic": "_schemas-of-the-shop"}) as registry:
        made = Shop(broker, registry, tmp_path_factory.mktemp("state"), spark)
        made.send(*FIRST_ORDERS)
        try:
            yield made
        finally:
            made.engine.close()


def eventually(what: Callable[[], Any], expected: Any) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while (found := what()) != expected:
        assert time.monotonic() < deadline, f"{found} is not {expected}"


def refused(shop: Shop, statement: str) -> SqlError:
    with pytest.raises(SqlError) as raised:
        shop.engine.execute(statement)
    return raised.value


@pytest.mark.acceptance("B151")
def test_a_wrong_column_type_is_refused_with_that_of_the_registry(shop: Shop) -> None:
    """A column of another type than the registry's is refused, where it is, with the registry's type."""
    error = refused(shop, CREATE_STREAM.replace("total DOUBLE", "total INTEGER"))
    assert (error.line, error.column) == (5, 5)
    assert "column TOTAL is DOUBLE in the registry (orders-value, field total), not INTEGER" in str(error)
    error = refused(shop, CREATE_STREAM.replace("customer_id", "customer"))
    assert "have no field CUSTOMER (orders-value): did you mean customer_id?" in str(error)
    error = refused(shop, CREATE_STREAM.replace("AVRO", "JSON_SR"))
    assert "VALUE_FORMAT='AVRO'" in str(error)


@pytest.mark.acceptance("S075")
def test_create_stream_over_an_avro_topic(shop: Shop) -> None:
    """CREATE STREAM as in the document; names are case-insensitive, and the columns those of the registry."""
    (made,) = shop.engine.execute(CREATE_STREAM)
    assert made == Message(text="Stream ORDERS is there, over topic orders.")
    assert shop.rows("describe Orders;") == [
        ("CUSTOMER_ID", "STRING", None),
        ("ORDER_ID", "STRING", None),
        ("TOTAL", "DOUBLE", None),
    ]
    shop.engine.execute("CREATE STREAM inferred WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='AVRO');")
    assert shop.rows("DESCRIBE inferred;") == shop.rows("DESCRIBE ORDERS;")
    shop.engine.execute("DROP STREAM inferred;")


@pytest.mark.acceptance("S076", "B152")
def test_create_stream_as_select(shop: Shop) -> None:
    """A continuous query into the topic HIGH_VALUE_ORDERS: total 1000 excluded, 1001 included."""
    (made,) = shop.engine.execute(CREATE_STREAM_AS)
    assert made == Message(
        text="Query CSAS_HIGH_VALUE_ORDERS_3 writes HIGH_VALUE_ORDERS.", query_id="CSAS_HIGH_VALUE_ORDERS_3"
    )
    (printed,) = shop.engine.execute("PRINT HIGH_VALUE_ORDERS FROM BEGINNING LIMIT 2;")
    assert isinstance(printed, Live)
    values = sorted((row[2] for row in printed.rows), key=lambda value: value["ORDER_ID"])
    assert values == [
        {"ORDER_ID": "o2", "CUSTOMER_ID": "c1", "TOTAL": 1001.0},
        {"ORDER_ID": "o4", "CUSTOMER_ID": "c3", "TOTAL": 2000.0},
    ]


@pytest.mark.acceptance("S077", "B153")
def test_create_table_as_select(shop: Shop) -> None:
    """A running total for each customer, which can be asked for, and equals one that is computed of all orders at once."""
    (made,) = shop.engine.execute(CREATE_TABLE_AS)
    assert isinstance(made, Message)
    assert made.query_id == "CTAS_CUSTOMER_TOTALS_4"
    eventually(lambda: dict(shop.rows("SELECT * FROM customer_totals;")), shop.totals())
    (printed,) = shop.engine.execute("PRINT CUSTOMER_TOTALS FROM BEGINNING LIMIT 3;")
    assert isinstance(printed, Live)
    assert {row[1]: row[2]["LIFETIME_VALUE"] for row in printed.rows} == shop.totals()


@pytest.mark.acceptance("B150")
def test_a_new_record_changes_the_result(shop: Shop) -> None:
    """SQL runs continuously over live topics: a new record changes the result in seconds."""
    shop.send(("o5", "c1", 0.5), ("o6", "c4", 1500.0))
    eventually(lambda: dict(shop.rows("SELECT * FROM customer_totals;")), shop.totals())
    assert [row[0] for row in shop.pushed("SELECT order_id FROM high_value_orders EMIT CHANGES LIMIT 3;")][-1] == "o6"


def test_pull_queries_by_key_range_and_condition(shop: Shop) -> None:
    totals = shop.totals()
    assert shop.rows("SELECT * FROM customer_totals WHERE customer_id = 'c2';") == [("c2", 5.5)]
    assert shop.rows("SELECT * FROM customer_totals WHERE customer_id IN ('c2', 'c9', 'c4');") == [
        ("c2", 5.5),
        ("c4", 1500.0),
    ]
    assert shop.rows("SELECT customer_id FROM customer_totals WHERE customer_id >= 'c3';") == [("c3",), ("c4",)]
    rich = shop.rows(
        "SELECT customer_id, lifetime_value * 2 AS twice FROM customer_totals WHERE lifetime_value > 1600;"
    )
    assert rich == [(each, total * 2) for each, total in sorted(totals.items()) if total > 1600]
    assert shop.rows("SELECT order_id FROM orders WHERE total < 10;") == [("o3",), ("o5",)]
    (answer,) = shop.engine.execute("SELECT * FROM customer_totals;")
    assert isinstance(answer, Rows)
    assert answer.note is not None
    assert answer.note.startswith("as of ")


def test_insert_values_is_one_record(shop: Shop) -> None:
    shop.engine.execute("INSERT INTO orders (order_id, customer_id, total) VALUES ('o7', 'c' + '5', 1200);")
    shop.orders.append(("o7", "c5", 1200.0))
    eventually(lambda: dict(shop.rows("SELECT * FROM customer_totals;")), shop.totals())
    error = refused(shop, "INSERT INTO orders (order_id, total) VALUES ('o8', 'many');")
    assert "column TOTAL is DOUBLE, not STRING" in str(error)


def test_what_is_used_cannot_be_dropped(shop: Shop) -> None:
    error = refused(shop, "DROP STREAM orders;")
    assert "ORDERS is used by CSAS_HIGH_VALUE_ORDERS_3, CTAS_CUSTOMER_TOTALS_4" in str(error)
    assert (error.line, error.column) == (1, 13)
    shown = {row[0]: row[3] for row in shop.rows("SHOW QUERIES;")}
    assert shown == {"CSAS_HIGH_VALUE_ORDERS_3": "RUNNING", "CTAS_CUSTOMER_TOTALS_4": "RUNNING"}


def test_queries_go_on_where_they_were_after_a_restart(shop: Shop) -> None:
    shop.engine.execute("PAUSE CSAS_HIGH_VALUE_ORDERS_3;")
    shop.engine.close()
    shop.send(("o9", "c2", 4.5))
    shop.again()
    states = {row[0]: row[3] for row in shop.rows("SHOW QUERIES;")}
    assert states == {"CSAS_HIGH_VALUE_ORDERS_3": "PAUSED", "CTAS_CUSTOMER_TOTALS_4": "RUNNING"}
    eventually(lambda: dict(shop.rows("SELECT * FROM customer_totals;")), shop.totals())


def test_spark_sql_on_topics(shop: Shop, spark: "SparkSession") -> None:
    """And an engine that is closed leaves none of the tables in the session."""
    assert shop.rows("SPARK SELECT count(*) FROM stoker.orders;") == [(len(shop.orders),)]
    error = refused(shop, "SPARK SELECT nothing FROM stoker.orders;")
    assert "Spark: " in str(error)
    shop.again()
    assert not spark.catalog.databaseExists("stoker")


def test_what_is_there(shop: Shop) -> None:
    assert {row[0] for row in shop.rows("SHOW TOPICS;")} >= {"orders", "HIGH_VALUE_ORDERS", "CUSTOMER_TOTALS"}
    assert [row[0] for row in shop.rows("SHOW TABLES;")] == ["CUSTOMER_TOTALS"]
    assert any(row[0].startswith("UCASE(") for row in shop.rows("SHOW FUNCTIONS;"))
    (explained,) = shop.engine.execute("EXPLAIN SELECT * FROM orders WHERE total > 5 EMIT CHANGES;")
    assert isinstance(explained, Message)
    assert "stream of topic orders" in explained.text
    shop.engine.execute("SET 'auto.offset.reset' = 'latest';")
    assert shop.rows("SHOW PROPERTIES;") == [("auto.offset.reset", "latest")]
    shop.engine.execute("UNSET 'auto.offset.reset';")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE SINK CONNECTOR c WITH ('a'='b');", "no connectors in SQL"),
        ("SHOW CONNECTORS;", "no connectors in SQL"),
        ("ALTER STREAM orders ADD COLUMN a INT;", "columns cannot be added"),
        ("TERMINATE nobody;", "there is no query NOBODY"),
        ("SET 'no.such' = '1';", "there is no property no.such"),
        ("PRINT nothing;", "there is no topic nothing"),
        ("SELECT customer_id, COUNT(*) FROM orders GROUP BY customer_id;", "add EMIT CHANGES"),
        ("CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='not-there', VALUE_FORMAT='JSON');", "there is no topic not-there"),
    ],
)
def test_what_is_not_there_is_refused_by_name(shop: Shop, statement: str, message: str) -> None:
    assert message in str(refused(shop, statement))


def test_terminate_and_drop_with_the_topic(shop: Shop) -> None:
    shop.engine.execute("DROP STREAM high_value_orders DELETE TOPIC; TERMINATE ALL; DROP TABLE customer_totals;")
    assert shop.rows("SHOW QUERIES;") == []
    assert "HIGH_VALUE_ORDERS" not in {row[0] for row in shop.rows("SHOW TOPICS;")}
    shop.again()
    assert [row[0] for row in shop.rows("SHOW STREAMS;")] == ["ORDERS"]
