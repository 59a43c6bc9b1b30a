"""KIP-848 groups of Stoker and of Apache Kafka through the same random steps: every reply is the same, to the partition."""

from collections.abc import Iterator
from random import Random
from typing import Any
from uuid import UUID, uuid4

import pytest

from stoker import Broker
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.consumer_group_describe import Assignment, ConsumerGroupDescribeRequest
from stoker.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from stoker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest
from stoker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from stoker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.coordinators.groups.consumer_driver import FakeMember
from tests.raw_connection import RawConnection

pytestmark = pytest.mark.java

_RUN = uuid4().hex[:8]
TOPICS = {f"{_RUN}-orders": 6, f"{_RUN}-payments": 3, f"{_RUN}-refunds": 1}
INSTANCES = (None, None, None, "one", "two")
"""Of the consumers that may run; the last two are static members."""
WALKS = 12
STEPS = 50
_GROUP_CONFIG = 32
_COORDINATOR_COMES_UP = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}


def group_of(walk: int) -> str:
    return f"{_RUN}-{walk}"


class Remote:
    """A broker behind a connection, for members to send heartbeats to."""

    def __init__(self, connection: RawConnection) -> None:
        self._connection = connection
        self._names: dict[UUID, str] = {}
        for topic, partitions in TOPICS.items():
            connection.create_topic(topic, partitions)
        while len(self._names) < len(TOPICS):
            reply = connection.call(MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in TOPICS]), 12)
            self._names = {topic.topic_id: topic.name for topic in reply.topics if not topic.error_code}
        find_coordinator = FindCoordinatorRequest(coordinator_keys=[group_of(0)])
        while connection.call(find_coordinator, 6).coordinators[0].error_code:
            pass  # Kafka makes the topic of groups

    def assign_for_every_epoch(self) -> None:
        """Without the interval between two assignments, in which the clocks of two brokers would not agree."""
        name, groups = "consumer.assignment.interval.ms", [group_of(walk) for walk in range(WALKS)]
        config = AlterableConfig(name=name, value="0")
        resources = [
            AlterConfigsResource(resource_type=_GROUP_CONFIG, resource_name=group, configs=[config]) for group in groups
        ]
        self._connection.call(IncrementalAlterConfigsRequest(resources=resources), 1)
        wanted = DescribeConfigsResource(
            resource_type=_GROUP_CONFIG, resource_name=groups[-1], configuration_keys=[name]
        )
        described = DescribeConfigsRequest(resources=[wanted])
        while self._connection.call(described, 4).results[0].configs[0].value != "0":
            pass

    def heartbeat(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
        while True:
            reply = self._connection.call(request, 1)
            if reply.error_code not in _COORDINATOR_COMES_UP:
                assert isinstance(reply, ConsumerGroupHeartbeatResponse)
                return reply

    def told(self, reply: ConsumerGroupHeartbeatResponse) -> Any:
        """What a reply says, in words that are the same on two brokers."""
        return reply.error_code, reply.member_epoch, self._partitions(reply.assignment)

    def described(self, group_id: str) -> Any:
        (group,) = self._connection.call(ConsumerGroupDescribeRequest(group_ids=[group_id]), 1).groups
        members = [
            (
                member.member_id,
                member.instance_id,
                member.member_epoch,
                sorted(member.subscribed_topic_names),
                member.member_type,
                self._partitions(member.assignment),
                self._partitions(member.target_assignment),
            )
            for member in group.members
        ]
        epochs = group.group_epoch, group.assignment_epoch
        return group.error_code, group.group_state, epochs, group.assignor_name, sorted(members)

    def _partitions(self, assignment: Assignment | Any) -> Any:
        if assignment is None:
            return None
        return sorted((self._names[topic.topic_id], sorted(topic.partitions)) for topic in assignment.topic_partitions)


@pytest.fixture(scope="module")
def brokers(apache_kafka_address: str) -> Iterator[list[Remote]]:
    """Stoker and Kafka."""
    with (
        Broker(config={"group.consumer.assignment.interval.ms": 0}) as broker,
        RawConnection(broker.bootstrap_servers) as to_stoker,
        RawConnection(apache_kafka_address) as to_kafka,
    ):
        stoker, kafka = Remote(to_stoker), Remote(to_kafka)
        kafka.assign_for_every_epoch()
        yield [stoker, kafka]


class Walk:
    """The same consumers on each broker, who all do the same."""

    def __init__(self, brokers: list[Remote], number: int) -> None:
        self._brokers = brokers
        self._random = Random(number)
        self._group_id = group_of(number)
        self._running: dict[int, list[FakeMember]] = {}
        self._started = 0

    def step(self) -> tuple[str, list[Any]]:
        """What was done, and what each broker said to it."""
        slot = self._random.randrange(len(INSTANCES))
        subscription = self._random.sample(list(TOPICS), self._random.randint(1, len(TOPICS)))
        if slot not in self._running:
            self._start(slot, subscription)
            return f"start {slot}", self._beat(slot)
        # A static member that has lost its epoch may join again under its own id; Kafka lets it wait for its session.
        rare = ["reply is lost", "wrong epoch"] if INSTANCES[slot] is None else []
        what = self._random.choice(["beat", "beat", "late", "subscribe", "leave", "crash", "describe", *rare])
        return f"{what} {slot}", self._do(what, slot, subscription)

    def _start(self, slot: int, subscription: list[str]) -> None:
        self._started += 1
        self._running[slot] = [
            FakeMember(
                broker,
                f"member-{self._started}",
                subscription,
                instance_id=INSTANCES[slot],
                server_assignor="range",
                group_id=self._group_id,
            )
            for broker in self._brokers
        ]

    def _do(self, what: str, slot: int, subscription: list[str]) -> list[Any]:
        members = self._running[slot]
        if what == "describe":
            return [broker.described(self._group_id) for broker in self._brokers]
        if what == "crash":
            del self._running[slot]
            return []
        if what == "leave":
            del self._running[slot]
            return [broker.told(member.leave()) for broker, member in zip(self._brokers, members, strict=True)]
        if what == "wrong epoch":
            return self._beat_with_wrong_epoch(slot)
        if what == "subscribe":
            for member in members:
                member.subscribe(*subscription)
        return self._beat(slot, at_once=what != "late", reply_is_lost=what == "reply is lost")

    def _beat(self, slot: int, **how: bool) -> list[Any]:
        return [
            broker.told(member.beat(**how)) for broker, member in zip(self._brokers, self._running[slot], strict=True)
        ]

    def _beat_with_wrong_epoch(self, slot: int) -> list[Any]:
        by = self._random.choice([-2, -1, 1])
        replies = []
        for broker, member in zip(self._brokers, self._running[slot], strict=True):
            request = member.request()
            request.member_epoch = max(1, request.member_epoch + by)
            replies.append(broker.told(broker.heartbeat(request)))
        return replies


@pytest.mark.parametrize("number", range(WALKS))
def test_the_same_steps_lead_to_the_same_replies(brokers: list[Remote], number: int) -> None:
    walk = Walk(brokers, number)
    done = []
    for _ in range(STEPS):
        what, replies = walk.step()
        done.append(what)
        if replies:
            ours, kafkas = replies
            assert ours == kafkas, f"after {done}"
