"""The internal log of metadata records, `__cluster_metadata-0`, in Kafka's own record format.

`load` replays it at start; `append` and `commit` write one batch and replay it. A batch is one change that is there
whole or not at all, so a topic and its partitions always come together.
"""

import asyncio
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from logging import getLogger
from typing import Final

from stoker.broker.metadata import ClusterMetadata
from stoker.errors import CorruptRecords, DataDirectoryUnusable
from stoker.log.partition import Clock, PartitionLog
from stoker.log.producer_state import AppendOrigin
from stoker.wire.metadata_records import MetadataRecord, decode_record, encode_record
from stoker.wire.record_batch import HEADER_SIZE, Record, build_batch, crc_is_valid, iterate_records, read_header

logger = getLogger("stoker.broker")

METADATA_TOPIC: Final = "__cluster_metadata"
_READ_BYTES: Final = 1024 * 1024
_MAX_BATCH_BYTES: Final = 64 * 1024 * 1024


class MetadataLog:
    """Writes metadata records and keeps `metadata` what replaying them gives. Belongs to the event loop's thread."""

    def __init__(self, log: PartitionLog, metadata: ClusterMetadata, *, clock: Clock, executor: Executor) -> None:
        self.log = log
        self.metadata = metadata
        self._clock = clock
        self._executor = executor

    def load(self) -> int:
        """Replay all records; returns how many. Raises DataDirectoryUnusable when one does not fit."""
        count = 0
        for batch in batches_of(self.log):
            try:
                for record in iterate_records(batch, _MAX_BATCH_BYTES):
                    self.metadata.replay(decode_record(record.value or b""))
                    count += 1
            except (CorruptRecords, KeyError, IndexError, ValueError) as error:
                raise DataDirectoryUnusable(
                    f"The metadata log {self.log.directory} cannot be replayed: {error!r}. "
                    "Restore it from a copy, or start on an empty data directory."
                ) from error
        return count

    def append(self, records: Sequence[MetadataRecord]) -> None:
        """Write `records` as one batch and replay them. They reach the disk with the next flush: see `commit`."""
        if not records:
            return
        now = self._clock()
        batch = build_batch(
            [Record(offset=i, timestamp=now, key=None, value=encode_record(r)) for i, r in enumerate(records)]
        )
        self.log.append(memoryview(bytearray(batch)), leader_epoch=0, origin=AppendOrigin.COORDINATOR)
        for record in records:
            self.metadata.replay(record)

    async def commit(self, records: Sequence[MetadataRecord]) -> None:
        """`append`, and return when the records are on the disk. The flush does not hold up the event loop."""
        if records:
            self.append(records)
            await asyncio.get_running_loop().run_in_executor(self._executor, self.log.flush)


def batches_of(log: PartitionLog) -> Iterator[memoryview]:
    """Every batch of a log, oldest first, each checked against its CRC."""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        piece = log.read(offset, _READ_BYTES, at_least_one_batch=True)
        data = memoryview(os.pread(piece.file.descriptor, piece.length, piece.position))
        position = 0
        while position + HEADER_SIZE <= len(data):
            header = read_header(data, position)
            if position + header.size > len(data):
                break
            if not crc_is_valid(data, position, header):
                raise DataDirectoryUnusable(f"{log.directory}: the batch at offset {header.base_offset} is damaged")
            if header.next_offset > offset:
                yield data[position : position + header.size]
                offset = header.next_offset
            position += header.size
