"""stoker.streams beside Kafka Streams 4.3: the same topologies on the same topics of the same broker, exactly once on both sides.

    python benchmarks/streams.py                   all of it, about 20 minutes; writes docs/benchmarks-streams.md
    python benchmarks/streams.py --quick           a look, about 6 minutes, printed only
    python benchmarks/streams.py --only revenue    some sections, printed only
    python benchmarks/streams.py --peers kafka     on one of the brokers only, printed only

It needs `make install`, `make kafka-jars`, a C compiler and a JDK. Run it on a box that does nothing else.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack

import stoker.spark
from side_by_side import command, streams_sections
from side_by_side.bench import Bench
from side_by_side.http_servers import Registry
from side_by_side.processes import LoadFailed
from side_by_side.programs import REPOSITORY
from side_by_side.results import Section
from side_by_side.streams_topics import Place

MASTER = "local[2,4]"


def measure(bench: Bench, names: Sequence[str], stack: ExitStack) -> list[Section]:
    command.start(bench, bench.peers, stack)
    places = []
    for peer in bench.peers:
        registry = Registry(f"registry-{peer.name}", bench.directory, bench.stoker, peer, "_schemas")
        stack.callback(registry.stop)
        registry.start("/subjects")
        places.append(Place(broker=peer, registry=registry))
    spark = stoker.spark.session("side by side", master=MASTER, config={"spark.driver.memory": "3g"})
    spark.sparkContext.setLogLevel("OFF")
    stack.callback(spark.stop)
    results = []
    for name in names:
        try:
            results.append(streams_sections.SECTIONS[name](bench, spark, places))
        except LoadFailed as failure:  # outside of the rounds: a topic that could not be filled
            bench.fail(f"{name}: {failure}")
    return results


if __name__ == "__main__":
    benchmark = command.Benchmark(
        description=__doc__,
        title="Streams, beside Kafka Streams",
        introduction="Both read the same topics of the same broker and write topics of their own, exactly once, in alternating "
        "rounds after one that does not count. Kafka Streams 4.3 has two threads and `exactly_once_v2` with its default commit "
        f"interval (100 ms) and RocksDB; Spark runs in one process ({MASTER}), a million events a micro-batch at the most. Broker and "
        "application share the box. How far each of them is, is what it has committed to its group.",
        page=REPOSITORY / "docs" / "benchmarks-streams.md",
        sections=list(streams_sections.SECTIONS),
        measure=measure,
        settings={"group.initial.rebalance.delay.ms": "0"},
        ratio="the median of the rounds' ratios where there is a target, and that of the medians elsewhere",
    )
    sys.exit(benchmark.main())
