"""A million Avro orders, summed per customer by Spark and written back exactly once, though Spark is killed on the way.

A broker and a schema registry run beside this process, and Spark in a process of its own: it writes the orders, reads them
typed, and writes a customer's new sums to a topic whenever they change. When about half is done it is killed with SIGKILL in
the middle of a transaction, and another takes its place. At the end a plain consumer, which knows nothing of Spark, reads
what is committed: the last sums of each customer must be right to the cent, and none may be there twice.
Run it with `make demo`, or `python examples/engine.py [--orders N]`.
"""

import argparse
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

ORDERS, SUMS = "orders", "customer-sums"
PARTITIONS = {ORDERS: 4, SUMS: 2}
CUSTOMERS = 10_007
BATCHES = 10
KILL_AFTER, KILL_ANYWAY_AFTER = 4, 8
"""Batches. From the first number on Spark is killed when a transaction is open, from the second on in any case."""
START_TIMEOUT_SECONDS: Final = 60.0
BAR_WIDTH: Final = 40
FREE_PORTS: Final = ("--host", "127.0.0.1", "--port", "0", "--registry-port", "0")
READY: Final = re.compile(r"stoker up: ready, broker on (\S+), registry on (\S+);")
RUN_SPARK: Final = "run-spark"
"""As first argument: be the process in which Spark runs."""


# -- what is ordered --------------------------------------------------------------------------------------------------


def customer_and_cents(number: int) -> tuple[int, int]:
    return number * 7919 % CUSTOMERS, number * 104_729 % 100_000


class Sums(NamedTuple):
    """Of one customer."""

    orders: int
    cents: int


def expected_sums(count: int) -> dict[str, Sums]:
    """By customer, computed without Kafka and without Spark."""
    sums = [(0, 0)] * CUSTOMERS
    for number in range(count):
        customer, cents = customer_and_cents(number)
        orders, total = sums[customer]
        sums[customer] = orders + 1, total + cents
    return {f"customer-{number:05d}": Sums(*each) for number, each in enumerate(sums) if each[0]}


# -- Spark, in a process of its own -----------------------------------------------------------------------------------


def run_spark(bootstrap_servers: str, registry: str, checkpoint: str, *, count: int, is_first: bool) -> None:
    """Tells what it does as lines of JSON."""
    from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

    import stoker.spark

    spark = stoker.spark.session("engine")
    tell(event="ready")
    kafka = {
        "kafka.bootstrap.servers": bootstrap_servers,
        "schema.registry.url": registry,
        "kafka.compression.type": "lz4",
    }
    if is_first:
        number = F.col("id")
        customer = F.format_string("customer-%05d", number * 7919 % CUSTOMERS)
        order = F.struct(
            number.alias("order_id"),
            customer.alias("customer_id"),
            (number * 104_729 % 100_000).alias("cents"),
            F.lit("EUR").alias("currency"),
        )
        orders = spark.range(count).select(customer.alias("key"), order.alias("value"))
        began = time.monotonic()
        orders.write.format("stoker").mode("append").options(
            **kafka, **{"topic": ORDERS, "key.format": "string", "value.format": "avro"}
        ).save()
        tell(event="written", seconds=time.monotonic() - began)

    orders = (
        spark.readStream.format("stoker")
        .options(**{name: value for name, value in kafka.items() if "compression" not in name})
        .options(**{"subscribe": ORDERS, "startingOffsets": "earliest", "value.format": "avro"})
        .option("maxOffsetsPerTrigger", count // BATCHES)
        .load()
    )
    sums = (
        orders.groupBy("value.customer_id")
        .agg(F.count("*").alias("orders"), F.sum("value.cents").alias("cents"))
        .select(F.col("customer_id").alias("key"), F.to_json(F.struct("orders", "cents")).alias("value"))
    )
    query = (
        sums.writeStream.outputMode("update")
        .foreachBatch(stoker.spark.to_topic(SUMS, {"kafka.bootstrap.servers": bootstrap_servers}))
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    told = -1
    is_active = True
    while is_active:
        is_active = query.isActive  # asked first, so that the last batch is told too
        for progress in query.recentProgress:
            if progress["batchId"] > told and progress["numInputRows"]:
                told = progress["batchId"]
                seconds = progress["durationMs"]["triggerExecution"] / 1000
                tell(event="batch", batch=told, orders=progress["numInputRows"], seconds=seconds)
        time.sleep(0.02)
    query.awaitTermination()  # which raises what went wrong
    spark.stop()


def tell(**event: object) -> None:
    print(json.dumps(event), flush=True)


class Spark:
    """That process: what it tells, and a way to kill it."""

    def __init__(self, arguments: list[str], log: TextIO) -> None:
        self._log = log
        self.was_killed = False
        self._process = subprocess.Popen(
            [sys.executable, __file__, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,  # so that its JVM can be killed with it
        )
        self._events: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def events(self, meanwhile: Callable[[], float]) -> Iterator[dict[str, Any]]:
        """As they come. While there is none `meanwhile` is called, which says after how many seconds again.

        Raises SystemExit if the process fails.
        """
        pause = 0.0
        while True:
            try:
                event = self._events.get(timeout=pause)
            except queue.Empty:
                pause = meanwhile()
                continue
            if event is None:
                break
            yield event
        if self._process.wait() != 0 and not self.was_killed:
            sys.stderr.write("\n" + "".join(Path(self._log.name).read_text().splitlines(keepends=True)[-30:]))
            sys.exit("Spark failed; the end of its log is above.")

    def kill(self) -> None:
        """SIGKILL to the driver and its JVM. Workers are left, as after any crash, to notice it themselves."""
        if self._process.poll() is None:
            self.was_killed = True
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                self._events.put(json.loads(line))
        self._events.put(None)


# -- the rest ---------------------------------------------------------------------------------------------------------


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
            filled = BAR_WIDTH * min(done, self._total) // self._total
            self._out.write(
                f"\r{self._label:6} [{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {done:>9,}/{self._total:,}"
            )
            self._out.flush()

    def pause(self) -> None:
        """Before another line is written."""
        if self._drawn_at:
            self._out.write("\n")

    def finish(self, done: int) -> None:
        self.update(done)
        self._out.write("\n" if self._watched else f"{self._label:6} {done:,}/{self._total:,}\n")


@contextmanager
def broker_and_registry(data_dir: Path) -> Iterator[tuple[str, str]]:
    """`stoker up` on free ports: their addresses. They end with this process, however it ends."""
    tether, end_of_tether = os.pipe()
    up = subprocess.Popen(
        [sys.executable, "-m", "stoker.cli.tethered", str(tether), "up", "--data-dir", str(data_dir), *FREE_PORTS],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=[tether],
        start_new_session=True,  # Ctrl-C is for this process to handle
    )
    os.close(tether)
    assert up.stderr is not None
    try:
        lines = []
        for line in up.stderr:
            lines.append(line)
            if ready := READY.search(line):
                threading.Thread(target=up.stderr.read, daemon=True).start()
                yield ready[1], ready[2]
                return
        sys.exit(f"Stoker did not start:\n{''.join(lines)}")
    finally:
        up.terminate()
        up.wait()
        os.close(end_of_tether)


class Log:
    """What the brokers know of the topics."""

    def __init__(self, bootstrap_servers: str) -> None:
        from stoker.client.admin.topics import create_topic
        from stoker.client.cluster import Cluster
        from stoker.client.properties import client_properties

        self._cluster = Cluster(client_properties(bootstrap_servers))
        for name, partitions in PARTITIONS.items():
            create_topic(self._cluster, name, partitions=partitions)

    def size(self, topic: str) -> int:
        return self._end(topic, committed=False)

    def uncommitted(self, topic: str) -> int:
        """How many records of open transactions there are."""
        return self._end(topic, committed=False) - self._end(topic, committed=True)

    def _end(self, topic: str, *, committed: bool) -> int:
        from stoker.client.admin.offsets import LATEST, READ_COMMITTED, READ_UNCOMMITTED, ListedOffset, list_offsets
        from stoker.client.topic_partition import TopicPartition

        found = list_offsets(
            self._cluster,
            {TopicPartition(topic, each): LATEST for each in range(PARTITIONS[topic])},
            isolation_level=READ_COMMITTED if committed else READ_UNCOMMITTED,
        )
        return sum(each.offset for each in found.values() if isinstance(each, ListedOffset))


class Balance(NamedTuple):
    """What a plain consumer with read_committed finds."""

    last: dict[str, Sums]
    """By customer."""
    records: int
    repeated: int
    """Records that do not say more than the one before them of the same customer: a batch written twice has them."""


def read_balance(bootstrap_servers: str) -> Balance:
    from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "auditor",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(SUMS, each, 0) for each in range(PARTITIONS[SUMS])])
    last: dict[str, Sums] = {}
    records = repeated = ended = 0
    while ended < PARTITIONS[SUMS]:
        for message in consumer.consume(10_000, timeout=0.5):
            error = message.error()
            if error is not None:
                if error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                ended += 1
                continue
            customer, sums = (message.key() or b"").decode(), Sums(**json.loads(message.value() or b"{}"))
            records += 1
            repeated += customer in last and sums.orders <= last[customer].orders
            last[customer] = sums
    consumer.close()
    return Balance(last, records, repeated)


class Watch:
    """Follows Spark through its lives: shows how far it is, kills the first."""

    def __init__(self, log: Log, count: int) -> None:
        self._log, self._count = log, count
        self._bar = ProgressBar("orders", count)
        self._is_written = False
        self.batches: dict[int, tuple[int, float]] = {}
        """Orders and seconds, by batch."""

    def follow(self, spark: Spark, *, kill: bool) -> None:
        """Until it has read all orders, or is killed: in a batch of which records are there and not committed."""

        def meanwhile() -> float:
            if not self._is_written:
                self._bar.update(self._log.size(ORDERS))
            elif kill and not spark.was_killed and len(self.batches) >= KILL_AFTER:
                written = self._log.uncommitted(SUMS)
                if written or len(self.batches) >= KILL_ANYWAY_AFTER:
                    spark.kill()
                    self._bar.pause()
                    print(
                        f"Spark is killed in batch {len(self.batches)}: {written:,} sums of it are written and not committed"
                    )
                return 0.001  # a transaction is open for some milliseconds only
            return 0.05

        began = time.monotonic()
        for event in spark.events(meanwhile):
            if event["event"] == "ready":
                self._bar.pause()
                print(f"Spark is ready after {time.monotonic() - began:.1f} s")
            elif event["event"] == "written":
                self._bar.finish(self._count)
                self._is_written = True
                print(f"Spark wrote {self._count:,} Avro orders, {self._count / event['seconds']:,.0f} a second")
                self._bar = ProgressBar("sums", self._count)
            else:
                self.batches[event["batch"]] = event["orders"], event["seconds"]
                self._bar.update(self.orders)
        if not spark.was_killed:
            self._bar.finish(self.orders)

    @property
    def orders(self) -> int:
        return sum(orders for orders, _ in self.batches.values())

    @property
    def seconds(self) -> float:
        return sum(seconds for _, seconds in self.batches.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=1_000_000, metavar="N", help="how many (default: 1000000)")
    count = parser.parse_args().orders
    if count < 1_000:
        parser.error(f"--orders {count}: there must be at least 1000, or Spark would be done before it can be killed")

    with (
        tempfile.TemporaryDirectory(prefix="stoker-engine-") as directory,
        (Path(directory) / "spark.log").open("w") as out,
    ):
        began = time.monotonic()
        with broker_and_registry(Path(directory) / "data") as (bootstrap_servers, registry):
            print(
                f"Stoker is ready on {bootstrap_servers}, its registry on {registry}, after {time.monotonic() - began:.1f} s"
            )
            watch = Watch(Log(bootstrap_servers), count)
            arguments = [RUN_SPARK, bootstrap_servers, registry, f"{directory}/checkpoint", str(count)]
            for is_first in (True, False):
                spark = Spark([*arguments, str(int(is_first))], out)
                try:
                    watch.follow(spark, kill=is_first)
                finally:
                    spark.kill()
            rate = watch.orders / watch.seconds
            print(
                f"Spark read {watch.orders:,} orders typed and wrote their sums, {rate:,.0f} orders a second in {len(watch.batches)} batches"
            )
            balance = read_balance(bootstrap_servers)
    return report(balance, expected_sums(count))


def report(balance: Balance, expected: dict[str, Sums]) -> int:
    wrong = sum(balance.last.get(customer) != sums for customer, sums in expected.items())
    rows = [("orders", "customers", "cents")]
    for sums in (expected, balance.last):
        totals = sum(each.orders for each in sums.values()), len(sums), sum(each.cents for each in sums.values())
        rows.append(tuple(f"{each:,}" for each in totals))  # type: ignore[arg-type]
    print()
    for label, row in zip(("", "ordered", "committed"), rows, strict=True):
        print(f"{label:10}" + "".join(f"{each:>18}" for each in row))
    print()
    print(f"Of {balance.records:,} sums that were committed, {balance.repeated:,} are there twice.")
    if wrong or balance.repeated or balance.last.keys() != expected.keys():
        print(f"The balance is off: the sums of {wrong:,} customers are not what they ordered.", file=sys.stderr)
        return 1
    print("The balance is right: the last sums of each customer are what they ordered, to the cent.")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == [RUN_SPARK]:
        run_spark(*sys.argv[2:5], count=int(sys.argv[5]), is_first=sys.argv[6] == "1")
        sys.exit()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        sys.exit(130)
