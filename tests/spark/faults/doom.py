"""Who dies at which request of a sink's task: a hook in the client of the process that sends it.

A plan is a directory with a file for each kill; the process that comes to the request takes the file away, so that each
happens once, whichever process it is. The victim is that process, or another whose id is in the directory.
"""

import os
import random
import signal
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from stoker.client.connection import Connection
from stoker.wire.schema import Request

PLAN: Final = "STOKER_TESTS_DOOM"
"""The variable of the environment that names the directory."""

STEPS: Final = {
    "DescribeTransactions": 1,
    "OffsetFetch": 1,
    "InitProducerId": 1,
    "Produce": 2,
    "TxnOffsetCommit": 3,
    "EndTxn": 2,
}
"""The requests of a task, and how often the first task of a run sends them at least: it claims the run, and then writes."""


class When(StrEnum):
    BEFORE = "before"
    AFTER = "after"


class Victim(StrEnum):
    SELF = "self"
    DRIVER = "driver"
    BROKER = "broker"


class Doom(NamedTuple):
    """Once: when a process sends such a request for the `number`th time in its task, the victim is killed."""

    step: str
    when: When
    victim: Victim
    number: int = 1

    def __str__(self) -> str:
        return f"{self.victim} {self.when} {self.step} {self.number}"


def at_each_step(chance: random.Random, victims: Iterable[Victim]) -> list[Doom]:
    """In any order."""
    dooms = [
        Doom(step, when, victim, number)
        for step, count in STEPS.items()
        for number in range(1, count + 1)
        for when in When
        for victim in victims
    ]
    return chance.sample(dooms, len(dooms))


class Dooms:
    """The kills that are to come, and the processes that they are to hit."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(exist_ok=True)

    def plan(self, dooms: Iterable[Doom]) -> None:
        for doom in dooms:
            (self.directory / f"doom {doom}").touch()

    @property
    def left(self) -> list[str]:
        return sorted(path.name for path in self.directory.glob("doom *"))

    @property
    def done(self) -> list[str]:
        return sorted(path.name for path in self.directory.glob("done *"))

    def victim(self, victim: Victim, pid: int) -> None:
        (self.directory / f"pid of {victim}").write_text(str(pid))

    def reached(self, step: str, when: When, count: int) -> None:
        for victim in Victim:
            name = str(Doom(step, when, victim, count))
            try:
                os.rename(self.directory / f"doom {name}", self.directory / f"done {name}")
            except FileNotFoundError:
                continue
            pid = os.getpid() if victim is Victim.SELF else int((self.directory / f"pid of {victim}").read_text())
            os.kill(pid, signal.SIGKILL)


class Watched:
    """Counts the requests of a task, and tells of them."""

    def __init__(self, dooms: Dooms) -> None:
        self._dooms = dooms
        self._counts: dict[str, int] = {}
        self._is_installed = False

    def begin(self) -> None:
        """A task begins."""
        self._counts.clear()
        if self._is_installed:
            return
        self._is_installed = True
        send, collect = Connection._send, Connection.collect

        def watched_send(connection: Connection, request: type[Request], *others: Any) -> Any:
            step = request.__name__.removesuffix("Request")
            self._counts[step] = self._counts.get(step, 0) + 1
            self._dooms.reached(step, When.BEFORE, self._counts[step])
            return send(connection, request, *others)

        def watched_collect(connection: Connection, posted: Any, response: Any, place: Any = None) -> Any:
            answer = collect(connection, posted, response, place)
            self._dooms.reached(posted.name, When.AFTER, self._counts.get(posted.name, 0))
            return answer

        Connection._send = cast(Any, watched_send)  # type: ignore[method-assign]
        Connection.collect = cast(Any, watched_collect)  # type: ignore[method-assign]


_watched: Watched | None = None


def watch(directory: Path | str) -> None:
    """In the process whose requests count, at the beginning of each task."""
    global _watched
    if _watched is None:
        _watched = Watched(Dooms(Path(directory)))
    _watched.begin()
