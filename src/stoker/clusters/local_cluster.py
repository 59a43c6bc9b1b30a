"""What every cluster on this machine is: processes that stand alone, and a directory in which they are found again."""

import contextlib
import os
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, Self

from stoker.clusters.daemon import Daemon
from stoker.clusters.directories import LOCK_FILE, changing, state_directory
from stoker.clusters.errors import NodeState, UnusableDirectory

ANY_PORT: Final = 0
"""One that is free."""

STOP_SECONDS: Final = 30.0


def _nobody(remark: str) -> None:
    pass


class LocalCluster(ABC):
    """The cluster in a directory, there or to be made. `say` hears of progress, a sentence at a time.

    Leaving a `with` stops its processes; their data stays.
    """

    default_directory: ClassVar[str]
    """Its name below `$XDG_STATE_HOME/stoker`."""
    plan_file: ClassVar[str]
    """In the directory, where there is a cluster."""

    def __init__(self, directory: Path | str | None = None, *, say: Callable[[str], None] = _nobody) -> None:
        chosen = directory if directory is not None else state_directory(self.default_directory)
        # However it is spelled: processes are known again by it. (Path.resolve raises where links go round in a circle.)
        self.directory = Path(os.path.realpath(chosen))
        self._say = say

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.down()

    @property
    def exists(self) -> bool:
        return (self.directory / self.plan_file).exists()

    @abstractmethod
    def stages(self) -> list[list[Daemon]]:
        """All, whether they run or not: those of one stage are stopped when those before have ended. Raises NoCluster."""

    def daemons(self) -> list[Daemon]:
        """All, whether they run or not. Raises NoCluster."""
        return [daemon for stage in self.stages() for daemon in stage]

    def down(self, *, delete: bool = False) -> None:
        """Stop everything; with `delete` also remove the cluster and all of its data.

        Raises NoCluster, and UnusableDirectory if data cannot be removed: the rest is still a cluster then.
        """
        stages = self.stages()
        with changing(self.directory):
            for stage in stages:
                self._stop(daemon for daemon in stage if daemon.pid is not None)
            if delete:
                for daemon in self.daemons():
                    _remove(daemon)
                (self.directory / self.plan_file).unlink()
                (self.directory / LOCK_FILE).unlink()
        if delete:
            with contextlib.suppress(OSError):  # what others have put there is not ours, nor may the place be: a mount
                self.directory.rmdir()

    def _finish_stopping(self) -> None:
        """Wait for those that somebody told to stop and did not wait for: Ctrl-C came."""
        self._stop([daemon for daemon in self.daemons() if daemon.is_stopping])

    def _stop(self, daemons: Iterable[Daemon]) -> None:
        """SIGTERM, to all at once; who does not end is killed."""
        running = list(daemons)
        if running:
            self._say(f"Stopping {named(running)} ...")
        for daemon in running:
            daemon.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for daemon in running:
            if not daemon.wait_until_gone(deadline - time.monotonic()):
                self._say(f"{daemon.name.capitalize()} does not end by itself, and is killed.")
                daemon.kill()


def _remove(daemon: Daemon) -> None:
    """Its directory, if there is one. Raises UnusableDirectory."""
    if not daemon.directory.exists():
        return
    try:
        shutil.rmtree(daemon.directory)
    except OSError as error:
        raise UnusableDirectory(
            f"the data of {daemon.name} cannot be removed: {error.filename or daemon.directory}: "
            f"{error.strerror or error}. All is stopped; `down --delete` removes the rest when that is mended"
        ) from error


def kill_all(daemons: Iterable[Daemon]) -> None:
    """First all are told, then waited for: who is interrupted meanwhile leaves none. Raises NodeState if one does not go."""
    told = list(daemons)
    for daemon in told:
        daemon.signal_kill()
    stuck: list[NodeState] = []
    for daemon in told:
        try:
            daemon.kill()
        except NodeState as error:
            stuck.append(error)
    if stuck:
        raise stuck[0]


def named(daemons: Iterable[Daemon]) -> str:
    return ", ".join(daemon.name for daemon in daemons)
