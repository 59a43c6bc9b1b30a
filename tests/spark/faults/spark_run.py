"""Starts a streaming query again and again until it has done its work, while it and its broker are killed."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from tests.faults.doomed_broker import REPOSITORY
from tests.spark.faults.doom import PLAN, Dooms, Victim
from tests.spark.faults.killable_brokers import KillableBroker
from tests.spark.faults.spark_query import SparkQuery

SOURCE: Final = "numbers"
TARGET: Final = "written"
PARTITIONS: Final = 3
_WAIT_SECONDS: Final = 60.0


class SparkRun:
    """The query, its broker, and what became of them."""

    def __init__(self, directory: Path, broker: KillableBroker, *, rows: int, batches: int, seed: int) -> None:
        self._broker = broker
        self._rows = rows
        self._chance = random.Random(seed)
        self._log = directory / "spark.log"
        self.dooms = Dooms(directory / "dooms")
        self.query = SparkQuery(
            bootstrap_servers=broker.bootstrap_servers,
            source=SOURCE,
            target=TARGET,
            checkpoint=str(directory / "checkpoint"),
            dooms=str(self.dooms.directory),
            rows_per_batch=rows // batches,
        )
        self.starts = self.random_kills = 0

    def __str__(self) -> str:
        kills = len(self.dooms.done) + self.random_kills
        return f"{kills} kills, {self.starts} starts of Spark, {self._broker.restarts} restarts of the broker"

    @property
    def log(self) -> str:
        return self._log.read_text()[-20_000:]

    def fill(self) -> None:
        """The numbers, each as key and value."""
        for topic in (SOURCE, TARGET):
            self._broker.create_topic(topic, PARTITIONS)
        producer = Producer({"bootstrap.servers": self._broker.bootstrap_servers, "log_level": 0})
        for number in range(self._rows):
            producer.produce(SOURCE, b"%d" % number, b"%d" % number, partition=number % PARTITIONS)
        assert producer.flush(_WAIT_SECONDS) == 0

    def until_done(self, *, seconds: float, kills_at_random: int = 0, query: SparkQuery | None = None) -> None:
        deadline = time.monotonic() + seconds
        while self.start_once(deadline, kills_at_random, query or self.query) != 0:
            assert time.monotonic() < deadline, f"{self}: it does not get on\n{self.log}"

    def start_once(self, deadline: float, kills_at_random: int = 0, query: SparkQuery | None = None) -> int:
        """One life of the query: how it ended."""
        self.starts += 1
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.faults.spark_query", (query or self.query).as_text()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=REPOSITORY,
                env={**os.environ, PLAN: str(self.dooms.directory), "PYTHONPATH": _python_path()},
                start_new_session=True,
            )
        try:
            next_kill = time.monotonic() + self._chance.uniform(8, 20)
            while process.poll() is None:
                self._broker.tend()
                self.dooms.victim(Victim.BROKER, self._broker.pid)
                if self.random_kills < kills_at_random and time.monotonic() > next_kill:
                    self._kill_at_random(process)
                    next_kill = time.monotonic() + self._chance.uniform(0.2, 5)
                assert time.monotonic() < deadline, f"{self}: it does not end\n{self.log}"
                time.sleep(0.02)
            return process.returncode
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # all that is left of it
            process.wait()

    def _kill_at_random(self, query: subprocess.Popen[bytes]) -> None:
        kind = self._chance.choice(list(Victim))
        if kind is Victim.BROKER:
            self._broker.kill()
        elif kind is Victim.DRIVER:
            os.killpg(query.pid, signal.SIGKILL)
        else:
            workers = _workers_of(query.pid)
            if not workers:
                return
            with suppress(ProcessLookupError):
                os.kill(self._chance.choice(workers), signal.SIGKILL)
        self.random_kills += 1

    def check(self) -> None:
        """An independent reader sees each number once."""
        found = read_committed(self._broker.bootstrap_servers, TARGET)
        expected = Counter(range(self._rows))
        lost, doubled = sorted((expected - found).elements()), sorted((found - expected).elements())
        told = f"{self}: {len(lost)} lost {lost[:9]}, {len(doubled)} doubled {doubled[:9]}\n{self.log}"
        assert not lost, told
        assert not doubled, told

    def with_tasks(self, count: int | None) -> SparkQuery:
        return replace(self.query, shuffles_into=count)


def _python_path() -> str:
    return os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY), os.environ.get("PYTHONPATH", "")])


def _workers_of(group: int) -> list[int]:
    """The processes of the group that are workers of Spark, but not those that start them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            pid = int(path.parent.name)
            if b"pyspark.daemon" in path.read_bytes() and os.getsid(pid) == group:
                found.append(pid)
    return sorted(found)[1:]


def read_committed(bootstrap_servers: str, topic: str) -> Counter[int]:
    """Up to the end of each partition, by librdkafka; what an open transaction hides is missing from it."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
        found: Counter[int] = Counter()
        ended = 0
        while ended < PARTITIONS:
            message = consumer.poll(_WAIT_SECONDS)
            assert message is not None, "nothing comes, not even the end of a partition"
            error = message.error()
            if error is None:
                found[int(message.value() or b"")] += 1
            elif error.code() == KafkaError._PARTITION_EOF:
                ended += 1
        return found
    finally:
        consumer.close()
