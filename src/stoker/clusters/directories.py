"""Where clusters and jars are kept if nobody says otherwise, and who may change a cluster."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from stoker.clusters.errors import NodeState, UnusableDirectory

LOCK_FILE: Final = ".lock"
_OF_A_DISK: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
"""What a write is refused for, of which Python does not tell the file."""


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
        if (
            error.filename is None and error.errno not in _OF_A_DISK
        ):  # of a socket or a pipe, no matter of the directory
            raise
        raise UnusableDirectory(
            f"the directory of the cluster cannot be used: {error.filename or directory}: {error.strerror}; --data-dir names another"
        ) from error
