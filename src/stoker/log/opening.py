"""Making a `PartitionLog`: a new one, or one of what a directory holds."""

import logging
import os
from typing import NamedTuple
from uuid import UUID

from stoker.log.compaction.job import CLEANED_SUFFIX
from stoker.log.compaction.swap import SWAP_SUFFIX
from stoker.log.config import LogConfig
from stoker.log.errors import CorruptCheckpoint
from stoker.log.files import FileCache, write_file
from stoker.log.partition import Clock, PartitionLog, system_clock
from stoker.log.recovery import RecoveredLog, recover
from stoker.log.segment import (
    DELETED_SUFFIX,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    Segment,
    new_active_segment,
)
from stoker.wire.uuids import uuid_from_text, uuid_text

logger = logging.getLogger("stoker.log")

PARTITION_METADATA_FILE = "partition.metadata"
_LEFTOVER_SUFFIXES = (DELETED_SUFFIX, CLEANED_SUFFIX, ".tmp")


def create_partition_log(
    directory: str,
    *,
    topic: str,
    partition: int,
    topic_id: UUID | None = None,
    config: LogConfig,
    files: FileCache,
    clock: Clock = system_clock,
) -> PartitionLog:
    """A new, empty log in a directory that must not exist yet. It costs a directory and two small files."""
    os.mkdir(directory)
    if topic_id is not None:
        write_file(f"{directory}/{PARTITION_METADATA_FILE}", format_partition_metadata(topic_id))
    segment = Segment(directory, 0, 0, files)
    os.close(os.open(segment.path(LOG_SUFFIX), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
    return PartitionLog(
        directory,
        topic=topic,
        partition=partition,
        topic_id=topic_id,
        config=config,
        files=files,
        clock=clock,
        segments=[segment],
        snapshots=[],
        log_start_offset=0,
        log_end_offset=0,
        recovery_point=0,
    )


def open_partition_log(
    directory: str,
    *,
    topic: str,
    partition: int,
    config: LogConfig,
    files: FileCache,
    clock: Clock = system_clock,
    had_clean_shutdown: bool = False,
    recovery_point: int | None = None,
    log_start_offset: int = 0,
    latest_leader_epoch: int | None = None,
    was_compacted: bool = False,
) -> PartitionLog:
    """The log in this directory.

    After a clean shutdown its files are listed, not opened: `recovery_point` is then the log end. Without one, the
    segments from the recovery point on are checked batch by batch; `latest_leader_epoch`, if given, is the highest any
    batch can have. One that `was_compacted` may have gaps between its batches, whatever its config says now.
    """
    content = _list_directory(directory, files)
    segments, snapshots = content.segments, content.snapshots
    if not segments:
        segments.append(new_active_segment(directory, log_start_offset, files, config, clock()))
        segments[0].close()
    log_start_offset = max(log_start_offset, segments[0].base_offset)
    was_compacted = was_compacted or config.is_compacted
    recovered: RecoveredLog | None = None
    if not had_clean_shutdown:
        recovered = recover(
            segments, snapshots, config, clock(), recovery_point or 0, latest_leader_epoch, was_compacted
        )
    elif recovery_point is None or not _can_end_at(recovery_point, segments[-1]):
        recovery_point = None
    log = PartitionLog(
        directory,
        topic=topic,
        partition=partition,
        topic_id=read_topic_id(directory) if content.has_partition_metadata else None,
        config=config,
        files=files,
        clock=clock,
        segments=segments,
        snapshots=snapshots,
        log_start_offset=log_start_offset,
        log_end_offset=recovered.log_end_offset if recovered else recovery_point or 0,
        recovery_point=recovery_point or 0,
        recovered=recovered,
        was_compacted=was_compacted,
    )
    if recovered is None and recovery_point is None:
        log.find_end()
    if log.log_end_offset < log_start_offset:
        logger.warning(
            "%s ends at offset %d, before its start %d: beginning anew", directory, log.log_end_offset, log_start_offset
        )
        log.start_anew_at(log_start_offset)
    return log


def _can_end_at(offset: int, last_segment: Segment) -> bool:
    """Whether the checkpoint agrees with the files, as far as their names and sizes tell."""
    return offset > last_segment.base_offset if last_segment.size else offset == last_segment.base_offset


class _DirectoryContent(NamedTuple):
    segments: list[Segment]
    snapshots: list[int]
    has_partition_metadata: bool


def _list_directory(directory: str, files: FileCache) -> _DirectoryContent:
    """The segments and snapshots, in order; what an interrupted deletion or compaction left is dealt with."""
    sizes: dict[int, int] = {}
    snapshots = []
    has_partition_metadata = False
    leftovers, swaps = [], []
    with os.scandir(directory) as entries:
        for entry in entries:
            name = entry.name
            if name.endswith(LOG_SUFFIX) and name[:20].isdecimal():
                sizes[int(name[: -len(LOG_SUFFIX)])] = entry.stat().st_size
            elif name.endswith(SNAPSHOT_SUFFIX) and name[:20].isdecimal():
                snapshots.append(int(name[: -len(SNAPSHOT_SUFFIX)]))
            elif name == PARTITION_METADATA_FILE:
                has_partition_metadata = True
            elif name.endswith(_LEFTOVER_SUFFIXES):
                leftovers.append(entry.path)
            elif name.endswith(SWAP_SUFFIX):
                swaps.append(entry.path)
    if swaps:
        _finish_swaps(directory, swaps, leftovers, files)
        return _list_directory(directory, files)
    for path in leftovers:
        os.unlink(path)
    segments = [Segment(directory, base_offset, sizes[base_offset], files) for base_offset in sorted(sizes)]
    return _DirectoryContent(segments, sorted(snapshots), has_partition_metadata)


def _finish_swaps(directory: str, swaps: list[str], leftovers: list[str], files: FileCache) -> None:
    """A compaction was interrupted when its result was complete: put it in place of what it was made from.

    Unless `.cleaned` files show that the result was not complete: then what it was made from is still there. They are the
    last to go, because this too may be interrupted.
    """
    unfinished = [_offset_of(path) for path in leftovers if path.endswith(CLEANED_SUFFIX)]
    complete = [path for path in swaps if not unfinished or _offset_of(path) < min(unfinished)]
    for path in set(swaps) - set(complete):
        os.unlink(path)
    for path in leftovers:
        os.unlink(path)
    if not complete:
        return
    compacted = [path for path in complete if path.endswith(LOG_SUFFIX + SWAP_SUFFIX)]
    if compacted:
        first = min(map(_offset_of, compacted))
        last_path = max(compacted, key=_offset_of)
        end = first
        swapped = _SwapSegment(directory, _offset_of(last_path), os.path.getsize(last_path), files)
        for _, header in swapped.batches():
            end = header.next_offset
        swapped.close()
        for name in os.listdir(directory):
            if name[:20].isdecimal() and not name.endswith(SWAP_SUFFIX) and first <= int(name[:20]) < end:
                os.unlink(f"{directory}/{name}")
    for path in complete:
        os.rename(path, path[: -len(SWAP_SUFFIX)])
    logger.warning("finished the interrupted compaction of %s", directory)


class _SwapSegment(Segment):
    """A segment whose files still have the suffix `.swap`."""

    __slots__ = ()

    def path(self, suffix: str) -> str:
        return super().path(suffix) + SWAP_SUFFIX


def _offset_of(path: str) -> int:
    return int(os.path.basename(path)[:20])


def format_partition_metadata(topic_id: UUID) -> bytes:
    return f"version: 0\ntopic_id: {uuid_text(topic_id)}".encode()


def read_topic_id(directory: str) -> UUID | None:
    """The topic's id from `partition.metadata`; None if the file is not there. Raises CorruptCheckpoint."""
    path = f"{directory}/{PARTITION_METADATA_FILE}"
    try:
        with open(path, "rb") as file:
            lines = file.read().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return None
    fields = dict(line.split(": ", 1) for line in lines if ": " in line)
    try:
        if fields["version"] != "0":
            raise CorruptCheckpoint(f"{path} has version {fields['version']}; this broker reads version 0")
        return uuid_from_text(fields["topic_id"])
    except (KeyError, ValueError):
        raise CorruptCheckpoint(f"{path} names no topic id") from None
