"""The scripts of `stoker tools install`: each starts its tool with the Python that has Stoker."""

import os
import shlex
import sys
from pathlib import Path
from typing import Final

from stoker.kafka_tools.table import TOOLS

_MARK: Final = "# Written by `stoker tools install`.\n"


def install(directory: Path, *, force: bool = False) -> tuple[int, list[str]]:
    """Write all scripts, or none if some of the names are taken by other files, which are returned. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    foreign = [name for name in TOOLS if not force and _is_foreign(directory / name)]
    if foreign:
        return 0, foreign
    for name in TOOLS:
        _write(directory / name, script(name))
    return len(TOOLS), []


def script(name: str) -> str:
    return f'#!/bin/sh\n{_MARK}exec {shlex.quote(sys.executable)} -m stoker.kafka_tools {name} "$@"\n'


def _is_foreign(path: Path) -> bool:
    return path.is_symlink() or (path.exists() and _MARK.encode() not in path.read_bytes()[:200])


def _write(path: Path, text: str) -> None:
    """At once, so that nobody runs half a script, and never through a link into something else."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(text)
        partial.chmod(0o755)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
