"""Open files, shared by all partitions, so that ten thousand partitions need no ten thousand descriptors; small files.

A descriptor has no explicit close: it is closed when the last reference to its `SegmentFile` goes. Evicting a file
from the cache therefore never disturbs a reader that still sends from it.
"""

import contextlib
import os
import resource
import shutil
import threading
from typing import NamedTuple, Protocol

from stoker.log.index import IndexCache


class SegmentFile:
    """One open file. Hold a reference for as long as `descriptor` is used; nothing else keeps it open."""

    __slots__ = ("descriptor", "is_recently_used")

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.is_recently_used = True

    def __del__(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)


NO_FILE = SegmentFile(-1)
"""What an empty slice of a log points at."""


class FileOwner(Protocol):
    """Something with one file of its own that the cache may take away between two uses."""

    file: SegmentFile | None


class FileCache:
    """Keeps at most `limit` files open and takes them, roughly least recently used first, from their owners.

    `indexes` does the same for the offset indexes of closed segments, which are held in memory, not as open files.

    Owners read their `file` attribute without asking the cache and mark the file `is_recently_used`: the common path
    costs two attribute accesses. Only opening and closing lock, so worker threads may open files too.
    """

    __slots__ = ("_lock", "_owners", "indexes", "limit")

    def __init__(self, limit: int | None = None, indexes: IndexCache | None = None) -> None:
        if limit is None:
            soft_limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            limit = max(64, soft_limit // 4) if soft_limit != resource.RLIM_INFINITY else 4096
        self.limit = limit
        self.indexes = indexes or IndexCache()
        self._owners: dict[FileOwner, None] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._owners)

    def open(self, owner: FileOwner, path: str, flags: int) -> SegmentFile:
        """The owner's file, opened with `flags` if it is not open already."""
        with self._lock:
            file = owner.file
            if file is not None:
                return file
            file = SegmentFile(os.open(path, flags | os.O_CLOEXEC, 0o644))
            while len(self._owners) >= self.limit:
                self._evict_one()
            owner.file = file
            self._owners[owner] = None
            return file

    def forget(self, owner: FileOwner) -> None:
        """Let go of the owner's file; it closes when nobody else uses it."""
        with self._lock:
            self._owners.pop(owner, None)
            owner.file = None

    def _evict_one(self) -> None:
        """Second chance: a file used since we last came by goes to the back of the queue instead."""
        while True:
            owner = next(iter(self._owners))
            del self._owners[owner]
            file = owner.file
            if file is not None and file.is_recently_used:
                file.is_recently_used = False
                self._owners[owner] = None
            else:
                owner.file = None
                return


class RemovedFiles(NamedTuple):
    """What is out of use and only waits to be removed; any thread may do it. Empty means false."""

    paths: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.paths)

    def remove(self) -> None:
        for path in self.paths:
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                unlink_if_there(path)


def unlink_if_there(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def write_file(path: str, content: bytes, *, sync: bool = False) -> None:
    """Make the file hold exactly this; on failure nothing half-written stays behind."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        if sync:
            os.fsync(descriptor)
    except OSError:
        os.unlink(path)
        raise
    finally:
        os.close(descriptor)


def replace_file(path: str, content: bytes, *, sync: bool = True) -> None:
    """Replace the file whole: whoever reads it, even after a crash, sees the old or the new content."""
    temporary = path + ".tmp"
    try:
        write_file(temporary, content, sync=sync)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def sync_directory(path: str) -> None:
    """Make the names in this directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
