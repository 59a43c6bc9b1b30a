"""Workers of a group that read, process and write in transactions while they and their broker are killed; and the count.

Every run leaves a history: what each worker did, who was killed when and where, what the broker logged in each of its
lives. If all is well it is removed; if not, the failure names its directory.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from confluent_kafka import KafkaError, Message, Producer
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPythonPartition

from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.list_transactions import ListTransactionsRequest
from tests.apache_kafka import CLASS_PATH, FAST_START
from tests.faults.doomed_broker import REPOSITORY, DoomedBroker
from tests.faults.kill_points import KillPoint, Victim
from tests.faults.processing_worker import WorkerSettings
from tests.faults.raw_transactions import committed_offsets, end_offset, is_stable
from tests.faults.records import create_topic
from tests.raw_connection import RawConnection

JAVA_WORKER: Final = Path(__file__).parent / "java" / "ProcessingWorker.java"
SOURCE: Final = "raw-orders"
TARGET: Final = "processed-orders"
GROUP: Final = "eos-processor"
SOURCE_PARTITIONS: Final = 4
TARGET_PARTITIONS: Final = 3
_INTERNAL_PARTITIONS: Final = 4
_STUCK_SECONDS: Final = 20.0
_PATIENCE_SECONDS: Final = 90.0
# Small segments and frequent flushes and checkpoints: rolls, snapshots and recovery from the middle of a log all happen.
_OPTIONS: Final = {
    "offsets.topic.num.partitions": _INTERNAL_PARTITIONS,
    "transaction.state.log.num.partitions": _INTERNAL_PARTITIONS,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 500,
    "log.segment.bytes": 1024 * 1024,
    "log.roll.ms": 1_500,
    "log.flush.interval.ms": 300,
    "log.flush.scheduler.interval.ms": 100,
    "log.initial.task.delay.ms": 100,
    "log.flush.offset.checkpoint.interval.ms": 250,
    "log.flush.start.offset.checkpoint.interval.ms": 250,
}


@dataclass
class Finding:
    """What an independent reader found. All is well if there is nothing in it."""

    missing: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.missing or self.repeated or self.others)

    def __str__(self) -> str:
        return (
            f"{len(self.missing)} records missing {self.missing[:5]}, {len(self.repeated)} more than once "
            f"{self.repeated[:5]}, {self.others}"
        )


class Feeder(threading.Thread):
    """Writes numbered orders to the input, at a steady rate, until told to stop."""

    def __init__(self, bootstrap_servers: str, records_per_second: int) -> None:
        super().__init__(name="feeder")
        self.must_stop = threading.Event()
        self.errors: list[str] = []
        self.acknowledged = 0
        self._rate = records_per_second
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "enable.idempotence": True,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "retry.backoff.ms": 20,
                "metadata.recovery.strategy": "none",
                "log_level": 0,
            }
        )

    def run(self) -> None:
        began = time.monotonic()
        written = 0
        while not self.must_stop.is_set():
            if written > (time.monotonic() - began) * self._rate:
                self._producer.poll(0.01)
                continue
            self._producer.produce(
                SOURCE, b"order %d" % written, partition=written % SOURCE_PARTITIONS, on_delivery=self._delivered
            )
            written += 1
            self._producer.poll(0)
        if self._producer.flush(60) or self.acknowledged != written:
            self.errors.append(f"{self.acknowledged} of {written} orders were acknowledged")

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self.errors.append(str(error))


class ExactlyOnceRun:
    """A broker, a group of workers, and what happens to them."""

    def __init__(
        self,
        *,
        workers: int,
        java_workers: int = 0,
        seed: int,
        is_static: bool,
        records_per_second: int = 300,
        commits_outside: bool = False,
    ) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="stoker-exactly-once-"))
        self.kills = 0
        self.transactions = 0
        self._chance = random.Random(seed)
        self._seed = seed
        self._broker = DoomedBroker(self.directory / "data", kills=self.directory / "kills", options=_OPTIONS)
        self._broker.kills.touch()
        self._lives = 0
        self._rate = records_per_second
        self._settings = [
            WorkerSettings(
                number=number,
                bootstrap_servers=self._broker.bootstrap_servers,
                source=SOURCE,
                target=TARGET,
                group=GROUP,
                history=str(self.directory / f"worker-{number}"),
                is_static=is_static,
                commits_outside=commits_outside,
            )
            for number in range(workers + java_workers)
        ]
        self._first_of_java = workers
        self._workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self._broker.start()
        create_topic(self._broker.bootstrap_servers, SOURCE, SOURCE_PARTITIONS)
        create_topic(self._broker.bootstrap_servers, TARGET, TARGET_PARTITIONS)
        if self._first_of_java < len(self._settings):
            subprocess.run(["javac", "-d", self._classes, "-cp", CLASS_PATH, JAVA_WORKER], check=True)
        self._feeder = Feeder(self._broker.bootstrap_servers, self._rate)
        self._feeder.start()
        self._workers = [self._started(settings) for settings in self._settings]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._feeder.must_stop.set()
        for worker in self._workers:
            worker.kill()
            worker.wait()
        self._broker.__exit__(kind, error, traceback)
        self._keep_log()
        self._feeder.join()
        if error is None:
            shutil.rmtree(self.directory)
        else:
            error.add_note(f"seed {self._seed}; what happened is in {self.directory}")

    # -- what happens -----------------------------------------------------------------------------------------------

    def go_through(self, points: Sequence[KillPoint]) -> None:
        """One life of the broker after the other, each with the next point at which it dies, and a client before it."""
        brokers = [point for point in points if point.victim is Victim.BROKER]
        clients = [point for point in points if point.victim is Victim.CLIENT]
        while brokers or clients:
            life = brokers[:1] + clients[:1]
            self._restart(life)
            done = self._live(life)
            brokers = [point for point in brokers if point not in done]
            clients = [point for point in clients if point not in done]

    def _live(self, life: Sequence[KillPoint]) -> list[KillPoint]:
        """Until the broker is dead, or all the points of this life have come; returns those that have."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            texts = {json.loads(line)["kill"] for line in self._new_kills()}
            done = [point for point in life if str(point) in texts]
            if not self._broker.is_running or len(done) == len(life):
                self.kills += len(done)
                assert done, f"the broker died by itself:\n{self._broker.output}"
                return done
            assert time.monotonic() < deadline, f"{life} does not come: {texts}"
            self._tend()

    def kill_at_random(self, seconds: float) -> None:
        """The broker or a worker, at any moment."""
        deadline = time.monotonic() + seconds
        self._restart([])
        while time.monotonic() < deadline:
            pause = time.monotonic() + self._chance.uniform(0.1, 2.0)
            while time.monotonic() < pause:
                self._tend()
            self.kills += 1
            if self._chance.random() < 0.5:
                self._note("the broker dies at random")
                self._restart([])
            else:
                worker = self._chance.choice(self._workers)
                self._note(f"process {worker.pid} dies at random")
                worker.kill()

    def settle(self) -> None:
        """No more input: until all of it is processed, the workers work on undisturbed, and then they stop."""
        if not self._broker.is_running:
            self._restart([])
        self._feeder.must_stop.set()
        self._feeder.join()
        assert not self._feeder.errors, self._feeder.errors
        deadline = time.monotonic() + _PATIENCE_SECONDS
        with RawConnection(self._broker.bootstrap_servers) as connection:
            while self._is_behind(connection):
                assert time.monotonic() < deadline, f"the group does not get on: {committed_offsets(connection, GROUP)}"
                self._tend()
        for worker in self._workers:
            worker.send_signal(signal.SIGTERM)
        for worker in self._workers:
            worker.wait(_PATIENCE_SECONDS)

    def _is_behind(self, connection: RawConnection) -> bool:
        committed = committed_offsets(connection, GROUP)
        return any(
            committed.get((SOURCE, index)) != (end_offset(connection, SOURCE, index, stable=False), ErrorCode.NONE)
            for index in range(SOURCE_PARTITIONS)
        )

    def _tend(self) -> None:
        """What an operator's supervisor does: start again who died, and kill who hangs."""
        for number, worker in enumerate(self._workers):
            settings = self._settings[number]
            if worker.poll() is not None:
                self._workers[number] = self._started(settings)
            elif os.path.exists(settings.history) and time.time() - os.path.getmtime(settings.history) > _STUCK_SECONDS:
                self._note(f"process {worker.pid} hangs and dies")
                worker.kill()
                worker.wait()
                os.utime(settings.history)
        time.sleep(0.01)

    def _started(self, settings: WorkerSettings) -> subprocess.Popen[bytes]:
        with open(f"{settings.history}.stderr", "ab") as errors:
            return subprocess.Popen(
                self._command(settings),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                cwd=REPOSITORY,
            )

    def _command(self, settings: WorkerSettings) -> list[str]:
        if settings.number < self._first_of_java:
            return [sys.executable, "-m", "tests.faults.processing_worker", settings.as_text()]
        places = [settings.bootstrap_servers, settings.source, settings.target, settings.group, settings.history]
        class_path = f"{CLASS_PATH}:{self._classes}"
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        return ["java", *FAST_START, quiet, "-cp", class_path, "ProcessingWorker", *places, str(settings.number)]

    @property
    def _classes(self) -> Path:
        return self.directory / "classes"

    def _restart(self, life: Sequence[KillPoint]) -> None:
        if self._broker.is_running:
            self._broker.kill()
        else:
            self._broker.wait()
        self._keep_log()
        self._known_kills = len(self._broker.kills.read_text().splitlines())
        self._broker.doomed(life).launch()

    def _new_kills(self) -> list[str]:
        return self._broker.kills.read_text().splitlines()[self._known_kills :]

    def _note(self, kill: str) -> None:
        with self._broker.kills.open("a") as file:
            file.write(json.dumps({"at": time.monotonic(), "kill": kill}) + "\n")

    def _keep_log(self) -> None:
        self._lives += 1
        (self.directory / f"broker-{self._lives}").write_text(self._broker.output + "\n")

    # -- the count --------------------------------------------------------------------------------------------------

    def look(self) -> Finding:
        """After one more kill: by another client than the workers', by unique orders, and by what the broker says."""
        self._restart([])
        self._broker.wait_until_ready()
        finding = Finding()
        orders = Counter(read_committed(self._broker.bootstrap_servers, SOURCE, SOURCE_PARTITIONS))
        assert len(orders) == orders.total() == self._feeder.acknowledged
        processed = Counter(read_committed(self._broker.bootstrap_servers, TARGET, TARGET_PARTITIONS))
        finding.missing = sorted((orders - processed).elements())
        finding.repeated = sorted((processed - orders).elements())
        with RawConnection(self._broker.bootstrap_servers) as connection:
            for topic, count in (
                (SOURCE, SOURCE_PARTITIONS),
                (TARGET, TARGET_PARTITIONS),
                ("__consumer_offsets", _INTERNAL_PARTITIONS),
            ):
                finding.others += [
                    f"a transaction is open in {topic}-{index}"
                    for index in range(count)
                    if not is_stable(connection, topic, index)
                ]
            if self._is_behind(connection):
                finding.others.append(f"the committed offsets are {committed_offsets(connection, GROUP)}")
            listed = connection.call(ListTransactionsRequest(), 1).transaction_states
            finding.others += [
                f"{each.transactional_id} is {each.transaction_state}"
                for each in listed
                if each.transaction_state in ("Ongoing", "PrepareCommit", "PrepareAbort")
            ]
        self.transactions = sum(
            Path(settings.history).read_text().count('"has committed"') for settings in self._settings
        )
        return finding


def read_committed(bootstrap_servers: str, topic: str, partitions: int) -> list[str]:
    """All values, by kafka-python."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap_servers,
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    with closing(consumer):
        wanted = [KafkaPythonPartition(topic, index) for index in range(partitions)]
        consumer.assign(wanted)
        consumer.seek_to_beginning(*wanted)
        ends = consumer.end_offsets(wanted)
        values: list[str] = []
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while any(consumer.position(each) < ends[each] for each in wanted):
            assert time.monotonic() < deadline, f"{topic} ends at {ends}, and no more comes"
            for records in consumer.poll(timeout_ms=100).values():
                values += [record.value.decode() for record in records]
        return values
