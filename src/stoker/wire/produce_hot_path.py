"""Produce, read and answered without building message objects: what a broker does a few thousand times a second.

`decode_produce` gives views of the record batches where they lie in the receive buffer; `encode_produced` writes the
response of a request in which every partition succeeded. The schema in messages/produce.py is the specification:
a property test holds both to it, and whatever is not on the fast path (an error to report) goes through it.
"""

import struct
from struct import Struct
from typing import NamedTuple
from uuid import UUID

from stoker.errors import MalformedMessage
from stoker.wire.primitives import Refused, decode_uvarint, element_count, skip_tagged_fields, uuid_from_bytes

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_ACKS_AND_TIMEOUT = Struct(">hi")
_INDEX_AND_LENGTH = Struct(">ii")

_MAX_PARTITIONS = 20_000
"""Topics and partitions in one request. Clients send a megabyte, which could hold fifteen thousand batches of one record."""

_FIRST_FLEXIBLE = 9
_FIRST_WITH_TOPIC_IDS = 13

_RESPONSE_3 = Struct(">ihqq")
_RESPONSE_5 = Struct(">ihqqq")


class ProducedPartition(NamedTuple):
    partition: int
    records: memoryview | None


class ProducedTopic(NamedTuple):
    topic: str | UUID
    partitions: list[ProducedPartition]


class ProduceCall(NamedTuple):
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topics: list[ProducedTopic]

    def copied(self) -> "ProduceCall":
        """The same with records of its own, for who keeps it when the receive buffer is used again."""
        return self._replace(
            topics=[
                ProducedTopic(
                    topic,
                    [
                        ProducedPartition(index, None if records is None else memoryview(bytearray(records)))
                        for index, records in partitions
                    ],
                )
                for topic, partitions in self.topics
            ]
        )


class AppendedPartition(NamedTuple):
    """The part of a Produce response that tells of one partition's success."""

    partition: int
    base_offset: int
    log_append_time_ms: int
    log_start_offset: int


def decode_produce(view: memoryview, position: int, version: int) -> ProduceCall:
    """The request at `position`, its records as views of `view`. Raises MalformedMessage, and nothing else."""
    try:
        if version >= _FIRST_FLEXIBLE:
            return _decode_flexible(view, position, version)
        return _decode_plain(view, position)
    except (struct.error, IndexError, ValueError, Refused) as error:
        raise MalformedMessage(f"ProduceRequest version {version}: {error}") from error


def _decode_plain(view: memoryview, position: int) -> ProduceCall:
    (length,) = _INT16.unpack_from(view, position)
    position += 2
    transactional_id = None
    if length != -1:
        transactional_id = str(_exactly(view, position, length), "utf-8")
        position += length
    acks, timeout_ms = _ACKS_AND_TIMEOUT.unpack_from(view, position)
    (topic_count,) = _INT32.unpack_from(view, position + 6)
    position += 10
    _check_count(topic_count, view, position)
    total = _checked_total(topic_count)
    topics = []
    for _ in range(topic_count):
        (length,) = _INT16.unpack_from(view, position)
        position += 2
        name = str(_exactly(view, position, length), "utf-8")
        position += length
        (partition_count,) = _INT32.unpack_from(view, position)
        position += 4
        _check_count(partition_count, view, position)
        total = _checked_total(total + partition_count)
        partitions = []
        for _ in range(partition_count):
            index, length = _INDEX_AND_LENGTH.unpack_from(view, position)
            position += 8
            records = None
            if length != -1:
                records = _exactly(view, position, length)
                position += length
            partitions.append(ProducedPartition(index, records))
        topics.append(ProducedTopic(name, partitions))
    return ProduceCall(transactional_id, acks, timeout_ms, topics)


def _decode_flexible(view: memoryview, position: int, version: int) -> ProduceCall:
    length, position = decode_uvarint(view, position)
    transactional_id = None
    if length:
        transactional_id = str(_exactly(view, position, length - 1), "utf-8")
        position += length - 1
    acks, timeout_ms = _ACKS_AND_TIMEOUT.unpack_from(view, position)
    topic_count, position = decode_uvarint(view, position + 6)
    _check_count(topic_count - 1, view, position)
    total = _checked_total(topic_count - 1)
    topics = []
    topic: str | UUID
    for _ in range(topic_count - 1):
        if version >= _FIRST_WITH_TOPIC_IDS:
            topic = uuid_from_bytes(bytes(_exactly(view, position, 16)))
            position += 16
        else:
            length, position = decode_uvarint(view, position)
            topic = str(_exactly(view, position, length - 1), "utf-8")
            position += length - 1
        partition_count, position = decode_uvarint(view, position)
        _check_count(partition_count - 1, view, position)
        total = _checked_total(total + partition_count - 1)
        partitions = []
        for _ in range(partition_count - 1):
            (index,) = _INT32.unpack_from(view, position)
            length, position = decode_uvarint(view, position + 4)
            records = None
            if length:
                records = _exactly(view, position, length - 1)
                position += length - 1
            position = skip_tagged_fields(view, position + 1, tagged) if (tagged := view[position]) else position + 1
            partitions.append(ProducedPartition(index, records))
        position = skip_tagged_fields(view, position + 1, tagged) if (tagged := view[position]) else position + 1
        topics.append(ProducedTopic(topic, partitions))
    skip_tagged_fields(view, position + 1, view[position])
    return ProduceCall(transactional_id, acks, timeout_ms, topics)


def _exactly(view: memoryview, position: int, length: int) -> memoryview:
    end = position + length
    if length < 0 or end > len(view):
        raise ValueError(f"a field of {length} bytes at {position} ends outside the {len(view)} bytes of the request")
    return view[position:end]


def _check_count(count: int, view: memoryview, position: int) -> None:
    if not 0 <= count <= len(view) - position:
        raise ValueError(f"{count} elements at {position} do not fit the {len(view)} bytes of the request")


def _checked_total(partitions: int) -> int:
    if partitions > _MAX_PARTITIONS:
        raise ValueError(f"{partitions} topics and partitions are more than the {_MAX_PARTITIONS} of one request")
    return partitions


def encode_produced(version: int, topics: list[tuple[str | UUID, list[AppendedPartition]]]) -> bytes:
    """The body of a Produce response in which every partition succeeded."""
    flexible = version >= _FIRST_FLEXIBLE
    parts: list[bytes] = [element_count(len(topics), flexible)]
    for topic, partitions in topics:
        if isinstance(topic, UUID):
            parts.append(topic.bytes)
        else:
            name = topic.encode()
            parts.append((element_count(len(name), True) if flexible else _INT16.pack(len(name))) + name)
        parts.append(element_count(len(partitions), flexible))
        for index, base_offset, log_append_time_ms, log_start_offset in partitions:
            if version < 5:
                parts.append(_RESPONSE_3.pack(index, 0, base_offset, log_append_time_ms))
                continue
            parts.append(_RESPONSE_5.pack(index, 0, base_offset, log_append_time_ms, log_start_offset))
            if flexible:
                parts.append(b"\x01\x00\x00")  # no record errors, no message, no tagged fields
            elif version == 8:
                parts.append(b"\x00\x00\x00\x00\xff\xff")
        if flexible:
            parts.append(b"\x00")
    parts.append(b"\x00\x00\x00\x00\x00" if flexible else b"\x00\x00\x00\x00")  # throttle time, tagged fields
    return b"".join(parts)
