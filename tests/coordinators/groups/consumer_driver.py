"""A coordinator of KIP-848 groups in memory, and members that behave as Kafka's consumers do."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from uuid import UUID

from stoker.coordinators.groups.classic_protocol import ClassicProtocol
from stoker.coordinators.groups.consumer_group import ConsumerGroup
from stoker.coordinators.groups.consumer_protocol import ConsumerProtocol
from stoker.coordinators.groups.context import ClientInfo, ConsumerGroupSettings, GroupContext, GroupSettings
from stoker.coordinators.result import Result
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupMetadataKey, GroupRecord
from stoker.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from stoker.wire.messages.heartbeat import HeartbeatRequest
from stoker.wire.messages.join_group import JoinGroupRequest
from stoker.wire.messages.leave_group import LeaveGroupRequest
from stoker.wire.messages.sync_group import SyncGroupRequest
from tests.coordinators.groups.driver import Driver, Topics

GROUP = "group"
CLIENT = ClientInfo(client_id="client", host="/127.0.0.1")
SESSION_TIMEOUT_MS = 45_000
REBALANCE_TIMEOUT_MS = 300_000

Partition = tuple[UUID, int]


class GroupProtocols:
    """Both protocols, as a coordinator has them."""

    def __init__(self, context: GroupContext) -> None:
        self._context = context
        self.classic = ClassicProtocol(context)
        self.consumer = ConsumerProtocol(context, self.classic)

    def replay(self, record: GroupRecord) -> None:
        if isinstance(record.key, GroupMetadataKey):
            self.classic.replay(record)
        else:
            self.consumer.replay(record)

    def loaded(self) -> None:
        self.classic.loaded()
        self.consumer.loaded()

    def join(self, client: ClientInfo, request: JoinGroupRequest, version: int) -> Result[GroupRecord, Any]:
        group = self._context.groups.get(request.group_id)
        if isinstance(group, ConsumerGroup) and not group.is_empty:
            return self.consumer.join_classic_member(client, request, version)
        return self.classic.join(client, request, version)

    def sync(self, request: SyncGroupRequest, version: int) -> Result[GroupRecord, Any]:
        if self._is_consumer_group(request.group_id):
            return self.consumer.sync_classic_member(request, version)
        return self.classic.sync(request, version)

    def heartbeat(self, request: HeartbeatRequest) -> Result[GroupRecord, Any]:
        if self._is_consumer_group(request.group_id):
            return self.consumer.heartbeat_classic_member(request)
        return self.classic.heartbeat(request)

    def leave(self, request: LeaveGroupRequest, version: int) -> Result[GroupRecord, Any]:
        if self._is_consumer_group(request.group_id):
            return self.consumer.leave_classic_members(request, version)
        return self.classic.leave(request, version)

    def _is_consumer_group(self, group_id: str) -> bool:
        return isinstance(self._context.groups.get(group_id), ConsumerGroup)

    @property
    def next_deadline_ms(self) -> int | None:
        return self._context.timers.next_deadline_ms

    def expire(self) -> Iterator[tuple[str, Result[GroupRecord, Any]]]:
        return self._context.timers.expire(self._context.timer_clock())


class ConsumerDriver(Driver[GroupProtocols]):
    """Sends heartbeats of one group. A new target is computed for every epoch unless an interval is given."""

    def __init__(self, topics: Topics | None = None, *, assignment_interval_ms: int = 0, **settings: Any) -> None:
        of_group = ConsumerGroupSettings(assignment_interval_ms=assignment_interval_ms)
        super().__init__(GroupProtocols, GroupSettings(consumer_group=lambda group_id: of_group, **settings), topics)

    def heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, *, version: int = 1, client: ClientInfo = CLIENT
    ) -> ConsumerGroupHeartbeatResponse:
        result = self.coordinator.consumer.heartbeat(client, request, version)
        reply = self.perform(result, lambda reply: reply.encode(version)).reply
        assert isinstance(reply, ConsumerGroupHeartbeatResponse)
        return reply

    @property
    def group(self) -> ConsumerGroup:
        group = self.context.groups[GROUP]
        assert isinstance(group, ConsumerGroup)
        return group

    def topic_id(self, name: str) -> UUID:
        topic_id = self.topics.topic_id(name)
        assert topic_id is not None
        return topic_id

    def partitions(self, *names: str) -> set[Partition]:
        """All that there are of these topics."""
        return {
            (self.topic_id(name), index) for name in names for index in range(self.topics.partition_count(name) or 0)
        }


class Broker(Protocol):
    """What a member needs of one; a ConsumerDriver is one."""

    def heartbeat(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse: ...


@dataclass
class FakeMember:
    """A consumer: it gives up what it is told to, then takes what it is told to have, then says so."""

    driver: Broker
    member_id: str
    subscription: list[str] = field(default_factory=list)
    regex: str | None = None
    instance_id: str | None = None
    server_assignor: str | None = None
    rebalance_timeout_ms: int = REBALANCE_TIMEOUT_MS
    group_id: str = GROUP
    epoch: int = 0
    owned: set[Partition] = field(default_factory=set)
    told: set[Partition] = field(default_factory=set)
    _reported: set[Partition] = field(default_factory=set)
    _full: bool = True
    _must_acknowledge: bool = False

    def join(self) -> ConsumerGroupHeartbeatResponse:
        self.epoch = 0
        self._full = True
        self.owned, self.told, self._reported = set(), set(), set()
        return self.beat()

    def beat(self, *, at_once: bool = True, reply_is_lost: bool = False) -> ConsumerGroupHeartbeatResponse:
        """One heartbeat; `at_once`: and what the reply asks for is done before the next."""
        response = self.driver.heartbeat(self.request())
        if reply_is_lost:
            self._full = True
            return response
        self._full = response.error_code != ErrorCode.NONE
        if response.error_code in {ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID}:
            self.abandon()
        elif response.error_code == ErrorCode.NONE:
            self.epoch = response.member_epoch
            if response.assignment is not None:
                self._must_acknowledge = True
                self.told = _flat(response.assignment.topic_partitions)
            if at_once:
                self.reconcile()
        return response

    def request(self) -> ConsumerGroupHeartbeatRequest:
        """Only what changed, as clients do; all of it at first, and after a reply was lost."""
        has = self.owned | self.told if self._full else self.owned
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group_id, member_id=self.member_id, member_epoch=self.epoch, instance_id=self.instance_id
        )
        if self._full:
            request.rebalance_timeout_ms = self.rebalance_timeout_ms
            request.server_assignor = self.server_assignor
            request.subscribed_topic_names = list(self.subscription)
            request.subscribed_topic_regex = self.regex
        acknowledges = self._must_acknowledge and self.owned == self.told
        if self._full or has != self._reported or acknowledges:
            request.topic_partitions = _nested(has)
            self._reported = has
            self._must_acknowledge = not acknowledges
        return request

    def subscribe(self, *names: str, regex: str | None = None) -> None:
        self.subscription, self.regex, self._full = list(names), regex, True

    def reconcile(self) -> None:
        self.owned = set(self.told)

    def abandon(self) -> None:
        """Everything, as one who was fenced must, before it joins again."""
        self.epoch = 0
        self._full = True
        self.owned, self.told, self._reported = set(), set(), set()

    def leave(self) -> ConsumerGroupHeartbeatResponse:
        self.abandon()
        epoch = -1 if self.instance_id is None else -2
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group_id, member_id=self.member_id, member_epoch=epoch, instance_id=self.instance_id
        )
        return self.driver.heartbeat(request)

    def successor(self, member_id: str) -> "FakeMember":
        """A static member that was started again."""
        return replace(self, member_id=member_id, epoch=0, owned=set(), told=set(), _reported=set(), _full=True)


def settle(*members: FakeMember, rounds: int = 10) -> None:
    """Heartbeats until nothing changes any more."""
    for _ in range(rounds):
        before = [(member.epoch, set(member.owned)) for member in members]
        for member in members:
            member.beat()
        if before == [(member.epoch, member.owned) for member in members]:
            return
    raise AssertionError(f"the group has not settled in {rounds} rounds of heartbeats")


def _flat(topics: list[TopicPartitions]) -> set[Partition]:
    return {(topic.topic_id, partition) for topic in topics for partition in topic.partitions}


def _nested(partitions: set[Partition]) -> list[TopicPartitions]:
    topic_ids = {topic_id for topic_id, _ in partitions}
    return [
        TopicPartitions(topic_id=topic_id, partitions=sorted(index for of, index in partitions if of == topic_id))
        for topic_id in sorted(topic_ids)
    ]
