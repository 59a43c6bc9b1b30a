"""The requests of a transactional producer as bytes, and the script of a transaction for `transact.c`; see `canned` for why by hand."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from side_by_side.canned import PRODUCE, compact, frame, header, record_batch, uvarint
from side_by_side.group_requests import FIND_COORDINATOR, Answer, request, string

INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN, END_TXN = 22, 24, 26
OF_TRANSACTIONAL_ID = b"\x01"
TIMEOUT_MS = 60_000
TRANSACTIONAL = 0x10
"""The bit of a batch's attributes."""
PRODUCER_ID_IN_BATCH = 43
ANSWER_HEAD = 5
"""Correlation id and tags of a flexible answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Producer:
    transactional_id: str
    producer_id: int
    epoch: int

    @property
    def packed(self) -> bytes:
        return struct.pack(">qh", self.producer_id, self.epoch)


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A request, and where things are in it and in its answer: see `transact.c`."""

    data: bytes
    producer_at: int
    batch_at: int = 0
    error_at: int
    next_at: int = 0


def find_coordinator(transactional_id: str) -> bytes:
    return request(FIND_COORDINATOR, 2, string(transactional_id) + OF_TRANSACTIONAL_ID)


def init_producer_id(transactional_id: str) -> bytes:
    """InitProducerId v4 of a producer that has no id yet."""
    body = compact(transactional_id.encode()) + struct.pack(">iqh", TIMEOUT_MS, -1, -1) + b"\x00"
    return request(INIT_PRODUCER_ID, 4, body, flexible=True)


def read_producer(data: bytes, transactional_id: str) -> tuple[int, Producer]:
    """The error code and the producer of the answer to it."""
    answer = Answer(data, flexible=True)
    answer.int32()  # throttle time
    error = answer.int16()
    return error, Producer(transactional_id=transactional_id, producer_id=answer.int64(), epoch=answer.int16())


def classic(producer: Producer, topic: str, partition: int, *, records: int, value_size: int) -> Sequence[Step]:
    """A transaction as clients before KIP-890 commit it: the partition is added, then written to."""
    return [
        _add_partition(producer, topic, partition),
        _produce(producer, topic, partition, version=9, records=records, value_size=value_size),
        _end(producer, version=3),
    ]


def version_2(producer: Producer, topic: str, partition: int, *, records: int, value_size: int) -> Sequence[Step]:
    """A transaction of KIP-890: writing to a partition adds it, and the end tells the next epoch."""
    return [
        _produce(producer, topic, partition, version=12, records=records, value_size=value_size),
        _end(producer, version=5),
    ]


def script(steps: Sequence[Step]) -> bytes:
    """The steps as `transact.c` reads them."""
    return b"".join(
        struct.pack(">5i", len(step.data), step.producer_at, step.batch_at, step.error_at, step.next_at) + step.data
        for step in steps
    )


def _add_partition(producer: Producer, topic: str, partition: int) -> Step:
    head = header(ADD_PARTITIONS_TO_TXN, 3, flexible=True) + compact(producer.transactional_id.encode())
    of_topic = uvarint(2) + compact(topic.encode()) + uvarint(2) + struct.pack(">i", partition) + b"\x00"
    # throttle time, one topic, its name, one partition, its index
    error_at = ANSWER_HEAD + 4 + 1 + len(compact(topic.encode())) + 1 + 4
    return _step(head + producer.packed + of_topic + b"\x00", len(head), error_at=error_at)


def _produce(producer: Producer, topic: str, partition: int, *, version: int, records: int, value_size: int) -> Step:
    head = (
        header(PRODUCE, version, flexible=True)
        + compact(producer.transactional_id.encode())
        + struct.pack(">hi", -1, 30_000)
        + uvarint(2)
        + compact(topic.encode())
        + uvarint(2)
        + struct.pack(">i", partition)
    )
    batch = bytearray(record_batch(value_size=value_size, records=records, attributes=TRANSACTIONAL).data)
    batch[PRODUCER_ID_IN_BATCH : PRODUCER_ID_IN_BATCH + 10] = producer.packed
    head += uvarint(len(batch) + 1)
    # one topic, its name, one partition, its index
    error_at = ANSWER_HEAD + 1 + len(compact(topic.encode())) + 1 + 4
    body = head + bytes(batch) + b"\x00\x00\x00"
    return _step(body, len(head) + PRODUCER_ID_IN_BATCH, batch_at=len(head), error_at=error_at)


def _end(producer: Producer, *, version: int) -> Step:
    head = header(END_TXN, version, flexible=True) + compact(producer.transactional_id.encode())
    error_at = ANSWER_HEAD + 4  # throttle time
    next_at = error_at + 2 if version >= 5 else 0
    return _step(head + producer.packed + b"\x01\x00", len(head), error_at=error_at, next_at=next_at)


def _step(body: bytes, producer_at: int, *, batch_at: int = 0, error_at: int, next_at: int = 0) -> Step:
    made = frame(body, partition_at=producer_at, offset_at=batch_at)
    return Step(
        data=made.data,
        producer_at=made.partition_at,
        batch_at=made.offset_at if batch_at else 0,
        error_at=error_at,
        next_at=next_at,
    )
