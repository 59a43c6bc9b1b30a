"""The internal log of metadata records, `__cluster_metadata-0`, in Kafka's own record format.

`load` replays it at start; `append` writes one batch and replays it. A batch is one change that is there
whole or not at all, so a topic and its partitions always come together.
"""

import os
from collections.abc import Iterator, Sequence
from logging import getLogger
from typing import Final

from stoker.broker.log_replay import batches_of
from stoker.broker.metadata import ClusterMetadata
from stoker.errors import CorruptRecords, DataDirectoryUnusable
from stoker.log.partition import Clock, PartitionLog
from stoker.log.producer_state import AppendOrigin
from stoker.wire.metadata_records import MetadataRecord, decode_record, encode_record
from stoker.wire.record_batch import (
    HEADER_SIZE,
    BatchHeader,
    Record,
    build_batch,
    crc_is_valid,
    iterate_records,
    read_header,
)

logger = getLogger("stoker.broker")

METADATA_TOPIC: Final = "__cluster_metadata"
_MAX_BATCH_BYTES: Final = 64 * 1024 * 1024
_MAGIC_OFFSET: Final = 16


class MetadataLog:
    """Writes metadata records and keeps `metadata` what replaying them gives. Belongs to the event loop's thread."""

    def __init__(self, log: PartitionLog, metadata: ClusterMetadata, *, clock: Clock) -> None:
        self.log = log
        self.metadata = metadata
        self._clock = clock

    def load(self) -> None:
        """Replay all records. Raises DataDirectoryUnusable when one does not fit."""
        try:
            for batch in batches_of(self.log):
                for record in iterate_records(batch, _MAX_BATCH_BYTES):
                    self.metadata.replay(decode_record(record.value or b""))
        except (CorruptRecords, KeyError, IndexError, ValueError) as error:
            raise _damaged(f"{self.log.directory} cannot be replayed: {error!r}") from error

    def append(self, records: Sequence[MetadataRecord]) -> None:
        """Write `records` as one batch and replay them. They reach the disk with the next flush (see Flusher)."""
        if not records:
            return
        now = self._clock()
        batch = build_batch(
            [Record(offset=i, timestamp=now, key=None, value=encode_record(r)) for i, r in enumerate(records)]
        )
        self.log.append(memoryview(bytearray(batch)), leader_epoch=0, origin=AppendOrigin.COORDINATOR)
        for record in records:
            self.metadata.replay(record)


def count_torn_bytes(directory: str, *, flushed_up_to: int) -> int:
    """How many bytes at the end of the metadata log in this directory are a write that a crash interrupted.

    Recovery cuts those off, and nothing is lost: no client was told of them. Raises DataDirectoryUnusable if the damage
    is another one, such that cutting there would forget topics: when whole batches follow it, or when the log reached
    further (`flushed_up_to`, from the checkpoint) before it was damaged.
    """
    segments = sorted(name for name in os.listdir(directory) if name.endswith(".log"))
    if not segments or int(segments[0][:-4]) != 0:
        raise _damaged(f"{directory} does not begin with offset 0")
    end_offset = torn_bytes = 0
    for name in segments:
        path = f"{directory}/{name}"
        if torn_bytes or int(name[:-4]) != end_offset:
            raise _damaged(f"{path} does not follow what is before it")
        with open(path, "rb") as file:
            data = memoryview(file.read())
        position = 0
        for header in _valid_batches(data, 0):
            position += header.size
            end_offset = header.next_offset
        torn_bytes = len(data) - position
        if torn_bytes and _is_any_batch_after(data, position):
            raise _damaged(f"{path} is damaged at position {position}, with more changes after it")
    if end_offset < flushed_up_to:
        raise _damaged(f"{directory} can be read up to offset {end_offset}, but it was written up to {flushed_up_to}")
    return torn_bytes


def _valid_batches(data: memoryview, position: int) -> Iterator[BatchHeader]:
    while position + HEADER_SIZE <= len(data):
        header = read_header(data, position)
        fits = HEADER_SIZE <= header.size <= len(data) - position
        if header.magic != 2 or not fits or not crc_is_valid(data, position, header):
            return
        yield header
        position += header.size


def _is_any_batch_after(data: memoryview, position: int) -> bool:
    """Whether a whole batch begins anywhere behind this position."""
    content = bytes(data)
    magic_at = content.find(b"\x02", position + 1 + _MAGIC_OFFSET)
    while magic_at >= 0:
        if next(_valid_batches(data, magic_at - _MAGIC_OFFSET), None) is not None:
            return True
        magic_at = content.find(b"\x02", magic_at + 1)
    return False


def _damaged(problem: str) -> DataDirectoryUnusable:
    return DataDirectoryUnusable(
        f"The metadata log is damaged, and topics would be lost: {problem}. "
        "Restore it from a copy, or start on an empty data directory."
    )
