"""Fetch responses as parts: bytes of our own, and between them stretches of log files that are sent as they lie.

`encode_fetched` writes everything but the records; the records stay what they are (bytes, or any object that knows
its length and can be sent). The schema in messages/fetch.py is the specification, and a property test holds this
module to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Generic, Protocol, TypeVar
from uuid import UUID

from stoker.wire.primitives import element_count

_FIRST_WITH_SESSIONS = 7
_FIRST_WITH_PREFERRED_REPLICA = 11
_FIRST_FLEXIBLE = 12

_HEAD_4 = Struct(">i")
_HEAD_7 = Struct(">ihi")
_INT16 = Struct(">h")
_PARTITION_4 = Struct(">ihqq")
_PARTITION_5 = Struct(">ihqqq")
_ABORTED = Struct(">qq")


class Sendable(Protocol):
    """Records that are sent from where they lie."""

    @property
    def length(self) -> int: ...


RecordsT = TypeVar("RecordsT", bound=Sendable)


@dataclass(slots=True, kw_only=True)
class FetchedPartition(Generic[RecordsT]):
    """What a Fetch response says of one partition. `tagged` holds its tagged fields, encoded, count included."""

    index: int
    error_code: int = 0
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted_transactions: Sequence[tuple[int, int]] | None = None
    records: bytes | RecordsT = b""
    tagged: bytes = b"\x00"


def encode_fetched(
    version: int,
    *,
    error_code: int = 0,
    session_id: int = 0,
    topics: Sequence[tuple[str | UUID, Sequence[FetchedPartition[RecordsT]]]],
) -> tuple[list[bytes | RecordsT], int]:
    """The body of a Fetch response as parts, and its size in bytes."""
    flexible = version >= _FIRST_FLEXIBLE
    parts: list[bytes | RecordsT] = []
    size = 0
    # Bytes gather here until a stretch of file has to go between them.
    pending = bytearray()
    pending += _HEAD_7.pack(0, error_code, session_id) if version >= _FIRST_WITH_SESSIONS else _HEAD_4.pack(0)
    pending += element_count(len(topics), flexible)
    for topic, partitions in topics:
        if isinstance(topic, UUID):
            pending += topic.bytes
        else:
            name = topic.encode()
            pending += element_count(len(name), True) if flexible else _INT16.pack(len(name))
            pending += name
        pending += element_count(len(partitions), flexible)
        for partition in partitions:
            pending += _partition_head(partition, version, flexible)
            records = partition.records
            if isinstance(records, bytes):
                pending += element_count(len(records), flexible)
                pending += records
            else:
                pending += element_count(records.length, flexible)
                parts.append(bytes(pending))
                parts.append(records)
                size += len(pending) + records.length
                pending.clear()
            if flexible:
                pending += partition.tagged
        if flexible:
            pending.append(0)
    if flexible:
        pending.append(0)
    if pending:
        parts.append(bytes(pending))
        size += len(pending)
    return parts, size


def _partition_head(partition: FetchedPartition[RecordsT], version: int, flexible: bool) -> bytes:
    if version >= 5:
        head = _PARTITION_5.pack(
            partition.index,
            partition.error_code,
            partition.high_watermark,
            partition.last_stable_offset,
            partition.log_start_offset,
        )
    else:
        head = _PARTITION_4.pack(
            partition.index, partition.error_code, partition.high_watermark, partition.last_stable_offset
        )
    aborted = partition.aborted_transactions
    if aborted is None:
        head += b"\x00" if flexible else b"\xff\xff\xff\xff"
    else:
        head += element_count(len(aborted), flexible)
        for producer_id, first_offset in aborted:
            head += _ABORTED.pack(producer_id, first_offset) + (b"\x00" if flexible else b"")
    if version >= _FIRST_WITH_PREFERRED_REPLICA:
        head += b"\xff\xff\xff\xff"  # no preferred read replica
    return head
