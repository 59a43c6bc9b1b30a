"""The topics that Spark reads: orders in Avro, orders in JSON, and record batches as large as they get."""

import io
import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, Message, Producer
from fastavro import parse_schema, schemaless_writer

from side_by_side import canned, compaction_loads
from side_by_side.bench import Bench
from side_by_side.http_servers import Registry
from side_by_side.peers import Peer
from side_by_side.processes import LoadFailed

PARTITIONS = 4
CUSTOMERS = 10_000
DISTINCT = 100_000
"""So many different orders go round and round."""
FLUSH_TIMEOUT_SECONDS = 120.0
LARGE_BATCH_BYTES = 50_000_000
LARGE_RECORD_BYTES = 45_000_000
LARGE_BATCHES = 6

_FIELDS = [
    {"name": "order_id", "type": "string"},
    {"name": "customer_id", "type": "string"},
    {"name": "amount", "type": "double"},
    {"name": "currency", "type": "string"},
    {"name": "created_at", "type": "long"},
    {"name": "status", "type": "string"},
]
ORDER_SCHEMA = json.dumps({"type": "record", "name": "Order", "fields": _FIELDS})
AMOUNT_SCHEMA = json.dumps({"type": "record", "name": "Order", "fields": _FIELDS[1:3]})
AMOUNT_TYPE = "struct<customer_id: string, amount: double>"
EVENT_TYPE = (
    "struct<order_id: string, customer_id: string, amount: double, currency: string, created_at: bigint, status: string, "
    "quantity: bigint, express: boolean, city: string, note: string>"
)


@dataclass(kw_only=True)
class Place:
    """A broker with a registry, and the topics that were filled there so far; they stay until the broker is removed."""

    broker: Peer
    registry: Registry
    _names: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return {"stoker": "Stoker's broker", "kafka": "Apache Kafka"}[self.broker.name]

    @property
    def registry_url(self) -> str:
        return f"http://127.0.0.1:{self.registry.port}"

    def orders(self, bench: Bench, count: int) -> str:
        """A topic of orders in Avro, behind Confluent's header; the key is the customer."""
        topic = f"orders-{count}"
        if topic not in self._names:
            answer = self.registry.ask(
                "POST", f"/subjects/{topic}-value/versions", json.dumps({"schema": ORDER_SCHEMA}).encode()
            )
            header = b"\x00" + int(json.loads(answer)["id"]).to_bytes(4, "big")
            schema = parse_schema(json.loads(ORDER_SCHEMA))
            pool = []
            for order in _orders():
                value = io.BytesIO()
                value.write(header)
                schemaless_writer(value, schema, order)
                pool.append({"key": str(order["customer_id"]).encode(), "value": value.getvalue()})
            self._fill(bench, topic, pool, count)
        return self._names[topic]

    def events(self, bench: Bench, count: int) -> str:
        """A topic of orders in JSON, without a header; the key is the customer."""
        topic = f"events-{count}"
        if topic not in self._names:
            pool = [
                {"key": str(each["customer_id"]).encode(), "value": json.dumps(each).encode()} for each in _events()
            ]
            self._fill(bench, topic, pool, count)
        return self._names[topic]

    def large_batches(self, bench: Bench) -> str:
        """One partition of record batches of 50 MB with values of 100 bytes."""
        batch = canned.record_batch(value_size=100, about_bytes=LARGE_BATCH_BYTES)
        return self._large(bench, "large-batches", batch)

    def large_records(self, bench: Bench) -> str:
        """One partition of record batches that are one record of 45 MB each."""
        return self._large(bench, "large-records", canned.record_batch(value_size=LARGE_RECORD_BYTES))

    def _large(self, bench: Bench, topic: str, batch: canned.Batch) -> str:
        if topic not in self._names:
            self.broker.create_topic(topic, 1, {"max.message.bytes": str(2 * LARGE_BATCH_BYTES)})
            compaction_loads.fill(self.broker, topic, [batch] * LARGE_BATCHES)
            self._names[topic] = topic
            bench.say(f"{self.name} has {LARGE_BATCHES} record batches of {len(batch.data) / 1e6:.0f} MB in {topic}")
        return topic

    def _fill(self, bench: Bench, topic: str, pool: list[dict[str, bytes]], count: int) -> None:
        self.broker.create_topic(topic, PARTITIONS)
        produce(self.broker, topic, pool, count)
        stored = self.broker.stored_bytes(topic)
        bench.say(f"{self.name} has {count:,} records of {stored / count:.0f} bytes in {topic}")
        self._names[topic] = topic


def _orders() -> Iterator[dict[str, object]]:
    """Amounts are quarters, so that their sums are exact in whichever order they are added."""
    chance = random.Random(7)
    for number in range(DISTINCT):
        yield {
            "order_id": f"o-{number:08d}",
            "customer_id": f"c-{chance.randrange(CUSTOMERS):05d}",
            "amount": chance.randrange(4, 400_000) / 4,
            "currency": chance.choice(("EUR", "USD", "GBP", "NOK")),
            "created_at": 1_790_000_000_000 + number * 13,
            "status": chance.choice(("new", "paid", "shipped")),
        }


def _events() -> Iterator[dict[str, object]]:
    chance = random.Random(8)
    for order in _orders():
        yield {
            **order,
            "quantity": chance.randrange(1, 20),
            "express": chance.random() < 0.3,
            "city": chance.choice(("Lisbon", "Oslo", "Kyoto", "São Paulo", "Prague")),
            "note": chance.choice(("leave at the door", "a gift, please wrap it", "", "call before you come")),
        }


def produce(broker: Peer, topic: str, pool: list[dict[str, bytes]], count: int) -> None:
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(error)

    producer = Producer(
        {
            "bootstrap.servers": broker.brokers,
            "delivery.report.only.error": True,
            "queue.buffering.max.messages": 1_000_000,
            "on_delivery": delivered,
        }
    )
    slice_size = 10_000
    starts = itertools.cycle(range(0, len(pool), slice_size))
    sent = 0
    while sent < count:
        start = next(starts)
        some = pool[start : start + min(slice_size, count - sent)]
        while len(producer) > 500_000:
            producer.poll(0.01)
        producer.produce_batch(topic, some)
        producer.poll(0)
        sent += len(some)
    if producer.flush(FLUSH_TIMEOUT_SECONDS) or failures:
        raise LoadFailed(f"{topic} could not be filled: {next(iter(failures), 'it took too long')}")
