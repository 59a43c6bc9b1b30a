"""The sections of the benchmark of transactions: which loads, how much of each, and what is wanted of Stoker."""

from collections.abc import Callable, Mapping, Sequence

from side_by_side import loads, transaction_loads
from side_by_side.bench import Bench, Measured, Samples
from side_by_side.loads import Outcome
from side_by_side.peers import Peer
from side_by_side.results import Row, Section, at_least
from side_by_side.transaction_loads import Transactions

RECORDS = (1, 10, 1_000)
PRODUCERS = (1, 20)
FLUSHING = {"flush.messages": "1"}
FLUSHING_PRODUCERS = {1: 1, 50: 10}
"""How many producers, and over how many partitions."""


def librdkafka(bench: Bench) -> Section:
    rows: list[Row] = []
    for producers in PRODUCERS:
        for records in RECORDS:
            load = Transactions(producers=producers, records=records, each=_each(bench, producers, records))

            def run(peer: Peer, load: Transactions = load) -> Measured:
                with bench.topic(peer, loads.PARTITIONS) as topic:
                    transactional = transaction_loads.rdkafka_transactions(bench, peer, topic, load)
                with bench.topic(peer, loads.PARTITIONS) as topic:
                    idempotent = transaction_loads.rdkafka_idempotent(bench, peer, topic, load)
                return {
                    **_measured(transactional, load),
                    "plain rate": _timed(load) / idempotent.seconds,
                    "extra": (transactional.seconds - idempotent.seconds) / load.each * 1000,
                }

            samples = bench.in_turns(f"librdkafka {load.label}", run, warm_up=True)
            rows += _rows(load.label, samples)
            rows.append(
                Row(
                    name=f"the same without transactions, {load.label}",
                    unit="flushes/s",
                    samples=samples.of("plain rate"),
                    target=at_least(1.0),
                )
            )
            rows.append(Row(name=f"what a transaction adds, {load.label}", unit="ms", samples=samples.of("extra")))
    return Section(
        title="librdkafka",
        settings="C on the librdkafka of confluent-kafka (the classic protocol): each producer is a thread that commits one "
        f"transaction after the other; {transaction_loads.VALUE_SIZE} B values to 4 partitions in turns, acks=all. Without "
        "transactions the same producers are idempotent and wait for the acks of as many records; what a transaction adds is "
        "the difference, as its producer waits for it. The markers are counted.",
        rows=sorted(rows, key=_order),
    )


def java(bench: Bench) -> Section:
    rows: list[Row] = []
    for producers in PRODUCERS:
        for records in (1, 10):
            load = Transactions(producers=producers, records=records, each=_each(bench, producers, records))

            def run(peer: Peer, load: Transactions = load) -> Measured:
                with bench.topic(peer, loads.PARTITIONS) as topic:
                    outcome = transaction_loads.java_transactions(bench, peer, topic, load)
                return {
                    "rate": load.count / outcome.seconds,
                    "cost": outcome.cpu_seconds / load.count / JAVA_WORK * 1e6,
                }

            rows += _rows(load.label, bench.in_turns(f"Java {load.label}", run, warm_up=True))
    return Section(
        title="Java, transactions version 2",
        settings="kafka-clients of the same Kafka with `transaction.version` 2 (KIP-890: no AddPartitionsToTxn, a new epoch "
        "with every commit); producers as above, each a thread, after a quarter as many transactions to warm up.",
        rows=sorted(rows, key=_order),
    )


def canned_requests(bench: Bench) -> Section:
    rows: list[Row] = []
    for version, protocol in {1: "classic", 2: "version 2"}.items():
        for producers in PRODUCERS:
            for records in RECORDS:
                each = _each(bench, producers, records) * (1 if producers == 1 else 3)
                load = Transactions(producers=producers, records=records, each=each)

                def run(peer: Peer, load: Transactions = load, version: int = version) -> Measured:
                    with bench.topic(peer, loads.PARTITIONS) as topic:
                        outcome = transaction_loads.canned_transactions(bench, peer, topic, load, version=version)
                    return {"rate": load.count / outcome.seconds, "cost": outcome.cpu_seconds / load.count * 1e6}

                label = f"{protocol}, {load.label}"
                rows += _rows(label, bench.in_turns(f"canned {label}", run, warm_up=True))
    return Section(
        title="Canned requests",
        settings="A C client that replays encoded transactions, so that the broker is what is measured: each producer has a "
        "connection and one request in flight, and writes one batch to one partition. Classic: AddPartitionsToTxn v3, "
        "Produce v9, EndTxn v3. Version 2: Produce v12, EndTxn v5. A broker that is not done with the transaction before is "
        "asked again after 1 ms.",
        rows=sorted(rows, key=_order),
    )


def flush(bench: Bench) -> Section:
    rows = []
    for producers, partitions in FLUSHING_PRODUCERS.items():
        count = bench.scaled(5_000 if producers == 1 else 30_000)

        def run(peer: Peer, producers: int = producers, partitions: int = partitions, count: int = count) -> Measured:
            with bench.topic(peer, partitions, FLUSHING) as topic:
                outcome = transaction_loads.flushed_acks(
                    bench, peer, topic, producers=producers, partitions=partitions, count=count
                )
            return {"rate": count / outcome.seconds, "cost": outcome.cpu_seconds / count * 1e6}

        label = (
            f"{producers} producer{'s' if producers > 1 else ''}, {partitions} partition{'s' if partitions > 1 else ''}"
        )
        samples = bench.in_turns(f"flush {label}", run, warm_up=True)
        rows.append(Row(name=label, unit="acks/s", samples=samples.of("rate"), target=at_least(1.0)))
        rows.append(Row(name=f"broker CPU, {label}", unit="µs an ack", samples=samples.of("cost")))
    return Section(
        title="Every record on the disk before its ack",
        settings=f"`flush.messages=1` on the topic. Canned requests of one record of {transaction_loads.VALUE_SIZE} B, one in "
        "flight on each connection.",
        rows=sorted(rows, key=_order),
    )


JAVA_WORK = 1.25
"""Of the transactions that are timed: those that warm up cost the broker too."""

SECTIONS: Mapping[str, Callable[[Bench], Section]] = {
    "librdkafka": librdkafka,
    "java": java,
    "canned": canned_requests,
    "flush": flush,
}


def _each(bench: Bench, producers: int, records: int) -> int:
    """Transactions of each producer: as many as make a few seconds."""
    counts = {(1, 1): 1_000, (1, 10): 1_000, (1, 1_000): 300, (20, 1): 200, (20, 10): 200, (20, 1_000): 40}
    return max(20, int(counts[producers, records] * bench.scale))


def _timed(load: Transactions) -> int:
    """Those behind the first of each producer."""
    return load.count - load.producers


def _measured(outcome: Outcome, load: Transactions) -> Measured:
    return {"rate": _timed(load) / outcome.seconds, "cost": outcome.cpu_seconds / load.count * 1e6}


def _rows(label: str, samples: Samples) -> Sequence[Row]:
    return [
        Row(name=label, unit="transactions/s", samples=samples.of("rate"), target=at_least(1.0)),
        Row(name=f"broker CPU, {label}", unit="µs each", samples=samples.of("cost")),
    ]


def _order(row: Row) -> int:
    """What the clients saw first, then what is compared with it, then what the broker spent."""
    starts = ("broker CPU", "what a transaction adds", "the same without transactions")
    return next((len(starts) - number for number, start in enumerate(starts) if row.name.startswith(start)), 0)
