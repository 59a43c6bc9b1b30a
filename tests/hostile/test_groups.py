"""Requests about groups that cost their sender little and could cost the broker, or its other clients, much."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from stoker.wire.consumer_protocol import ConsumerProtocolSubscription
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from stoker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from stoker.wire.messages.delete_groups import DeleteGroupsRequest
from stoker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from stoker.wire.messages.describe_groups import DescribeGroupsRequest
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest
from stoker.wire.messages.heartbeat import HeartbeatRequest
from stoker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stoker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from stoker.wire.messages.list_groups import ListGroupsRequest
from stoker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stoker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from stoker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from stoker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from stoker.wire.schema import Request
from tests.clients.client import eventually
from tests.hostile.broker_process import BrokerProcess
from tests.hostile.bystander import Bystander
from tests.raw_connection import RawConnection, request_frame

_MEGABYTE = 1024 * 1024
_MANY = 99_000
_LONGEST_NAME = 32_767
_WIDE = "wide"
_WIDTH = 1_000
_LONGEST_WAIT_SECONDS = 6.0
_SUBSCRIPTION = ConsumerProtocolSubscription(topics=[_WIDE]).to_bytes()


def _commit(group: str, partitions: Iterator[int] | range) -> OffsetCommitRequest:
    committed = [OffsetCommitRequestPartition(partition_index=index, committed_offset=index) for index in partitions]
    return OffsetCommitRequest(group_id=group, topics=[OffsetCommitRequestTopic(name=_WIDE, partitions=committed)])


def _join(group: str, **changes: Any) -> JoinGroupRequest:
    fields: dict[str, Any] = {
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol(name="range", metadata=_SUBSCRIPTION)],
    }
    return JoinGroupRequest(group_id=group, **(fields | changes))


def _modern(group: str, **changes: Any) -> ConsumerGroupHeartbeatRequest:
    fields: dict[str, Any] = {
        "member_id": "hostile",
        "rebalance_timeout_ms": 10_000,
        "subscribed_topic_names": [_WIDE],
        "topic_partitions": [],
    }
    return ConsumerGroupHeartbeatRequest(group_id=group, **(fields | changes))


def _everything_of(group: str) -> OffsetFetchRequestGroup:
    return OffsetFetchRequestGroup(group_id=group, topics=None)


def _find_coordinator(connection: RawConnection) -> None:
    reply = connection.call(FindCoordinatorRequest(coordinator_keys=["any"]), 6)
    assert reply.coordinators[0].error_code == ErrorCode.NONE


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker with a wide topic, and a hundred groups that have committed all of its partitions."""
    with BrokerProcess(
        Path(tmp_path_factory.mktemp("groups")), group_initial_rebalance_delay_ms=0, offsets_topic_num_partitions=5
    ) as broker:
        with broker.connect(timeout=60) as connection:
            connection.create_topic(_WIDE, partitions=_WIDTH)
            _find_coordinator(connection)
            for number in range(100):
                reply = connection.call(_commit(f"wide-{number}", range(_WIDTH)), 8)
                assert reply.topics[0].partitions[0].error_code == ErrorCode.NONE
        yield broker


_SLOW_PATTERNS = ["(a?b?){1000}", "(a*)*" * 500, "(x+x+)+y", "[a-z]*" * 600, "(.*)(.*)(.*)(.*)(.*)[^a]" * 20]

_CHEAP_REQUESTS: dict[str, tuple[Request, int]] = {
    "coordinators of many groups": (
        FindCoordinatorRequest(coordinator_keys=[f"group-{number}" for number in range(_MANY)]),
        6,
    ),
    "a commit of one partition many times": (_commit("repeats", iter([0] * _MANY)), 8),
    "a commit of many partitions that are not there": (_commit("nowhere", range(_WIDTH, _WIDTH + _MANY)), 8),
    "all offsets of a hundred groups": (
        OffsetFetchRequest(groups=[_everything_of(f"wide-{number}") for number in range(100)]),
        9,
    ),
    "all offsets of one group many times": (
        OffsetFetchRequest(groups=[_everything_of("wide-1")] * _MANY),
        9,
    ),
    "one offset many times": (
        OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(
                    group_id="wide-1",
                    topics=[OffsetFetchRequestTopics(name=_WIDE, partition_indexes=[0] * _MANY)],
                )
            ]
        ),
        9,
    ),
    "deleting one offset many times": (
        OffsetDeleteRequest(
            group_id="wide-1",
            topics=[OffsetDeleteRequestTopic(name=_WIDE, partitions=[OffsetDeleteRequestPartition()] * _MANY)],
        ),
        0,
    ),
    "a description of many groups": (DescribeGroupsRequest(groups=[f"group-{number}" for number in range(_MANY)]), 6),
    "a description of one group many times": (DescribeGroupsRequest(groups=["wide-1"] * _MANY), 6),
    "a description of groups with long names": (
        DescribeGroupsRequest(groups=[f"{number:05}".ljust(_LONGEST_NAME, "x") for number in range(1_000)]),
        6,
    ),
    "a description of many consumer groups": (
        ConsumerGroupDescribeRequest(group_ids=[f"group-{number}" for number in range(_MANY)]),
        1,
    ),
    "deleting many groups that are not there": (
        DeleteGroupsRequest(groups_names=[f"group-{number}" for number in range(_MANY)]),
        2,
    ),
    "a join with many protocols": (
        _join(
            "many-protocols",
            protocols=[JoinGroupRequestProtocol(name=f"{number}", metadata=b"") for number in range(_MANY)],
        ),
        3,
    ),
    "a join with a subscription to many topics": (
        _join(
            "many-topics",
            protocols=[
                JoinGroupRequestProtocol(
                    name="range",
                    metadata=ConsumerProtocolSubscription(topics=[f"{number}" for number in range(_MANY)]).to_bytes(),
                )
            ],
        ),
        3,
    ),
    "a sync with many assignments": (
        SyncGroupRequest(
            group_id="many-assignments",
            generation_id=1,
            member_id="nobody",
            assignments=[SyncGroupRequestAssignment(member_id=f"{number}") for number in range(_MANY)],
        ),
        3,
    ),
    "many members leave": (
        LeaveGroupRequest(
            group_id="wide-1", members=[MemberIdentity(member_id=f"{number}") for number in range(_MANY)]
        ),
        5,
    ),
    "a KIP-848 subscription to many topics": (
        _modern("many-topics-modern", subscribed_topic_names=[f"{number}" for number in range(_MANY)]),
        1,
    ),
    "a KIP-848 member with many partitions": (
        _modern(
            "many-partitions",
            member_epoch=1,
            topic_partitions=[TopicPartitions(topic_id=UUID(int=1), partitions=list(range(_MANY)))],
        ),
        1,
    ),
    **{
        f"a slow pattern, {pattern[:20]}": (
            _modern(f"slow-{number}", subscribed_topic_names=None, subscribed_topic_regex=pattern),
            1,
        )
        for number, pattern in enumerate(_SLOW_PATTERNS)
    },
}


@pytest.mark.parametrize("name", _CHEAP_REQUESTS)
def test_a_cheap_request_is_cheap_to_answer(shared: BrokerProcess, name: str) -> None:
    """No request about groups makes the broker hold much memory, or an honest client wait long."""
    request, version = _CHEAP_REQUESTS[name]
    frame = request_frame(request, version)
    shared.forget_peak()
    before = shared.resident_bytes
    with Bystander(shared) as bystander, shared.connect(timeout=60) as connection:
        connection.socket.sendall(frame)
        answer = connection.receive_frame()
    grown = shared.peak_resident_bytes - before
    print(f"{len(frame)} bytes, {len(answer)} back, waited {bystander.longest_wait:.2f} s, {grown / 1e6:.0f} MB")
    assert bystander.longest_wait < _LONGEST_WAIT_SECONDS
    assert grown < 200 * _MEGABYTE


def test_a_group_that_holds_one_offset_is_small(broker: BrokerProcess) -> None:
    """Anybody may make groups by committing to them. Each costs little, and nobody waits for them."""
    count = 20_000
    with broker.connect(timeout=60) as connection:
        connection.create_topic(_WIDE)
        _find_coordinator(connection)
        frames = [request_frame(_commit(f"tiny-{number}", range(1)), 8) for number in range(count)]
        before = broker.resident_bytes
        with Bystander(broker) as bystander:
            for start in range(0, count, 500):
                connection.socket.sendall(b"".join(frames[start : start + 500]))
                for _ in range(500):
                    connection.receive_frame()
            each = (broker.resident_bytes - before) / count
            assert len(connection.call(ListGroupsRequest(), 5).groups) == count
            connection.call(DeleteTopicsRequest(topics=[DeleteTopicState(name=_WIDE)]), 6)
        print(f"{each:.0f} bytes a group, waited {bystander.longest_wait:.2f} s")
        assert connection.call(OffsetFetchRequest(groups=[_everything_of("tiny-7")]), 9).groups[0].topics == []
    assert each < 4_096
    assert bystander.longest_wait < _LONGEST_WAIT_SECONDS


def test_members_that_join_and_vanish_leave_nothing_behind(tmp_path: Path) -> None:
    """Their requests wait when their connections end. By the time-outs they are gone, and so is all that waited."""
    settings = {"group_min_session_timeout_ms": 100, "group_initial_rebalance_delay_ms": 0}
    with BrokerProcess(tmp_path, **settings) as broker, broker.connect() as watching:
        _find_coordinator(watching)
        with Bystander(broker):
            for number in range(300):
                with broker.connect() as vanishing:
                    vanishing.send(_join(f"ghosts-{number % 3}", session_timeout_ms=200, rebalance_timeout_ms=300), 3)
        described = DescribeGroupsRequest(groups=[f"ghosts-{number}" for number in range(3)])
        for number in range(3):  # a guest may have to wait for the ghosts, but not for long
            joined = watching.call(_join(f"ghosts-{number}", session_timeout_ms=200, rebalance_timeout_ms=300), 3)
            assert joined.error_code == ErrorCode.NONE
        groups = eventually(
            lambda: watching.call(described, 6).groups,
            lambda found: all(group.group_state == "Empty" and not group.members for group in found),
        )
        assert [(group.group_state, group.members) for group in groups] == [("Empty", [])] * 3


def test_names_may_fill_their_fields(shared: BrokerProcess) -> None:
    """Group, client and instance with the longest names there can be: what the broker makes of them still fits."""
    group, client_id = "g" * _LONGEST_NAME, "ü" * (_LONGEST_NAME // 2)
    for instance_id in (None, "i" * _LONGEST_NAME):
        with shared.connect() as connection:

            def call(request: Request, version: int, connection: RawConnection = connection) -> Any:
                connection.socket.sendall(request_frame(request, version, client_id=client_id))
                return connection.receive(type(request), version)[1]

            joining = _join(group, group_instance_id=instance_id)
            joined = call(joining, 9)
            if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                joining.member_id = joined.member_id
                joined = call(joining, 9)
            assert joined.error_code == ErrorCode.NONE
            me = {"group_id": group, "member_id": joined.member_id, "generation_id": joined.generation_id}
            mine = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"all")
            synced = call(SyncGroupRequest(**me, assignments=[mine]), 4)
            assert (synced.error_code, bytes(synced.assignment)) == (ErrorCode.NONE, b"all")
            assert call(HeartbeatRequest(**me), 4).error_code == ErrorCode.NONE
            assert len(call(DescribeGroupsRequest(groups=[group]), 6).groups[0].members) == 1
            leaving = MemberIdentity(member_id=joined.member_id, group_instance_id=instance_id)
            assert call(LeaveGroupRequest(group_id=group, members=[leaving]), 5).members[0].error_code == ErrorCode.NONE
            modern = _modern(group, member_id="m" * _LONGEST_NAME, instance_id=instance_id, rack_id=group)
            assert call(modern, 1).error_code == ErrorCode.NONE
            assert len(call(ConsumerGroupDescribeRequest(group_ids=[group]), 1).groups[0].members) == 1
            modern.member_epoch = -1
            assert call(modern, 1).error_code == ErrorCode.NONE
            modern.member_id = "stranger" * 4_000
            assert call(modern, 1).error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("timeout_ms", [-(2**31), -2, -1, 0, 1, 2**31 - 1])
def test_time_outs_of_any_size(shared: BrokerProcess, timeout_ms: int) -> None:
    """A rebalance time-out may be anything; whoever asks for none is out at once, whoever asks for weeks is let out too."""
    classic, modern = f"classic-{timeout_ms}", f"modern-{timeout_ms}"
    with shared.connect() as connection:
        joined = connection.call(_join(classic, rebalance_timeout_ms=timeout_ms), 3)
        assert joined.error_code == ErrorCode.NONE
        leaving = MemberIdentity(member_id=joined.member_id)
        connection.call(LeaveGroupRequest(group_id=classic, members=[leaving]), 5)
        assert connection.call(DescribeGroupsRequest(groups=[classic]), 6).groups[0].group_state == "Empty"
        joined = connection.call(_modern(modern, rebalance_timeout_ms=timeout_ms), 1)
        assert joined.error_code == (ErrorCode.INVALID_REQUEST if timeout_ms == -1 else ErrorCode.NONE)
        changed = _modern(modern, rebalance_timeout_ms=timeout_ms, member_epoch=joined.member_epoch)
        changed.subscribed_topic_names, changed.topic_partitions = [], None
        connection.call(changed, 1)
        assert connection.call(_modern(modern), 1).error_code == ErrorCode.NONE


_BLOBS = {
    "nothing": b"",
    "half a version": b"\0",
    "a version of tomorrow": b"\x7f\xff" + _SUBSCRIPTION[2:],
    "a negative version": b"\xff\xff" + _SUBSCRIPTION[2:],
    "more topics than bytes": b"\0\1\x7f\xff\xff\xff",
    "a negative number of topics": b"\0\1\xff\xff\xff\xfe",
    "cut off": _SUBSCRIPTION[:-3],
    "not text": b"\0\0\0\0\0\1\0\4\xff\xfe\xfd\xfc\xff\xff\xff\xff",
    "with more behind it": _SUBSCRIPTION + b"more" * 1_000,
    "a megabyte": b"x" * 900_000,
}


@pytest.mark.parametrize("name", _BLOBS)
def test_blobs_that_no_consumer_would_send(shared: BrokerProcess, name: str) -> None:
    """What members tell each other is theirs; where the broker must read it, it says that it cannot."""
    blob, group = _BLOBS[name], f"blob, {name}"
    protocols = [JoinGroupRequestProtocol(name="range", metadata=blob)]
    with shared.connect() as connection:
        joined = connection.call(_join(group, protocols=protocols), 3)
        assert joined.error_code == ErrorCode.NONE
        assert bytes(joined.members[0].metadata) == blob
        me = {"group_id": group, "member_id": joined.member_id, "generation_id": joined.generation_id}
        assignment = b"" if len(blob) > 500_000 else blob  # together they would not fit a batch
        mine = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=assignment)
        synced = connection.call(SyncGroupRequest(**me, assignments=[mine]), 4)
        assert (synced.error_code, bytes(synced.assignment)) == (ErrorCode.NONE, assignment)
        connection.call(DescribeGroupsRequest(groups=[group]), 6)
        deletion = OffsetDeleteRequestTopic(name=_WIDE, partitions=[OffsetDeleteRequestPartition()])
        connection.call(OffsetDeleteRequest(group_id=group, topics=[deletion]), 0)
        upgraded = connection.call(_modern(group), 1).error_code
        assert upgraded in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND)
        alive = connection.call(HeartbeatRequest(**me), 4).error_code
        assert alive in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)
