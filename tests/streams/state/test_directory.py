"""The directory of an application's state, which one process writes while others look."""

import threading
from pathlib import Path

from stoker.streams.state.directory import StateDirectory


def test_a_directory_that_comes_and_goes_while_it_is_listed_is_there_or_not(tmp_path: Path) -> None:
    """pyarrow looks twice, and takes one that came to be in between for a fault."""
    manifests = tmp_path / "manifests"
    ended = threading.Event()

    def come_and_go() -> None:
        while not ended.is_set():
            manifests.mkdir()
            manifests.rmdir()

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        directory = StateDirectory(str(tmp_path))
        assert [each for _ in range(20_000) for each in directory.manifest_versions() + directory.manifests()] == []
    finally:
        ended.set()
        thread.join()
