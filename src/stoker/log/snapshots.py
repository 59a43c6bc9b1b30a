"""The `.snapshot` files of a partition: its producers as of an offset, in Kafka's format.

One is written when a segment is closed, named by where the next begins, and one when the log is closed. A partition
keeps the offsets of its snapshots in a list, which the functions here keep true.
"""

import contextlib
import logging
import os
from collections.abc import Collection

from stoker.log.errors import CorruptCheckpoint
from stoker.log.files import unlink_if_there, write_file
from stoker.log.producer_state import ProducerStates
from stoker.log.segment import DELETED_SUFFIX, SNAPSHOT_SUFFIX

logger = logging.getLogger("stoker.log")


def snapshot_path(directory: str, offset: int) -> str:
    return f"{directory}/{offset:020d}{SNAPSHOT_SUFFIX}"


def load_latest_snapshot(directory: str, snapshots: list[int], end_offset: int) -> tuple[ProducerStates, int | None]:
    """The newest snapshot not past `end_offset` that can be read, and its offset; bad ones are removed."""
    for offset in sorted(snapshots, reverse=True):
        if offset > end_offset:
            continue
        path = snapshot_path(directory, offset)
        try:
            with open(path, "rb") as file:
                return ProducerStates.from_snapshot(file.read()), offset
        except (CorruptCheckpoint, OSError) as problem:
            logger.warning("cannot use %s: %s", path, problem)
            snapshots.remove(offset)
            unlink_if_there(path)
    return ProducerStates(), None


def write_snapshot(
    directory: str, snapshots: list[int], offset: int, producers: ProducerStates, segment_offsets: Collection[int]
) -> None:
    """Write the state as of `offset`, in place of older ones at which no segment begins. Raises OSError."""
    if snapshots and snapshots[-1] == offset:
        return
    write_file(snapshot_path(directory, offset), producers.snapshot())
    for stray in [old for old in snapshots if old not in segment_offsets]:
        unlink_if_there(snapshot_path(directory, stray))
        snapshots.remove(stray)
    snapshots.append(offset)


def set_aside_snapshots(directory: str, snapshots: list[int], before_offset: int) -> list[str]:
    """Rename those before an offset, to be removed later; returns their new names."""
    renamed = []
    for offset in [old for old in snapshots if old < before_offset]:
        renamed += set_aside_snapshot(directory, snapshots, offset)
    return renamed


def set_aside_snapshot(directory: str, snapshots: list[int], offset: int) -> list[str]:
    """Rename the one of this offset, if there is one, to be removed later; returns its new name."""
    if offset not in snapshots:
        return []
    snapshots.remove(offset)
    path = snapshot_path(directory, offset)
    with contextlib.suppress(FileNotFoundError):
        os.rename(path, path + DELETED_SUFFIX)
    return [path + DELETED_SUFFIX]
