"""What a group commits in one topic at one time: in the log a record for each partition, on the way there one thing.

Commits are most of what a group coordinator writes, and one request may carry hundreds. So they are neither made into
messages nor encoded one by one; `records` tells what they stand for.
"""

from collections.abc import Callable
from functools import lru_cache
from struct import Struct as Layout
from typing import NamedTuple
from uuid import UUID

from stoker.wire.group_records import (
    AFTER_METADATA,
    BEFORE_METADATA,
    TAGGED_TOPIC_ID,
    GroupRecord,
    OffsetCommitKey,
    OffsetCommitValue,
    encode_key,
    encode_value,
)
from stoker.wire.record_batch import append_record, encode_varint

_INDEX = Layout(">i")
_VERSION = Layout(">h").pack(OffsetCommitValue.WRITTEN_VERSION)
_NO_METADATA = b"\1"
_NO_HEADERS = b"\0"
_LONGEST_REMEMBERED_NAME = 255
_PARTITIONS_AT_ONCE = 100
"""What is remembered of commits of one shape must stay small."""


class TopicCommits(NamedTuple):
    """The columns are of one length."""

    group: str
    topic: str
    topic_id: UUID
    commit_timestamp: int
    expire_timestamp: int
    """-1 unless the client named a retention of its own."""
    partitions: tuple[int, ...]
    offsets: tuple[int, ...]
    leader_epochs: tuple[int, ...]
    metadata: tuple[str, ...] | None
    """None if there is none for any partition."""

    def records(self) -> list[GroupRecord]:
        columns = zip(
            self.partitions,
            self.offsets,
            self.leader_epochs,
            self.metadata or [""] * len(self.partitions),
            strict=True,
        )
        return [
            GroupRecord(
                OffsetCommitKey(group=self.group, topic=self.topic, partition=partition),
                OffsetCommitValue(
                    offset=offset,
                    leader_epoch=leader_epoch,
                    metadata=metadata,
                    commit_timestamp=self.commit_timestamp,
                    expire_timestamp=self.expire_timestamp,
                    topic_id=self.topic_id,
                ),
            )
            for partition, offset, leader_epoch, metadata in columns
        ]

    def append_to(self, body: bytearray, offset_delta: int) -> None:
        """Write one record a partition to what will be the records of a batch, from this offset delta on."""
        if self.metadata is not None or self.expire_timestamp != -1 or not self.topic_id.int:
            for delta, (key, value) in enumerate(self.records(), offset_delta):
                assert value is not None
                append_record(body, 0, delta, encode_key(key), encode_value(value))
            return
        # The values are alike but for offset and leader epoch, the keys are those of the last commit of the same partitions.
        after_metadata = AFTER_METADATA.pack(self.commit_timestamp, TAGGED_TOPIC_ID, self.topic_id.bytes)
        tail = _NO_METADATA + after_metadata + _NO_HEADERS
        for start in range(0, len(self.partitions), _PARTITIONS_AT_ONCE):
            stop = start + _PARTITIONS_AT_ONCE
            partitions = self.partitions[start:stop]
            plain_records = _remembered_records if len(self.group) <= _LONGEST_REMEMBERED_NAME else _plain_records
            heads, pack = plain_records(self.group, self.topic, partitions, offset_delta + start, len(after_metadata))
            parts: list[bytes | int] = [tail] * (4 * len(partitions))
            parts[0::4] = heads
            parts[1::4] = self.offsets[start:stop]
            parts[2::4] = self.leader_epochs[start:stop]
            body += pack(*parts)


def _plain_records(
    group: str, topic: str, partitions: tuple[int, ...], offset_delta: int, after_metadata_length: int
) -> tuple[list[bytes], Callable[..., bytes]]:
    """Of records without metadata: all of each that is before its offset, and what packs heads, offsets, epochs and tails."""
    key_head = encode_key(OffsetCommitKey(group=group, topic=topic, partition=0))[: -_INDEX.size]
    key = encode_varint(len(key_head) + _INDEX.size) + key_head
    value_length = BEFORE_METADATA.size + after_metadata_length
    value_head = encode_varint(value_length) + _VERSION
    after_length = len(key) + _INDEX.size + len(value_head) - len(_VERSION) + value_length + len(_NO_HEADERS)
    heads = []
    layout = ">"
    for delta, partition in enumerate(partitions, offset_delta):
        step = b"\0\0" + encode_varint(delta)
        head = encode_varint(len(step) + after_length) + step + key + _INDEX.pack(partition) + value_head
        heads.append(head)
        layout += f"{len(head)}sqi{len(_NO_METADATA) + after_metadata_length + len(_NO_HEADERS)}s"
    return heads, Layout(layout).pack


_remembered_records = lru_cache(maxsize=300)(_plain_records)
