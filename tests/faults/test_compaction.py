"""Compaction while broker and worker are killed at random: the newest value of every key is there, at the offset it got."""

import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import KafkaError, Message, Producer

from stoker.broker.log_cleaner import MOST_DEATHS
from stoker.wire.record_batch import Record
from tests.broker.test_log_cleaner import read_from_start, workers_of
from tests.faults.broker_process import BrokerProcess
from tests.faults.records import create_topic
from tests.raw_connection import RawConnection

TOPIC: Final = "profiles"
KEYS: Final = 700
OPTIONS: Final = {
    "log.cleaner.backoff.ms": 20,
    "log.cleaner.io.max.bytes.per.second": 60_000_000.0,
    "log.segment.delete.delay.ms": 0,
    "log.flush.offset.checkpoint.interval.ms": 250,
}


class Writer(threading.Thread):
    """Sets random keys to ever larger numbers, or deletes them, until told to stop."""

    def __init__(self, bootstrap_servers: str, seed: int) -> None:
        super().__init__(name="writer")
        self.must_stop = threading.Event()
        self.acknowledged: dict[int, tuple[bytes, bytes | None]] = {}
        """By offset: the key and its value."""
        self.errors: list[str] = []
        self._chance = random.Random(seed)
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "enable.idempotence": True,
                "linger.ms": 2,
                "batch.size": 20_000,
                "message.timeout.ms": 60_000,
                "retry.backoff.ms": 20,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "socket.timeout.ms": 5_000,
                "metadata.recovery.strategy": "none",
                "log_level": 0,
            }
        )

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        key, offset = message.key(), message.offset()
        if error is not None:
            self.errors.append(str(error))
        else:
            assert isinstance(key, bytes)
            assert offset is not None
            value = message.value()
            assert value is None or isinstance(value, bytes)
            self.acknowledged[offset] = key, value

    def run(self) -> None:
        number = 0
        while not self.must_stop.is_set() and not self.errors:
            if len(self._producer) > 2_000:
                self._producer.poll(0.01)
                continue
            key = b"%d" % self._chance.randrange(KEYS)
            value = None if self._chance.random() < 0.05 else b"%d" % number + b"." * 500
            self._producer.produce(TOPIC, value, key=key, partition=0, on_delivery=self._delivered)
            number += 1
            if number % 100 == 0:
                time.sleep(0.01)
                self._producer.poll(0)
        if self._producer.flush(60):
            self.errors.append("not all records were acknowledged in the end")


def run_kills(data_dir: Path, *, seconds: float, seed: int) -> str:
    """Kill worker and broker at random moments, each at least once, then look for what was acknowledged."""
    chance = random.Random(seed)
    kills = {"worker": 0, "broker": 0, "stop": 0}
    cleanings = of_this_run = 0
    with BrokerProcess(data_dir, options=OPTIONS) as broker:
        create_topic(
            broker.bootstrap_servers,
            TOPIC,
            cleanup_policy="compact",
            segment_bytes="1048576",
            min_cleanable_dirty_ratio="0.01",
        )
        writer = Writer(broker.bootstrap_servers, seed)
        writer.start()
        try:
            deadline = time.monotonic() + seconds
            while (time.monotonic() < deadline or not all(kills.values())) and not writer.errors:
                time.sleep(chance.uniform(0.05, 0.9))
                victim = chance.choice(("worker", "worker", "broker", "broker", "stop"))
                if victim == "worker":
                    for pid in workers_of(broker)[: MOST_DEATHS - 1 - of_this_run]:  # at one more it is given up
                        os.kill(pid, signal.SIGKILL)
                        kills["worker"] += 1
                        of_this_run += 1
                    continue
                of_this_run = 0
                cleanings += sum("up to offset" in line for line in broker.lines)
                kills[victim] += 1
                if victim == "broker":
                    broker.kill()
                else:
                    assert broker.stop() == 0
                broker.start()
        finally:
            writer.must_stop.set()
            writer.join()
        assert not writer.errors, f"seed {seed}: {writer.errors[:3]}\n{broker.output}"
        if not cleanings:
            broker.wait_for_line("up to offset")  # on a slow machine none came to its end before
        broker.kill()
        broker.start()
        with RawConnection(broker.bootstrap_servers) as connection:
            found = read_from_start(connection, TOPIC)
        _check(found, writer.acknowledged, seed)
        assert len(found) < len(writer.acknowledged)
        assert not any("cannot be compacted" in line or "Traceback" in line for line in broker.lines), broker.output
    return f"{kills}, {cleanings} cleanings, {len(found)} of {len(writer.acknowledged)} records left"


def _check(found: list[Record], acknowledged: dict[int, tuple[bytes, bytes | None]], seed: int) -> None:
    """Nothing that was not written, at no other offset, and of every key the last that was acknowledged."""
    offsets = [record.offset for record in found]
    assert offsets == sorted(set(offsets)), f"seed {seed}: offsets go back"
    for record in found:
        assert acknowledged.get(record.offset) == (record.key, record.value), f"seed {seed}: offset {record.offset}"
    newest = {key: (offset, value) for offset, (key, value) in sorted(acknowledged.items())}
    there = {record.key: (record.offset, record.value) for record in found}
    for key, (offset, value) in newest.items():
        assert there.get(key) == (offset, value), f"seed {seed}: key {key!r} was last written at offset {offset}"


def test_nothing_is_lost_when_broker_and_worker_are_killed(tmp_path: Path) -> None:
    """A short run; `make soak` has the long one."""
    print(run_kills(tmp_path, seconds=7, seed=random.randrange(10**6)))


@pytest.mark.soak
def test_nothing_is_lost_in_a_long_run_of_kills(tmp_path: Path) -> None:
    for number in range(6):
        print(run_kills(tmp_path / str(number), seconds=60, seed=random.randrange(10**6)))
