"""The hand-made requests of a group's member say what they should, and answers are read right: the codec judges."""

import struct
from typing import TypeVar
from uuid import UUID

import pytest

from side_by_side import group_requests
from stoker.wire.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from stoker.wire.consumer_protocol import TopicPartitions as AssignedPartitions
from stoker.wire.frames import decode_request_header
from stoker.wire.messages import consumer_group_heartbeat, fetch, join_group, offset_commit, offset_fetch, sync_group
from stoker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest
from stoker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from stoker.wire.messages.leave_group import LeaveGroupRequest
from stoker.wire.schema import Request, Response

Decoded = TypeVar("Decoded", bound=Request)
TOPIC_ID = UUID(int=77)


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (group_requests.find_coordinator("billing"), FindCoordinatorRequest(key="billing", key_type=0)),
        (
            group_requests.heartbeat("billing", 4, "m-1"),
            HeartbeatRequest(group_id="billing", member_id="m-1", generation_id=4),
        ),
        (group_requests.leave_group("billing", "m-1"), LeaveGroupRequest(group_id="billing", member_id="m-1")),
        (
            group_requests.join_group("billing", "m-1", "orders"),
            join_group.JoinGroupRequest(
                group_id="billing",
                member_id="m-1",
                session_timeout_ms=45_000,
                rebalance_timeout_ms=60_000,
                protocol_type="consumer",
                protocols=[
                    join_group.JoinGroupRequestProtocol(
                        name="range", metadata=ConsumerProtocolSubscription(topics=["orders"]).to_bytes(0)
                    )
                ],
            ),
        ),
        (
            group_requests.sync_group("billing", 4, "m-1", "orders", {"m-1": [0, 1], "m-2": [2]}),
            sync_group.SyncGroupRequest(
                group_id="billing",
                member_id="m-1",
                generation_id=4,
                assignments=[
                    sync_group.SyncGroupRequestAssignment(
                        member_id=member,
                        assignment=ConsumerProtocolAssignment(
                            assigned_partitions=[AssignedPartitions(topic="orders", partitions=partitions)]
                        ).to_bytes(0),
                    )
                    for member, partitions in {"m-1": [0, 1], "m-2": [2]}.items()
                ],
            ),
        ),
        (
            group_requests.consumer_heartbeat("billing", "m-1", 0, topic="orders"),
            ConsumerGroupHeartbeatRequest(
                group_id="billing",
                member_id="m-1",
                rebalance_timeout_ms=60_000,
                subscribed_topic_names=["orders"],
                topic_partitions=[],
            ),
        ),
        (
            group_requests.consumer_heartbeat("billing", "m-1", 3, owned=(TOPIC_ID.bytes, [1, 2])),
            ConsumerGroupHeartbeatRequest(
                group_id="billing",
                member_id="m-1",
                member_epoch=3,
                topic_partitions=[TopicPartitions(topic_id=TOPIC_ID, partitions=[1, 2])],
            ),
        ),
        (
            group_requests.consumer_heartbeat("billing", "m-1", 3, owned=(TOPIC_ID.bytes, [])),
            ConsumerGroupHeartbeatRequest(group_id="billing", member_id="m-1", member_epoch=3, topic_partitions=[]),
        ),
        (
            group_requests.consumer_heartbeat("billing", "m-1", -1),
            ConsumerGroupHeartbeatRequest(group_id="billing", member_id="m-1", member_epoch=-1),
        ),
        (
            group_requests.offset_fetch("billing", "orders", [0, 3]),
            offset_fetch.OffsetFetchRequest(
                group_id="billing",
                topics=[offset_fetch.OffsetFetchRequestTopic(name="orders", partition_indexes=[0, 3])],
            ),
        ),
        (
            group_requests.fetch("orders", {0: 5, 3: 0}),
            fetch.FetchRequest(
                max_wait_ms=500,
                min_bytes=1,
                topics=[
                    fetch.FetchTopic(
                        topic="orders",
                        partitions=[
                            fetch.FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=1 << 20)
                            for number, offset in {0: 5, 3: 0}.items()
                        ],
                    )
                ],
            ),
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Request) else "",
)
def test_a_request_says_what_it_should(frame: bytes, expected: Request) -> None:
    assert _decoded(frame, type(expected)) == expected


def test_a_commit_takes_the_number_of_its_group_and_an_offset() -> None:
    frame = group_requests.offset_commit("orders", group_prefix="billing-", partitions=3)
    data = bytearray(frame.data)
    data[frame.partition_at : frame.partition_at + group_requests.GROUP_DIGITS] = b"0012"
    struct.pack_into(">q", data, frame.offset_at, 77)
    request = _decoded(bytes(data), offset_commit.OffsetCommitRequest)
    (topic,) = request.topics
    assert (request.group_id, request.generation_id_or_member_epoch, topic.name) == ("billing-0012", -1, "orders")
    assert [(each.partition_index, each.committed_offset) for each in topic.partitions] == [(0, 77), (1, 0), (2, 0)]


def test_answers_are_read() -> None:
    joined = join_group.JoinGroupResponse(
        generation_id=4,
        protocol_name="range",
        leader="m-1",
        member_id="m-2",
        members=[join_group.JoinGroupResponseMember(member_id=name, metadata=b"xyz") for name in ("m-1", "m-2")],
    )
    assert group_requests.read_joined(_answer(joined, 5)) == group_requests.Joined(
        error=0, generation=4, leader="m-1", member_id="m-2", members=["m-1", "m-2"]
    )
    assert group_requests.read_error(_answer(HeartbeatResponse(error_code=27), 3)) == 27
    offsets = [
        offset_fetch.OffsetFetchResponsePartition(partition_index=number, committed_offset=offset, metadata="")
        for number, offset in {0: 7, 1: -1}.items()
    ]
    topics = [offset_fetch.OffsetFetchResponseTopic(name="orders", partitions=offsets)]
    fetched_offsets = _answer(offset_fetch.OffsetFetchResponse(topics=topics, error_code=14), 5)
    assert group_requests.read_offsets(fetched_offsets) == {0: 7, 1: -1}
    assert group_requests.read_last_error(fetched_offsets) == 14
    partitions = [fetch.PartitionData(partition_index=number, records=bytes(number * 10)) for number in range(3)]
    fetched = fetch.FetchResponse(responses=[fetch.FetchableTopicResponse(topic="orders", partitions=partitions)])
    assert group_requests.read_fetched_bytes(_answer(fetched, 11)) == 30


@pytest.mark.parametrize("partitions", [[], [3, 4, 5]])
def test_an_assignment_of_the_classic_protocol_is_read(partitions: list[int]) -> None:
    assigned = [AssignedPartitions(topic="orders", partitions=partitions)] if partitions else []
    blob = ConsumerProtocolAssignment(assigned_partitions=assigned).to_bytes(0)
    answer = _answer(sync_group.SyncGroupResponse(assignment=blob), 3)
    assert group_requests.read_synced(answer) == (0, partitions)
    refused = _answer(sync_group.SyncGroupResponse(error_code=27), 3)
    assert group_requests.read_synced(refused) == (27, [])


@pytest.mark.parametrize("partitions", [None, [], [3, 400]])
def test_an_assignment_of_the_consumer_protocol_is_read(partitions: list[int] | None) -> None:
    assignment = None
    if partitions is not None:
        of_topic = [TopicPartitions(topic_id=TOPIC_ID, partitions=partitions)] if partitions else []
        assignment = consumer_group_heartbeat.Assignment(topic_partitions=of_topic)
    answer = consumer_group_heartbeat.ConsumerGroupHeartbeatResponse(
        error_code=110, error_message="fenced", member_id="m-1", member_epoch=9, assignment=assignment
    )
    beaten = group_requests.read_consumer_heartbeat(_answer(answer, 1))
    assert (beaten.error, beaten.message, beaten.epoch) == (110, "fenced", 9)
    if partitions is None:
        assert beaten.assigned is None
    else:
        assert beaten.assigned == ((TOPIC_ID.bytes if partitions else bytes(16)), partitions)


def _decoded(frame: bytes, message: type[Decoded]) -> Decoded:
    assert struct.unpack_from(">i", frame) == (len(frame) - 4,)
    header, position = decode_request_header(memoryview(frame)[4:])
    return message.decode(memoryview(frame)[4:], position, header.api_version)


def _answer(response: Response, version: int) -> bytes:
    """As it comes: a correlation id, tags if the version is flexible, the body."""
    return bytes(5 if response.is_flexible(version) else 4) + response.encode(version)
