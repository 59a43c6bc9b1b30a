"""Idempotent producers that go on while their broker is killed again and again, and a reader that takes stock."""

import random
import threading
import time
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaError, Message, Producer

from tests.faults.broker_process import BrokerProcess
from tests.faults.records import create_topic, read_each

TOPIC: Final = "orders"
_FILLING: Final = b"." * 180
_WAITING_RECORDS: Final = 2_000
_DELIVERY_SECONDS: Final = 120

# Small segments and frequent flushes and checkpoints: rolls, snapshots and recovery from the middle of a log all happen.
OPTIONS: Final = {
    "log.segment.bytes": 1024 * 1024,
    "log.flush.interval.ms": 300,
    "log.flush.scheduler.interval.ms": 100,
    "log.initial.task.delay.ms": 100,
    "log.flush.offset.checkpoint.interval.ms": 250,
    "log.flush.start.offset.checkpoint.interval.ms": 250,
}


class Load(threading.Thread):
    """One idempotent producer, writing numbered records to every partition in turn until told to stop."""

    def __init__(self, bootstrap_servers: str, number: int, partitions: int, records_per_second: int) -> None:
        super().__init__(name=f"producer-{number}")
        self.number = number
        self.sent = [0] * partitions
        self.offsets = [array("q") for _ in range(partitions)]
        """By partition and number of the record: the offset the broker acknowledged."""
        self.errors: list[str] = []
        self.must_stop = threading.Event()
        self._rate = records_per_second
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": _DELIVERY_SECONDS * 1000,
                "retry.backoff.ms": 20,
                "retry.backoff.max.ms": 100,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "socket.timeout.ms": 5_000,
                # Starting anew from the bootstrap servers it asks for metadata once a second: between kills that is never.
                "metadata.recovery.strategy": "none",
                "log_level": 0,
                "error_cb": self._on_error,
            }
        )

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal():
            self.errors.append(f"fatal: {error}")

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert partition is not None
        assert value is not None
        acknowledged = self.offsets[partition]
        sequence = int(value[:24].split()[1])
        if error is not None:
            self.errors.append(f"record {sequence} of partition {partition}: {error}")
        elif sequence != len(acknowledged):
            self.errors.append(f"record {sequence} of partition {partition} was acknowledged after {len(acknowledged)}")
        else:
            assert offset is not None
            acknowledged.append(offset)

    def run(self) -> None:
        began = time.monotonic()
        written = 0
        while not self.must_stop.is_set() and not self.errors:
            if len(self._producer) >= _WAITING_RECORDS or written > (time.monotonic() - began) * self._rate:
                self._producer.poll(0.01)
                continue
            partition = written % len(self.sent)
            value = b"%d %d %b" % (self.number, self.sent[partition], _FILLING)
            self._producer.produce(TOPIC, value, partition=partition, on_delivery=self._on_delivery)
            self.sent[partition] += 1
            written += 1
            self._producer.poll(0)
        if self._producer.flush(_DELIVERY_SECONDS):
            self.errors.append("not all records were acknowledged in the end")

    @property
    def acknowledged(self) -> int:
        return sum(map(len, self.offsets))


@dataclass(kw_only=True)
class Tally:
    """What a run of kills counted."""

    kills: int = 0
    kills_before_ready: int = 0
    records: int = 0
    segments: int = 0
    cuts: int = 0

    def __str__(self) -> str:
        return (
            f"{self.kills} kills ({self.kills_before_ready} of them while the broker started), "
            f"{self.records} acknowledged records, each there once and in order, in {self.segments} segments; "
            f"{self.cuts} torn tails cut"
        )


def run_kills(
    data_dir: Path,
    *,
    seconds: float,
    kills: int = 0,
    records: int = 0,
    producers: int,
    partitions: int,
    records_per_second: int,
    seed: int,
) -> Tally:
    """Kill the broker at random moments for so long, so often and while so many records are written at least, then check
    every record that was acknowledged.
    """
    chance = random.Random(seed)
    tally = Tally()
    with BrokerProcess(data_dir, options=OPTIONS) as broker:
        create_topic(broker.bootstrap_servers, TOPIC, partitions)
        loads = [
            Load(broker.bootstrap_servers, number, partitions, records_per_second // producers)
            for number in range(producers)
        ]
        for load in loads:
            load.start()
        try:
            deadline = time.monotonic() + seconds
            while (
                time.monotonic() < deadline or tally.kills < kills or sum(load.acknowledged for load in loads) < records
            ):
                if any(load.errors for load in loads):
                    break
                _kill_and_start(broker, chance, tally)
        finally:
            for load in loads:
                load.must_stop.set()
        for load in loads:
            load.join()
            assert not load.errors, f"seed {seed}: producer {load.number}: {load.errors[:5]}\n{broker.output}"
        broker.kill()
        broker.start()
        tally.segments = len(list(data_dir.glob(f"{TOPIC}-*/*.log")))
        for partition in range(partitions):
            tally.records += _check_partition(broker.bootstrap_servers, partition, loads, seed)
    assert tally.records == sum(load.acknowledged for load in loads)
    return tally


def _kill_and_start(broker: BrokerProcess, chance: random.Random, tally: Tally) -> None:
    """Let it work for a while, kill it, and now and then kill it again while it is still recovering."""
    broker.wait_until_ready()
    time.sleep(chance.uniform(0.05, 1.2))
    broker.kill()
    tally.kills += 1
    broker.launch()
    if chance.random() < 0.4:
        time.sleep(chance.uniform(0.05, 0.4))
        tally.kills_before_ready += not broker.is_ready
        tally.cuts += sum("cut off" in line for line in broker.lines)
        broker.kill()
        tally.kills += 1
        broker.launch()
    broker.wait_until_ready()
    tally.cuts += sum("cut off" in line for line in broker.lines)


def _check_partition(bootstrap_servers: str, partition: int, loads: list[Load], seed: int) -> int:
    """Each producer's records are there from its first to its last, once, in order, at the acknowledged offsets."""
    next_of = [0] * len(loads)
    expected_offset = 0

    def visit(offset: int, value: bytes) -> None:
        nonlocal expected_offset
        producer, sequence = map(int, value[:24].split()[:2])
        where = f"seed {seed}: offset {offset} of partition {partition}: record {sequence} of producer {producer}"
        assert offset == expected_offset, f"{where} where offset {expected_offset} is next"
        assert sequence == next_of[producer], f"{where} where {next_of[producer]} is next"
        acknowledged = loads[producer].offsets[partition][sequence]
        assert offset == acknowledged, f"{where} was acknowledged at offset {acknowledged}"
        next_of[producer] += 1
        expected_offset += 1

    read_each(bootstrap_servers, TOPIC, partition, visit)
    for load in loads:
        assert next_of[load.number] == load.sent[partition], f"seed {seed}: producer {load.number} misses its last"
    return expected_offset
