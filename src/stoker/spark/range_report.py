"""What a task has read of its range, left as a file for whoever planned it: Spark lets a source in Python tell nothing else."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem


class RangeReport(NamedTuple):
    """`stream_time` is in milliseconds, None if it was not asked for, or no record has one."""

    topic: str
    partition: int
    start: int
    end: int
    rows: int
    bad: int
    stream_time: int | None


def leave_report(directory: str, report: RangeReport) -> None:
    """There whole or not at all; a task that is run again says the same."""
    name = f"{report.topic}-{report.partition}-{report.start}.json"
    content = json.dumps(report._asdict()).encode()
    local = local_path(directory)
    if local is not None:
        local.mkdir(parents=True, exist_ok=True)
        aside = local / f".{name}.{uuid4().hex}"
        aside.write_bytes(content)
        aside.replace(local / name)
        return
    files, path = _remote(directory)
    files.create_dir(path, recursive=True)
    aside_path = f"{path}/.{name}.{uuid4().hex}"
    with files.open_output_stream(aside_path) as stream:
        stream.write(content)
    files.move(aside_path, f"{path}/{name}")


def local_path(directory: str) -> Path | None:
    """The directory on this machine; None if it is somewhere else."""
    parts = urlsplit(directory)
    if parts.scheme not in ("", "file"):
        return None
    return Path(parts.path if parts.scheme else directory)


def _remote(directory: str) -> "tuple[FileSystem, str]":
    from pyarrow import fs

    files, path = fs.FileSystem.from_uri(directory)
    return files, path
