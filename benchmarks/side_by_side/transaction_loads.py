"""The loads of transactions: producers that commit again and again, and producers whose every record is on the disk before its ack."""

import itertools
import os
import time
from dataclasses import dataclass

from side_by_side import canned, loads, processes, transaction_requests
from side_by_side.bench import Bench
from side_by_side.group_requests import read_error
from side_by_side.loads import PARTITIONS, Blast, Outcome
from side_by_side.peers import Peer
from side_by_side.processes import LoadFailed
from side_by_side.transaction_requests import Producer

VALUE_SIZE = 100
NO_TRANSACTIONS = "-"
MARKERS_TIMEOUT_SECONDS = COORDINATOR_TIMEOUT_SECONDS = 20.0

_prefix_numbers = itertools.count()


@dataclass(frozen=True, kw_only=True, slots=True)
class Transactions:
    """`each` producer writes that many transactions of `records` records, which go to the partitions in turns."""

    producers: int
    records: int
    each: int

    @property
    def count(self) -> int:
        return self.producers * self.each

    @property
    def offsets(self) -> int:
        """How many offsets a transaction takes: its records, and a marker in every partition it touches."""
        return self.records + min(self.records, PARTITIONS)

    @property
    def label(self) -> str:
        records = f"{self.records:,} record{'s' if self.records > 1 else ''}"
        return f"{records}, {self.producers} producer{'s' if self.producers > 1 else ''}"


def rdkafka_transactions(bench: Bench, peer: Peer, topic: str, load: Transactions) -> Outcome:
    """Commit with librdkafka; the first transaction of each producer is not timed."""
    outcome = loads.observed(peer, lambda: (_rdkafka(bench, peer, topic, load, _new_prefix()), _value_bytes(load)))
    _check_offsets(peer, topic, load.count * load.offsets)
    return outcome


def rdkafka_idempotent(bench: Bench, peer: Peer, topic: str, load: Transactions) -> Outcome:
    """The same records without transactions: the acks of as many are waited for where there would be a commit."""
    outcome = loads.observed(peer, lambda: (_rdkafka(bench, peer, topic, load, NO_TRANSACTIONS), _value_bytes(load)))
    _check_offsets(peer, topic, load.count * load.records)
    return outcome


def _rdkafka(bench: Bench, peer: Peer, topic: str, load: Transactions, prefix: str) -> float:
    program = (bench.programs.rdkafka_transactions, bench.programs.librdkafka, peer.brokers)
    arguments = (topic, PARTITIONS, load.producers, load.each, load.records, VALUE_SIZE, prefix)
    return float(processes.run([*program, *map(str, arguments)]))


def java_transactions(bench: Bench, peer: Peer, topic: str, load: Transactions) -> Outcome:
    """Commit with kafka-clients, which warms up with a quarter as many transactions."""

    def client() -> tuple[float, int]:
        arguments = (
            peer.brokers,
            topic,
            PARTITIONS,
            load.producers,
            load.each,
            load.records,
            VALUE_SIZE,
            _new_prefix(),
        )
        output = processes.run(bench.programs.java("TransactionWriter", *map(str, arguments)))
        return float(output), _value_bytes(load)

    outcome = loads.observed(peer, client)
    _check_offsets(peer, topic, load.producers * (load.each + load.each // 4) * load.offsets)
    return outcome


def canned_transactions(bench: Bench, peer: Peer, topic: str, load: Transactions, *, version: int) -> Outcome:
    """Replay transactions that are encoded already, each of one batch to one partition."""
    prefix = _new_prefix()
    path = bench.directory / prefix
    steps = transaction_requests.version_2 if version == 2 else transaction_requests.classic
    for number in range(load.producers):
        producer = _new_producer(peer, f"{prefix}-{number}")
        script = steps(producer, topic, number % PARTITIONS, records=load.records, value_size=VALUE_SIZE)
        path.with_name(f"{path.name}-{number}").write_bytes(transaction_requests.script(script))

    def client() -> tuple[float, int]:
        numbers = (load.producers, load.each, load.records)
        output = processes.run([bench.programs.transact, str(peer.port), path, *map(str, numbers)])
        return float(output.split()[0]), _value_bytes(load)

    outcome = loads.observed(peer, client)
    _check_offsets(peer, topic, load.count * (load.records + 1))
    return outcome


def _new_producer(peer: Peer, transactional_id: str) -> Producer:
    """A producer that its coordinator has initialised: Kafka's first makes the topic in which it keeps them."""
    deadline = time.monotonic() + COORDINATOR_TIMEOUT_SECONDS
    while True:
        error = read_error(peer.ask(transaction_requests.find_coordinator(transactional_id)))
        if not error:
            answer = peer.ask(transaction_requests.init_producer_id(transactional_id))
            error, producer = transaction_requests.read_producer(answer, transactional_id)
            if not error:
                return producer
        if time.monotonic() > deadline:
            raise LoadFailed(f"{peer.name} answers error code {error} to transactional id {transactional_id}")
        time.sleep(0.02)


def flushed_acks(bench: Bench, peer: Peer, topic: str, *, producers: int, partitions: int, count: int) -> Outcome:
    """Canned requests of one record, one in flight on each connection, to a topic that flushes every record."""
    batch = canned.record_batch(value_size=VALUE_SIZE, about_bytes=VALUE_SIZE)
    blast = Blast(batch=batch, partitions=partitions, connections=producers, in_flight=1, requests=count)
    outcome = loads.blast_produce(bench, peer, topic, blast)
    _check_offsets(peer, topic, count, partitions)
    return outcome


def _check_offsets(peer: Peer, topic: str, wanted: int, partitions: int = PARTITIONS) -> None:
    """Refuse a sample after which the topic has not as many records and markers as were written; Kafka writes its markers late."""
    deadline = time.monotonic() + MARKERS_TIMEOUT_SECONDS
    while (found := peer.record_count(topic, partitions)) != wanted:
        if time.monotonic() > deadline:
            raise LoadFailed(f"{peer.name} has {found} records and markers in {topic}, {wanted} were written")
        time.sleep(0.02)


def _value_bytes(load: Transactions) -> int:
    return load.count * load.records * VALUE_SIZE


def _new_prefix() -> str:
    """Of transactional ids that no other load has used."""
    return f"writer-{os.getpid()}-{next(_prefix_numbers)}"
