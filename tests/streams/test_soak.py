"""The demo's pipeline, fed all the time and killed again and again: for an hour, or STOKER_SOAK_SECONDS."""

import heapq
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Final

import pytest
from confluent_kafka import Producer

from stoker.demo.audit import Line, balance, late_orders
from stoker.demo.events import SCHEMAS, SPAN, Event, Plan, avro
from stoker.demo.platform import Pipeline
from stoker.streams.state.directory import StateDirectory
from tests.faults.broker_process import BrokerProcess
from tests.registry.registry_process import RegistryProcess
from tests.streams.records import Records

SECONDS: Final = float(os.environ.get("STOKER_SOAK_SECONDS", "3600"))
ORDERS_PER_SECOND: Final = 100
ROWS_PER_BATCH: Final = 20_000
"""Many more than come in the meantime: what a kill has left undone is caught up with."""
DRAIN_SECONDS: Final = 600.0
"""In which there must be another micro-batch, at the least."""
TOPICS: Final = ("orders", "customers", "payments")
SEED: Final = int(os.environ.get("STOKER_SOAK_SEED", str(random.SystemRandom().randrange(10**6))))


@pytest.mark.soak
@pytest.mark.spark
@pytest.mark.timeout(0)
def test_the_pipeline_balances_after_an_hour_of_kills(tmp_path: Path) -> None:
    """Spark's driver, its JVM and the broker are killed at random moments; at the end nothing is lost, nothing doubled."""
    plan = Plan(orders=int(max(SECONDS, 60) * ORDERS_PER_SECOND), start=round(time.time() * 1000) - SPAN)
    with ExitStack() as stack:
        broker = stack.enter_context(BrokerProcess(tmp_path / "data"))
        registry = stack.enter_context(RegistryProcess(broker.bootstrap_servers))
        records = Records(broker.bootstrap_servers)
        records.create(*TOPICS, partitions=4)
        ids = {topic: registry.register(f"{topic}-value", schema) for topic, schema in SCHEMAS.items()}
        feeder = Feeder(plan, ids, broker.bootstrap_servers)
        log = stack.enter_context((tmp_path / "pipeline.log").open("w"))
        killing = Killing(broker, registry, tmp_path, log)
        stack.callback(killing.end)
        feeder.start()
        killing.go_on(while_alive=feeder)
        killing.drain(records, feeder)
        lake = str(tmp_path / "lake")
        lines = balance(plan, broker.bootstrap_servers, registry.url, lake)
        manifest = killing.state.newest_manifest()
        assert manifest is not None
        print(f"\nseed {SEED}: {feeder.sent:,} events, {manifest.batch + 1} micro-batches, {dict(killing.counts)}")
        show(lines)
        assert [line for line in lines if not line.is_right] == []
        assert manifest.progress["total"]["late"] == {"hourly-revenue-store": late_orders(plan)}
        assert manifest.progress["total"]["rows"] == {
            "orders": plan.orders,
            "customers": sum(1 for _ in plan.customers()),
            "payments": sum(1 for _ in plan.payment_events()),
        }
        check_control(plan, records, registry, lake, broker.bootstrap_servers)


def check_control(plan: Plan, records: Records, registry: RegistryProcess, lake: str, servers: str) -> None:
    """One record more, and one file less: the audit must see it."""
    paid = records.read("orders-paid")[0]
    records.send("orders-paid", (paid.key() or b"").decode(), paid.value(), 1)
    records.flush()
    next(Path(lake).glob("date=*/hour=*/*.parquet")).unlink()
    lines = balance(plan, servers, registry.url, lake)
    assert [line.what for line in lines if not line.is_right] == [
        "orders paid within five minutes",
        "orders in Parquet files",
    ]


def show(lines: list[Line]) -> None:
    for line in lines:
        print(f"{line.what:38}{line.expected:>16,}{line.found:>16,}{line.twice:>8,}")


class Feeder(threading.Thread):
    """Sends the events of a plan at a steady pace, each once, whatever the broker does."""

    def __init__(self, plan: Plan, ids: dict[str, int], servers: str) -> None:
        super().__init__(daemon=True)
        self._plan = plan
        self._ids = ids
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "message.timeout.ms": 0,
                "linger.ms": 20,
                "log_level": 0,
            }
        )
        self.sent = 0
        self.failures: Counter[str] = Counter()

    def run(self) -> None:
        began = time.monotonic()
        span = self._plan.orders / ORDERS_PER_SECOND
        for when, event in self._events():
            due = began + span * (when - self._plan.start) / SPAN
            while time.monotonic() < due:
                self._producer.poll(0.05)
            value = avro(self._ids[event.topic], event.fields)
            self._producer.produce(
                event.topic, key=event.key, value=value, timestamp=event.timestamp, on_delivery=self._delivered
            )
            self.sent += 1
        assert self._producer.flush(DRAIN_SECONDS) == 0

    def _delivered(self, error: object, message: object) -> None:
        if error is not None:
            self.failures[str(error)] += 1

    def _events(self) -> Iterator[tuple[int, Event]]:
        """When each is due in event time: orders by their numbers, also late ones, and payments among them."""
        yield from ((self._plan.start, event) for event in self._plan.customers())
        orders = (
            (self._plan.start + SPAN * number // self._plan.orders, event)
            for number, event in enumerate(self._plan.order_events())
        )
        payments = ((event.timestamp, event) for event in self._plan.payment_events())
        yield from heapq.merge(orders, payments, key=lambda each: each[0])


class Killing:
    """Runs the pipeline, and kills it and the broker."""

    def __init__(self, broker: BrokerProcess, registry: RegistryProcess, place: Path, log: IO[str]) -> None:
        self._broker = broker
        self._registry = registry
        self._log = log
        self._random = random.Random(SEED)
        self._arguments = ["--bootstrap-servers", broker.bootstrap_servers, "--registry", registry.url]
        self._arguments += ["--state-dir", str(place / "state"), "--lake", str(place / "lake")]
        self._arguments += ["--max-rows-per-batch", str(ROWS_PER_BATCH)]
        self._pipeline: Pipeline | None = None
        self.state = StateDirectory(place / "state" / "order-pipeline")
        self.counts: Counter[str] = Counter()

    def go_on(self, while_alive: threading.Thread) -> None:
        while while_alive.is_alive():
            self._start_again()
            self._await_batches(self._random.choice([0, 1, 1, 2, 3]), while_alive)
            time.sleep(self._random.uniform(0, 6))
            if self._random.random() < 0.3:
                self._broker.kill()
                self.counts["broker killed"] += 1
                time.sleep(self._random.uniform(0, 3))
                self._broker.start()
            else:
                assert self._pipeline is not None
                alone = self._random.random() < 0.4
                self._pipeline.kill(driver_alone=alone)
                self.counts["driver killed" if alone else "driver and JVM killed"] += 1
            if not self._registry.is_running:
                self._registry.start()
                self.counts["registry ended"] += 1

    def _start_again(self) -> None:
        if self._pipeline is None or not self._pipeline.is_running:
            self._pipeline = Pipeline(self._arguments, self._log)
            self.counts["started"] += 1

    def _await_batches(self, number: int, feeding: threading.Thread) -> None:
        """Until there are so many micro-batches more; it is started again where it has ended by itself."""
        begun = self._batch()
        while self._batch() < begun + number and feeding.is_alive():
            assert self._pipeline is not None
            if not self._pipeline.is_running:
                self.counts["ended by itself"] += 1
                self._start_again()
            time.sleep(0.1)

    def _batch(self) -> int:
        return (self.state.manifests() or [-1])[-1]

    def drain(self, records: Records, feeder: Feeder) -> None:
        """Until everything is read, without kills."""
        feeder.join()
        assert not feeder.failures, feeder.failures
        ends = {topic: records.ends(topic) for topic in TOPICS}
        deadline, last = time.monotonic() + DRAIN_SECONDS, self._batch()
        while True:
            self._start_again()
            if self._batch() > last:
                deadline, last = time.monotonic() + DRAIN_SECONDS, self._batch()
            manifest = self.state.newest_manifest()
            read = {} if manifest is None else manifest.offsets
            if all(
                read.get(topic, {}).get(str(partition), 0) >= end
                for topic, partitions in ends.items()
                for partition, end in partitions.items()
            ):
                break
            assert time.monotonic() < deadline, f"not all is read: {json.dumps(read)}"
            time.sleep(0.2)
        assert self._pipeline is not None
        self._pipeline.stop()

    def end(self) -> None:
        if self._pipeline is not None:
            with suppress(ProcessLookupError):
                self._pipeline.kill()
