"""The fast ways to read and answer Produce agree with the schema, whatever the message."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.errors import MalformedMessage
from stoker.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from stoker.wire.produce_hot_path import AppendedPartition, ProduceCall, decode_produce, encode_produced

VERSIONS = range(ProduceRequest.MIN_VERSION, ProduceRequest.MAX_VERSION + 1)
INT16 = st.integers(-(2**15), 2**15 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)


@st.composite
def produce_requests(draw: st.DrawFn) -> tuple[int, ProduceRequest]:
    version = draw(st.sampled_from(VERSIONS))
    topics = []
    for _ in range(draw(st.integers(0, 3))):
        named = {"topic_id": draw(st.uuids())} if version >= 13 else {"name": draw(st.text(max_size=200))}
        data = [
            PartitionProduceData(index=draw(INT32), records=draw(st.none() | st.binary(max_size=300)))
            for _ in range(draw(st.integers(0, 3)))
        ]
        topics.append(TopicProduceData(**named, partition_data=data))
    return version, ProduceRequest(
        transactional_id=draw(st.none() | st.text(max_size=200)),
        acks=draw(INT16),
        timeout_ms=draw(INT32),
        topic_data=topics,
    )


def as_message(call: ProduceCall, version: int) -> ProduceRequest:
    return ProduceRequest(
        transactional_id=call.transactional_id,
        acks=call.acks,
        timeout_ms=call.timeout_ms,
        topic_data=[
            TopicProduceData(
                **({"topic_id": topic} if isinstance(topic, UUID) else {"name": topic}),
                partition_data=[
                    PartitionProduceData(index=index, records=None if records is None else bytes(records))
                    for index, records in partitions
                ],
            )
            for topic, partitions in call.topics
        ],
    )


@given(produce_requests())
def test_a_request_is_read_as_the_schema_reads_it(case: tuple[int, ProduceRequest]) -> None:
    version, request = case
    encoded = memoryview(bytearray(b"head" + request.encode(version)))
    assert as_message(decode_produce(encoded, 4, version), version) == request


@given(produce_requests(), st.data())
def test_a_damaged_request_is_to_both_the_same_or_malformed(
    case: tuple[int, ProduceRequest], data: st.DataObject
) -> None:
    version, request = case
    encoded = bytearray(request.encode(version))
    for _ in range(data.draw(st.integers(0, 3))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    damaged = memoryview(encoded)[: data.draw(st.integers(0, len(encoded)))]
    try:
        expected = ProduceRequest.decode(damaged, 0, version)
    except MalformedMessage:
        with pytest.raises(MalformedMessage, match=f"ProduceRequest version {version}: "):
            decode_produce(damaged, 0, version)
    else:
        assert as_message(decode_produce(damaged, 0, version), version) == expected


APPENDED = st.builds(AppendedPartition, INT32, INT64, INT64, INT64)


@given(
    st.sampled_from(VERSIONS),
    st.lists(st.tuples(st.text(max_size=200), st.uuids(), st.lists(APPENDED, max_size=3)), max_size=3),
)
def test_a_response_is_written_as_the_schema_writes_it(
    version: int, topics: list[tuple[str, UUID, list[AppendedPartition]]]
) -> None:
    response = ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=name,
                topic_id=topic_id,
                partition_responses=[
                    PartitionProduceResponse(
                        index=appended.partition,
                        base_offset=appended.base_offset,
                        log_append_time_ms=appended.log_append_time_ms,
                        log_start_offset=appended.log_start_offset,
                    )
                    for appended in partitions
                ],
            )
            for name, topic_id, partitions in topics
        ]
    )
    named: list[tuple[str | UUID, list[AppendedPartition]]] = [
        (topic_id if version >= 13 else name, partitions) for name, topic_id, partitions in topics
    ]
    assert encode_produced(version, named) == response.encode(version)
