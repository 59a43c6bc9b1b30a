"""What the benchmarks that load two brokers have in common: their options, their brokers, their clean-up, their page."""

import argparse
import itertools
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from side_by_side import front_page, peers, programs, report
from side_by_side.bench import Bench
from side_by_side.peers import Peer
from side_by_side.processes import LoadFailed
from side_by_side.programs import REPOSITORY, NotSetUp
from side_by_side.results import Section

QUICK_SCALE = 0.15
BROKERS_IN_TURNS = (
    "Both brokers ran on one box in one run, in alternating rounds, under the same clients with the same settings."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Benchmark:
    """`measure` runs the named sections; `settings` are broker configs that both brokers get."""

    description: str
    title: str
    introduction: str = BROKERS_IN_TURNS
    page: Path
    sections: Sequence[str]
    measure: Callable[[Bench, Sequence[str], ExitStack], list[Section]]
    settings: Mapping[str, str] = field(default_factory=dict)
    ratio: str = report.OVER_KAFKA
    """What the page says its ratios are."""

    def main(self) -> int:
        options = self._options()
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that both leave through the clean-up below
        try:
            with ExitStack() as stack:
                text = self._run(options, stack)
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
        if options.output == self.page:
            front_page.refresh(self.page.parent)
        return 0

    def _run(self, options: argparse.Namespace, stack: ExitStack) -> str:
        directory = Path(tempfile.mkdtemp(prefix="stoker-bench-", dir=options.directory))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        numbers = itertools.count()

        def make_peers(settings: Mapping[str, str]) -> Sequence[Peer]:
            number = next(numbers)
            by_name: dict[str, Peer] = {
                "stoker": peers.Stoker(directory / f"stoker-{number}", options.stoker, settings),
                "kafka": peers.ApacheKafka(directory / f"kafka-{number}", options.kafka_jars, settings),
            }
            return [by_name[name] for name in options.peers]

        bench = Bench(
            peers=make_peers(self.settings),
            spare=make_peers,
            programs=programs.compile_programs(directory, options.kafka_jars),
            stoker=options.stoker,
            directory=directory,
            rounds=options.rounds,
            scale=QUICK_SCALE if options.quick else 1.0,
        )
        return report.render(
            self.title,
            self.introduction,
            self.measure(bench, options.only, stack),
            command=["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]],
            directory=directory,
            jars=options.kafka_jars,
            failures=bench.failures,
            note="A quick run, on few data: not a measurement." if options.quick else "",
            ratio=self.ratio,
        )

    def _options(self) -> argparse.Namespace:
        parser = argparse.ArgumentParser(
            description=self.description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument(
            "--only",
            type=_names(self.sections),
            default=list(self.sections),
            metavar="SECTION,...",
            help=f"of {', '.join(self.sections)}",
        )
        parser.add_argument(
            "--peers", type=_names(["stoker", "kafka"]), default=["stoker", "kafka"], help="default: stoker,kafka"
        )
        parser.add_argument("--rounds", type=int, help="counted rounds on each broker (default 3, quick 1)")
        parser.add_argument("--quick", action="store_true", help="few data and one round, to see that all works")
        parser.add_argument(
            "--directory",
            type=Path,
            default=Path(tempfile.gettempdir()),
            help="where both keep their data (default /tmp)",
        )
        parser.add_argument("--kafka-jars", type=Path, default=REPOSITORY / ".cache" / "kafka-jars")
        parser.add_argument(
            "--stoker", type=Path, default=Path(sys.executable).parent / "stoker", help="the stoker command to measure"
        )
        page = self.page.relative_to(REPOSITORY)
        parser.add_argument("--output", type=Path, help=f"write the report here (a full run: {page})")
        options = parser.parse_args()
        is_full = not options.quick and len(options.only) == len(self.sections) and len(options.peers) == 2
        options.output = options.output or (self.page if is_full else None)
        options.rounds = options.rounds or (1 if options.quick else 3)
        return options


def start(bench: Bench, brokers: Sequence[Peer], stack: ExitStack) -> None:
    """Start brokers that go on running until the stack unwinds."""
    for peer in brokers:
        stack.callback(peers.remove, peer)
        peer.prepare()
        bench.say(f"{peer.name} acked its first record {peer.start():.2f} s after exec")


def _names(known: Sequence[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        named = text.split(",")
        for name in named:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(known)}")
        return [name for name in known if name in named]

    return parse
