"""The hand-made requests of a transactional producer say what they should, and answers are read right: the codec judges."""

import struct
from typing import TypeVar

import pytest

from side_by_side import transaction_requests
from side_by_side.transaction_requests import Producer, Step
from stoker.wire.frames import decode_request_header
from stoker.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)
from stoker.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest
from stoker.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from stoker.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from stoker.wire.record_batch import read_header
from stoker.wire.schema import Request, Response

Decoded = TypeVar("Decoded", bound=Request)
PRODUCER = Producer(transactional_id="writer-1", producer_id=77, epoch=3)
NEXT = Producer(transactional_id="writer-1", producer_id=78, epoch=4)
ERROR = 51


def test_a_producer_introduces_itself() -> None:
    found = _decoded(transaction_requests.find_coordinator("writer-1"), FindCoordinatorRequest)
    assert found == FindCoordinatorRequest(key="writer-1", key_type=1)
    initialised = _decoded(transaction_requests.init_producer_id("writer-1"), InitProducerIdRequest)
    assert initialised == InitProducerIdRequest(transactional_id="writer-1", transaction_timeout_ms=60_000)
    answer = _answer(InitProducerIdResponse(producer_id=77, producer_epoch=3), 4)
    assert transaction_requests.read_producer(answer, "writer-1") == (0, PRODUCER)


@pytest.mark.parametrize("producer", [PRODUCER, NEXT])
def test_a_classic_transaction(producer: Producer) -> None:
    steps = transaction_requests.classic(PRODUCER, "orders", 2, records=10, value_size=100)
    add, produce, end = (_with_producer(step, producer) for step in steps)
    assert _decoded(add, AddPartitionsToTxnRequest) == AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="writer-1",
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name="orders", partitions=[2])],
    )
    _check_produced(produce, producer)
    assert _decoded(end, EndTxnRequest) == _end(producer)


@pytest.mark.parametrize("producer", [PRODUCER, NEXT])
def test_a_transaction_of_version_2(producer: Producer) -> None:
    steps = transaction_requests.version_2(PRODUCER, "orders", 2, records=10, value_size=100)
    produce, end = (_with_producer(step, producer) for step in steps)
    _check_produced(produce, producer)
    assert _decoded(end, EndTxnRequest) == _end(producer)


def test_errors_and_epochs_are_where_the_steps_say() -> None:
    add, produce, end = transaction_requests.classic(PRODUCER, "orders", 2, records=1, value_size=100)
    in_partition = [AddPartitionsToTxnPartitionResult(partition_index=2, partition_error_code=ERROR)]
    added = AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[AddPartitionsToTxnTopicResult(name="orders", results_by_partition=in_partition)]
    )
    assert _error(_answer(added, 3), add) == ERROR
    produced = ProduceResponse(
        responses=[
            TopicProduceResponse(
                name="orders", partition_responses=[PartitionProduceResponse(index=2, error_code=ERROR)]
            )
        ]
    )
    assert _error(_answer(produced, 9), produce) == ERROR
    assert _error(_answer(EndTxnResponse(error_code=ERROR), 3), end) == ERROR
    assert end.next_at == 0

    produce, end = transaction_requests.version_2(PRODUCER, "orders", 2, records=1, value_size=100)
    assert _error(_answer(produced, 12), produce) == ERROR
    ended = _answer(EndTxnResponse(error_code=ERROR, producer_id=78, producer_epoch=4), 5)
    assert _error(ended, end) == ERROR
    assert ended[end.next_at : end.next_at + 10] == NEXT.packed


def test_a_script_is_the_steps_one_after_the_other() -> None:
    steps = transaction_requests.version_2(PRODUCER, "orders", 2, records=1, value_size=100)
    data = transaction_requests.script(steps)
    for step in steps:
        numbers = struct.unpack_from(">5i", data)
        assert numbers == (len(step.data), step.producer_at, step.batch_at, step.error_at, step.next_at)
        assert data[20 : 20 + numbers[0]] == step.data
        data = data[20 + numbers[0] :]
    assert data == b""


def _check_produced(frame: bytes, producer: Producer) -> None:
    request = _decoded(frame, ProduceRequest)
    [topic] = request.topic_data
    [partition] = topic.partition_data
    assert (request.transactional_id, request.acks, topic.name, partition.index) == ("writer-1", -1, "orders", 2)
    assert partition.records is not None
    header = read_header(partition.records)
    assert (header.producer_id, header.producer_epoch) == (producer.producer_id, producer.epoch)
    assert (header.is_transactional, header.record_count, header.size) == (True, 10, len(partition.records))


def _end(producer: Producer) -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id="writer-1", producer_id=producer.producer_id, producer_epoch=producer.epoch, committed=True
    )


def _with_producer(step: Step, producer: Producer) -> bytes:
    """The request when the replaying client has written another producer into it."""
    return step.data[: step.producer_at] + producer.packed + step.data[step.producer_at + 10 :]


def _error(answer: bytes, step: Step) -> int:
    return int(struct.unpack_from(">h", answer, step.error_at)[0])


def _decoded(frame: bytes, message: type[Decoded]) -> Decoded:
    assert struct.unpack_from(">i", frame) == (len(frame) - 4,)
    header, position = decode_request_header(memoryview(frame)[4:])
    return message.decode(memoryview(frame)[4:], position, header.api_version)


def _answer(response: Response, version: int) -> bytes:
    """As it comes: a correlation id, tags, the body."""
    return bytes(5) + response.encode(version)
