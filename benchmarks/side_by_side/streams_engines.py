"""The two that are compared: an application of stoker.streams, and one of Kafka Streams."""

import itertools
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

import stoker
from side_by_side import processes
from side_by_side.bench import Bench
from side_by_side.processes import LoadFailed
from side_by_side.streams_topics import PARTITIONS, Place
from stoker.client.admin.group_offsets import committed_offsets
from stoker.client.cluster import Cluster
from stoker.client.properties import client_properties
from stoker.errors import StokerError
from stoker.streams import Streams, tumbling

POLL_SECONDS = 0.02
TIMEOUT_SECONDS = 400.0
ROWS_PER_BATCH = 1_000_000
"""In a full run: a quarter of what is read."""

_numbers = itertools.count()


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """A topology by its name in StreamsPeer.java, and the topics it reads and writes."""

    topology: str
    input: str
    output: str
    table: str = "customers"


def declare(app: Streams, work: Work) -> None:
    """The same in stoker.streams."""
    orders = app.stream(work.input)
    if work.topology == "filter":
        orders.filter("amount > 500").to(work.output)
    elif work.topology == "revenue":
        hourly = orders.group_by_key().window(tumbling("1 hour", grace="5 minutes"))
        hourly.aggregate(revenue="sum(amount)", orders="count(*)", store="revenue").to(work.output)
    elif work.topology == "join":
        customers = app.table(work.table, store="customers")
        orders.join(customers, columns=["left.*", "right.name", "right.tier"]).to(work.output)
    else:
        orders.group_by_key().aggregate(total="sum(amount)", orders="count(*)", store="totals").to(work.output)


@dataclass(frozen=True, kw_only=True, slots=True)
class Engine:
    """`run` gives a block in which the application runs, with the name of its group and when it was ready."""

    name: str
    bench: Bench
    spark: SparkSession

    @contextmanager
    def running(self, place: Place, work: Work, application: str) -> Iterator[None]:
        """Until the block ends. What it has kept on disk stays, for a restart."""
        if self.name == "stoker":
            with self._stoker(place, work, application):
                yield
        else:
            with self._kafka_streams(place, work, application):
                yield

    def forget(self, application: str) -> None:
        shutil.rmtree(self.bench.directory / "state" / application, ignore_errors=True)

    @contextmanager
    def _stoker(self, place: Place, work: Work, application: str) -> Iterator[None]:
        app = stoker.Streams(
            application,
            bootstrap_servers=place.broker.brokers,
            registry=place.registry_url,
            spark=self.spark,
            state_dir=str(self.bench.directory / "state"),
            max_rows_per_batch=self.bench.scaled(ROWS_PER_BATCH),
        )
        declare(app, work)
        try:
            app.start()
            yield
            app.stop()
        except StokerError as error:
            raise LoadFailed(str(error)) from error

    @contextmanager
    def _kafka_streams(self, place: Place, work: Work, application: str) -> Iterator[None]:
        given = ["--bootstrap-servers", place.broker.brokers, "--application-id", application, "--threads", "2"]
        given += ["--state-dir", str(self.bench.directory / "state" / application)]
        given += ["--input", work.input, "--output", work.output, "--table", work.table]
        command = [
            each for each in self.bench.programs.java("StreamsPeer", work.topology, *given) if each != "-Xmx512M"
        ]
        with processes.spawn([command[0], "-Xmx2G", *command[1:]]) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            line = process.stdout.readline()
            if line.strip() != "RUNNING":
                raise LoadFailed(f"Kafka Streams did not run: {line}{process.stderr.read()[-2000:]}")
            for pipe in (process.stdout, process.stderr):
                threading.Thread(target=pipe.read, daemon=True).start()
            yield
            process.terminate()
            process.wait(60)


class Progress:
    """How much of a topic a group has committed."""

    def __init__(self, place: Place, group: str, topic: str) -> None:
        self._cluster = Cluster(client_properties(place.broker.brokers))
        self._group, self._topic = group, topic

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.close()

    def done(self) -> int:
        found = committed_offsets(self._cluster, self._group)
        return sum(each.offset for partition, each in found.items() if partition.topic == self._topic)

    def wait(self, count: int, alive: Callable[[], None] | None = None) -> list[tuple[float, int]]:
        """When how much was done, from now until all is."""
        seen: list[tuple[float, int]] = []
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            done = self.done()
            if not seen or seen[-1][1] != done:
                seen.append((time.monotonic(), done))
            if done >= count:
                return seen
            if alive is not None:
                alive()
            time.sleep(POLL_SECONDS)
        raise LoadFailed(f"{self._group} has done {seen[-1][1]:,} of {count:,} after {TIMEOUT_SECONDS:.0f} s")


def fresh_name() -> str:
    return f"app-{next(_numbers)}"


def fresh_output(place: Place) -> str:
    name = f"out-{next(_numbers)}"
    place.broker.create_topic(name, PARTITIONS, {"retention.ms": "-1"})
    return name
