"""The loads of the registry: a topic full of schemas, and questions one after the other."""

import itertools
import time
from collections.abc import Iterable
from dataclasses import dataclass

from confluent_kafka import KafkaError, Message, Producer

from side_by_side import processes, registry_requests
from side_by_side.bench import Bench
from side_by_side.http_servers import HttpServer, Registry
from side_by_side.peers import Peer
from side_by_side.processes import LoadFailed
from stoker.registry.entities import SchemaEntity, SubjectVersion
from stoker.registry.records import encode_record, schema_record

FLUSH_TIMEOUT_SECONDS = 60.0
NEW_FROM = 1_000_000
"""Numbers of the schemas that are registered while it is measured; those before are in the topic at the start."""

_new_numbers = itertools.count(NEW_FROM)


@dataclass(frozen=True, kw_only=True, slots=True)
class Calls:
    """What asking cost: wall time, and processor time of the server."""

    count: int
    seconds: float
    cpu_seconds: float

    def measured(self) -> dict[str, float]:
        return {"rate": self.count / self.seconds, "cost": self.cpu_seconds / self.count * 1e6}


def fill(broker: Peer, topic: str, subjects: int) -> None:
    """Create a registry's topic with as many subjects, of which number n has one schema, with the id n + 1."""
    broker.create_topic(topic, 1, {"cleanup.policy": "compact"})
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(error)

    producer = Producer({"bootstrap.servers": broker.brokers, "linger.ms": 20})
    for number in range(subjects):
        entity = SchemaEntity(schema_type="AVRO", text=registry_requests.schema(number))
        version = SubjectVersion(registry_requests.subject_name(number), 1, number + 1, entity)
        key, value = encode_record(schema_record(version))
        producer.produce(topic, key=key, value=value, partition=0, on_delivery=delivered)
        producer.poll(0)
    if producer.flush(FLUSH_TIMEOUT_SECONDS) or failures:
        raise LoadFailed(f"{topic} could not be filled: {next(iter(failures), 'it took too long')}")


def start(registry: Registry) -> tuple[float, float]:
    """Seconds from exec to the first answer, and to when it said that it is ready."""
    began = time.time()
    answered = registry.start("/schemas/ids/1")
    return answered, registry.ready_at() - began


def ask(bench: Bench, server: HttpServer, requests: Iterable[bytes], *, connections: int, count: int) -> Calls:
    """Ask these, from the first again if there are fewer than `count`; all must be answered with 200."""
    path = registry_requests.write(bench.directory / "requests", requests)
    before = processes.cpu_seconds(server.pid)
    try:
        seconds = float(processes.run([bench.programs.ask_http, str(server.port), path, str(connections), str(count)]))
    except LoadFailed as failure:
        raise LoadFailed(f"{failure}; the server's last lines: {server.last_lines()}") from failure
    return Calls(count=count, seconds=seconds, cpu_seconds=processes.cpu_seconds(server.pid) - before)


def register(bench: Bench, server: HttpServer, *, connections: int, count: int) -> Calls:
    """Register new schemas under new subjects, and delete them again, which does not count."""
    numbers = list(itertools.islice(_new_numbers, count))
    calls = ask(bench, server, map(registry_requests.register, numbers), connections=connections, count=count)
    for permanent in (False, True):
        deletes = (registry_requests.delete(number, permanent=permanent) for number in numbers)
        ask(bench, server, deletes, connections=1, count=count)
    return calls
