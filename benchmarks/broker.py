"""Stoker beside Apache Kafka: throughput, latency, processor time, memory, start, growth, and the physical limit.

    python benchmarks/broker.py                            all of it, about 15 minutes; writes docs/benchmarks.md
    python benchmarks/broker.py --quick                    a look, about 3 minutes, printed only
    python benchmarks/broker.py --only librdkafka,latency  some sections, printed only
    python benchmarks/broker.py --peers stoker             one broker alone, printed only

It needs `make install`, `make kafka-jars`, a C compiler and a JDK. Run it on a box that does nothing else.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack

from side_by_side import command, processes, sections
from side_by_side.bench import Bench
from side_by_side.programs import REPOSITORY
from side_by_side.results import Section


def measure(bench: Bench, names: Sequence[str], stack: ExitStack) -> list[Section]:
    results: list[Section] = []
    if "start" in names:
        results.append(sections.start(bench))
    running = [name for name in names if name != "start"]
    if running:
        command.start(bench, bench.peers, stack)
        results += _measure_running(bench, running)
    return results


def _measure_running(bench: Bench, names: Sequence[str]) -> list[Section]:
    """The sections that load brokers which go on running, and the memory they take."""
    idle = {peer.name: processes.memory(peer.pid) for peer in bench.peers}
    results = [sections.SECTIONS[name](bench) for name in names if name != "growth"]
    if results:
        loaded = {peer.name: processes.memory(peer.pid) for peer in bench.peers}
        results.append(sections.memory_rows(idle, loaded))
    if "growth" in names:
        results.append(sections.growth(bench))
    return results


if __name__ == "__main__":
    benchmark = command.Benchmark(
        description=__doc__,
        title="Stoker beside Apache Kafka",
        page=REPOSITORY / "docs" / "benchmarks.md",
        sections=list(sections.SECTIONS),
        measure=measure,
    )
    sys.exit(benchmark.main())
