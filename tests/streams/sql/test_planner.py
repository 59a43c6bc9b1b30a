"""Statements on an application, by the test driver: what their topics get. No broker."""

from typing import TYPE_CHECKING, Any

import pytest

from stoker.streams import Streams, TestDriver
from stoker.streams.sql import SqlError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOWHERE = "127.0.0.1:1"

SOURCES = """
CREATE STREAM orders (order_id VARCHAR KEY, customer_id VARCHAR, total DOUBLE, tags ARRAY<VARCHAR>, address STRUCT<city VARCHAR>)
  WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON');
CREATE STREAM payments (payment_id VARCHAR KEY, order_id VARCHAR, amount DOUBLE)
  WITH (KAFKA_TOPIC='payments', VALUE_FORMAT='JSON');
CREATE TABLE customers (id VARCHAR PRIMARY KEY, name VARCHAR, region INTEGER)
  WITH (KAFKA_TOPIC='customers', VALUE_FORMAT='JSON');
CREATE TABLE scores (id VARCHAR PRIMARY KEY, score INTEGER) WITH (KAFKA_TOPIC='scores', VALUE_FORMAT='JSON');
CREATE TABLE regions (id INTEGER PRIMARY KEY, label VARCHAR) WITH (KAFKA_TOPIC='regions', VALUE_FORMAT='JSON');
"""
STATELESS = """
CREATE STREAM high_value AS SELECT * FROM orders WHERE total > 1000;
CREATE STREAM parts AS SELECT order_id, address->city AS city, ROWTIME AS happened, EXPLODE(tags) AS tag FROM orders;
CREATE STREAM by_total AS SELECT CAST(total AS BIGINT) AS k, order_id FROM orders PARTITION BY CAST(total AS BIGINT);
CREATE STREAM csv WITH (VALUE_FORMAT='DELIMITED') AS SELECT order_id, customer_id, total FROM orders;
CREATE STREAM renamed WITH (KAFKA_TOPIC='other-topic') AS SELECT order_id, UCASE(customer_id) AS who FROM orders;
CREATE STREAM collected (order_id VARCHAR KEY, customer_id VARCHAR, total DOUBLE)
  WITH (KAFKA_TOPIC='collected', VALUE_FORMAT='JSON');
INSERT INTO collected SELECT order_id, customer_id, total FROM orders WHERE total < 10;
"""
AGGREGATES = """
CREATE TABLE totals AS SELECT customer_id, SUM(total) AS total, ROUND(SUM(total) / COUNT(*), 2) AS mean, UCASE(customer_id) AS upper
  FROM orders GROUP BY customer_id HAVING COUNT(*) > 1;
CREATE TABLE pairs AS SELECT customer_id, order_id, MAX(total) AS most, COUNT(*) AS n
  FROM orders GROUP BY customer_id, order_id;
CREATE TABLE hourly AS SELECT customer_id, WINDOWSTART AS window_start, WINDOWEND AS until, COUNT(*) AS n
  FROM orders WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 0 SECONDS) GROUP BY customer_id;
CREATE TABLE hops AS SELECT customer_id, COUNT(*) AS n
  FROM orders WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY customer_id;
CREATE TABLE visits AS SELECT customer_id, COUNT(*) AS n
  FROM orders WINDOW SESSION (10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY customer_id;
CREATE TABLE final AS SELECT customer_id, COUNT(*) AS n
  FROM orders WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 0 SECONDS) GROUP BY customer_id EMIT FINAL;
"""
JOINS = """
CREATE STREAM enriched AS SELECT o.customer_id AS customer_id, o.order_id, c.name
  FROM orders o LEFT JOIN customers c ON o.customer_id = c.id;
CREATE STREAM matched AS SELECT o.order_id AS order_id, o.total, p.amount
  FROM orders o JOIN payments p WITHIN 5 MINUTES ON o.order_id = p.order_id;
CREATE TABLE scored AS SELECT c.id AS id, c.name, s.score FROM customers c JOIN scores s ON c.id = s.id;
CREATE TABLE placed AS SELECT c.id AS id, c.name, r.label FROM customers c LEFT JOIN regions r ON c.region = r.id;
CREATE TABLE by_region AS SELECT region, COUNT(*) AS n FROM customers GROUP BY region;
"""

ORDERS = [("a", 1000.0), ("a", 1001.0), ("b", 5.0), ("x", 1.0)]


@pytest.fixture(scope="module")
def application(spark: "SparkSession") -> Streams:
    """With all statements above, so that all of them are run at once."""
    made = Streams("planned", bootstrap_servers=NOWHERE, spark=spark)
    for text in (SOURCES, STATELESS, AGGREGATES, JOINS):
        made.sql(text)
    return made


@pytest.fixture(scope="module")
def written(application: Streams, spark: "SparkSession") -> dict[str, list[tuple[Any, Any]]]:
    """By topic, keys and values: tables first, then orders of one minute, then one of three hours later."""
    with TestDriver(application, spark=spark) as driver:
        driver.send("customers", {"NAME": "Ann", "REGION": 1}, key="a")
        driver.send("customers", {"NAME": "Bob", "REGION": 2}, key="b")
        driver.send("scores", {"SCORE": 5}, key="a")
        driver.send("regions", {"LABEL": "north"}, key=(1).to_bytes(4, "big"))
        driver.run()
        for number, (customer, total) in enumerate(ORDERS):
            value = {"CUSTOMER_ID": customer, "TOTAL": total, "TAGS": ["p", "q"], "ADDRESS": {"CITY": "Rome"}}
            driver.send("orders", value, key=f"o{number}", timestamp=1000 * number)
        driver.send("payments", {"ORDER_ID": "o1", "AMOUNT": 7.5}, key="p1", timestamp=60_000)
        driver.run()
        late = {"CUSTOMER_ID": "b", "TOTAL": 7.0, "TAGS": [], "ADDRESS": None}
        driver.send("orders", late, key="o9", timestamp=3 * 3_600_000)
        driver.send("customers", None, key="b")
        driver.run()
        topics = {sink.topic for sink in application.topology.sinks if hasattr(sink, "topic")}
        return {topic: [(each.key, each.value) for each in driver.read(topic)] for topic in topics}


def test_a_filter_writes_what_meets_it(written: dict[str, list[tuple[Any, Any]]]) -> None:
    value = {"CUSTOMER_ID": "a", "TOTAL": 1001.0, "TAGS": ["p", "q"], "ADDRESS": {"CITY": "Rome"}}
    assert written["HIGH_VALUE"] == [("o1", value)]


def test_fields_of_structs_the_time_of_rows_and_elements_of_arrays(written: dict[str, list[tuple[Any, Any]]]) -> None:
    parts = [(key, value["CITY"], value["HAPPENED"], value["TAG"]) for key, value in written["PARTS"]]
    assert sorted(parts) == [(f"o{n}", "Rome", 1000 * n, tag) for n in range(4) for tag in ("p", "q")]


def test_partition_by_writes_keys_as_kafkas_serializers_do(written: dict[str, list[tuple[Any, Any]]]) -> None:
    keys = [int.from_bytes(key, "big", signed=True) for key, _ in written["BY_TOTAL"]]
    assert sorted(keys) == [1, 5, 7, 1000, 1001]


def test_other_formats_and_topics(written: dict[str, list[tuple[Any, Any]]]) -> None:
    assert ("o2", "b,5.0") in written["CSV"]
    assert ("o2", {"WHO": "B"}) in written["other-topic"]


def test_insert_into_writes_to_the_topic_of_the_target(written: dict[str, list[tuple[Any, Any]]]) -> None:
    assert [key for key, _ in written["collected"]] == ["o2", "o3", "o9"]


def test_aggregates_and_having(written: dict[str, list[tuple[Any, Any]]]) -> None:
    assert written["TOTALS"] == [
        ("a", {"TOTAL": 2001.0, "MEAN": 1000.5, "UPPER": "A"}),
        ("b", {"TOTAL": 12.0, "MEAN": 6.0, "UPPER": "B"}),
    ]


def test_a_key_of_several_columns_is_json(written: dict[str, list[tuple[Any, Any]]]) -> None:
    assert ('{"CUSTOMER_ID":"a","ORDER_ID":"o1"}', {"MOST": 1001.0, "N": 1}) in written["PAIRS"]


def test_windows_are_in_the_key(written: dict[str, list[tuple[Any, Any]]]) -> None:
    hour = 3_600_000
    assert (b"a" + bytes(8), {"WINDOW_START": 0, "UNTIL": hour, "N": 2}) in written["HOURLY"]
    later = (3 * hour).to_bytes(8, "big")
    assert (b"b" + later, {"WINDOW_START": 3 * hour, "UNTIL": 4 * hour, "N": 1}) in written["HOURLY"]
    assert (b"a" + bytes(8), {"N": 2}) in written["HOPS"]
    assert (b"a" + (1000).to_bytes(8, "big") + bytes(8), {"N": 2}) in written["VISITS"]


def test_emit_final_gives_a_window_once_when_it_is_closed(written: dict[str, list[tuple[Any, Any]]]) -> None:
    assert sorted(written["FINAL"], key=str) == [
        (each + bytes(8), {"N": n}) for each, n in ((b"a", 2), (b"b", 1), (b"x", 1))
    ]


def test_joins(written: dict[str, list[tuple[Any, Any]]]) -> None:
    assert written["MATCHED"] == [("o1", {"TOTAL": 1001.0, "AMOUNT": 7.5})]
    named = [(key, value["ORDER_ID"], value["NAME"]) for key, value in written["ENRICHED"]]
    assert named[:4] == [("a", "o0", "Ann"), ("a", "o1", "Ann"), ("b", "o2", "Bob"), ("x", "o3", None)]
    assert written["SCORED"] == [("a", {"NAME": "Ann", "SCORE": 5})]
    assert ("a", {"NAME": "Ann", "LABEL": "north"}) in written["PLACED"]


def test_a_deleted_row_deletes_what_was_made_of_it(written: dict[str, list[tuple[Any, Any]]]) -> None:
    assert written["PLACED"][-1] == ("b", None)
    assert written["BY_REGION"][-1] == ((2).to_bytes(4, "big"), None)


REFUSED = [
    ("SELECT totl FROM orders", 1, 8, "there is no column TOTL: did you mean TOTAL?"),
    ("SELECT *\nFROM ordrs", 2, 6, "there is no stream or table ORDRS: did you mean ORDERS?"),
    ("SELECT UCAS(order_id) FROM orders", 1, 8, "there is no function UCAS: did you mean UCASE?"),
    ("SELECT order_id, SUM(total) FROM orders", 1, 18, "GROUP BY says of which rows it is"),
    ("SELECT total FROM orders GROUP BY customer_id", 1, 8, "neither aggregated nor in GROUP BY"),
    ("SELECT x.total FROM orders o", 1, 8, "there is no X in this query: there is O"),
    ("SELECT * FROM orders o JOIN payments p ON o.order_id = p.order_id", 1, 29, "needs WITHIN"),
    ("SELECT * FROM orders o JOIN customers c ON o.customer_id = c.name", 1, 44, "found by its PRIMARY KEY"),
    ("SELECT * FROM orders o JOIN regions r ON o.customer_id = r.id", 1, 42, "these are STRING and INTEGER"),
    ("SELECT order_id FROM orders o JOIN payments p WITHIN 1 HOUR ON o.order_id = p.order_id", 1, 8, "write O.ORDER_ID"),
    ("SELECT total + tags FROM orders", 1, 8, "cannot be computed"),
    ("SELECT total AS a, customer_id AS a FROM orders", 1, 35, "two columns A"),
    ("CREATE TABLE t AS SELECT * FROM orders", 1, 14, "the result is a stream"),
    ("CREATE STREAM s AS SELECT customer_id, COUNT(*) FROM orders GROUP BY customer_id", 1, 15, "the result is a table"),
    ("CREATE STREAM s AS SELECT total FROM orders", 1, 15, "the key is not selected"),
    ("CREATE STREAM orders AS SELECT * FROM payments", 1, 15, "there is a stream ORDERS already"),
    ("CREATE STREAM s WITH (VALUE_FORMAT='AVRO') AS SELECT * FROM orders", 1, 23, "needs a schema registry"),
    ("CREATE STREAM s WITH (VALUE_FORMAT='XML') AS SELECT * FROM orders", 1, 23, "VALUE_FORMAT takes AVRO, JSON"),
    ("CREATE STREAM s (a INT) WITH (KAFKA_TOPC='t', VALUE_FORMAT='JSON')", 1, 31, "did you mean KAFKA_TOPIC?"),
    ("CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='t')", 1, 15, "VALUE_FORMAT"),
    ("CREATE TABLE t (a INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON')", 1, 14, "needs a PRIMARY KEY"),
    ("INSERT INTO collected SELECT order_id, tags FROM orders", 1, 13, "COLLECTED has no column TAGS"),
    ("SHOW STREAMS", 1, 1, "other statements are for `stoker sql`"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "message"), REFUSED, ids=[each[0][:60] for each in REFUSED])
def test_what_is_wrong_is_refused_where_it_is(
    application: Streams, text: str, line: int, column: int, message: str
) -> None:
    with pytest.raises(SqlError) as raised:
        application.sql(f"{text};")
    assert (raised.value.line, raised.value.column) == (line, column), str(raised.value)
    assert message in str(raised.value)
    assert "^" in str(raised.value)


def test_a_select_gives_the_stream_or_table(spark: "SparkSession") -> None:
    made = Streams("selected", bootstrap_servers=NOWHERE, spark=spark)
    made.sql(SOURCES)
    made.sql("SELECT order_id, total * 2 AS twice FROM orders WHERE total > 1;").to("twice")
    with TestDriver(made, spark=spark) as driver:
        driver.send("orders", {"TOTAL": 2.0}, key="o1")
        assert [each.value["TWICE"] for each in driver.read("twice")] == [4.0]
