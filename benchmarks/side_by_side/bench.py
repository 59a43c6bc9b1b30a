"""What every section of the benchmark works with: the brokers, the programs, and rounds in turns."""

import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from side_by_side.peers import Peer
from side_by_side.processes import LoadFailed
from side_by_side.programs import Programs

Measured = dict[str, float]
"""Numbers of one round on one broker, by name."""


class Named(Protocol):
    @property
    def name(self) -> str: ...


Compared = TypeVar("Compared", bound=Named)


@dataclass(kw_only=True)
class Bench:
    """`peers` are the brokers; `spare` makes another one of each with given settings, in a directory of its own."""

    peers: Sequence[Peer]
    spare: Callable[[Mapping[str, str]], Sequence[Peer]]
    programs: Programs
    stoker: Path
    directory: Path
    rounds: int
    scale: float
    started: float = field(default_factory=time.monotonic)
    failures: list[str] = field(default_factory=list)
    _topic_numbers: Iterator[int] = field(default_factory=itertools.count)

    def scaled(self, count: int) -> int:
        """A number of records, smaller in a quick run, and a multiple of 1,000."""
        return max(1000, int(count * self.scale) // 1000 * 1000)

    def say(self, text: str) -> None:
        print(f"[{time.monotonic() - self.started:4.0f} s] {text}", flush=True)

    def in_turns(
        self,
        what: str,
        load: Callable[[Peer], Measured],
        *,
        peers: Sequence[Peer] | None = None,
        warm_up: bool,
        rounds: int | None = None,
    ) -> "Samples":
        """`alternate` between the brokers; a failure ends with what the broker logged last."""

        def explained(peer: Peer) -> Measured:
            try:
                return load(peer)
            except LoadFailed as failure:
                raise LoadFailed(f"{failure}; the broker's last lines: {peer.last_lines()}") from failure

        return self.alternate(what, explained, self.peers if peers is None else peers, warm_up=warm_up, rounds=rounds)

    def alternate(
        self,
        what: str,
        load: Callable[[Compared], Measured],
        among: Sequence[Compared],
        *,
        warm_up: bool,
        rounds: int | None = None,
    ) -> "Samples":
        """Run a load on each of those compared, round after round, the first one changing; a warm-up does not count.

        A load that fails on one of them is reported and its sample left out; the benchmark goes on.
        """
        rounds = self.rounds if rounds is None else rounds
        samples = Samples()
        for number in range(0 if warm_up else 1, rounds + 1):
            turn = list(among)
            if number % 2:
                turn.reverse()
            for peer in turn:
                which = f"round {number}/{rounds}" if number else "warm-up"
                try:
                    measured = load(peer)
                except LoadFailed as failure:
                    self.fail(f"{what}, {which}, {peer.name}: {failure}")
                    continue
                shown = ", ".join(f"{name} {value:,.4g}" for name, value in measured.items())
                self.say(f"{what}, {which}, {peer.name}: {shown}")
                if number:
                    samples.add(peer.name, measured)
        return samples

    def fail(self, text: str) -> None:
        self.say(f"FAILED {text}")
        self.failures.append(text)

    @contextmanager
    def topic(self, peer: Peer, partitions: int, configs: Mapping[str, str] | None = None) -> Iterator[str]:
        """A new topic, deleted when the block ends, so that rounds do not fill the disk or the page cache."""
        name = f"load-{next(self._topic_numbers)}"
        peer.create_topic(name, partitions, configs)
        try:
            yield name
        finally:
            peer.delete_topic(name)


class Samples:
    """Samples of several quantities, by name and broker, in the order of the rounds."""

    def __init__(self) -> None:
        self._by_name: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, peer: str, measured: Measured) -> None:
        for name, value in measured.items():
            self._by_name[name][peer].append(value)

    def of(self, name: str) -> dict[str, list[float]]:
        return {peer: list(values) for peer, values in self._by_name[name].items()}
