"""The sections of the benchmark: which loads, how much of each, and what is wanted of Stoker."""

import time
from collections.abc import Callable, Mapping

from side_by_side import canned, loads, peers, processes
from side_by_side.bench import Bench, Measured, Samples
from side_by_side.loads import Blast, Outcome, Values
from side_by_side.peers import Peer
from side_by_side.results import Row, Section, Target, at_least, at_most

PRODUCE_TARGETS = {"1 KB": 1.5, "10 KB": 1.5}
OTHER_PRODUCE_TARGET = 1.0
LARGE_BATCH, SMALL_BATCH = 1_000_000, 16_384
PARTITION_COUNTS = (10, 100, 1_000, 5_000)
PRODUCER_COUNTS = (1, 10, 100, 500)
FLAT = at_most(1.25, against=None)


def librdkafka(bench: Bench) -> Section:
    rows = []
    for size, codec, count in (
        (100, "none", 3_000_000),
        (1000, "none", 600_000),
        (10_000, "none", 60_000),
        (100, "lz4", 3_000_000),
        (1000, "lz4", 1_000_000),
        (10_000, "lz4", 100_000),
    ):
        values = Values(size=size, codec=codec, count=bench.scaled(count))

        def load(peer: Peer, values: Values = values) -> Measured:
            with bench.topic(peer, loads.PARTITIONS) as topic:
                produced = loads.rdkafka_produce(bench, peer, topic, values)
                loads.check_stored(peer, topic, codec=values.codec, value_bytes=values.bytes)
                fetched = loads.rdkafka_fetch(bench, peer, topic, partitions=loads.PARTITIONS, records=values.count)
                loads.check_fetched(peer, fetched, values.bytes)
            return _throughput(produced, fetched)

        rows += _throughput_rows(values.label, bench.in_turns(f"librdkafka {values.label}", load, warm_up=True))
    return Section(
        title="librdkafka",
        settings="C on the librdkafka of confluent-kafka; 4 partitions, acks=all, linger.ms=5, batches up to 1 MB, "
        "fetch by assignment, up to 1 MB a partition. Client and broker share the box, so the client is "
        "often what limits. Bytes are those of the values before compression.",
        rows=_by_quantity(rows),
    )


def java(bench: Bench) -> Section:
    rows = []
    for size, codec, count in (
        (100, "none", 2_000_000),
        (1000, "none", 400_000),
        (10_000, "none", 40_000),
        (1000, "lz4", 400_000),
    ):
        values = Values(size=size, codec=codec, count=bench.scaled(count))
        warm_up = values.count // 4

        def load(peer: Peer, values: Values = values, warm_up: int = warm_up) -> Measured:
            with bench.topic(peer, loads.PARTITIONS) as topic:
                produced = loads.java_produce(bench, peer, topic, values, warm_up=warm_up)
                sent = (values.count + warm_up) * values.size
                loads.check_stored(peer, topic, codec=values.codec, value_bytes=sent)
                fetched = loads.java_fetch(bench, peer, topic, values.count + warm_up)
                loads.check_fetched(peer, fetched, sent)
            return {"produce": produced.megabytes_per_second, "fetch": fetched.megabytes_per_second}

        samples = bench.in_turns(f"Java {values.label}", load, warm_up=False)
        rows.append(
            Row(
                name=f"produce {values.label}",
                unit="MB/s",
                samples=samples.of("produce"),
                target=_produce_target(values.label),
            )
        )
        rows.append(Row(name=f"fetch {values.label}", unit="MB/s", samples=samples.of("fetch"), target=at_least(1.0)))
    return Section(
        title="Java clients",
        settings="kafka-clients 4.3: ProducerPerformance (acks=all, linger.ms=5, batch.size=256 KB, no idempotence, "
        "rate after its warm-up records) and a consumer by assignment (second reading in the same JVM).",
        rows=sorted(rows, key=lambda row: row.name.split()[0], reverse=True),
    )


def canned_requests(bench: Bench) -> Section:
    rows = []
    limits = _physical_limit(bench)
    for size, batch_bytes, label in (
        (100, LARGE_BATCH, "100 B in 1 MB batches"),
        (1000, LARGE_BATCH, "1 KB in 1 MB batches"),
        (10_000, LARGE_BATCH, "10 KB in 1 MB batches"),
        (1000, SMALL_BATCH, "1 KB in 16 KB batches"),
    ):
        batch = canned.record_batch(value_size=size, about_bytes=batch_bytes)
        total = bench.scaled(1_000_000_000 if batch_bytes == LARGE_BATCH else 500_000_000)
        blast = Blast(batch=batch, requests=max(256, total // len(batch.data) // 256 * 256))

        def load(peer: Peer, blast: Blast = blast) -> Measured:
            with bench.topic(peer, loads.PARTITIONS) as topic:
                produced = loads.blast_produce(bench, peer, topic, blast)
                fetched = loads.blast_fetch(bench, peer, topic, blast)
            return _throughput(produced, fetched)

        samples = bench.in_turns(f"canned {label}", load, warm_up=True)
        rows += _throughput_rows(label, samples)
        if label == "1 KB in 1 MB batches":
            rows += _limit_rows(samples, limits)
    return Section(
        title="Canned requests, and the physical limit",
        settings="A C client that replays encoded Produce v9 and Fetch v12 requests (4 connections, 4 in flight on "
        "each) and reads only error codes, so that the broker is what is measured. The limit is a C program "
        "without any protocol: recv and write to a file, sendfile back, 1 MB at a time over loopback.",
        rows=_by_quantity(rows),
    )


def latency(bench: Bench) -> Section:
    rows = []
    seconds = 6 * bench.scale if bench.scale < 1 else 6
    for rate in (1_000, 10_000):
        for linger_ms in (0, 5):

            def load(peer: Peer, rate: int = rate, linger_ms: int = linger_ms) -> Measured:
                with bench.topic(peer, loads.PARTITIONS) as topic:
                    before = processes.cpu_seconds(peer.pid)
                    p50, p99, p999 = loads.rdkafka_latency(
                        bench, peer, topic, rate=rate, linger_ms=linger_ms, seconds=seconds, size=1000
                    )
                    used = processes.cpu_seconds(peer.pid) - before
                return {"p50": p50, "p99": p99, "p99.9": p999, "broker CPU": used / (seconds + 1) * 100}

            label = f"{rate // 1000}k records/s, linger.ms={linger_ms}"
            samples = bench.in_turns(f"latency {label}", load, warm_up=True)
            for point in ("p50", "p99", "p99.9"):
                target = at_most(0.7) if point == "p99" else None
                rows.append(Row(name=f"{point} at {label}", unit="ms", samples=samples.of(point), target=target))
            rows.append(Row(name=f"broker CPU at {label}", unit="% of a core", samples=samples.of("broker CPU")))
    return Section(
        title="Latency from produce to consume",
        settings="librdkafka, 1 KB values, 4 partitions, acks=all, one process producing at a fixed rate and one "
        "consuming by assignment. A record's time counts from when it was due. linger.ms=0 sends each record "
        "as soon as it can; 5 is the default of both librdkafka and the Java client, and is itself most of "
        "the p50.",
        rows=rows,
    )


def start(bench: Bench) -> Section:
    def load(peer: Peer) -> Measured:
        began = time.monotonic()
        try:
            peer.prepare()
            prepared = time.monotonic() - began
            first = peer.start()
            peer.stop()
            again = peer.start()
        finally:
            peers.remove(peer)
        return {"start": first, "prepare and start": prepared + first, "restart": again}

    spare = bench.spare({})
    samples = bench.in_turns("start", load, peers=spare, warm_up=False)
    names = {
        "start": "exec to first ack, empty directory",
        "prepare and start": "the same with Kafka's `format`",
        "restart": "exec to first ack after a clean stop",
    }
    return Section(
        title="Start",
        settings="From exec of the broker to the ack of the first record, on an auto-created topic, by a client that "
        "is already running.",
        rows=[Row(name=names[key], unit="s", samples=samples.of(key), target=at_most(0.1)) for key in names],
    )


def memory_rows(idle: Mapping[str, processes.Memory], loaded: Mapping[str, processes.Memory]) -> Section:
    def row(name: str, of: Mapping[str, float], target: Target | None = None) -> Row:
        return Row(name=name, unit="MB", samples={peer: [value] for peer, value in of.items()}, target=target)

    return Section(
        title="Memory",
        settings="Of the broker process: resident (VmRSS), proportional (Pss) and highest resident (VmHWM); idle is "
        "after the first ack, loaded is after all the loads above. Kafka runs with the heap of its own start "
        "script, 1 GB.",
        rows=[
            row("resident, idle", {name: memory.resident for name, memory in idle.items()}),
            row("proportional, idle", {name: memory.proportional for name, memory in idle.items()}),
            row("resident, after load", {name: memory.resident for name, memory in loaded.items()}, at_most(0.15)),
            row(
                "proportional, after load",
                {name: memory.proportional for name, memory in loaded.items()},
                at_most(0.15),
            ),
            row("highest resident", {name: memory.highest for name, memory in loaded.items()}),
        ],
    )


def growth(bench: Bench) -> Section:
    batch = canned.record_batch(value_size=1000, about_bytes=SMALL_BATCH)
    requests = max(256, bench.scaled(300_000_000) // len(batch.data) // 100 * 100)
    rows: list[Row] = []

    def partitions_load(count: int) -> Callable[[Peer], Measured]:
        def load(peer: Peer) -> Measured:
            with bench.topic(peer, count) as topic:
                # Twice to each partition first, so that its files are open and its index has been touched.
                opening = Blast(batch=batch, partitions=count, requests=2 * count)
                loads.blast_produce(bench, peer, topic, opening)
                blast = Blast(batch=batch, partitions=count, requests=requests)
                produced = loads.blast_produce(bench, peer, topic, blast)
                records = (opening.requests + blast.requests) * batch.records
                fetched = loads.rdkafka_fetch(bench, peer, topic, partitions=count, records=records)
                return _costs(produced, fetched)

        return load

    def producers_load(count: int) -> Callable[[Peer], Measured]:
        def load(peer: Peer) -> Measured:
            blast = Blast(batch=batch, partitions=10, connections=count, in_flight=1, requests=requests)
            with bench.topic(peer, 10) as topic:
                return _costs(loads.blast_produce(bench, peer, topic, blast), None)

        return load

    for what, counts, loader in (
        ("partitions", PARTITION_COUNTS, partitions_load),
        ("producers", PRODUCER_COUNTS, producers_load),
    ):
        costs: dict[str, list[Samples]] = {}
        for count in counts:
            samples = bench.in_turns(
                f"growth {count:,} {what}", loader(count), warm_up=count == counts[0], rounds=min(2, bench.rounds)
            )
            for quantity in ("produced", "fetched"):
                if samples.of(quantity):
                    costs.setdefault(quantity, []).append(samples)
                    name = f"{quantity}, {count:,} {what}"
                    rows.append(Row(name=name, unit="CPU s/GB", samples=samples.of(quantity)))
        for quantity, found in costs.items():
            first = Row(name="", unit="", samples=found[0].of(quantity))
            last = Row(name="", unit="", samples=found[-1].of(quantity))
            change = {}
            for peer in bench.peers:
                low, high = first.median(peer.name), last.median(peer.name)
                if low and high:
                    change[peer.name] = [high / low]
            name = f"{quantity}: cost at {counts[-1]:,} {what} over cost at {counts[0]:,}"
            rows.append(Row(name=name, unit="x", samples=change, target=FLAT))
    return Section(
        title="Growth",
        settings="Broker CPU seconds per GB of 1 KB values. Produced by canned requests in 16 KB batches, one "
        "partition to a request (the hard case), over 4 connections, or over 1 to 500 with one request in "
        "flight on each and 10 partitions; fetched by librdkafka, which names every partition in every "
        "fetch.",
        rows=sorted(rows, key=lambda row: ("producers" in row.name, row.name.startswith("fetched"))),
    )


SECTIONS: Mapping[str, Callable[[Bench], Section]] = {
    "start": start,
    "librdkafka": librdkafka,
    "java": java,
    "canned": canned_requests,
    "latency": latency,
    "growth": growth,
}
"""In the order in which they run: growth last, because it leaves the brokers with more state than loads should meet."""


def _throughput(produced: Outcome, fetched: Outcome) -> Measured:
    return {
        "produce": produced.megabytes_per_second,
        "fetch": fetched.megabytes_per_second,
        **_costs(produced, fetched),
    }


def _costs(produced: Outcome, fetched: Outcome | None) -> Measured:
    costs = {"produced": produced.cpu_seconds_per_gigabyte}
    if fetched is not None:
        costs["fetched"] = fetched.cpu_seconds_per_gigabyte
    return costs


def _throughput_rows(label: str, samples: Samples) -> list[Row]:
    return [
        Row(name=f"produce {label}", unit="MB/s", samples=samples.of("produce"), target=_produce_target(label)),
        Row(name=f"fetch {label}", unit="MB/s", samples=samples.of("fetch"), target=at_least(1.0)),
        Row(name=f"broker CPU produced {label}", unit="s/GB", samples=samples.of("produced"), target=at_most(0.5)),
        Row(name=f"broker CPU fetched {label}", unit="s/GB", samples=samples.of("fetched"), target=at_most(1.0)),
    ]


def _produce_target(label: str) -> Target:
    return at_least(PRODUCE_TARGETS.get(label.partition(" in ")[0], OTHER_PRODUCE_TARGET))


def _by_quantity(rows: list[Row]) -> list[Row]:
    """Rows of one quantity together, each group in the order in which it was measured."""
    order = ("produce ", "fetch ", "broker CPU produced", "broker CPU fetched", "limit")
    return sorted(rows, key=lambda row: next(i for i, prefix in enumerate(order) if row.name.startswith(prefix)))


def _physical_limit(bench: Bench) -> Mapping[str, list[float]]:
    """MB/s and CPU s/GB of the C program, by direction, a sample a round."""
    size = bench.scaled(1_000_000_000)
    path = bench.directory / "physical-limit"
    measured: dict[str, list[float]] = {}
    for number in range(bench.rounds + 1):
        for direction in ("receive", "send"):
            output = processes.run([bench.programs.physical_limit, direction, path, str(size)])
            seconds, cpu = map(float, output.split())
            bench.say(f"physical limit, {direction}: {size / seconds / 1e6:,.4g} MB/s, {cpu / size * 1e9:.3g} CPU s/GB")
            if number:
                measured.setdefault(direction, []).append(size / seconds / 1e6)
                measured.setdefault(f"{direction} CPU", []).append(cpu / size * 1e9)
        path.unlink()
    return measured


def _limit_rows(samples: Samples, limits: Mapping[str, list[float]]) -> list[Row]:
    """Both brokers beside the limit, in the case that is nearest to it: large batches of 1 KB values."""
    rows = []
    for name, unit, quantity, limit, target in (
        ("limit: socket to file", "MB/s", "produce", "receive", at_least(0.6, against="limit")),
        ("limit: file to socket", "MB/s", "fetch", "send", at_least(0.6, against="limit")),
        ("limit: CPU socket to file", "s/GB", "produced", "receive CPU", None),
        ("limit: CPU file to socket", "s/GB", "fetched", "send CPU", None),
    ):
        rows.append(Row(name=name, unit=unit, samples={**samples.of(quantity), "limit": limits[limit]}, target=target))
    return rows
