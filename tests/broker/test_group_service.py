"""The driver of the group coordinator: what is written where, when it is answered, what happens by the clock."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import stoker
from stoker.broker.coordinator_topic import java_hash
from stoker.log.partition import PartitionLog
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from stoker.wire.messages.delete_groups import DeleteGroupsRequest
from stoker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest
from stoker.wire.messages.heartbeat import HeartbeatRequest
from stoker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from stoker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stoker.wire.messages.list_groups import ListGroupsRequest
from stoker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from stoker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stoker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from stoker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stoker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.raw_connection import RawConnection, batch_of

_TOPIC_RESOURCE = 2
_SET = 0
_JOIN_VERSION = 3
"""The last that takes a member without having told it an id first."""


@pytest.fixture
def broker(request: pytest.FixtureRequest) -> Iterator[stoker.Broker]:
    """With the settings that the test names as its parameter, if any."""
    with stoker.Broker(
        config={
            "offsets.topic.num.partitions": "5",
            "group.min.session.timeout.ms": "10",
            "group.initial.rebalance.delay.ms": "0",
            **getattr(request, "param", {}),
        }
    ) as broker:
        yield broker


@pytest.fixture
def connection(broker: stoker.Broker) -> Iterator[RawConnection]:
    with RawConnection(broker.bootstrap_servers) as connection:
        connection.create_topic("orders", partitions=1)
        yield connection


def find_coordinator(connection: RawConnection, key: str = "readers", key_type: int = 0) -> ErrorCode:
    reply = connection.call(FindCoordinatorRequest(coordinator_keys=[key], key_type=key_type), 6)
    return next(code for code in ErrorCode if code == reply.coordinators[0].error_code)


def commit(
    connection: RawConnection, group: str = "readers", offset: int = 7, *, topic: str = "orders", partition: int = 0
) -> int:
    committed = OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
    topics = [OffsetCommitRequestTopic(name=topic, partitions=[committed])]
    reply = connection.call(OffsetCommitRequest(group_id=group, topics=topics), 9)
    error_code: int = reply.topics[0].partitions[0].error_code
    return error_code


def offsets(connection: RawConnection, group: str = "readers") -> list[int]:
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
    topics = connection.call(request, 9).groups[0].topics
    return [partition.committed_offset for topic in topics for partition in topic.partitions]


def joined(connection: RawConnection) -> Any:
    """The answer to a join, however long it takes."""
    return connection.receive(JoinGroupRequest, _JOIN_VERSION)[1]


def join(connection: RawConnection, member_id: str, session_timeout_ms: int = 10_000) -> None:
    connection.send(
        JoinGroupRequest(
            group_id="readers",
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=10_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        ),
        _JOIN_VERSION,
    )


def two_members(connection: RawConnection, other: RawConnection) -> tuple[Any, Any]:
    """The first of a group, its leader, and another for whom it joins again: what both are told."""
    join(connection, "")
    first = joined(connection)
    join(other, "")
    alive = HeartbeatRequest(group_id="readers", generation_id=first.generation_id, member_id=first.member_id)
    while connection.call(alive, 3).error_code != ErrorCode.REBALANCE_IN_PROGRESS:
        pass
    join(connection, first.member_id)
    return joined(connection), joined(other)


@pytest.mark.parametrize(
    ("text", "number"),
    # Integer.MIN_VALUE has no positive counterpart; Kafka takes 0.
    [("", 0), ("a", 97), ("readers", 1080410128), ("polygenelubricants", 0), ("😀", 1772899), ("группа", 1749938458)],
)
def test_javas_hash(text: str, number: int) -> None:
    assert java_hash(text) == number


def test_the_first_to_ask_makes_the_topic(connection: RawConnection) -> None:
    """With as many partitions as the broker's settings say, compacted, and closed to clients."""
    assert commit(connection) == ErrorCode.NOT_COORDINATOR
    assert find_coordinator(connection) is ErrorCode.NONE
    reply = connection.call(MetadataRequest(topics=[MetadataRequestTopic(name="__consumer_offsets")]), 12)
    assert reply.topics[0].is_internal
    assert len(reply.topics[0].partitions) == 5
    data = PartitionProduceData(index=0, records=batch_of(b"intruder"))
    topic = TopicProduceData(name="__consumer_offsets", partition_data=[data])
    produced = connection.call(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic]), 9)
    assert produced.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_many_who_ask_at_once_are_told_to_come_again_at_most() -> None:
    """While one request makes the topic the others hear what clients wait for, not that they asked the wrong broker."""
    with stoker.Broker() as broker, ExitStack() as stack:  # of 50 partitions: making them takes more than one turn
        asking = [stack.enter_context(RawConnection(broker.bootstrap_servers)) for _ in range(8)]
        for connection in asking:
            connection.send(FindCoordinatorRequest(coordinator_keys=["readers"]), 6)
        heard = {each.receive(FindCoordinatorRequest, 6)[1].coordinators[0].error_code for each in asking}
    assert ErrorCode.NONE in heard
    assert heard <= {ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE}


@pytest.mark.parametrize(
    ("key_type", "error"),
    [
        (0, ErrorCode.NONE),
        (1, ErrorCode.NONE),
        (2, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (3, ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_has_a_coordinator(connection: RawConnection, key_type: int, error: ErrorCode) -> None:
    assert find_coordinator(connection, key_type=key_type) is error


def test_a_group_is_in_its_partition(broker: stoker.Broker, connection: RawConnection) -> None:
    """By Java's hash of its name, as with Kafka."""
    find_coordinator(connection)
    commit(connection)
    sizes = [len(connection.fetch("__consumer_offsets", 0, partition=index)[1]) for index in range(5)]
    assert [size > 0 for size in sizes] == [index == java_hash("readers") % 5 for index in range(5)]


def test_a_request_that_waits_is_answered_by_another(connection: RawConnection, broker: stoker.Broker) -> None:
    """A second member makes the first rejoin: its join is answered when all have come."""
    find_coordinator(connection)
    with RawConnection(broker.bootstrap_servers) as other:
        again, second = two_members(connection, other)
    assert again.generation_id == second.generation_id == 2


def test_a_silent_member_is_removed_by_the_clock(connection: RawConnection, broker: stoker.Broker) -> None:
    """Without any request: the second member's join waits for the first, whose session ends."""
    find_coordinator(connection)
    with RawConnection(broker.bootstrap_servers) as other:
        join(connection, "", session_timeout_ms=300)
        joined(connection)
        join(other, "")
        second = joined(other)
    assert second.error_code == ErrorCode.NONE
    assert len(second.members) == 1


def test_a_deleted_topic_takes_its_offsets_along(connection: RawConnection) -> None:
    find_coordinator(connection)
    commit(connection)
    assert offsets(connection) == [7]
    connection.call(DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")]), 6)
    assert offsets(connection) == []


def test_deleting_the_internal_topic_forgets_all_groups(connection: RawConnection) -> None:
    find_coordinator(connection)
    commit(connection)
    connection.call(DeleteTopicsRequest(topics=[DeleteTopicState(name="__consumer_offsets")]), 6)
    assert commit(connection) == ErrorCode.NOT_COORDINATOR
    assert connection.call(ListGroupsRequest(), 5).groups == []
    assert find_coordinator(connection) is ErrorCode.NONE
    assert offsets(connection) == []
    assert commit(connection, offset=8) == ErrorCode.NONE
    assert offsets(connection) == [8]


def test_who_waits_is_told_that_the_internal_topic_is_gone(connection: RawConnection, broker: stoker.Broker) -> None:
    find_coordinator(connection)
    with RawConnection(broker.bootstrap_servers) as other:
        join(connection, "")
        joined(connection)
        join(other, "")
        while not connection.call(ListGroupsRequest(states_filter=["PreparingRebalance"]), 5).groups:
            pass
        connection.call(DeleteTopicsRequest(topics=[DeleteTopicState(name="__consumer_offsets")]), 6)
        assert joined(other).error_code == ErrorCode.NOT_COORDINATOR


def test_what_is_too_much_for_a_batch_is_forgotten_in_several(connection: RawConnection) -> None:
    """The tombstones of a group with a long name, of which one batch takes about thirty."""
    connection.create_topic("wide", partitions=50)
    find_coordinator(connection)
    group, partitions = "g" * 30_000, range(50)
    for index in partitions:
        assert commit(connection, group, topic="wide", partition=index) == ErrorCode.NONE
    assert len(offsets(connection, group)) == 50
    connection.call(DeleteTopicsRequest(topics=[DeleteTopicState(name="wide")]), 6)
    assert offsets(connection, group) == []
    connection.create_topic("wide", partitions=50)
    for index in partitions:
        assert commit(connection, group, topic="wide", partition=index) == ErrorCode.NONE
    results = connection.call(DeleteGroupsRequest(groups_names=[group]), 2).results
    assert [result.error_code for result in results] == [ErrorCode.NONE]
    assert offsets(connection, group) == []


@pytest.mark.parametrize(
    "broker",
    [{}, {"message.max.bytes": "5000000", "offsets.topic.segment.bytes": "1048576"}],
    ids=["max.message.bytes", "segment.bytes"],
    indirect=True,
)
def test_a_group_that_is_too_large_for_a_batch_is_told_and_starts_over(connection: RawConnection) -> None:
    """As in Kafka its leader hears UNKNOWN_SERVER_ERROR; with less to write it goes on."""
    find_coordinator(connection)
    join(connection, "")
    first = joined(connection)

    def sync(member: Any, size: int) -> int:
        assignment = SyncGroupRequestAssignment(member_id=member.member_id, assignment=bytes(size))
        request = SyncGroupRequest(
            group_id="readers",
            generation_id=member.generation_id,
            member_id=member.member_id,
            assignments=[assignment],
        )
        error_code: int = connection.call(request, 3).error_code
        return error_code

    assert sync(first, 1_100_000) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert sync(first, 10) == ErrorCode.REBALANCE_IN_PROGRESS
    join(connection, first.member_id)
    again = joined(connection)
    assert again.generation_id == first.generation_id + 1
    assert sync(again, 10) == ErrorCode.NONE


def test_the_internal_topic_does_not_grow(connection: RawConnection) -> None:
    """More partitions would move groups away from their offsets."""
    find_coordinator(connection)
    grown = CreatePartitionsTopic(name="__consumer_offsets", count=7, assignments=None)
    result = connection.call(CreatePartitionsRequest(topics=[grown], timeout_ms=1000), 3).results[0]
    assert result.error_code == ErrorCode.INVALID_PARTITIONS
    assert "offsets.topic.num.partitions" in result.error_message


def test_flush_messages_is_honoured(connection: RawConnection) -> None:
    """With `flush.messages=1` on the topic a commit is on the disk before it is acknowledged."""
    find_coordinator(connection)
    flush_every_message(connection)
    assert commit(connection) == ErrorCode.NONE
    join(connection, "")
    assert joined(connection).error_code == ErrorCode.NONE
    assert offsets(connection) == [7]


def flush_every_message(connection: RawConnection) -> None:
    setting = AlterableConfig(name="flush.messages", config_operation=_SET, value="1")
    resource = AlterConfigsResource(
        resource_type=_TOPIC_RESOURCE, resource_name="__consumer_offsets", configs=[setting]
    )
    connection.call(IncrementalAlterConfigsRequest(resources=[resource]), 1)


def test_a_flush_that_fails_leaves_nobody_waiting(
    connection: RawConnection, broker: stoker.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leader is told to try again; the group is as it was written, and its follower has its assignment."""
    find_coordinator(connection)
    with RawConnection(broker.bootstrap_servers) as other:
        leader, follower = two_members(connection, other)
        assignments = [
            SyncGroupRequestAssignment(member_id=member.member_id, assignment=b"mine") for member in (leader, follower)
        ]
        me = {"group_id": "readers", "generation_id": leader.generation_id}
        flush_every_message(connection)
        other.send(SyncGroupRequest(**me, member_id=follower.member_id), 3)
        monkeypatch.setattr(PartitionLog, "flush", fail_to_flush)
        leading = SyncGroupRequest(**me, member_id=leader.member_id, assignments=assignments)
        assert connection.call(leading, 3).error_code == ErrorCode.NOT_COORDINATOR
        synced = other.receive(SyncGroupRequest, 3)[1]
        assert (synced.error_code, bytes(synced.assignment)) == (ErrorCode.NONE, b"mine")
        monkeypatch.undo()


def fail_to_flush(log: PartitionLog) -> int:
    raise OSError("no disk")


def test_a_member_that_waits_does_not_hold_up_a_shutdown() -> None:
    """Not even where its reply had to wait for the disk first."""
    config = {"group.initial.rebalance.delay.ms": "60000", "log.flush.interval.messages": "1"}
    began = time.monotonic()
    with stoker.Broker(config=config) as broker, RawConnection(broker.bootstrap_servers) as connection:
        find_coordinator(connection)
        join(connection, "")
        with RawConnection(broker.bootstrap_servers) as other:
            while not other.call(ListGroupsRequest(), 5).groups:
                pass
    assert time.monotonic() - began < 30


def test_groups_survive_a_restart(tmp_path: Path) -> None:
    with stoker.Broker(data_dir=tmp_path) as broker, RawConnection(broker.bootstrap_servers) as connection:
        connection.create_topic("orders", partitions=1)
        find_coordinator(connection)
        for number in range(20):
            commit(connection, f"group-{number}", number)
    with stoker.Broker(data_dir=tmp_path) as broker, RawConnection(broker.bootstrap_servers) as connection:
        assert [offsets(connection, f"group-{number}") for number in range(20)] == [[number] for number in range(20)]
