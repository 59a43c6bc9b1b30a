"""Transactions on Stoker beside Apache Kafka: how many a second, what they add, and what it costs to flush every record.

    python benchmarks/transactions.py                        all of it, about 12 minutes; writes docs/benchmarks-transactions.md
    python benchmarks/transactions.py --quick                a look, about 4 minutes, printed only
    python benchmarks/transactions.py --only librdkafka      some sections, printed only
    python benchmarks/transactions.py --peers stoker         one broker alone, printed only

It needs `make install`, `make kafka-jars`, a C compiler and a JDK. Run it on a box that does nothing else.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack

from side_by_side import command, transaction_sections
from side_by_side.bench import Bench
from side_by_side.programs import REPOSITORY
from side_by_side.results import Section


def measure(bench: Bench, names: Sequence[str], stack: ExitStack) -> list[Section]:
    command.start(bench, bench.peers, stack)
    return [transaction_sections.SECTIONS[name](bench) for name in names]


if __name__ == "__main__":
    benchmark = command.Benchmark(
        description=__doc__,
        title="Transactions on Stoker beside Apache Kafka",
        page=REPOSITORY / "docs" / "benchmarks-transactions.md",
        sections=list(transaction_sections.SECTIONS),
        measure=measure,
    )
    sys.exit(benchmark.main())
