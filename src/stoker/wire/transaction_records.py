"""Records of `__transaction_state`, in Kafka's own format: what became of each transactional id.

As in `__consumer_offsets` a key starts with the record's type and a value with its version. A record without a value takes
the transactional id away. Kafka's `TransactionLogMessageFormatter` reads what is written here, and Kafka 4.3 would load it.
"""

from functools import lru_cache
from struct import Struct as Layout
from typing import NamedTuple

from stoker.errors import MalformedMessage
from stoker.wire.schema import Buffer, Message, Struct, array, int8, int16, int32, int64, string

_INT16 = Layout(">h")
_RECORD_TYPE = 0
_WRITTEN_VERSION = 1
"""What Kafka writes once `transaction.version` is finalised at 1 or above."""


_BEFORE_PARTITIONS = Layout(">hqhib")
_TIMESTAMPS = Layout(">qq")
_NULL = b"\0"
_NOTHING_TAGGED = b"\0"
_CLIENT_VERSION = Layout(">3sh")
_TAGGED_CLIENT_VERSION = bytes((1, 2, 2))
"""One tagged field, of tag 2 and with so many bytes."""
_LONGEST_REMEMBERED_ID = 255
_MOST_REMEMBERED_PARTITIONS = 64


class TransactionLogKey(Message, versions="0"):
    transactional_id: str = string("0+")


class TransactionPartitions(Struct):
    topic: str = string("0+")
    partition_ids: list[int] = array(int32, "0+")


class TransactionLogValue(Message, versions="0-1", flexible="1+"):
    producer_id: int = int64("0+")
    previous_producer_id: int = int64("1+", default=-1, tag=0)
    next_producer_id: int = int64("1+", default=-1, tag=1)
    producer_epoch: int = int16("0+")
    next_producer_epoch: int = int16("1+", default=-1, tag=3)
    transaction_timeout_ms: int = int32("0+")
    transaction_status: int = int8("0+")
    transaction_partitions: list[TransactionPartitions] | None = array(TransactionPartitions, "0+", nullable="0+")
    transaction_last_update_timestamp_ms: int = int64("0+")
    transaction_start_timestamp_ms: int = int64("0+")
    client_transaction_version: int = int16("1+", tag=2)


class TransactionLogRecord(NamedTuple):
    """A change of a transactional id; without a value it is forgotten."""

    transactional_id: str
    value: TransactionLogValue | None


def encode_transaction_key(transactional_id: str) -> bytes:
    """The key of a log record. Raises UnencodableMessage."""
    is_short = len(transactional_id) <= _LONGEST_REMEMBERED_ID
    return _remembered_key(transactional_id) if is_short else _encoded_key(transactional_id)


def _encoded_key(transactional_id: str) -> bytes:
    out = bytearray(_INT16.pack(_RECORD_TYPE))
    TransactionLogKey(transactional_id=transactional_id).encode_into(out, 0)
    return bytes(out)


_remembered_key = lru_cache(maxsize=4096)(_encoded_key)


def encode_plain_value(
    *,
    producer_id: int,
    producer_epoch: int,
    timeout_ms: int,
    status: int,
    partitions: frozenset[tuple[str, int]] | None,
    update_ms: int,
    start_ms: int,
    client_version: int,
) -> bytes:
    """The same, quickly, of a transaction whose producer id neither has replaced another nor is about to be replaced."""
    return b"".join(
        (
            _BEFORE_PARTITIONS.pack(_WRITTEN_VERSION, producer_id, producer_epoch, timeout_ms, status),
            _NULL if partitions is None else _of_partitions(partitions),
            _TIMESTAMPS.pack(update_ms, start_ms),
            _CLIENT_VERSION.pack(_TAGGED_CLIENT_VERSION, client_version) if client_version else _NOTHING_TAGGED,
        )
    )


def _of_partitions(partitions: frozenset[tuple[str, int]]) -> bytes:
    """A producer writes to the same few again and again; one of thousands adds them one by one, and remembers nothing."""
    is_small = len(partitions) <= _MOST_REMEMBERED_PARTITIONS
    return _remembered_partitions(partitions) if is_small else _encoded_partitions(partitions)


def _encoded_partitions(partitions: frozenset[tuple[str, int]]) -> bytes:
    out = bytearray()
    value = TransactionLogValue(transaction_partitions=partitions_by_topic(partitions))
    value.encode_into(out, _WRITTEN_VERSION)
    return bytes(out[_BEFORE_PARTITIONS.size - _INT16.size : -_TIMESTAMPS.size - len(_NOTHING_TAGGED)])


_remembered_partitions = lru_cache(maxsize=1024)(_encoded_partitions)


def partitions_by_topic(partitions: frozenset[tuple[str, int]]) -> list[TransactionPartitions]:
    by_topic: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        by_topic.setdefault(topic, []).append(index)
    return [TransactionPartitions(topic=topic, partition_ids=indexes) for topic, indexes in by_topic.items()]


def encode_transaction_value(value: TransactionLogValue) -> bytes:
    """The value of a log record, in the version that Kafka 4.3 would write. Raises UnencodableMessage."""
    out = bytearray(_INT16.pack(_WRITTEN_VERSION))
    value.encode_into(out, _WRITTEN_VERSION)
    return bytes(out)


def decode_transaction_record(key: Buffer, value: Buffer | None) -> TransactionLogRecord | None:
    """The record that a log record carries; None if it is of a type or version not known here. Raises MalformedMessage."""
    if _first_int16(key, "key") != _RECORD_TYPE:
        return None
    transactional_id = TransactionLogKey.decode(key, 2, 0).transactional_id
    if value is None:
        return TransactionLogRecord(transactional_id, None)
    version = _first_int16(value, "value")
    if not TransactionLogValue.MIN_VERSION <= version <= TransactionLogValue.MAX_VERSION:
        return None
    return TransactionLogRecord(transactional_id, TransactionLogValue.decode(value, 2, version))


def _first_int16(data: Buffer, what: str) -> int:
    if len(data) < 2:
        raise MalformedMessage(f"transaction record: its {what} ends too early, after {len(data)} bytes")
    number: int = _INT16.unpack_from(data)[0]
    return number
