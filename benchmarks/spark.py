"""Topics in Spark: Stoker's connector beside Spark's own, in one session, on the same topics.

    python benchmarks/spark.py                     all of it, about 20 minutes; writes docs/benchmarks-spark.md
    python benchmarks/spark.py --quick             a look, about 6 minutes, printed only
    python benchmarks/spark.py --only raw,sink     some sections, printed only
    python benchmarks/spark.py --peers kafka       on one of the brokers only, printed only

It needs `make install`, `make kafka-jars`, `make spark-jars`, a C compiler and a JDK. Run it on a box that does nothing else.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack

from side_by_side import command, spark_engine, spark_sections
from side_by_side.bench import Bench
from side_by_side.http_servers import Registry
from side_by_side.processes import LoadFailed
from side_by_side.programs import REPOSITORY
from side_by_side.results import Section
from side_by_side.spark_sections import SparkBench
from side_by_side.spark_topics import Place


def measure(bench: Bench, names: Sequence[str], stack: ExitStack) -> list[Section]:
    command.start(bench, bench.peers, stack)
    places = []
    for peer in bench.peers:
        registry = Registry(f"registry-{peer.name}", bench.directory, bench.stoker, peer, "_schemas")
        stack.callback(registry.stop)
        registry.start("/subjects")
        places.append(Place(broker=peer, registry=registry))
    spark_bench = SparkBench(bench=bench, spark=stack.enter_context(spark_engine.session()), places=places)
    results = []
    for name in names:
        try:
            results.append(spark_sections.SECTIONS[name](spark_bench))
        except LoadFailed as failure:  # outside of the rounds: a topic that could not be filled
            bench.fail(f"{name}: {failure}")
    return results


if __name__ == "__main__":
    benchmark = command.Benchmark(
        description=__doc__,
        title="Topics in Spark, beside Spark's own connector",
        introduction='Both connectors, `format("stoker")` and `format("kafka")`, were in one Spark session '
        f"({spark_engine.MASTER}) and read the same topics of the same broker, in alternating rounds after one that does not "
        "count. Broker, JVM and Python workers share the box. Only the query is timed.",
        page=REPOSITORY / "docs" / "benchmarks-spark.md",
        sections=list(spark_sections.SECTIONS),
        measure=measure,
        ratio="the median of the rounds' ratios where there is a target, and that of the medians elsewhere",
    )
    sys.exit(benchmark.main())
