"""Filters over Avro topics: values keep their schema and their bytes, as with Kafka Streams."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from stoker.streams import Streams
from tests.registry.registry_process import RegistryProcess
from tests.spark.formats.avro_values import framed, written
from tests.streams.records import Records

if TYPE_CHECKING:
    from confluent_kafka import Message
    from pyspark.sql import SparkSession

NOON: Final = 1_700_006_400_000
OLDER: Final[dict[str, Any]] = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "doc": "what was ordered",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "amount", "type": "double"},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["OPEN", "PAID"]}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
ORDER: Final = {**OLDER, "fields": [*OLDER["fields"], {"name": "tier", "type": "string", "default": "basic"}]}


class Shop:
    """A topic of orders by two schemas, and what an application has written of them."""

    def __init__(self, name: str, broker: str, registry: RegistryProcess, spark: "SparkSession", place: Path) -> None:
        self.records = Records(broker)
        self.registry = registry
        self.name = name
        self.app = Streams(name, bootstrap_servers=broker, registry=registry.url, spark=spark, state_dir=str(place))
        self.records.create(f"{name}-orders", f"{name}-out", partitions=2)
        self.older = registry.register(f"{name}-orders-value", json.dumps(OLDER))
        self.newer = registry.register(f"{name}-orders-value", json.dumps(ORDER))

    def send(self, number: int, *, is_old: bool = False) -> bytes:
        order = {"id": f"o-{number}", "amount": number * 100.0, "state": "PAID", "at": NOON + number}
        value = written(OLDER, order) if is_old else written(ORDER, {**order, "tier": "gold"})
        framed_value = framed(value, self.older if is_old else self.newer)
        self.records.send(f"{self.name}-orders", f"c-{number % 3}", framed_value, NOON + number)
        return framed_value

    def run(self) -> "list[Message]":
        self.records.flush()
        self.app.run(until_end=True)
        return sorted(self.records.read(f"{self.name}-out"), key=lambda each: each.timestamp())


@pytest.fixture
def shop(
    request: pytest.FixtureRequest, broker: str, registry: RegistryProcess, spark: "SparkSession", tmp_path: Path
) -> Shop:
    return Shop(request.node.name.split("[")[0].replace("_", "-"), broker, registry, spark, tmp_path)


def test_a_filter_passes_values_on_as_they_are(shop: Shop) -> None:
    """The topic gets the schema of the topic that is read, with its names and types, and each record its bytes, key and time."""
    values = [shop.send(number) for number in range(20)]
    shop.app.stream(f"{shop.name}-orders").filter("amount > 500").to(f"{shop.name}-out")
    found = shop.run()
    assert [each.value() for each in found] == values[6:]
    assert [(each.key(), each.timestamp()[1]) for each in found] == [
        (f"c-{number % 3}".encode(), NOON + number) for number in range(6, 20)
    ]
    subject = shop.registry.ask("GET", f"/subjects/{shop.name}-out-value/versions/latest").json()
    assert subject["id"] == shop.newer
    assert json.loads(subject["schema"])["name"] == "Order"


def test_values_of_an_older_schema_are_brought_up_to_date(shop: Shop) -> None:
    """All records of the topic that is written are of one schema."""
    shop.send(7, is_old=True)
    newer = shop.send(8)
    shop.app.stream(f"{shop.name}-orders", timestamp="at").filter("state = 'PAID'").to(f"{shop.name}-out")
    older = {"id": "o-7", "amount": 700.0, "state": "PAID", "at": NOON + 7, "tier": "basic"}
    assert [each.value() for each in shop.run()] == [framed(written(ORDER, older), shop.newer), newer]


def test_what_is_changed_has_a_schema_of_its_own(shop: Shop) -> None:
    """Nothing is passed on as it was but what is what it was."""
    shop.send(9)
    orders = shop.app.stream(f"{shop.name}-orders")
    orders.select("id", "amount", "state", "at", tier="id").to(f"{shop.name}-out")
    [found] = shop.run()
    value = found.value()
    assert value is not None
    assert int.from_bytes(value[1:5]) != shop.newer


def test_a_bad_record_among_those_that_are_passed_on(shop: Shop) -> None:
    """It goes to the dead letters, and the others go their way."""
    values = [shop.send(1), shop.send(2)]
    shop.records.send(f"{shop.name}-orders", "c-1", values[0][:-9], NOON)
    shop.records.create(f"{shop.name}-bad")
    orders = shop.app.stream(f"{shop.name}-orders", dead_letters=f"{shop.name}-bad")
    orders.filter("amount > 0").to(f"{shop.name}-out")
    assert [each.value() for each in shop.run()] == values
    assert [each.value() for each in shop.records.read(f"{shop.name}-bad")] == [values[0][:-9]]


def test_fields_that_are_left_out_are_not_passed_on(shop: Shop) -> None:
    """Though the topic has the very schema that is read, and its bytes would do."""
    shop.send(3)
    shop.registry.register(f"{shop.name}-out-value", json.dumps(ORDER))
    shop.app.stream(f"{shop.name}-orders").select("id", "amount", "state", "at").to(f"{shop.name}-out")
    order = {"id": "o-3", "amount": 300.0, "state": "PAID", "at": NOON + 3, "tier": "basic"}
    assert [each.value() for each in shop.run()] == [framed(written(ORDER, order), shop.newer)]
