"""The topics that streams read: orders and customers in Avro."""

import io
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from fastavro import parse_schema, schemaless_writer

from side_by_side.bench import Bench
from side_by_side.http_servers import Registry
from side_by_side.peers import Peer
from side_by_side.spark_topics import produce

PARTITIONS = 4
CUSTOMERS = 10_000
DISTINCT = 100_000
FOREVER = {"retention.ms": "-1"}


def _schema(record: str, fields: dict[str, object]) -> str:
    listed = [{"name": name, "type": kind} for name, kind in fields.items()]
    return json.dumps({"type": "record", "name": record, "fields": listed})


ORDER = _schema(
    "Order",
    {
        "order_id": "string",
        "customer_id": "string",
        "amount": "double",
        "region": "string",
        "ts": {"type": "long", "logicalType": "timestamp-millis"},
    },
)
CUSTOMER = _schema("Customer", {"customer_id": "string", "name": "string", "tier": "string"})


@dataclass(kw_only=True)
class Place:
    """A broker with a registry, and the topics that were filled there so far."""

    broker: Peer
    registry: Registry
    _names: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        return {"stoker": "Stoker's broker", "kafka": "Apache Kafka"}[self.broker.name]

    @property
    def registry_url(self) -> str:
        return f"http://127.0.0.1:{self.registry.port}"

    def orders(self, bench: Bench, count: int) -> str:
        """So many orders of 10,000 customers; amounts are quarters, half of them above 500."""
        return self._filled(bench, f"orders-{count}", ORDER, _orders(CUSTOMERS), count)

    def orders_of_many(self, bench: Bench, count: int) -> str:
        """One order of each of so many customers."""
        return self._filled(bench, f"many-{count}", ORDER, _orders(count, distinct=count), count)

    def customers(self, bench: Bench) -> str:
        return self._filled(bench, "customers", CUSTOMER, _customers(), CUSTOMERS)

    def empty(self, topic: str, schema: str = ORDER) -> str:
        """A topic of orders that has none yet."""
        if topic not in self._names:
            self.broker.create_topic(topic, PARTITIONS, FOREVER)
            self.register(topic, schema)
            self._names.add(topic)
        return topic

    def register(self, topic: str, schema: str) -> int:
        answer = self.registry.ask("POST", f"/subjects/{topic}-value/versions", json.dumps({"schema": schema}).encode())
        return int(json.loads(answer)["id"])

    def _filled(self, bench: Bench, topic: str, schema: str, rows: Iterator[dict[str, object]], count: int) -> str:
        if topic not in self._names:
            self.empty(topic, schema)
            encoded = encoder(self.register(topic, schema), schema)
            pool = [{"key": str(row["customer_id"]).encode(), "value": encoded(row)} for row in rows]
            produce(self.broker, topic, pool, count)
            bench.say(f"{self.name} has {count:,} records in {topic}")
        return topic


class encoder:  # noqa: N801 (it is used as a function)
    """Rows to bytes, as Confluent's serializer writes them."""

    def __init__(self, schema_id: int, schema: str) -> None:
        self._header = b"\x00" + schema_id.to_bytes(4, "big")
        self._schema = parse_schema(json.loads(schema))

    def __call__(self, row: dict[str, object]) -> bytes:
        value = io.BytesIO()
        value.write(self._header)
        schemaless_writer(value, self._schema, row)
        return value.getvalue()


def _customers() -> Iterator[dict[str, object]]:
    for each in range(CUSTOMERS):
        yield {"customer_id": f"c-{each:07d}", "name": f"Customer {each}", "tier": "gold"}


def _orders(customers: int, distinct: int = DISTINCT) -> Iterator[dict[str, object]]:
    chance = random.Random(7)
    for number in range(distinct):
        customer = number if distinct == customers else chance.randrange(customers)
        yield order(number, f"c-{customer:07d}", chance.randrange(4, 4_000) / 4)


def order(number: int, customer: str, amount: float) -> dict[str, object]:
    return {
        "order_id": f"o-{number:08d}",
        "customer_id": customer,
        "amount": amount,
        "region": ("eu", "us", "jp")[number % 3],
        "ts": 1_790_000_000_000 + number,
    }
