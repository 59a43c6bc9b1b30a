"""Half a million orders through a broker inside this process: produced, read back, counted and compared.

Run it with `make demo`, or `python examples/orders.py [--orders N]`.
"""

import argparse
import logging
import sys
import time
import zlib
from collections import Counter
from typing import TextIO

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import stoker

TOPIC = "orders"
PARTITIONS = 4
BAR_WIDTH = 40


class ProgressBar:
    """One line that fills up, redrawn at most ten times a second; a plain line at the end when nobody watches."""

    def __init__(self, label: str, total: int, out: TextIO = sys.stderr) -> None:
        self._label, self._total, self._out = label, total, out
        self._drawn_at = 0.0
        self._watched = out.isatty()

    def update(self, done: int) -> None:
        now = time.monotonic()
        if self._watched and (done == self._total or now - self._drawn_at > 0.1):
            self._drawn_at = now
            filled = BAR_WIDTH * done // self._total
            self._out.write(
                f"\r{self._label:9} [{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {done:>9,}/{self._total:,}"
            )
            self._out.flush()

    def finish(self, done: int) -> None:
        self.update(done)
        self._out.write("\n" if self._watched else f"{self._label:9} {done:,}/{self._total:,}\n")


class Checksum:
    """Counts and a checksum per partition that do not depend on how the partitions' records are interleaved."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()
        self.sums: Counter[int] = Counter()

    def add(self, partition: int, key: bytes, value: bytes) -> None:
        self.counts[partition] += 1
        self.sums[partition] = zlib.crc32(value, zlib.crc32(key, self.sums[partition]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Checksum) and (self.counts, self.sums) == (other.counts, other.sums)


def order(number: int) -> tuple[bytes, bytes]:
    customer = number * 7919 % 10_007
    amount = (number * 104_729 % 100_000) / 100
    value = (
        f'{{"order_id":"order-{number:07d}","customer_id":"customer-{customer:05d}","amount":{amount:.2f},'
        f'"currency":"EUR","status":"created"}}'
    )
    return f"customer-{customer:05d}".encode(), value.encode()


def create_topic(bootstrap_servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()


def produce(bootstrap_servers: str, count: int) -> tuple[Checksum, float]:
    """Send the orders; each is in the checksum when, and in the order in which, the broker has acknowledged it."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "enable.idempotence": True,
            "compression.type": "lz4",
            "linger.ms": 20,
            "queue.buffering.max.messages": 200_000,
        }
    )
    acknowledged = Checksum()
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(error)
        else:
            acknowledged.add(message.partition(), message.key(), message.value())  # type: ignore[arg-type]

    bar = ProgressBar("produce", count)
    began = time.perf_counter()
    for number in range(count):
        key, value = order(number)
        while True:
            try:
                producer.produce(TOPIC, value, key, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.05)
        if number % 2_000 == 0:
            producer.poll(0)
            bar.update(acknowledged.counts.total())
    producer.flush()
    seconds = time.perf_counter() - began
    bar.finish(acknowledged.counts.total())
    if failures:
        raise KafkaException(failures[0])
    return acknowledged, seconds


def consume(bootstrap_servers: str, count: int) -> tuple[Checksum, float]:
    # librdkafka wants a group id even of who reads assigned partitions and commits nothing, and asks for its
    # coordinator. The broker has none yet and says so; here it does not matter.
    logging.getLogger("stoker.broker").setLevel(logging.ERROR)
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": "orders-demo", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
    read = Checksum()
    bar = ProgressBar("consume", count)
    began = time.perf_counter()
    while read.counts.total() < count:
        messages = consumer.consume(10_000, timeout=10)
        if not messages:
            break
        for message in messages:
            if message.error():
                raise KafkaException(message.error())
            read.add(message.partition(), message.key(), message.value())  # type: ignore[arg-type]
        bar.update(read.counts.total())
    seconds = time.perf_counter() - began
    bar.finish(read.counts.total())
    consumer.close()
    return read, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=500_000, metavar="N", help="how many (default: 500000)")
    count = parser.parse_args().orders
    if count < 1:
        parser.error(f"--orders {count}: there must be at least one")

    began = time.perf_counter()
    with stoker.Broker() as broker:
        print(f"Stoker is ready on {broker.bootstrap_servers} after {time.perf_counter() - began:.2f} s")
        create_topic(broker.bootstrap_servers)
        print(f"Created topic {TOPIC} with {PARTITIONS} partitions")
        written, produce_seconds = produce(broker.bootstrap_servers, count)
        read, consume_seconds = consume(broker.bootstrap_servers, count)
        size = sum(file.stat().st_size for file in broker.data_dir.glob(f"{TOPIC}-*/*.log"))

    print()
    print(f"{'partition':>9}  {'written':>9}  {'read':>9}  checksums")
    for partition in range(PARTITIONS):
        same = "equal" if written.sums[partition] == read.sums[partition] else "DIFFERENT"
        print(
            f"{partition:>9}  {written.counts[partition]:>9,}  {read.counts[partition]:>9,}  "
            f"{written.sums[partition]:08x} {same}"
        )
    print()
    print(f"produced  {count / produce_seconds:>9,.0f} orders/s")
    print(f"consumed  {count / consume_seconds:>9,.0f} orders/s")
    print(f"on disk   {size / 1e6:>9,.1f} MB (lz4)")
    if written != read:
        print("What was read is not what was written.", file=sys.stderr)
        return 1
    print("Every order was read back as it was written.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        sys.exit(130)
