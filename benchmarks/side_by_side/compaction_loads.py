"""The loads of compaction: a topic full of superseded records, and a producer that notices how it is cleaned."""

import random
import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import crc32c

from side_by_side import canned, group_loads, processes
from side_by_side.bench import Bench
from side_by_side.canned import Batch
from side_by_side.peers import START_TIMEOUT_SECONDS, Peer
from side_by_side.processes import LoadFailed

CLEANING_TIMEOUT_SECONDS = 120.0
PROBE_EVERY_SECONDS = 0.002
_IN_FLIGHT = 8
_CHECKPOINT = "cleaner-offset-checkpoint"


@dataclass(frozen=True, kw_only=True, slots=True)
class Dirt:
    """Records of random keys: every key is superseded `records / keys` times."""

    value_size: int
    keys: int
    megabytes: int
    batch_bytes: int = 16_000
    tombstones: float = 0.02

    def batches(self) -> Iterator[Batch]:
        """The same for every broker and round."""
        chance = random.Random(self.value_size)
        pool = chance.randbytes(1 << 16)
        timestamp = time.time_ns() // 1_000_000
        written = 0
        while written < self.megabytes * 1_000_000:
            body = bytearray()
            count = 0
            while len(body) < self.batch_bytes:
                key = b"customer-%08d" % chance.randrange(self.keys)
                if chance.random() < self.tombstones:
                    value = canned.varint(-1)
                else:
                    begin = chance.randrange(len(pool) - self.value_size)
                    value = canned.varint(self.value_size) + pool[begin : begin + self.value_size]
                record = b"\x00\x00" + canned.varint(count) + canned.varint(len(key)) + key + value + b"\x00"
                body += canned.varint(len(record)) + record
                count += 1
            covered = struct.pack(">hiqqqhii", 0, count - 1, timestamp, timestamp, -1, -1, -1, count) + bytes(body)
            data = struct.pack(">qiibI", 0, len(covered) + 9, -1, 2, crc32c.crc32c(covered)) + covered
            written += len(data)
            yield Batch(data=data, records=count, value_bytes=len(body))


def fill(peer: Peer, topic: str, batches: Sequence[Batch]) -> None:
    """Produce all batches to the one partition of a topic."""
    with closing(_connected(peer)) as connection:
        waiting = 0
        for batch in batches:
            connection.sendall(canned.produce(topic, batch).data)
            waiting += 1
            if waiting == _IN_FLIGHT:
                _check(peer, _receive(connection))
                waiting -= 1
        for _ in range(waiting):
            _check(peer, _receive(connection))


@dataclass(frozen=True, kw_only=True, slots=True)
class Cleaned:
    """How a cleaning went, and what a producer to another topic saw before and meanwhile."""

    seconds: float
    megabytes_before: float
    megabytes_after: float
    cpu_seconds: float
    idle_latencies: Sequence[float]
    latencies: Sequence[float]


def clean(peer: Peer, topic: str, probed_topic: str, *, idle_seconds: float) -> Cleaned:
    """Measure latencies while nothing else happens, then have the topic compacted and measure until that is done."""
    segments = sorted((peer.directory / "data" / f"{topic}-0").glob("*.log"))
    if len(segments) < 2:
        raise LoadFailed(f"{peer.name} has {topic} in one segment, of which nothing can be cleaned")
    active = int(segments[-1].stem)
    before = sum(path.stat().st_size for path in segments[:-1])
    request = canned.produce(probed_topic, canned.record_batch(value_size=1000, about_bytes=1000)).data
    with closing(_connected(peer)) as connection:
        until = time.monotonic() + idle_seconds
        idle = _probe(peer, connection, request, lambda: time.monotonic() > until)
        cpu = processes.cpu_seconds(peer.pid)
        peer.alter_topic(topic, {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"})
        began = time.monotonic()
        latencies = _probe(peer, connection, request, lambda: _is_cleaned(peer, topic, active, began))
        seconds = time.monotonic() - began
    kept = [path for path in (peer.directory / "data" / f"{topic}-0").glob("*.log") if int(path.stem) < active]
    return Cleaned(
        seconds=seconds,
        megabytes_before=before / 1e6,
        megabytes_after=sum(path.stat().st_size for path in kept) / 1e6,
        cpu_seconds=processes.cpu_seconds(peer.pid) - cpu,
        idle_latencies=idle,
        latencies=latencies,
    )


def _probe(peer: Peer, connection: socket.socket, request: bytes, is_over: Callable[[], bool]) -> list[float]:
    """The latencies of one produce request every 2 ms, in milliseconds; a late one does not make up for others."""
    latencies = []
    while not is_over():
        began = time.monotonic()
        connection.sendall(request)
        _check(peer, _receive(connection))
        took = time.monotonic() - began
        latencies.append(took * 1000)
        time.sleep(max(0.0, PROBE_EVERY_SECONDS - took))
    return latencies


def _is_cleaned(peer: Peer, topic: str, active: int, began: float) -> bool:
    """By the checkpoint that both brokers write when a log is clean up to its active segment."""
    if time.monotonic() > began + CLEANING_TIMEOUT_SECONDS:
        raise LoadFailed(f"{peer.name} did not clean {topic} in {CLEANING_TIMEOUT_SECONDS:.0f} s")
    path: Path = peer.directory / "data" / _CHECKPOINT
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return False
    return f"{topic} 0 {active}" in lines


@dataclass(frozen=True, kw_only=True, slots=True)
class Starts:
    """Seconds from exec to the first answer that has a group's committed offset."""

    after_kill: float
    after_stop: float


def start_after_commits(bench: Bench, peer: Peer, count: int) -> Starts:
    """One group commits one partition so many times; the broker is killed and started, stopped and started."""
    peer.create_topic("committed", 1)
    commits = group_loads.Commits(partitions=1, connections=1, in_flight=64, count=count)
    group = group_loads.commit_many(bench, peer, "committed", commits)
    offset = group_loads.committed(peer, group, "committed", 1)[0]
    peer.kill()
    after_kill = _first_answer(peer, group, offset)
    peer.stop()
    after_stop = _first_answer(peer, group, offset)
    peer.stop()
    return Starts(after_kill=after_kill, after_stop=after_stop)


def _first_answer(peer: Peer, group: str, offset: int) -> float:
    began = peer.launch()
    while time.monotonic() < began + START_TIMEOUT_SECONDS:
        try:
            found = group_loads.committed(peer, group, "committed", 1)
        except (OSError, struct.error, IndexError):  # not listening, or loading its groups
            found = {}
        if found.get(0) == offset:
            return time.monotonic() - began
        time.sleep(0.002)
    raise LoadFailed(f"{peer.name} did not know the offset of {group} {START_TIMEOUT_SECONDS:.0f} s after its start")


def _connected(peer: Peer) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", peer.port), timeout=60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _receive(connection: socket.socket) -> bytes:
    (length,) = struct.unpack(">i", _exactly(connection, 4))
    return _exactly(connection, length)


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        received = connection.recv(count - len(data))
        if not received:
            raise LoadFailed("the broker closed the connection")
        data += received
    return data


def _check(peer: Peer, answer: bytes) -> None:
    error = canned.produce_error(answer)
    if error:
        raise LoadFailed(f"{peer.name} answered a produce request with error {error}")
