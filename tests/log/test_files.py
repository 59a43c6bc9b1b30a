"""The cache of open files, and files that are written whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from stoker.log.files import FileCache, RemovedFiles, SegmentFile, replace_file, write_file


class Owner:
    def __init__(self) -> None:
        self.file: SegmentFile | None = None


def opened(cache: FileCache, owner: Owner, path: Path) -> SegmentFile:
    return owner.file or cache.open(owner, str(path), os.O_RDWR | os.O_CREAT)


def test_files_in_use_stay_and_others_go(tmp_path: Path) -> None:
    cache = FileCache(3)
    owners = [Owner() for _ in range(6)]
    for number, owner in enumerate(owners):
        opened(cache, owner, tmp_path / str(number))
        opened(cache, owners[0], tmp_path / "0").is_recently_used = True
    assert len(cache) == 3
    assert owners[0].file is not None
    assert sum(owner.file is not None for owner in owners) == 3


def test_an_evicted_file_closes_when_its_last_user_lets_go(tmp_path: Path) -> None:
    cache = FileCache(1)
    first, second = Owner(), Owner()
    held = opened(cache, first, tmp_path / "first")
    opened(cache, second, tmp_path / "second")
    assert first.file is None
    descriptor = held.descriptor
    os.fstat(descriptor)
    del held
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_forgetting_twice_is_no_harm(tmp_path: Path) -> None:
    cache = FileCache(4)
    owner = Owner()
    opened(cache, owner, tmp_path / "file")
    cache.forget(owner)
    cache.forget(owner)
    assert (owner.file, len(cache)) == (None, 0)


def test_the_limit_comes_from_the_process_limits() -> None:
    assert FileCache().limit >= 64


def test_a_file_that_cannot_be_written_whole_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    real_write = os.write

    def write(descriptor: int, content: memoryview) -> int:
        if len(content) < 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real_write(descriptor, content[:3])

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="No space left"):
        replace_file(str(path), b"new content")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError, match="No space left"):
        write_file(str(path), b"new content")
    assert not path.exists()


def test_removed_files_are_gone_however_often_they_are_removed(tmp_path: Path) -> None:
    directory = tmp_path / "directory"
    directory.mkdir()
    (directory / "file").touch()
    file = tmp_path / "file"
    file.touch()
    removed = RemovedFiles((str(directory), str(file)))
    assert removed
    removed.remove()
    removed.remove()
    assert not RemovedFiles(())
    assert list(tmp_path.iterdir()) == []
