"""Kafka's small text files: a version, a count, and one entry a line.

A checkpoint is replaced whole, by renaming a complete file over the old one, so that a reader after a crash sees
either the old or the new content.
"""

from collections.abc import Iterable, Mapping

from stoker.log.errors import CorruptCheckpoint
from stoker.log.files import replace_file

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"

_VERSION = "0"


def format_entries(entries: Iterable[str]) -> bytes:
    lines = list(entries)
    return "\n".join([_VERSION, str(len(lines)), *lines, ""]).encode()


def read_entries(path: str) -> list[str]:
    """The entries of a checkpoint; none if the file is missing or empty. Raises CorruptCheckpoint."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return []
    except UnicodeDecodeError:
        raise CorruptCheckpoint(f"{path} is not text") from None
    if len(lines) < 2:
        return []
    if lines[0] != _VERSION:
        raise CorruptCheckpoint(f"{path} has version {lines[0]!r}; this broker reads version {_VERSION}")
    entries = lines[2:]
    if not lines[1].isdecimal() or int(lines[1]) != len(entries):
        raise CorruptCheckpoint(f"{path} announces {lines[1]!r} entries and has {len(entries)}")
    return entries


def read_offsets(path: str) -> dict[tuple[str, int], int]:
    """Topic and partition to offset."""
    offsets = {}
    for entry in read_entries(path):
        fields = entry.split(" ")
        if len(fields) != 3 or not fields[1].isdecimal() or not fields[2].isdecimal():
            raise CorruptCheckpoint(f"{path} has a malformed line: {entry!r}")
        offsets[fields[0], int(fields[1])] = int(fields[2])
    return offsets


def write_offsets(path: str, offsets: Mapping[tuple[str, int], int]) -> None:
    """Replace the checkpoint, durably."""
    entries = (f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items())
    replace_file(path, format_entries(entries))
