"""What a group commits in one topic at one time: in the log a record for each partition, on the way there one thing.

Commits are most of what a group coordinator writes, and one request may carry hundreds. So they are neither made into
messages nor encoded one by one; `records` tells what they stand for.
"""

from collections.abc import Callable, Sequence
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
from stoker.wire.messages.offset_commit import OffsetCommitRequestPartition
from stoker.wire.record_batch import append_record, encode_varint

_PARTITION = Layout(">i")


class TopicCommits(NamedTuple):
    group: str
    topic: str
    topic_id: UUID
    commit_timestamp: int
    expire_timestamp: int
    """-1 unless the client named a retention of its own."""
    partitions: Sequence[OffsetCommitRequestPartition]

    def records(self) -> list[GroupRecord]:
        return [
            GroupRecord(
                OffsetCommitKey(group=self.group, topic=self.topic, partition=partition.partition_index),
                self._value(partition),
            )
            for partition in self.partitions
        ]

    def append_to(self, body: bytearray, offset_delta: int) -> None:
        """Write one record a partition to what will be the records of a batch, from this offset delta on."""
        # All keys but for the partition at their end, and all values but for offset and metadata in front, are alike.
        key_head = _key_head(self.group, self.topic)
        key = encode_varint(len(key_head) + _PARTITION.size) + key_head
        tail = self._value_after_metadata()
        version = OffsetCommitValue.WRITTEN_VERSION
        width = 0
        for delta, partition in enumerate(self.partitions, offset_delta):
            index = partition.partition_index
            if tail is None or partition.committed_metadata:
                append_record(body, 0, delta, key_head + _PARTITION.pack(index), encode_value(self._value(partition)))
                continue
            step = encode_varint(delta)
            if len(step) != width:
                width = len(step)
                front, value_length, pack = _layout(width, len(key), len(tail))
            body += pack(
                front,
                step,
                key,
                index,
                value_length,
                version,
                partition.committed_offset,
                partition.committed_leader_epoch,
                1,
                tail,
                0,
            )

    def _value_after_metadata(self) -> bytes | None:
        """None if the values are of another version or without a topic id, which the short cut leaves to the codec."""
        if self.expire_timestamp != -1 or not self.topic_id.int:
            return None
        return AFTER_METADATA.pack(self.commit_timestamp, TAGGED_TOPIC_ID, self.topic_id.bytes)

    def _value(self, partition: OffsetCommitRequestPartition) -> OffsetCommitValue:
        return OffsetCommitValue(
            offset=partition.committed_offset,
            leader_epoch=partition.committed_leader_epoch,
            metadata=partition.committed_metadata or "",
            commit_timestamp=self.commit_timestamp,
            expire_timestamp=self.expire_timestamp,
            topic_id=self.topic_id,
        )


@lru_cache(maxsize=10_000)
def _key_head(group: str, topic: str) -> bytes:
    return encode_key(OffsetCommitKey(group=group, topic=topic, partition=0))[: -_PARTITION.size]


@lru_cache(maxsize=1_000)
def _layout(delta_width: int, key_width: int, tail_length: int) -> tuple[bytes, bytes, Callable[..., bytes]]:
    """Of a record without metadata: what it begins with, the length of its value, and what packs the whole."""
    value_length = BEFORE_METADATA.size + tail_length
    encoded_length = encode_varint(value_length)
    rest = f"{delta_width}s{key_width}si{len(encoded_length)}shqiB{tail_length}sB"
    front = encode_varint(2 + Layout(">" + rest).size) + b"\0\0"
    return front, encoded_length, Layout(f">{len(front)}s{rest}").pack
