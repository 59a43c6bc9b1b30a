"""Where clusters and jars are kept if nobody says otherwise, and who may change a cluster."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from stoker.clusters.errors import NodeState, UnusableDirectory

LOCK_FILE: Final = ".lock"


def state_directory(name: str) -> Path:
    """`$XDG_STATE_HOME/stoker/NAME`."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(home, "stoker", name)


def cache_directory(name: str) -> Path:
    """`$XDG_CACHE_HOME/stoker/NAME`."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home, "stoker", name)


@contextmanager
def changing(directory: Path) -> Iterator[None]:
    """While the cluster in the directory is changed: one at a time. The directory is made if it is not there.

    Raises NodeState if somebody else is at it, and UnusableDirectory for what the file system refuses meanwhile.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / LOCK_FILE).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise NodeState(
                    f"another command is changing the cluster in {directory}: wait until it has ended"
                ) from None
            yield
    except OSError as error:
        if error.filename is None:  # of a socket or a pipe, which is no matter of the directory
            raise
        raise UnusableDirectory(
            f"the directory of the cluster cannot be used: {error.filename}: {error.strerror}; --data-dir names another"
        ) from error
