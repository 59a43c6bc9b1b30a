"""A disk that can be filled, and one that can be made read-only, without harm to anything else."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FILLER = "filler"


class SmallDisk:
    """A tmpfs of a few megabytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / FILLER

    def fill(self, leaving: int = 0) -> None:
        """Take all the room but so many bytes."""
        free = os.statvfs(self.path)
        room = free.f_bavail * free.f_frsize - leaving
        with self._filler.open("ab") as file:
            while room > 0:
                try:
                    room -= os.write(file.fileno(), bytes(min(room, 1024 * 1024)))
                except OSError:
                    return

    def make_room(self) -> None:
        self._filler.unlink(missing_ok=True)

    def make_read_only(self) -> None:
        _run("mount", "-o", "remount,ro", str(self.path))

    def make_writable(self) -> None:
        _run("mount", "-o", "remount,rw", str(self.path))


@contextmanager
def small_disk(path: Path, *, megabytes: int) -> Iterator[SmallDisk]:
    """Mount one; skips the test, naming the reason, where that is not allowed."""
    path.mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "stoker-test", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"a small tmpfs cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        _run("umount", "--lazy", str(path))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
