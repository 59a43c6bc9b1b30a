"""Orders become invoices, each exactly once, though the process that writes them is killed in the middle of a transaction.

A worker reads a batch of orders, writes an invoice for each, and commits the invoices and how far it has read as one
transaction. The first worker is killed with SIGKILL when it has written a batch and not committed it. The second one has
the same `transactional.id`: what the first left open is aborted, and it goes on where the last commit ended.
Run it with `python examples/exactly_once.py [--orders N]`.
"""

import argparse
import multiprocessing
import os
import signal
import sys
from collections import Counter

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import stoker

ORDERS, INVOICES = "orders", "invoices"
GROUP = "invoicing"
BATCH = 500
Settings = dict[str, str | int | float | bool]


def connection(bootstrap_servers: str) -> Settings:
    return {"bootstrap.servers": bootstrap_servers, "log_level": 0}


def write_orders(bootstrap_servers: str, count: int) -> None:
    admin = AdminClient(connection(bootstrap_servers))
    for created in admin.create_topics([NewTopic(ORDERS, 4, 1), NewTopic(INVOICES, 4, 1)]).values():
        created.result()
    producer = Producer({**connection(bootstrap_servers), "enable.idempotence": True})
    for number in range(count):
        producer.produce(ORDERS, f"order-{number}")
        producer.poll(0)
    producer.flush()


def work(bootstrap_servers: str, count: int, killed_after: int | None) -> None:
    """Read, process, write, until every order is done; with `killed_after`, until so many are, and one batch more."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    consumer = Consumer(
        {
            **connection(bootstrap_servers),
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "session.timeout.ms": 6_000,
        }
    )
    producer = Producer({**connection(bootstrap_servers), "transactional.id": GROUP})
    producer.init_transactions()  # whoever had this id before is fenced, and its open transaction aborted
    consumer.subscribe([ORDERS])
    done = sum(max(partition.offset, 0) for partition in committed(consumer))
    while done < count:
        orders = [message for message in consumer.consume(BATCH, timeout=1) if message.error() is None]
        if not orders:
            continue
        producer.begin_transaction()
        for order in orders:
            producer.produce(INVOICES, b"invoice for " + (order.value() or b""))
        if killed_after is not None and done >= killed_after:
            producer.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata()
        )
        producer.commit_transaction()
        done += len(orders)
    consumer.close()


def committed(consumer: Consumer) -> list[TopicPartition]:
    return consumer.committed([TopicPartition(ORDERS, partition) for partition in range(4)])


def read_invoices(bootstrap_servers: str, isolation_level: str) -> Counter[bytes]:
    consumer = Consumer(
        {
            **connection(bootstrap_servers),
            "group.id": f"auditor-{isolation_level}",
            "isolation.level": isolation_level,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(INVOICES, partition, 0) for partition in range(4)])
    invoices: Counter[bytes] = Counter()
    ended = 0
    while ended < 4:
        message = consumer.poll(10)
        if message is None:
            raise KafkaException("no answer within 10 s")
        if message.error() is None:
            invoices[message.value() or b""] += 1
        else:
            ended += 1
    consumer.close()
    return invoices


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=20_000, help="how many orders (default: %(default)s)")
    count = parser.parse_args().orders
    if count < 2 * BATCH:
        parser.error(f"--orders {count}: there must be at least {2 * BATCH}")
    processes = multiprocessing.get_context("spawn")
    with stoker.Broker() as broker:
        write_orders(broker.bootstrap_servers, count)
        print(f"{count:,} orders are there.")
        for name, killed_after in (("first", count // 2), ("second", None)):
            worker = processes.Process(target=work, args=(broker.bootstrap_servers, count, killed_after), daemon=True)
            worker.start()
            worker.join()
            print(f"The {name} worker {'was killed' if worker.exitcode == -signal.SIGKILL else 'is done'}.")
        everything = read_invoices(broker.bootstrap_servers, "read_uncommitted")
        invoices = read_invoices(broker.bootstrap_servers, "read_committed")
    twice = sum(times > 1 for times in invoices.values())
    print(f"read_uncommitted: {everything.total():,} invoices, those of the aborted transaction among them.")
    print(f"read_committed: {invoices.total():,} invoices; missing: {count - len(invoices)}, more than once: {twice}.")
    return 0 if invoices.total() == len(invoices) == count else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nstopped")
