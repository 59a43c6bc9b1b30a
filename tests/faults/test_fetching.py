"""A range is read to its end, each record once, though the broker is killed, or the connection cut, while it is read."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import pytest

from stoker.client.admin.topics import create_topic, wait_until
from stoker.client.cluster import Cluster
from stoker.client.cluster_pool import close_idle_clusters
from stoker.client.fetching import Isolation, PartitionRange
from stoker.client.properties import client_properties
from stoker.spark.records import Records, raw_arrays, read_records
from stoker.wire.record_batch import Record, build_batch
from tests.apache_kafka import ApacheKafka
from tests.client.written_batches import write_batches
from tests.clients.client import eventually
from tests.faults.broker_process import BrokerProcess, free_port

BATCHES = 200
IN_A_BATCH = 50
WHOLE = BATCHES * IN_A_BATCH
QUICK_CLEANER = {"log.cleaner.backoff.ms": "50"}


class Killable(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...
    def kill(self) -> None: ...
    def start(self) -> object: ...


@pytest.fixture(scope="module", params=["stoker", pytest.param("apache_kafka", marks=pytest.mark.java)])
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killable]:
    if request.param == "stoker":
        directory: Path = tmp_path_factory.mktemp("data")
        with BrokerProcess(directory, options=QUICK_CLEANER) as stoker:
            yield stoker
    else:
        with ApacheKafka(properties=QUICK_CLEANER) as kafka:
            yield kafka


@pytest.fixture
def cluster(broker: Killable) -> Iterator[Cluster]:
    with Cluster(client_properties(broker.bootstrap_servers)) as cluster:
        yield cluster
    close_idle_clusters()


def value(offset: int) -> bytes:
    return b"value %d " % offset + bytes(300)


@pytest.fixture
def topic(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    name = request.node.originalname
    create_topic(cluster, name, partitions=1)
    wait_until(cluster, name, lambda topic: topic is not None)
    batches = [
        build_batch([Record(value=value(first + number)) for number in range(IN_A_BATCH)])
        for first in range(0, WHOLE, IN_A_BATCH)
    ]
    write_batches(cluster, name, *batches)
    return str(name)


def read(bootstrap_servers: str, wanted: PartitionRange, meanwhile: Callable[[int], None]) -> list[tuple[int, bytes]]:
    """Offsets and values; `meanwhile` is called between two pieces."""
    properties = client_properties(bootstrap_servers, {"max.partition.fetch.bytes": "100000"})
    rows: list[tuple[int, bytes]] = []
    pieces: Iterator[Records] = read_records(properties, wanted, isolation=Isolation.READ_COMMITTED)
    for number, records in enumerate(pieces):
        rows += zip(records.offsets.tolist(), raw_arrays(records, ["value"])[0].to_pylist(), strict=True)
        meanwhile(number)
    return rows


def test_a_broker_that_is_killed_and_started_again(broker: Killable, topic: str) -> None:
    def meanwhile(number: int) -> None:
        if number == 2:
            broker.kill()
            broker.start()

    rows = read(broker.bootstrap_servers, PartitionRange(topic, 0, 7, WHOLE - 7), meanwhile)
    assert rows == [(offset, value(offset)) for offset in range(7, WHOLE - 7)]


@pytest.mark.parametrize("broker", ["stoker"], indirect=True)
def test_a_broker_that_is_away_when_the_reading_begins(broker: Killable, topic: str) -> None:
    """As for a worker that has no connection yet."""
    close_idle_clusters()
    broker.kill()
    back = threading.Timer(1.0, broker.start)
    back.start()
    try:
        rows = read(broker.bootstrap_servers, PartitionRange(topic, 0, 0, WHOLE), lambda number: None)
    finally:
        back.join()
    assert rows == [(offset, value(offset)) for offset in range(WHOLE)]


@contextmanager
def cutting_proxy(port: int, every: int) -> Iterator[int]:
    """Passes bytes to and from a broker, and cuts a connection after so many of them came back; gives its port."""
    host = "127.0.0.1"

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=connect, args=(client,), daemon=True).start()

    def connect(client: socket.socket) -> None:
        with client, socket.create_connection((host, port)) as server:
            out = threading.Thread(target=pass_on, args=(client, server, 1 << 40), daemon=True)
            out.start()
            pass_on(server, client, every)
            out.join()

    def pass_on(source: socket.socket, target: socket.socket, most: int) -> None:
        with suppress(OSError):
            while most > 0 and (data := source.recv(min(most, 65536))):
                target.sendall(data)
                most -= len(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    with socket.create_server((host, 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def test_a_connection_that_is_cut_again_and_again(tmp_path: Path) -> None:
    """In the middle of answers; each is asked for again, and nothing is given out twice."""
    port = free_port()
    with cutting_proxy(port, 777_777) as proxy:
        # It advertises the proxy, so that every connection goes through it.
        options = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{proxy}"}
        with BrokerProcess(tmp_path / "data", port=port, options=options):
            with Cluster(client_properties(f"127.0.0.1:{proxy}")) as cluster:
                create_topic(cluster, "orders", partitions=1)
                batch = build_batch([Record(value=value(number)) for number in range(IN_A_BATCH)])
                write_batches(cluster, "orders", *[batch] * BATCHES)
            rows = read(f"127.0.0.1:{proxy}", PartitionRange("orders", 0, 0, WHOLE), lambda number: None)
            close_idle_clusters()
    assert rows == [(offset, value(offset % IN_A_BATCH)) for offset in range(WHOLE)]


def test_a_compacted_topic(broker: Killable, cluster: Cluster) -> None:
    """Gaps in batches, batches that are gone, and a range that ends where nothing is any more."""
    quick = {
        "cleanup.policy": "compact",
        "segment.bytes": "1048576",
        "min.cleanable.dirty.ratio": "0.01",
        "max.compaction.lag.ms": "100",
        "segment.ms": "100",
    }
    create_topic(cluster, "profiles", partitions=1, configs=quick)
    wait_until(cluster, "profiles", lambda topic: topic is not None)
    keys = 70
    for first in range(0, 3000, 50):
        made = [
            Record(timestamp=first, key=b"key %d" % (offset % keys), value=value(offset))
            for offset in range(first, first + 50)
        ]
        write_batches(cluster, "profiles", build_batch(made))

    def newest() -> list[tuple[int, bytes]]:
        write_batches(cluster, "profiles", build_batch([Record(timestamp=5000, key=b"last", value=b"last")]))
        return read(broker.bootstrap_servers, PartitionRange("profiles", 0, 0, 2999), lambda number: None)

    rows = eventually(newest, lambda rows: len(rows) < keys + 50)
    assert rows == [(offset, value(offset)) for offset, _ in rows]
    assert {offset for offset, _ in rows} >= set(range(3000 - keys, 2999))
    within = PartitionRange("profiles", 0, 500, 501)
    assert read(broker.bootstrap_servers, within, lambda number: None) in ([], [(500, value(500))])
