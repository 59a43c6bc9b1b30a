"""Half a million orders, and two members of a group who process them, of which one is killed half way.

A broker runs inside this process, each member in a process of its own. The one that is left takes over; at the end it is
counted which orders were processed how often. Run it with `make demo-group`, or `python examples/orders.py [--orders N]`.
"""

import argparse
import multiprocessing
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TextIO

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

import stoker

TOPIC = "orders"
PARTITIONS = 4
GROUP = "order-processing"
SESSION_TIMEOUT_MS = 6_000
ORDER_NUMBER = re.compile(rb'"order_id":"order-(\d+)"')
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


def order(number: int) -> tuple[bytes, bytes]:
    customer = number * 7919 % 10_007
    amount = (number * 104_729 % 100_000) / 100
    value = (
        f'{{"order_id":"order-{number:07d}","customer_id":"customer-{customer:05d}","amount":{amount:.2f},'
        f'"currency":"EUR","status":"created"}}'
    )
    return f"customer-{customer:05d}".encode(), value.encode()


def connection(bootstrap_servers: str) -> dict[str, str | int | float | bool]:
    """How each client finds the broker; librdkafka would log every connection that ends with it."""
    return {"bootstrap.servers": bootstrap_servers, "log_level": 0}


def create_topic(bootstrap_servers: str) -> None:
    admin = AdminClient(connection(bootstrap_servers))
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()


def produce(bootstrap_servers: str, count: int) -> Counter[int]:
    """Send the orders; how many the broker has acknowledged, by partition."""
    producer = Producer(
        {
            **connection(bootstrap_servers),
            "enable.idempotence": True,
            "compression.type": "lz4",
            "linger.ms": 20,
            "queue.buffering.max.messages": 200_000,
        }
    )
    acknowledged: Counter[int] = Counter()
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(error)
        else:
            acknowledged[message.partition()] += 1  # type: ignore[index]  # a delivered one has a partition

    bar = ProgressBar("produce", count)
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
            bar.update(acknowledged.total())
    producer.flush()
    bar.finish(acknowledged.total())
    if failures:
        raise KafkaException(failures[0])
    return acknowledged


def process_orders(bootstrap_servers: str, batch_size: int, main: Connection) -> None:
    """One member of the group, in a process of its own: reads a batch, tells what it did, commits, until told to stop.

    It tells before it commits. Killed in between, it leaves a batch that is processed but not committed, which whoever
    takes over processes again: each order at least once.
    """
    consumer = Consumer(
        {
            **connection(bootstrap_servers),
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": SESSION_TIMEOUT_MS,
            "heartbeat.interval.ms": 1_000,
        }
    )

    def assigned(_: Consumer, partitions: Sequence[TopicPartition]) -> None:
        main.send(("assigned", [each.partition for each in partitions]))

    consumer.subscribe([TOPIC], on_assign=assigned)
    is_going_on = True
    while is_going_on:
        messages = consumer.consume(batch_size, timeout=0.2)
        numbers = []
        for message in messages:
            if message.error():
                raise KafkaException(message.error())
            key, value = message.key(), message.value()
            found = ORDER_NUMBER.search(value or b"")
            if found is None or order(int(found[1])) != (key, value):
                raise ValueError(f"this is no order as it was written: {value!r}")
            numbers.append(int(found[1]))
        main.send(("processed", numbers))
        is_going_on = main.recv()
        if messages:
            consumer.commit(asynchronous=False)
    consumer.close()


class Group:
    """The members by name, what they tell of their work, and what came of it."""

    def __init__(self, mains: dict[str, Connection], processes: dict[str, BaseProcess], count: int) -> None:
        self._mains, self._processes = mains, processes
        self.times = bytearray(count)
        """How often each order was processed."""
        self.partitions: dict[str, list[int]] = {name: [] for name in mains}
        self.killed = self.survivor = ""
        self.killed_at = self.taken_over_at = 0.0

    def work(self) -> None:
        """Until each order has been processed. Half way, whoever reports a batch is killed before it can commit it."""
        bar = ProgressBar("process", len(self.times))
        done = 0
        while done < len(self.times):
            for name, kind, numbers in self._reports():
                if kind == "assigned":
                    self._assigned(name, numbers)
                    continue
                for number in numbers:
                    done += not self.times[number]
                    self.times[number] += 1
                bar.update(done)
                if numbers and not self.killed and done >= len(self.times) // 2 and all(self.partitions.values()):
                    self._kill(name)
                else:
                    self._mains[name].send(done < len(self.times))
        bar.finish(done)
        self._processes[self.survivor].join()

    def _reports(self) -> Iterator[tuple[str, str, list[int]]]:
        ready = wait(self._mains.values())
        for name, main in list(self._mains.items()):
            if main in ready:
                kind, numbers = main.recv()
                yield name, kind, numbers

    def _assigned(self, name: str, partitions: list[int]) -> None:
        self.partitions[name] = partitions
        if self.killed and not self.taken_over_at:
            self.taken_over_at = time.monotonic()

    def _kill(self, name: str) -> None:
        self._processes[name].kill()
        self.killed_at = time.monotonic()
        self.killed, (self.survivor,) = name, self._mains.keys() - {name}
        self._mains.pop(name).close()


@contextmanager
def interrupt_held_back() -> Iterator[None]:
    """Ctrl-C is for this process to handle, when the block is done: processes that are started in it never get one."""
    came: list[int] = []
    resource_tracker.ensure_running()  # started with the first process, it would lift the block
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which they inherit; a handler they would not
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, handler)
    if came:
        raise KeyboardInterrupt


@contextmanager
def two_members(bootstrap_servers: str, count: int) -> Iterator[Group]:
    """They are gone when the block ends, however it ends."""
    context = multiprocessing.get_context("spawn")  # a fork would copy the broker's threads half alive
    mains, processes = {}, {}
    try:
        with interrupt_held_back():
            for name in ("member-1", "member-2"):
                mains[name], theirs = context.Pipe()
                processes[name] = context.Process(
                    target=process_orders, args=(bootstrap_servers, max(1, count // 100), theirs)
                )
                processes[name].start()
                theirs.close()
        yield Group(mains, dict(processes), count)
    finally:
        for process in processes.values():
            process.kill()
            process.join()


def lags(bootstrap_servers: str, written: Counter[int]) -> dict[int, int]:
    """By partition: how many orders the group has not committed."""
    admin = AdminClient(connection(bootstrap_servers))
    asked = [ConsumerGroupTopicPartitions(GROUP, [TopicPartition(TOPIC, each) for each in range(PARTITIONS)])]
    committed = admin.list_consumer_group_offsets(asked)[GROUP].result().topic_partitions
    return {each.partition: written[each.partition] - max(0, each.offset) for each in committed}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=500_000, metavar="N", help="how many (default: 500000)")
    count = parser.parse_args().orders
    if count < 1_000:
        parser.error(f"--orders {count}: there must be at least 1000, or one member could have nothing to do")

    began = time.monotonic()
    with stoker.Broker(config={"group.initial.rebalance.delay.ms": 1_000}) as broker:
        print(f"Stoker is ready on {broker.bootstrap_servers} after {time.monotonic() - began:.2f} s")
        create_topic(broker.bootstrap_servers)
        print(f"Created topic {TOPIC} with {PARTITIONS} partitions")
        began = time.monotonic()
        written = produce(broker.bootstrap_servers, count)
        print(f"Produced {count:,} orders, {count / (time.monotonic() - began):,.0f} a second")
        with two_members(broker.bootstrap_servers, count) as group:
            group.work()
        lag = lags(broker.bootstrap_servers, written)

    before, after = group.partitions[group.killed], group.partitions[group.survivor]
    print()
    print(f"{'partition':>9}  {'orders':>9}  {'lag':>4}  processed by")
    for partition in range(PARTITIONS):
        by = f"{group.killed}, then {group.survivor}" if partition in before else group.survivor
        print(f"{partition:>9}  {written[partition]:>9,}  {lag[partition]:>4,}  {by}")
    moved = " and ".join(map(str, sorted(set(before) & set(after))))
    waited = group.taken_over_at - group.killed_at
    times = Counter(group.times)
    print()
    print(f"{group.killed} was killed half way; {group.survivor} had its partitions {moved} {waited:.1f} s later")
    print(f"(session.timeout.ms={SESSION_TIMEOUT_MS}: the time after which a silent member is given up).")
    print(f"Processed once: {times[1]:,}; more often: {count - times[1] - times[0]:,}; lost: {times[0]:,}.")
    if times[0] or any(lag.values()):
        print("Orders were lost, or the group has not committed all it read.", file=sys.stderr)
        return 1
    print("Every order was processed at least once, and the group's lag is 0.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (KeyboardInterrupt, SystemError) as stopped:
        # A Ctrl-C that comes during a callback is wrapped by confluent-kafka.
        if isinstance(stopped, SystemError) and not isinstance(stopped.__cause__, KeyboardInterrupt):
            raise
        print("\nstopped", file=sys.stderr)
        sys.exit(130)
