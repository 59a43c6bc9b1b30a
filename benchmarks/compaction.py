"""Compaction on Stoker beside Apache Kafka: how fast, what producers notice of it, and the start after a million commits.

    python benchmarks/compaction.py                     all of it, about 10 minutes; writes docs/benchmarks-compaction.md
    python benchmarks/compaction.py --quick             a look, about 2 minutes, printed only
    python benchmarks/compaction.py --only cleaning     some sections, printed only
    python benchmarks/compaction.py --peers stoker      one broker alone, printed only

It needs `make install`, `make kafka-jars`, a C compiler and a JDK. Run it on a box that does nothing else.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack

from side_by_side import command, compaction_sections
from side_by_side.bench import Bench
from side_by_side.programs import REPOSITORY
from side_by_side.results import Section


def measure(bench: Bench, names: Sequence[str], stack: ExitStack) -> list[Section]:
    command.start(bench, bench.peers, stack)
    return [compaction_sections.SECTIONS[name](bench) for name in names]


if __name__ == "__main__":
    benchmark = command.Benchmark(
        description=__doc__,
        title="Compaction on Stoker beside Apache Kafka",
        page=REPOSITORY / "docs" / "benchmarks-compaction.md",
        sections=list(compaction_sections.SECTIONS),
        measure=measure,
        settings=compaction_sections.AT_ONCE,
    )
    sys.exit(benchmark.main())
