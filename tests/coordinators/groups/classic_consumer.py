"""Consumers of the classic protocol that know their partitions, for groups in which both protocols are spoken."""

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from stoker.coordinators.groups.consumer_states import ConsumerGroupState
from stoker.wire.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartitions,
)
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.heartbeat import HeartbeatRequest
from stoker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from stoker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from stoker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.coordinators.groups.consumer_driver import CLIENT, GROUP, ConsumerDriver, FakeMember, Partition
from tests.coordinators.groups.driver import Call, Topics

SESSION_TIMEOUT_MS = 10_000
REBALANCE_TIMEOUT_MS = 60_000
COOPERATIVE, EAGER = "cooperative-sticky", "range"


@dataclass
class ClassicConsumer:
    """With COOPERATIVE it gives up only what it is not assigned any more, with EAGER everything before it joins."""

    driver: ConsumerDriver
    subscription: list[str]
    protocol: str = COOPERATIVE
    instance_id: str | None = None
    member_id: str = ""
    generation_id: int = -1
    owned: set[Partition] = field(default_factory=set)

    def join(self, *, version: int = 9) -> Call:
        """A JoinGroup; the id that it may be asked to come back with is taken up at once."""
        call = self._send_join(version)
        if not call.waits and call.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = call.reply.member_id
            call = self._send_join(version)
        return call

    def joined(self, call: Call) -> JoinGroupResponse:
        reply = call.reply
        assert isinstance(reply, JoinGroupResponse)
        assert call.error is ErrorCode.NONE, call.error
        self.member_id, self.generation_id = reply.member_id, reply.generation_id
        return reply

    def sync(
        self,
        assignments: dict[str, bytes] | None = None,
        *,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = None,
    ) -> Call:
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type=protocol_type,
            protocol_name=protocol_name or self.protocol,
            assignments=[
                SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                for member_id, assignment in (assignments or {}).items()
            ],
        )
        return self.driver.perform(self.driver.coordinator.sync(request, 5), lambda reply: reply.encode(5))

    def synced(self, call: Call) -> None:
        assert call.error is ErrorCode.NONE, call.error
        assignment = ConsumerProtocolAssignment.from_bytes(call.reply.assignment)
        self.owned = {
            (self.driver.topic_id(topic.topic), partition)
            for topic in assignment.assigned_partitions
            for partition in topic.partitions
        }

    def rebalance(self) -> None:
        """Join and sync in a group whose coordinator assigns."""
        self.joined(self.join())
        self.synced(self.sync())

    def heartbeat(self) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        return self.driver.perform(self.driver.coordinator.heartbeat(request)).error

    def beat(self) -> None:
        """A heartbeat, and what it asks for."""
        error = self.heartbeat()
        assert error in {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}, error
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            self.rebalance()

    def leave(self) -> ErrorCode:
        identity = MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id)
        request = LeaveGroupRequest(group_id=GROUP, members=[identity])
        self.owned = set()
        call = self.driver.perform(self.driver.coordinator.leave(request, 5), lambda reply: reply.encode(5))
        return call.error or next(error for error in ErrorCode if error == call.reply.members[0].error_code)

    def _send_join(self, version: int) -> Call:
        if self.protocol == EAGER:
            self.owned = set()
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=self.protocol, metadata=self._metadata())],
        )
        return self.driver.perform(
            self.driver.coordinator.join(CLIENT, request, version), lambda reply: reply.encode(version)
        )

    def _metadata(self) -> bytes:
        owned: dict[str, list[int]] = {}
        for topic_id, partition in sorted(self.owned):
            name = self.driver.topics.topic_name(topic_id)
            if name is not None:
                owned.setdefault(name, []).append(partition)
        subscription = ConsumerProtocolSubscription(
            topics=self.subscription,
            owned_partitions=[TopicPartitions(topic=name, partitions=owned[name]) for name in owned],
            generation_id=self.generation_id,
        )
        return subscription.to_bytes()


def assignment_of(topic: str, *partitions: int, user_data: bytes | None = None) -> bytes:
    """What a leader assigns."""
    assigned = [TopicPartitions(topic=topic, partitions=list(partitions))]
    return ConsumerProtocolAssignment(assigned_partitions=assigned, user_data=user_data).to_bytes()


AnyMember = FakeMember | ClassicConsumer


def driver_of_both(**settings: Any) -> ConsumerDriver:
    return ConsumerDriver(Topics(orders=6), initial_rebalance_delay_ms=0, **settings)


def classic_group(broker: ConsumerDriver, protocol: str = COOPERATIVE) -> tuple[ClassicConsumer, ClassicConsumer]:
    """Two members with three partitions each, at generation 2."""
    a, b = (ClassicConsumer(broker, ["orders"], protocol) for _ in range(2))
    a.joined(a.join())
    a.synced(a.sync({a.member_id: assignment_of("orders", 0, 1, 2)}))
    waiting = b.join()
    a.joined(a.join())
    b.joined(waiting)
    assignments = {
        a.member_id: assignment_of("orders", 0, 1, 2),
        b.member_id: assignment_of("orders", 3, 4, 5),
    }
    follower = b.sync()
    a.synced(a.sync(assignments))
    b.synced(follower)
    return a, b


def no_partition_twice(*members: AnyMember) -> None:
    for one, other in combinations(members, 2):
        assert not one.owned & other.owned


def settle(broker: ConsumerDriver, *members: AnyMember, rounds: int = 12) -> None:
    """Heartbeats in turns until everybody has what it is to have; at no time do two have the same."""
    for _ in range(rounds):
        before = [set(member.owned) for member in members]
        for member in members:
            member.beat()
            no_partition_twice(*members)
        if before == [member.owned for member in members] and broker.group.state is ConsumerGroupState.STABLE:
            return
    raise AssertionError(f"the group has not settled in {rounds} rounds")


def mixed_group(broker: ConsumerDriver) -> tuple[ClassicConsumer, ClassicConsumer, FakeMember]:
    a, b = classic_group(broker)
    c = FakeMember(broker, "c", ["orders"])
    c.join()
    settle(broker, a, b, c)
    return a, b, c
