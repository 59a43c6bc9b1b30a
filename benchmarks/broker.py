"""Stoker beside Apache Kafka: throughput, latency, processor time, memory, start, growth, and the physical limit.

    python benchmarks/broker.py                            all of it, about 15 minutes; writes docs/benchmarks.md
    python benchmarks/broker.py --quick                    a look, about 3 minutes, printed only
    python benchmarks/broker.py --only librdkafka,latency  some sections, printed only
    python benchmarks/broker.py --peers stoker             one broker alone, printed only

It needs `make install`, `make kafka-jars`, a C compiler and a JDK. Run it on a box that does nothing else.
"""

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from side_by_side import peers, processes, programs, report, sections
from side_by_side.bench import Bench
from side_by_side.peers import Peer
from side_by_side.processes import LoadFailed
from side_by_side.programs import REPOSITORY, NotSetUp
from side_by_side.results import Section

PAGE = REPOSITORY / "docs" / "benchmarks.md"
QUICK_SCALE = 0.15


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that both leave through the clean-up below
    try:
        with ExitStack() as stack:
            text = _measure(options, stack)
    except KeyboardInterrupt:
        print("\ninterrupted: the brokers are stopped and their data removed", file=sys.stderr)
        return 130
    except (NotSetUp, LoadFailed) as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    print(f"\n{text}")
    if options.output is not None:
        options.output.write_text(text)
        print(f"written to {options.output}")
    return 0


def _measure(options: argparse.Namespace, stack: ExitStack) -> str:
    directory = Path(tempfile.mkdtemp(prefix="stoker-bench-", dir=options.directory))
    stack.callback(shutil.rmtree, directory, ignore_errors=True)
    made = iter(range(1_000_000))

    def make_peers() -> Sequence[Peer]:
        number = next(made)
        by_name: dict[str, Peer] = {
            "stoker": peers.Stoker(directory / f"stoker-{number}", options.stoker),
            "kafka": peers.ApacheKafka(directory / f"kafka-{number}", options.kafka_jars),
        }
        return [by_name[name] for name in options.peers]

    bench = Bench(
        peers=make_peers(),
        spare=make_peers,
        programs=programs.compile_programs(directory, options.kafka_jars),
        directory=directory,
        rounds=options.rounds,
        scale=QUICK_SCALE if options.quick else 1.0,
    )
    results: list[Section] = []
    if "start" in options.only:
        results.append(sections.start(bench))
    running = [name for name in sections.SECTIONS if name in options.only and name != "start"]
    if running:
        results += _measure_running(bench, running, stack)
    note = "A quick run, on few data: not a measurement." if options.quick else ""
    return report.render(
        results,
        command=["python", "benchmarks/broker.py", *sys.argv[1:]],
        directory=directory,
        jars=options.kafka_jars,
        failures=bench.failures,
        note=note,
    )


def _measure_running(bench: Bench, names: Sequence[str], stack: ExitStack) -> list[Section]:
    """The sections that load brokers which go on running, and the memory they take."""
    for peer in bench.peers:
        stack.callback(peers.remove, peer)
        peer.prepare()
        bench.say(f"{peer.name} acked its first record {peer.start():.2f} s after exec")
    idle = {peer.name: processes.memory(peer.pid) for peer in bench.peers}
    results = [sections.SECTIONS[name](bench) for name in names if name != "growth"]
    if results:
        loaded = {peer.name: processes.memory(peer.pid) for peer in bench.peers}
        results.append(sections.memory_rows(idle, loaded))
    if "growth" in names:
        results.append(sections.growth(bench))
    return results


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only",
        type=_names(list(sections.SECTIONS)),
        default=list(sections.SECTIONS),
        metavar="SECTION,...",
        help=f"of {', '.join(sections.SECTIONS)}; memory comes with any load",
    )
    parser.add_argument(
        "--peers", type=_names(["stoker", "kafka"]), default=["stoker", "kafka"], help="default: stoker,kafka"
    )
    parser.add_argument("--rounds", type=int, help="counted rounds on each broker (default 3, quick 1)")
    parser.add_argument("--quick", action="store_true", help="few data and one round, to see that all works")
    parser.add_argument(
        "--directory", type=Path, default=Path(tempfile.gettempdir()), help="where both keep their data (default /tmp)"
    )
    parser.add_argument("--kafka-jars", type=Path, default=REPOSITORY / ".cache" / "kafka-jars")
    parser.add_argument(
        "--stoker", type=Path, default=Path(sys.executable).parent / "stoker", help="the stoker command to measure"
    )
    parser.add_argument("--output", type=Path, help="write the report here (a full run: docs/benchmarks.md)")
    options = parser.parse_args()
    is_full = not options.quick and len(options.only) == len(sections.SECTIONS) and len(options.peers) == 2
    options.output = options.output or (PAGE if is_full else None)
    options.rounds = options.rounds or (1 if options.quick else 3)
    return options


def _names(known: Sequence[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        named = text.split(",")
        for name in named:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(known)}")
        return [name for name in known if name in named]

    return parse


if __name__ == "__main__":
    sys.exit(main())
