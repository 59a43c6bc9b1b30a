"""Groups on Stoker beside Apache Kafka: from join to first record, commits, rebalances, reading in a group.

    python benchmarks/groups.py                       all of it, about 10 minutes; writes docs/benchmarks-groups.md
    python benchmarks/groups.py --quick               a look, about 2 minutes, printed only
    python benchmarks/groups.py --only join,commits   some sections, printed only
    python benchmarks/groups.py --peers stoker        one broker alone, printed only

It needs `make install`, `make kafka-jars`, a C compiler and a JDK. Run it on a box that does nothing else.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack

from side_by_side import command, group_sections
from side_by_side.bench import Bench
from side_by_side.programs import REPOSITORY
from side_by_side.results import Section


def measure(bench: Bench, names: Sequence[str], stack: ExitStack) -> list[Section]:
    command.start(bench, bench.peers, stack)
    return [group_sections.SECTIONS[name](bench) for name in names]


if __name__ == "__main__":
    benchmark = command.Benchmark(
        description=__doc__,
        title="Groups on Stoker beside Apache Kafka",
        page=REPOSITORY / "docs" / "benchmarks-groups.md",
        sections=list(group_sections.SECTIONS),
        measure=measure,
        settings=group_sections.WITHOUT_DELAYS,
    )
    sys.exit(benchmark.main())
