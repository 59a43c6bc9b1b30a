"""The fast ways to read and answer OffsetCommit agree with the schema, whatever the message."""

from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.errors import MalformedMessage
from stoker.wire.commit_hot_path import CommitCall, commit_call, decode_commit, encode_committed
from stoker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from stoker.wire.primitives import encode_uvarint

VERSIONS = range(OffsetCommitRequest.MIN_VERSION, OffsetCommitRequest.MAX_VERSION + 1)
INT16 = st.integers(1, 2**15 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(codec="utf-8"), max_size=200)
METADATA = st.none() | st.just("")


@st.composite
def commit_requests(
    draw: st.DrawFn, metadata: st.SearchStrategy[str | None] = METADATA | TEXT
) -> tuple[int, OffsetCommitRequest]:
    version = draw(st.sampled_from(VERSIONS))
    topics = []
    for _ in range(draw(st.integers(0, 3))):
        partitions = [
            OffsetCommitRequestPartition(
                partition_index=draw(INT32),
                committed_offset=draw(INT64),
                **({"committed_leader_epoch": draw(INT32)} if version >= 6 else {}),
                committed_metadata=draw(metadata),
            )
            for _ in range(draw(st.integers(0, 5)))
        ]
        named = {"topic_id": draw(st.uuids())} if version >= 10 else {"name": draw(TEXT)}
        topics.append(OffsetCommitRequestTopic(**named, partitions=partitions))
    return version, OffsetCommitRequest(
        group_id=draw(TEXT),
        generation_id_or_member_epoch=draw(INT32),
        member_id=draw(TEXT),
        group_instance_id=draw(st.none() | TEXT) if version >= 7 else None,
        retention_time_ms=draw(INT64) if version <= 4 else -1,
        topics=topics,
    )


def decoded(data: bytes, version: int, behind: int = 0) -> CommitCall | None:
    """The call, at a position that is not 0; None if it is refused."""
    try:
        return decode_commit(memoryview(bytes(behind) + data), behind, version)
    except MalformedMessage:
        return None


def decoded_by_schema(data: bytes, version: int) -> CommitCall | None:
    try:
        return commit_call(OffsetCommitRequest.decode(memoryview(data), 0, version))
    except MalformedMessage:
        return None


@given(commit_requests() | commit_requests(METADATA), st.integers(0, 9))
def test_a_request_is_read_as_by_the_schema(example: tuple[int, OffsetCommitRequest], behind: int) -> None:
    version, request = example
    assert decoded(request.encode(version), version, behind) == commit_call(request)


@given(commit_requests(METADATA), st.data())
def test_a_damaged_request_is_read_or_refused_as_by_the_schema(
    example: tuple[int, OffsetCommitRequest], data: st.DataObject
) -> None:
    version, request = example
    damaged = bytearray(request.encode(version))
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(damaged) - 1))
        change = data.draw(st.sampled_from(["cut", "change", "insert"]))
        if change == "cut":
            del damaged[position : position + data.draw(st.integers(1, 20))]
            damaged = damaged or bytearray(1)
        elif change == "change":
            damaged[position] = data.draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFF]))
        else:
            damaged[position:position] = data.draw(st.binary(min_size=1, max_size=20))
    assert decoded(bytes(damaged), version) == decoded_by_schema(bytes(damaged), version)


@given(commit_requests(METADATA), st.data())
def test_the_answer_is_that_of_the_schema(example: tuple[int, OffsetCommitRequest], data: st.DataObject) -> None:
    version, request = example
    call = commit_call(request)
    errors = None
    if data.draw(st.booleans()):
        errors = [{place: data.draw(INT16) for place in range(0, len(topic.partitions), 2)} for topic in call.topics]
    response = OffsetCommitResponse.decode(encode_committed(call.topics, errors, version), 0, version)
    told = [
        (topic.name, topic.topic_id, [(each.partition_index, each.error_code) for each in topic.partitions])
        for topic in response.topics
    ]
    assert told == [
        (topic.name, topic.topic_id, [(index, of_topic.get(place, 0)) for place, index in enumerate(topic.partitions)])
        for topic, of_topic in zip(call.topics, errors or [{}] * len(call.topics), strict=True)
    ]


@pytest.mark.parametrize("field", ["group_id", "member_id", "group_instance_id", "name"])
def test_no_string_is_longer_than_a_string_can_be(field: str) -> None:
    """Someone else's request would wait while the hash of twenty million letters is computed."""
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=9, committed_metadata="")
    topic = OffsetCommitRequestTopic(name="<<name>>", partitions=[partition])
    request = OffsetCommitRequest(
        group_id="<<group_id>>", member_id="<<member_id>>", group_instance_id="<<group_instance_id>>", topics=[topic]
    )
    marker = f"<<{field}>>".encode()
    for length in (32_767, 32_768):
        longer = encode_uvarint(length + 1) + b"x" * length
        data = request.encode(9).replace(encode_uvarint(len(marker) + 1) + marker, longer)
        assert decoded(data, 9) == decoded_by_schema(data, 9)
        assert (decoded(data, 9) is None) == (length > 32_767)


@pytest.mark.parametrize("count", [1, 50, 250, 251, 5_000])
@pytest.mark.parametrize("version", [9, 10])
def test_many_partitions(count: int, version: int) -> None:
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=7 * index, committed_metadata=None)
        for index in range(count)
    ]
    named = {"topic_id": UUID(int=5)} if version >= 10 else {"name": "orders"}
    request = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(**named, partitions=partitions)])
    call = decoded(request.encode(version), version)
    assert call == commit_call(request)
    assert call is not None
    response = OffsetCommitResponse.decode(encode_committed(call.topics, None, version), 0, version)
    assert [each.partition_index for each in response.topics[0].partitions] == list(range(count))


def test_an_ordinary_request_never_meets_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = OffsetCommitRequestPartition(partition_index=3, committed_offset=9, committed_metadata="")
    request = OffsetCommitRequest(
        group_id="g", topics=[OffsetCommitRequestTopic(name="orders", partitions=[partition])]
    )
    data = request.encode(9)
    refuse: Callable[..., None] = lambda *_: pytest.fail("decoded by the schema")  # noqa: E731
    monkeypatch.setattr(OffsetCommitRequest, "decode", refuse)
    assert decode_commit(memoryview(data), 0, 9).topics[0].offsets == (9,)
