"""The schema registry: what calls cost as subjects grow, beside a bare route of Starlette; its start, and its memory.

    python benchmarks/registry.py                     all of it, about 8 minutes; writes docs/benchmarks-registry.md
    python benchmarks/registry.py --quick             a look, about 2 minutes, printed only
    python benchmarks/registry.py --only bare,start   some sections, printed only
    python benchmarks/registry.py --peers kafka       on an Apache Kafka broker instead of Stoker's, printed only

It needs `make install`, `make kafka-jars`, a C compiler and a JDK. Run it on a box that does nothing else.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack

from side_by_side import command, registry_sections
from side_by_side.bench import Bench
from side_by_side.programs import REPOSITORY
from side_by_side.results import Section


def measure(bench: Bench, names: Sequence[str], stack: ExitStack) -> list[Section]:
    command.start(bench, bench.peers[:1], stack)
    return [registry_sections.SECTIONS[name](bench) for name in names]


if __name__ == "__main__":
    benchmark = command.Benchmark(
        description=__doc__,
        title="The schema registry",
        introduction="`stoker registry` and the broker that keeps its schemas were processes of their own, on one box; what is "
        "compared took turns, round after round. Processor time is that of the server's process, from /proc.",
        page=REPOSITORY / "docs" / "benchmarks-registry.md",
        sections=list(registry_sections.SECTIONS),
        measure=measure,
        ratio="the median of the rounds' ratios",
    )
    sys.exit(benchmark.main())
