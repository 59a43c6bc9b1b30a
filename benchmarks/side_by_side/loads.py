"""The loads: the same client programs with the same settings, whichever broker they are pointed at."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from side_by_side import canned, processes
from side_by_side.bench import Bench
from side_by_side.peers import Peer
from side_by_side.processes import LoadFailed

PARTITIONS = 4
COMPRESSED_AT_MOST = 0.8
"""Of their bytes: the values used here come to about a half."""
STEADY_STATE = re.compile(r"([\d.]+) records/sec \(")


@dataclass(frozen=True, kw_only=True, slots=True)
class Values:
    """What a load sends: `count` values of `size` bytes, compressed by the client with `codec`."""

    size: int
    codec: str
    count: int

    @property
    def label(self) -> str:
        size = f"{self.size // 1000} KB" if self.size >= 1000 else f"{self.size} B"
        return size if self.codec == "none" else f"{size} {self.codec}"

    @property
    def bytes(self) -> int:
        return self.size * self.count


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """Wall time of a load as its client saw it, bytes of values moved, and the broker's processor time meanwhile."""

    seconds: float
    value_bytes: int
    cpu_seconds: float

    @property
    def megabytes_per_second(self) -> float:
        return self.value_bytes / self.seconds / 1e6

    @property
    def cpu_seconds_per_gigabyte(self) -> float:
        return self.cpu_seconds / self.value_bytes * 1e9


def observed(peer: Peer, client: Callable[[], tuple[float, int]]) -> Outcome:
    """What a client, which returns its seconds and bytes, costs the broker."""
    before = processes.cpu_seconds(peer.pid)
    seconds, value_bytes = client()
    return Outcome(seconds=seconds, value_bytes=value_bytes, cpu_seconds=processes.cpu_seconds(peer.pid) - before)


def check_stored(peer: Peer, topic: str, *, codec: str, value_bytes: int) -> None:
    """Refuse a sample whose client did other work than asked.

    librdkafka, for one, sends lz4 as plain batches without a word unless the broker advertises FindCoordinator v0, and
    saves the compression, which would pass for a fast broker.
    """
    stored = peer.stored_bytes(topic) / value_bytes
    if codec == "none" and stored < 1.0:
        raise LoadFailed(f"{peer.name} stored {stored:.2f} of the bytes of plain values")
    if codec != "none" and stored > COMPRESSED_AT_MOST:
        raise LoadFailed(f"the client of {peer.name} did not use {codec}: stored {stored:.2f} of the values' bytes")


def check_fetched(peer: Peer, fetched: Outcome, wanted: int) -> None:
    if fetched.value_bytes != wanted:
        raise LoadFailed(f"{peer.name} gave {fetched.value_bytes} bytes of values, {wanted} were produced")


# librdkafka


def rdkafka_produce(bench: Bench, peer: Peer, topic: str, values: Values, *, partitions: int = PARTITIONS) -> Outcome:
    def client() -> tuple[float, int]:
        output = _rdkafka(bench, peer, "produce", topic, partitions, values.count, values.size, values.codec)
        return float(output), values.bytes

    return observed(peer, client)


def rdkafka_fetch(bench: Bench, peer: Peer, topic: str, *, partitions: int, records: int) -> Outcome:
    def client() -> tuple[float, int]:
        seconds, value_bytes = _rdkafka(bench, peer, "fetch", topic, partitions, records).split()
        return float(seconds), int(value_bytes)

    return observed(peer, client)


def rdkafka_latency(
    bench: Bench, peer: Peer, topic: str, *, rate: int, linger_ms: int, seconds: float, size: int
) -> tuple[float, float, float]:
    """Milliseconds at p50, p99 and p99.9 from when a record was due to its receipt; the first second is skipped."""
    records = int(rate * (seconds + 1))
    program: list[str | Path] = [bench.programs.rdkafka_load, bench.programs.librdkafka]
    place = [peer.brokers, topic, str(PARTITIONS), str(records)]
    watch = [*program, "watch", *place, str(rate)]
    with processes.spawn(watch) as watcher:
        assert watcher.stdout is not None
        watcher.stdout.readline()  # it is reading
        time.sleep(0.5)  # by now its first fetch waits in the broker
        processes.run([*program, "pace", *place, str(size), str(rate), str(linger_ms)])
        output, errors = watcher.communicate(timeout=60)
    p50, p99, p999 = processes.checked(watch, watcher, output, errors).split()
    return float(p50), float(p99), float(p999)


def _rdkafka(bench: Bench, peer: Peer, mode: str, topic: str, *arguments: object) -> str:
    program = [bench.programs.rdkafka_load, bench.programs.librdkafka]
    return processes.run([*program, mode, peer.brokers, topic, *map(str, arguments)])


# Java


def java_produce(bench: Bench, peer: Peer, topic: str, values: Values, *, warm_up: int) -> Outcome:
    """ProducerPerformance; its first records warm the JVM up and are not in its rate."""
    payload = bench.directory / f"payload-{values.size}"
    if not payload.exists():
        payload.write_text("\n".join(_order(number, values.size) for number in range(1000)))

    def client() -> tuple[float, int]:
        output = processes.run(
            bench.programs.java(
                "org.apache.kafka.tools.ProducerPerformance",
                *("--bootstrap-server", peer.brokers, "--topic", topic, "--throughput", "-1"),
                *("--num-records", str(values.count + warm_up), "--warmup-records", str(warm_up)),
                *("--payload-file", str(payload), "--reporting-interval", "600000"),
                *("--command-property", "acks=all", f"compression.type={values.codec}", "enable.idempotence=false"),
                *("linger.ms=5", "batch.size=262144", "buffer.memory=67108864"),
            )
        )
        rates = STEADY_STATE.findall(output)
        if not rates:
            raise LoadFailed(f"ProducerPerformance printed no rate: {output[-300:]}")
        return values.count / float(rates[-1]), values.bytes

    return observed(peer, client)


def java_fetch(bench: Bench, peer: Peer, topic: str, records: int) -> Outcome:
    def client() -> tuple[float, int]:
        command = bench.programs.java("FetchReader", peer.brokers, topic, str(PARTITIONS), str(records))
        seconds, value_bytes = processes.run(command).split()
        return float(seconds), int(value_bytes)

    return observed(peer, client)


def _order(number: int, size: int) -> str:
    words = ("paid", "express", "Lisbon", "gift", "return", "Oslo", "fragile", "Kyoto", "parcel", "weekly", "priority")
    text = f'{{"order_id":{number * 7919},"customer":"c-{number * 31 % 90000:05}","note":"'
    step = number
    while len(text) < size:
        step = (step * 1103515245 + 12345) % 2**31
        text += f"{words[step % len(words)]} {step % 997} "
    return text[:size]


# Canned requests


@dataclass(frozen=True, kw_only=True, slots=True)
class Blast:
    """How canned requests are sent: batches of about `batch_bytes`, one to a request."""

    batch: canned.Batch
    partitions: int = PARTITIONS
    connections: int = 4
    in_flight: int = 4
    requests: int

    @property
    def value_bytes(self) -> int:
        return self.batch.value_bytes * self.requests


def blast_produce(bench: Bench, peer: Peer, topic: str, blast: Blast) -> Outcome:
    frame = canned.produce(topic, blast.batch)

    def client() -> tuple[float, int]:
        output = _blast(bench, peer, "produce", frame, blast, blast.requests)
        return float(output.split()[0]), blast.value_bytes

    return observed(peer, client)


def blast_fetch(bench: Bench, peer: Peer, topic: str, blast: Blast) -> Outcome:
    """Read back what the same blast produced to an empty topic, up to 1 MB at a time as clients do by default."""
    batches = max(1, 1_048_576 // len(blast.batch.data))
    each_partition = blast.requests // blast.partitions
    requests = each_partition // batches * blast.partitions
    frame = canned.fetch(topic, max_bytes=batches * len(blast.batch.data))

    def client() -> tuple[float, int]:
        records = batches * blast.batch.records
        seconds, record_bytes = _blast(bench, peer, "fetch", frame, blast, requests, frame.offset_at, records).split()
        wanted = requests * batches * len(blast.batch.data)
        if int(record_bytes) != wanted:
            raise LoadFailed(f"{peer.name} answered {record_bytes} bytes of records to fetches of {wanted}")
        return float(seconds), requests * batches * blast.batch.value_bytes

    return observed(peer, client)


def _blast(bench: Bench, peer: Peer, mode: str, frame: canned.Frame, blast: Blast, requests: int, *more: int) -> str:
    path = bench.directory / "frame"
    path.write_bytes(frame.data)
    numbers = (frame.partition_at, blast.partitions, blast.connections, blast.in_flight, requests, *more)
    return processes.run([bench.programs.blast, mode, str(peer.port), path, *map(str, numbers)])
