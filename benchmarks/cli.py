"""The command line beside Kafka's own tools and kcat: what a question takes, and what a million records take.

    python benchmarks/cli.py                    all of it, about 6 minutes; writes docs/benchmarks-cli.md
    python benchmarks/cli.py --quick            a look, printed only
    python benchmarks/cli.py --only questions   one section, printed only
    python benchmarks/cli.py --peers kafka      against an Apache Kafka broker instead of Stoker, printed only

It needs `make install`, `make kafka-jars`, a C compiler and a JDK, and leaves kcat out if it is not there. Kafka's tools
are started as Kafka's scripts start them, with the same JVM options, but without the shell script itself.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack

from side_by_side import cli_sections, command, group_sections
from side_by_side.bench import Bench
from side_by_side.programs import REPOSITORY
from side_by_side.results import Section


def measure(bench: Bench, names: Sequence[str], stack: ExitStack) -> list[Section]:
    command.start(bench, bench.peers[:1], stack)
    return [cli_sections.SECTIONS[name](bench) for name in names]


if __name__ == "__main__":
    benchmark = command.Benchmark(
        description=__doc__,
        title="The command line beside Kafka's own",
        introduction="Every tool did the same task against the same broker, in alternating rounds. `stoker` ran from a "
        "virtual environment with its byte code compiled, Kafka's tools with the JVM options of Kafka's scripts.",
        page=REPOSITORY / "docs" / "benchmarks-cli.md",
        sections=list(cli_sections.SECTIONS),
        measure=measure,
        settings=group_sections.WITHOUT_DELAYS,
    )
    sys.exit(benchmark.main())
