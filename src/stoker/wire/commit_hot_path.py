"""OffsetCommit, read and answered by columns: commits are most of what a group coordinator does.

A client that commits fifty partitions sends fifty like structures one behind the other. If none has metadata or tagged
fields they are read at once; so are they answered if none has an error. The schema in messages/offset_commit.py is the
specification: a property test holds both to it, and whatever is out of the ordinary goes through it.
"""

import struct
from collections.abc import Mapping, Sequence
from functools import lru_cache
from struct import Struct as Layout
from typing import NamedTuple
from uuid import UUID

from stoker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from stoker.wire.primitives import Refused, decode_uvarint, encode_uvarint, uuid_from_bytes
from stoker.wire.schema import ZERO_UUID

FIRST_WITH_TOPIC_IDS = 10
_FIRST_FLEXIBLE = 8
_INT32 = Layout(">i")
_PARTITION_BYTES = 18
"""Of index, offset, leader epoch, no metadata, no tagged fields."""
_LONGEST_STRING = 0x7FFF
_MOST_REMEMBERED = 250
"""What is remembered of requests of one shape must stay small: so many partitions, and names of this length."""
_EMPTY = frozenset((0, 1))
"""Lengths of a compact string that is null, or empty."""


class CommittedTopic(NamedTuple):
    """One topic of a commit. The columns are of one length."""

    name: str
    topic_id: UUID
    partitions: tuple[int, ...]
    offsets: tuple[int, ...]
    leader_epochs: tuple[int, ...]
    metadata: tuple[str, ...] | None
    """None if there is none for any partition."""


class CommitCall(NamedTuple):
    group_id: str
    generation_id_or_member_epoch: int
    member_id: str
    group_instance_id: str | None
    retention_time_ms: int
    topics: list[CommittedTopic]


def decode_commit(view: memoryview, position: int, version: int) -> CommitCall:
    """The request at `position`. Raises MalformedMessage, and nothing else."""
    if version >= _FIRST_FLEXIBLE:
        try:
            call = _decode_plain_commit(view, position, version)
        except (struct.error, IndexError, ValueError, Refused):
            call = None  # the schema's decoder says what is wrong
        if call is not None:
            return call
    return commit_call(OffsetCommitRequest.decode(view, position, version))


def commit_call(request: OffsetCommitRequest) -> CommitCall:
    """The same by columns."""
    topics = []
    for topic in request.topics:
        metadata = tuple(partition.committed_metadata or "" for partition in topic.partitions)
        topics.append(
            CommittedTopic(
                topic.name,
                topic.topic_id,
                tuple(partition.partition_index for partition in topic.partitions),
                tuple(partition.committed_offset for partition in topic.partitions),
                tuple(partition.committed_leader_epoch for partition in topic.partitions),
                metadata if any(metadata) else None,
            )
        )
    return CommitCall(
        request.group_id,
        request.generation_id_or_member_epoch,
        request.member_id,
        request.group_instance_id,
        request.retention_time_ms,
        topics,
    )


def _decode_plain_commit(view: memoryview, position: int, version: int) -> CommitCall | None:
    """None if there are metadata or tagged fields, or if anything is not as it should be."""
    group_id, position = _string(view, position)
    (generation,) = _INT32.unpack_from(view, position)
    member_id, position = _string(view, position + 4)
    instance_id = None
    if view[position]:
        instance_id, position = _string(view, position)
    else:
        position += 1
    topic_count, position = decode_uvarint(view, position)
    topics = []
    for _ in range(topic_count - 1):
        name, topic_id = "", ZERO_UUID
        if version >= FIRST_WITH_TOPIC_IDS:
            topic_id = uuid_from_bytes(bytes(view[position : position + 16]))
            position += 16
        else:
            name, position = _string(view, position)
        count, position = decode_uvarint(view, position)
        count -= 1
        end = position + count * _PARTITION_BYTES
        if count <= 0 or end >= len(view):
            return None
        layout = _remembered_layout(count) if count <= _MOST_REMEMBERED else _layout(count)
        columns = layout.unpack_from(view, position)
        if any(columns[4::5]) or not _EMPTY.issuperset(columns[3::5]) or view[end]:
            return None
        topics.append(CommittedTopic(name, topic_id, columns[0::5], columns[1::5], columns[2::5], None))
        position = end + 1
    if topic_count < 1 or position + 1 != len(view) or view[position]:
        return None
    return CommitCall(group_id, generation, member_id, instance_id, -1, topics)


def _string(view: memoryview, position: int) -> tuple[str, int]:
    length, position = decode_uvarint(view, position)
    end = position + length - 1
    if not 0 < length <= min(len(view) - position, _LONGEST_STRING) + 1:
        raise Refused("is not a string")
    return str(view[position:end], "utf-8"), end


def _layout(partitions: int) -> Layout:
    return Layout(">" + "iqiBB" * partitions)


_remembered_layout = lru_cache(maxsize=_MOST_REMEMBERED)(_layout)


def encode_committed(
    topics: Sequence[CommittedTopic], errors: Sequence[Mapping[int, int]] | None, version: int
) -> bytes:
    """The body of the response. `errors` has for each topic those of its partitions, by their places in the request; None
    if there are none at all.
    """
    if errors is None and version >= _FIRST_FLEXIBLE:
        answers = [
            _answered(topic.topic_id.bytes if version >= FIRST_WITH_TOPIC_IDS else topic.name, topic.partitions)
            for topic in topics
        ]
        return b"".join((bytes(4), encode_uvarint(len(topics) + 1), *answers, b"\0"))
    response = OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=index, error_code=of_topic.get(place, 0))
                    for place, index in enumerate(topic.partitions)
                ],
            )
            for topic, of_topic in zip(topics, errors or [{}] * len(topics), strict=True)
        ]
    )
    return response.encode(version)


def _answered(topic: str | bytes, partitions: tuple[int, ...]) -> bytes:
    """A topic without errors."""
    remember = 0 < len(partitions) <= _MOST_REMEMBERED and len(topic) <= _MOST_REMEMBERED
    return _remembered_answer(topic, partitions) if remember else _answer(topic, partitions)


def _answer(topic: str | bytes, partitions: tuple[int, ...]) -> bytes:
    if isinstance(topic, str):
        name = topic.encode()
        topic = encode_uvarint(len(name) + 1) + name
    numbers = [0] * (3 * len(partitions))
    numbers[0::3] = partitions
    packed = struct.pack(">" + "ihB" * len(partitions), *numbers)
    return topic + encode_uvarint(len(partitions) + 1) + packed + b"\0"


_remembered_answer = lru_cache(maxsize=300)(_answer)
