"""Groups whose log takes no more, or is not there: whoever asks is told to try again, nothing is half done, and it ends."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from stoker.broker.coordinator_topic import java_hash
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from stoker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
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
from stoker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from stoker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.clients.client import eventually
from tests.faults.broker_process import BrokerProcess
from tests.faults.small_disk import SmallDisk, small_disk
from tests.raw_connection import RawConnection

_OPTIONS = {
    "log.segment.bytes": 1024 * 1024,
    "offsets.topic.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 100,
    "group.consumer.assignment.interval.ms": 0,
}
_RETRY = ErrorCode.NOT_COORDINATOR
"""What Kafka's coordinator says when its log has failed; a client looks for the coordinator and tries again."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", megabytes=8) as mounted:
        yield mounted


@pytest.fixture
def broker(disk: SmallDisk) -> Iterator[BrokerProcess]:
    with BrokerProcess(disk.path / "data", options=_OPTIONS) as running:
        yield running
        assert running.is_running, f"the broker died:\n{running.output}"
        assert "Traceback" not in running.output, running.output


@pytest.fixture
def connection(broker: BrokerProcess) -> Iterator[RawConnection]:
    with RawConnection(broker.bootstrap_servers) as connected:
        connected.create_topic("orders", partitions=2)
        reply = connected.call(FindCoordinatorRequest(coordinator_keys=["any"]), 6)
        assert reply.coordinators[0].error_code == ErrorCode.NONE
        yield connected


def commit(connection: RawConnection, group: str, offset: int) -> int:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topic = OffsetCommitRequestTopic(name="orders", partitions=[partition])
    reply = connection.call(OffsetCommitRequest(group_id=group, topics=[topic]), 8)
    error_code: int = reply.topics[0].partitions[0].error_code
    return error_code


def committed(connection: RawConnection, group: str) -> list[int]:
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
    topics = connection.call(request, 8).groups[0].topics
    return [partition.committed_offset for topic in topics for partition in topic.partitions]


def commit_until_refused(connection: RawConnection) -> int:
    """The last small records may still find room in a page; returns the last offset that was taken."""
    for offset in count(1):
        error = commit(connection, "s", offset)
        if error != ErrorCode.NONE:
            assert error == _RETRY
            return offset - 1
    raise AssertionError


def join(connection: RawConnection, group: str, member_id: str = "", *, session_ms: int = 60_000) -> Any:
    return connection.call(join_request(group, member_id, session_ms=session_ms), 3)


def join_request(group: str, member_id: str = "", *, session_ms: int = 60_000) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=60_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0\xff\xff\xff\xff")],
    )


def sync_request(group: str, joined: Any) -> SyncGroupRequest:
    mine = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"all")
    return SyncGroupRequest(
        group_id=group, generation_id=joined.generation_id, member_id=joined.member_id, assignments=[mine]
    )


def heartbeat(connection: RawConnection, group: str, joined: Any) -> int:
    request = HeartbeatRequest(group_id=group, generation_id=joined.generation_id, member_id=joined.member_id)
    error_code: int = connection.call(request, 3).error_code
    return error_code


def modern(connection: RawConnection, group: str, member_id: str, epoch: int = 0, **changes: Any) -> Any:
    fields: dict[str, Any] = {}
    if epoch == 0:
        fields = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["orders"], "topic_partitions": []}
    request = ConsumerGroupHeartbeatRequest(group_id=group, member_id=member_id, member_epoch=epoch, **fields | changes)
    return connection.call(request, 1)


def state_of(connection: RawConnection, group: str) -> tuple[str, int]:
    described = connection.call(DescribeGroupsRequest(groups=[group]), 6).groups[0]
    return described.group_state, len(described.members)


def groups_of(connection: RawConnection) -> set[tuple[str, str]]:
    return {(group.group_id, group.group_state) for group in connection.call(ListGroupsRequest(), 5).groups}


def test_commits_are_refused_and_not_lost(disk: SmallDisk, broker: BrokerProcess, connection: RawConnection) -> None:
    """What was acknowledged is there, what was refused is not: now, with room again, and after a restart."""
    assert commit(connection, "before", 7) == ErrorCode.NONE
    disk.fill()
    last = commit_until_refused(connection)
    assert commit(connection, "before", 8) == _RETRY
    assert commit(connection, "new", 1) == _RETRY
    known = [committed(connection, group) for group in ("before", "new", "s")]
    assert known == [[7], [], [last] if last else []]
    groups = groups_of(connection)
    assert "new" not in {group for group, _ in groups}

    disk.make_room()
    broker.kill()
    broker.start()
    with RawConnection(broker.bootstrap_servers) as again:
        assert [committed(again, group) for group in ("before", "new", "s")] == known
        assert groups_of(again) == groups
        assert commit(again, "before", 8) == ErrorCode.NONE
        assert committed(again, "before") == [8]


def test_classic_members_are_told_and_go_on_later(
    disk: SmallDisk, broker: BrokerProcess, connection: RawConnection
) -> None:
    """New groups are refused; a group that cannot write its assignments starts over, and nobody is left waiting."""
    leader = join(connection, "group")
    assert connection.call(sync_request("group", leader), 3).error_code == ErrorCode.NONE
    disk.fill()
    commit_until_refused(connection)

    assert join(connection, "another").error_code == _RETRY
    assert {group for group, _ in groups_of(connection)} <= {"group", "s"}
    assert heartbeat(connection, "group", leader) == ErrorCode.NONE
    with RawConnection(broker.bootstrap_servers) as other:
        other.send(join_request("group"), 3)
        eventually(lambda: heartbeat(connection, "group", leader), lambda error: error != ErrorCode.NONE)
        leader = join(connection, "group", leader.member_id)
        follower = other.receive(JoinGroupRequest, 3)[1]
        assert (leader.error_code, follower.error_code) == (ErrorCode.NONE, ErrorCode.NONE)
        other.send(sync_request("group", follower), 3)
        assert connection.call(sync_request("group", leader), 3).error_code == _RETRY
        followers = other.receive(SyncGroupRequest, 3)[1].error_code
        assert followers in (_RETRY, ErrorCode.REBALANCE_IN_PROGRESS)
        assert state_of(connection, "group") == ("PreparingRebalance", 2)

        disk.make_room()
        other.send(join_request("group", follower.member_id), 3)
        leader = join(connection, "group", leader.member_id)
        follower = other.receive(JoinGroupRequest, 3)[1]
        other.send(sync_request("group", follower), 3)
        assert connection.call(sync_request("group", leader), 3).error_code == ErrorCode.NONE
        assert other.receive(SyncGroupRequest, 3)[1].error_code == ErrorCode.NONE
        assert state_of(connection, "group") == ("Stable", 2)
        assert join(connection, "another").error_code == ErrorCode.NONE


def test_members_that_go_while_the_disk_is_full(
    disk: SmallDisk, broker: BrokerProcess, connection: RawConnection
) -> None:
    """By leaving or by time-out: the group in memory is empty, and so it is after a restart, by time-out at the latest."""
    leaver, sleeper = join(connection, "left"), join(connection, "slept", session_ms=300)
    for group, member in (("left", leaver), ("slept", sleeper)):
        assert connection.call(sync_request(group, member), 3).error_code == ErrorCode.NONE
    disk.fill()
    commit_until_refused(connection)
    leaving = LeaveGroupRequest(group_id="left", members=[MemberIdentity(member_id=leaver.member_id)])
    assert connection.call(leaving, 5).error_code == _RETRY
    eventually(lambda: state_of(connection, "slept"), lambda state: state[1] == 0)
    assert state_of(connection, "slept") == state_of(connection, "left") == ("Empty", 0)

    disk.make_room()
    for group in ("left", "slept"):
        assert join(connection, group).error_code == ErrorCode.NONE
    broker.kill()
    broker.start()
    with RawConnection(broker.bootstrap_servers) as again:
        assert eventually(lambda: state_of(again, "slept"), lambda state: state[1] == 0) == ("Empty", 0)


def test_kip_848_members_are_told_and_go_on_later(
    disk: SmallDisk, broker: BrokerProcess, connection: RawConnection
) -> None:
    """What the log refuses has not happened: the member is as it was, before and after a restart."""
    first = modern(connection, "group", "first")
    assert len(first.assignment.topic_partitions[0].partitions) == 2
    disk.fill()
    commit_until_refused(connection)

    def members(on: RawConnection) -> list[tuple[str, int]]:
        described = on.call(ConsumerGroupDescribeRequest(group_ids=["group"]), 1).groups[0]
        return [(member.member_id, member.member_epoch) for member in described.members]

    alone = [("first", first.member_epoch)]
    assert modern(connection, "another", "first").error_code == _RETRY
    assert modern(connection, "group", "second").error_code == _RETRY
    assert modern(connection, "group", "first", -1).error_code == _RETRY
    assert modern(connection, "group", "first", first.member_epoch, subscribed_topic_names=[]).error_code == _RETRY
    assert modern(connection, "group", "first", first.member_epoch).error_code == ErrorCode.NONE
    assert members(connection) == alone

    disk.make_room()
    broker.kill()
    broker.start()
    with RawConnection(broker.bootstrap_servers) as again:
        assert members(again) == alone
        second = modern(again, "group", "second")
        assert second.error_code == ErrorCode.NONE
        assert modern(again, "group", "first", first.member_epoch, topic_partitions=[]).error_code == ErrorCode.NONE
        assert members(again) == [("first", second.member_epoch), ("second", second.member_epoch)]
        assert modern(again, "group", "first", -1).error_code == ErrorCode.NONE
        assert [member_id for member_id, _ in members(again)] == ["second"]


def test_one_failing_log_directory(tmp_path: Path) -> None:
    """Groups whose partition of __consumer_offsets is offline have no coordinator; the others do, and all have later."""
    groups = {java_hash(name) % 2: name for name in ("a", "b")}
    with small_disk(tmp_path / "first", megabytes=8) as first, small_disk(tmp_path / "second", megabytes=8) as second:
        options = _OPTIONS | {"offsets.topic.num.partitions": 2, "log.dirs": f"{first.path},{second.path}"}
        with BrokerProcess(None, options=options) as broker:
            with RawConnection(broker.bootstrap_servers) as connection:
                connection.create_topic("orders", partitions=2)
                connection.call(FindCoordinatorRequest(coordinator_keys=["any"]), 6)
                for group in groups.values():
                    assert commit(connection, group, 7) == ErrorCode.NONE
            [offline] = [int(path.name[-1]) for path in second.path.glob("__consumer_offsets-*")]
            lost, served = groups[offline], groups[1 - offline]
            broker.kill()
            second.make_read_only()
            broker.start()
            with RawConnection(broker.bootstrap_servers) as connection:
                found = connection.call(FindCoordinatorRequest(coordinator_keys=[lost, served]), 6).coordinators
                assert [each.error_code for each in found] == [ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NONE]
                assert commit(connection, lost, 8) == ErrorCode.COORDINATOR_NOT_AVAILABLE
                assert join(connection, lost).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
                assert modern(connection, lost, "first").error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
                assert commit(connection, served, 8) == ErrorCode.NONE
                assert groups_of(connection) == {(served, "Empty")}
            broker.stop()
            second.make_writable()
            broker.start()
            with RawConnection(broker.bootstrap_servers) as connection:
                assert [committed(connection, group) for group in (lost, served)] == [[7], [8]]
            broker.kill()
