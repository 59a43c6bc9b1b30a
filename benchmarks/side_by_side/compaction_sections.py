"""The sections of the benchmark of compaction: which loads, how much of each, and what is wanted of Stoker."""

from collections.abc import Callable, Mapping, Sequence
from statistics import quantiles

from side_by_side import compaction_loads
from side_by_side.bench import Bench, Measured
from side_by_side.canned import Batch
from side_by_side.compaction_loads import PROBE_EVERY_SECONDS, Dirt
from side_by_side.peers import Peer, remove
from side_by_side.results import Row, Section, at_most

AT_ONCE = {"log.cleaner.backoff.ms": "100"}
"""Both brokers look for dirty logs every 15 s by default; that would hide what is measured."""
SEGMENT_BYTES = 67_108_864
IDLE_SECONDS = 10.0
COMMITS = 1_000_000


def cleaning(bench: Bench) -> Section:
    rows = []
    for label, dirt in (
        ("1 KB values", Dirt(value_size=1000, keys=100_000, megabytes=int(1000 * bench.scale))),
        ("100 B values", Dirt(value_size=100, keys=300_000, megabytes=int(400 * bench.scale))),
    ):
        bench.say(f"making {dirt.megabytes} MB of {label}")
        batches = list(dirt.batches())

        def load(peer: Peer, batches: list[Batch] = batches) -> Measured:
            with bench.topic(peer, 1) as probed, bench.topic(peer, 1) as topic:
                peer.alter_topic(topic, {"segment.bytes": str(int(SEGMENT_BYTES * bench.scale))})
                compaction_loads.fill(peer, topic, batches)
                idle_seconds = IDLE_SECONDS * max(bench.scale, 0.3)
                cleaned = compaction_loads.clean(peer, topic, probed, idle_seconds=idle_seconds)
            idle, meanwhile = _percentile(cleaned.idle_latencies), _percentile(cleaned.latencies)
            return {
                "rate": cleaned.megabytes_before / cleaned.seconds,
                "left": 100 * cleaned.megabytes_after / cleaned.megabytes_before,
                "cost": cleaned.cpu_seconds / cleaned.megabytes_before * 1000,
                "idle": idle,
                "meanwhile": meanwhile,
                "ratio": meanwhile / idle,
            }

        samples = bench.in_turns(f"cleaning {label}", load, warm_up=True)
        rows += [
            Row(name=f"cleaning, {label}", unit="MB/s", samples=samples.of("rate")),
            Row(name=f"what is left, {label}", unit="%", samples=samples.of("left")),
            Row(name=f"p99 of produce, idle, {label}", unit="ms", samples=samples.of("idle")),
            Row(name=f"p99 of produce, while cleaning, {label}", unit="ms", samples=samples.of("meanwhile")),
            Row(
                name=f"the latter over the former, {label}",
                unit="x",
                samples=samples.of("ratio"),
                target=at_most(2.0, against=None),
            ),
            Row(name=f"CPU of broker, worker and probe's requests, {label}", unit="s/GB", samples=samples.of("cost")),
        ]
    return Section(
        title="Cleaning",
        settings="A topic is filled with batches of 16 KB of random keys (1 GB of 100,000 keys, or 400 MB of 300,000; 2 % "
        "tombstones; segments of 64 MB) and then gets `cleanup.policy=compact`: from the answer to that until the "
        "checkpoint says that all but the active segment is clean. Before and meanwhile a producer sends 1 KB to another "
        f"topic every {PROBE_EVERY_SECONDS * 1000:.0f} ms and waits for the answer. "
        + " and ".join(f"`{name}={value}`" for name, value in AT_ONCE.items())
        + " on both brokers.",
        rows=rows,
    )


def start(bench: Bench) -> Section:
    count = bench.scaled(COMMITS)

    def load(peer: Peer) -> Measured:
        fresh = next(each for each in bench.spare({}) if each.name == peer.name)
        fresh.prepare()
        try:
            fresh.start()
            starts = compaction_loads.start_after_commits(bench, fresh, count)
        finally:
            remove(fresh)
        return {"kill": starts.after_kill, "stop": starts.after_stop}

    samples = bench.in_turns("start", load, warm_up=False, rounds=min(bench.rounds, 2))
    return Section(
        title="Start after a million commits",
        settings=f"One group commits one partition {count:,} times, a batch each, of which most are in the active segment "
        "that is never compacted. From exec to the first OffsetFetch that answers with the last offset: after SIGKILL, "
        "and after a clean stop. Defaults on both brokers.",
        rows=[
            Row(name="after SIGKILL", unit="s", samples=samples.of("kill"), target=at_most(2.0, against=None)),
            Row(name="after a clean stop", unit="s", samples=samples.of("stop"), target=at_most(2.0, against=None)),
        ],
    )


def _percentile(latencies: Sequence[float]) -> float:
    """The 99th."""
    return quantiles(latencies, n=100)[98] if len(latencies) > 1 else float("nan")


SECTIONS: Mapping[str, Callable[[Bench], Section]] = {"cleaning": cleaning, "start": start}
