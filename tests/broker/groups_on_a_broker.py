"""Groups in every state on one broker, and requests about them whose answers two brokers can be compared by."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from types import TracebackType
from typing import Any, Self
from uuid import UUID, uuid4

from stoker.wire.consumer_protocol import ConsumerProtocolSubscription
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from stoker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest
from stoker.wire.messages.heartbeat import HeartbeatRequest
from stoker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stoker.wire.messages.list_groups import ListedGroup
from stoker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from stoker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stoker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from stoker.wire.schema import Request, Struct
from tests.raw_connection import RawConnection

_OURS = f"run-{uuid4().hex[:8]}-"
"""How the names of these groups begin: the broker may serve other tests too."""
TOPIC = f"{_OURS}orders"
PARTITIONS = 2
SUBSCRIPTION = ConsumerProtocolSubscription(topics=[TOPIC]).to_bytes(1)
ASSIGNMENT = b"\0\1\0\0\0\0\xff\xff\xff\xff"
MODERN_MEMBER = "5yHcP0SbTfmSLqLK3Hl8kA"
_JOIN_VERSION = 5
"""The last before flexible versions that knows static members; a new dynamic member is told its id first."""
_MADE_UP = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|^[A-Za-z0-9_-]{22}$")
"""A UUID in either of the forms that Kafka gives to members."""
_WITHOUT_MEANING = {"throttle_time_ms", "host", "port", "node_id", "heartbeat_interval_ms"}
_ASSIGNED = {"partitions", "assignment", "member_assignment"}
"""Who gets which partition depends on the ids that brokers make up; how many it gets does not."""
_WORDS = {"error_message"}
"""What they say is each broker's own; whether there is one is compared."""


_of_whom = [""]
"""What comes before these names, for who has groups of its own on the same broker."""


def named(group: str) -> str:
    """The name of a group on the brokers."""
    return f"{_of_whom[-1]}{_OURS}{group}" if group else group


@contextmanager
def groups_of(whom: str) -> Iterator[None]:
    """Meanwhile the same groups have other names."""
    _of_whom.append(f"{whom}-")
    try:
        yield
    finally:
        _of_whom.pop()


class Groups:
    """One broker with a group in each state; a request about them is sent by `answer_to`.

    simple: offsets and never a member. stable, static: a classic group with one member, named by an instance id in the
    second. completing: its leader has not synced. preparing: a second member waits for the first. modern, modern-static:
    KIP-848 groups of one member. strangers: a classic group of another protocol type.
    """

    def __init__(self, address: str) -> None:
        self._stack = ExitStack()
        self._address = address
        self.connection = self._connect()
        self.members: dict[str, str] = {}
        """The member of each group that has one."""
        self.generations: dict[str, int] = {}
        self.topic_id = UUID(int=0)

    def __enter__(self) -> Self:
        self._make_topic()
        self._find_coordinator()
        self.commit("simple")
        self.commit("modern-once")
        for group in ("stable", "preparing", "leaving"):
            self.join(group)
            self.sync(group)
        self.join("static", instance_id="here")
        self.sync("static")
        self.join("strangers", protocol_type="connect")
        self.sync("strangers")
        self.join("completing")
        self._wait_until_assignable()
        self._let_another_join("preparing")
        for group, instance_id in (("modern", None), ("modern-static", "here")):
            self._join_modern(group, instance_id)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def _connect(self) -> RawConnection:
        return self._stack.enter_context(RawConnection(self._address))

    # -- making them ------------------------------------------------------------------------------------------------

    def _make_topic(self) -> None:
        wanted = CreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=1)
        [made] = self.connection.call(CreateTopicsRequest(topics=[wanted], timeout_ms=10_000), 7).topics
        assert made.error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS), made
        described = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
        while not self.topic_id.int:
            self.topic_id = self.connection.call(described, 12).topics[0].topic_id

    def _find_coordinator(self) -> None:
        """Kafka makes the topic of offsets meanwhile."""
        request = FindCoordinatorRequest(coordinator_keys=[named("simple")])
        while self.connection.call(request, 6).coordinators[0].error_code:
            pass
        while self._commit("simple") != ErrorCode.NONE:
            pass

    def commit(self, group: str) -> None:
        assert self._commit(group) == ErrorCode.NONE

    def _commit(self, group: str) -> int:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=7, committed_metadata="so far")
        topic = OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])
        reply = self.connection.call(OffsetCommitRequest(group_id=named(group), topics=[topic]), 8)
        code: int = reply.topics[0].partitions[0].error_code
        return code

    def join(self, group: str, *, instance_id: str | None = None, protocol_type: str = "consumer") -> None:
        """One member, through its first rebalance."""
        request = join_request(group, group_instance_id=instance_id, protocol_type=protocol_type)
        reply = self.connection.call(request, _JOIN_VERSION)
        if reply.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            request.member_id = reply.member_id
            reply = self.connection.call(request, _JOIN_VERSION)
        assert reply.error_code == ErrorCode.NONE, reply
        self.members[group] = reply.member_id
        self.generations[group] = reply.generation_id

    def sync(self, group: str) -> None:
        mine = SyncGroupRequestAssignment(member_id=self.members[group], assignment=ASSIGNMENT)
        request = SyncGroupRequest(
            group_id=named(group),
            generation_id=self.generations[group],
            member_id=self.members[group],
            assignments=[mine],
        )
        assert self.connection.call(request, 3).error_code == ErrorCode.NONE

    def _let_another_join(self, group: str) -> None:
        """Its request waits for the member that is there, who hears of it by its heartbeat."""
        self._connect().send(join_request(group), 3)
        alive = HeartbeatRequest(
            group_id=named(group), generation_id=self.generations[group], member_id=self.members[group]
        )
        while self.connection.call(alive, 3).error_code != ErrorCode.REBALANCE_IN_PROGRESS:
            pass

    def _wait_until_assignable(self) -> None:
        """Kafka's coordinator hears of a topic a little later than its clients."""
        attempts = count(1)
        while not self._join_modern(f"attempt-{next(attempts)}", None).assignment.topic_partitions:
            pass

    def _join_modern(self, group: str, instance_id: str | None) -> Any:
        member_id = self.members[group] = MODERN_MEMBER
        joined = self.connection.call(
            ConsumerGroupHeartbeatRequest(
                group_id=named(group),
                member_id=member_id,
                instance_id=instance_id,
                rebalance_timeout_ms=60_000,
                subscribed_topic_names=[TOPIC],
                topic_partitions=[],
            ),
            1,
        )
        assert joined.error_code == ErrorCode.NONE, joined
        self.generations[group] = joined.member_epoch
        return joined

    def say_that_members_live(self) -> None:
        """Those of the groups of KIP-848 are given up after 45 s without a word; the others have ten minutes."""
        for group in ("modern", "modern-static"):
            alive = ConsumerGroupHeartbeatRequest(
                group_id=named(group), member_id=self.members[group], member_epoch=self.generations[group]
            )
            assert self.connection.call(alive, 1).error_code == ErrorCode.NONE

    # -- asking -----------------------------------------------------------------------------------------------------

    def answer_to(self, request: Request, version: int) -> Any:
        """What is comparable of the reply, or that there was none."""
        try:
            reply = self.connection.call(request, version)
        except ConnectionError:
            self.connection = self._connect()
            return "closed the connection"
        return self._comparable(reply)

    def _comparable(self, value: Any) -> Any:
        """Without what differs between any two brokers; ids they gave out are named after their group."""
        if isinstance(value, Struct):
            return dict(self._fields(value))
        if isinstance(value, list):
            comparable = [self._comparable(each) for each in value if not _is_of_others(each)]
            return sorted(comparable, key=str)  # groups, members and results come in no order
        if isinstance(value, str):
            of_groups = {member_id: f"the member of {group}" for group, member_id in self.members.items()}
            if value == MODERN_MEMBER:
                return value
            return of_groups.get(value) or _MADE_UP.sub("made up", value.removeprefix(_OURS))
        return "the topic" if value == self.topic_id else value

    def _fields(self, structure: Struct) -> Iterator[tuple[str, Any]]:
        for field in structure.FIELDS:
            value = getattr(structure, field.name)
            if field.name == "error_code":
                value = next((code.name for code in ErrorCode if code == value), value)
            if field.name in _WORDS:
                value = "some words" if value else value
            if field.name in _ASSIGNED and isinstance(value, (bytes, list)):
                value = value if not value or isinstance(value[0], Struct) else f"{len(value)}"
            if field.name not in _WITHOUT_MEANING:
                yield field.name, self._comparable(value)


def _is_of_others(element: object) -> bool:
    if not isinstance(element, ListedGroup):
        return False
    return not element.group_id.startswith(_OURS) or element.group_id.startswith(named("attempt-"))


def join_request(group: str, **changes: Any) -> JoinGroupRequest:
    fields: dict[str, Any] = {
        "session_timeout_ms": 600_000,  # no member says that it is alive
        "rebalance_timeout_ms": 60_000,
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)],
    }
    return JoinGroupRequest(group_id=named(group), **(fields | changes))
