"""The balance: what must be there, and what a plain consumer and a plain reader of Parquet find."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

from stoker.demo.events import HIGH_VALUE, HOUR, WITHIN, Event, Plan, cents, order_id


class Line(NamedTuple):
    """One line of the balance."""

    what: str
    expected: int
    found: int
    twice: int = 0

    @property
    def is_right(self) -> bool:
        return self.expected == self.found and not self.twice


def balance(plan: Plan, bootstrap_servers: str, registry: str, lake: str) -> list[Line]:
    """Each line compares sets, not only their sizes: what is missing and what is too much both count as not found."""
    good = [number for number in range(plan.orders) if not plan.is_malformed(number)]
    payments = list(plan.payment_events())
    with closing(Values(bootstrap_servers, registry)) as values:
        return _balance(plan, values, good, payments, lake)


def _balance(plan: Plan, values: "Values", good: list[int], payments: list[Event], lake: str) -> list[Line]:
    bad_payments = sum(each.fields is None for each in payments)
    delays = {number: plan.payment_delay(number) for number in good}
    paid = [
        number for number in good if (delay := delays[number]) is not None and delay <= WITHIN and number % 1000 != 1
    ]
    found_paid = [each["order_id"] for each in values.of("orders-paid")]
    enriched = [each["order_id"] for each in values.of("orders-enriched")]
    high = [each["order_id"] for each in values.of("orders-high-value")]
    dead_orders, dead_payments = values.count("orders-dead-letters"), values.count("payments-dead-letters")
    hours = {
        (key, each["window_start"]): (each["cents"], each["orders"]) for key, each in values.keyed("hourly-revenue")
    }
    wanted = _hours(plan, good)
    return [
        Line("orders, with their customers", len(good), *_compared(good, enriched)),
        Line("malformed orders, set aside", plan.orders - len(good), dead_orders),
        Line("malformed payments, set aside", bad_payments, dead_payments),
        Line("orders paid within five minutes", len(paid), *_compared(paid, found_paid)),
        Line(
            "orders of high value",
            sum(cents(each) > HIGH_VALUE for each in good),
            *_compared([each for each in good if cents(each) > HIGH_VALUE], high),
        ),
        Line("orders in Parquet files", len(good), *_compared(good, _stored(lake))),
        Line(
            "customers' hours with their revenue",
            len(wanted),
            sum(hours.get(each) == sums for each, sums in wanted.items()),
        ),
        Line("revenue, in cents", sum(each[0] for each in wanted.values()), sum(each[0] for each in hours.values())),
    ]


def late_orders(plan: Plan) -> int:
    return sum(plan.is_late(number) and not plan.is_malformed(number) for number in range(plan.orders))


def _hours(plan: Plan, good: list[int]) -> dict[tuple[str, int], tuple[int, int]]:
    """Cents and orders by customer and hour, without late ones."""
    sums: dict[tuple[str, int], tuple[int, int]] = {}
    for number in good:
        if plan.is_late(number):
            continue
        key = plan.customer_of(number), plan.order_time(number) // HOUR * HOUR
        total, count = sums.get(key, (0, 0))
        sums[key] = total + cents(number), count + 1
    return sums


def _compared(numbers: list[int], found: list[str]) -> tuple[int, int]:
    """How many of the wanted ones are there, less what nobody wanted; and how many are there twice."""
    counts = Counter(found)
    wanted = {order_id(number) for number in numbers}
    twice = sum(count - 1 for count in counts.values())
    return len(wanted & counts.keys()) - len(counts.keys() - wanted), twice


def _stored(lake: str) -> list[str]:
    from pyarrow import dataset

    files = dataset.dataset(lake, format="parquet", partitioning="hive")
    return [str(each) for each in files.to_table(columns=["order_id"]).column("order_id").to_pylist()]


class Values:
    """What is committed in topics, decoded by Confluent's framing and the registry's schemas."""

    def __init__(self, bootstrap_servers: str, registry: str) -> None:
        from stoker.registry.client import RegistryClient

        self._bootstrap_servers = bootstrap_servers
        self._registry = RegistryClient(registry)
        self._schemas: dict[int, list[dict[str, Any]]] = {}

    def close(self) -> None:
        self._registry.close()

    def count(self, topic: str) -> int:
        return sum(1 for _ in self._messages(topic))

    def of(self, topic: str) -> "list[dict[str, Any]]":
        return [value for _, value in self.keyed(topic)]

    def keyed(self, topic: str) -> "list[tuple[str, dict[str, Any]]]":
        return [(key.decode(), self._decoded(value)) for key, value in self._messages(topic)]

    def _decoded(self, value: bytes) -> dict[str, Any]:
        number = int.from_bytes(value[1:5], "big")
        if number not in self._schemas:
            self._schemas[number] = json.loads(self._registry.schema(number)["schema"])["fields"]
        return _record(self._schemas[number], value, 5)

    def _messages(self, topic: str) -> Iterator[tuple[bytes, bytes]]:
        from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap_servers,
                "group.id": "auditor",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "log_level": 0,
            }
        )
        partitions = list(consumer.list_topics(topic, timeout=30).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, each, 0) for each in partitions])
        ended = 0
        while ended < len(partitions):
            for message in consumer.consume(10_000, timeout=0.5):
                error = message.error()
                if error is None:
                    yield message.key() or b"", message.value() or b""
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended += 1
                else:
                    raise KafkaException(error)
        consumer.close()


def _record(fields: "list[dict[str, Any]]", data: bytes, at: int) -> dict[str, Any]:
    """Strings, longs, moments, and unions of these with null: what the pipeline writes."""
    found: dict[str, Any] = {}
    for field in fields:
        kind = field["type"]
        if isinstance(kind, list):
            branch, at = _long(data, at)
            kind = kind[branch]
        if isinstance(kind, dict):
            unit = 1000 if kind.get("logicalType") == "timestamp-micros" else 1
            number, at = _long(data, at)
            found[str(field["name"])] = number // unit
        elif kind == "string":
            length, at = _long(data, at)
            found[str(field["name"])] = data[at : at + length].decode()
            at += length
        elif kind == "null":
            found[str(field["name"])] = None
        else:
            found[str(field["name"])], at = _long(data, at)
    return found


def _long(data: bytes, at: int) -> tuple[int, int]:
    shift = number = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
        shift += 7
