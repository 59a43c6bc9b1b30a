"""Clients of the classic protocol: requests as they send them, and groups to begin with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from stoker.coordinators.groups.classic_group import ClassicGroup
from stoker.coordinators.groups.classic_protocol import ClassicProtocol
from stoker.coordinators.groups.context import ClientInfo, GroupContext, GroupSettings
from stoker.coordinators.result import Result
from stoker.wire.consumer_protocol import ConsumerProtocolSubscription
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupMetadataKey, GroupMetadataValue, GroupRecord, MemberMetadata
from stoker.wire.messages.heartbeat import HeartbeatRequest
from stoker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stoker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from stoker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from stoker.wire.schema import Response
from tests.coordinators.groups.driver import STARTED_AT_MS, Call, Driver

GROUP = "orders"
SESSION_MS = 10_000
REBALANCE_MS = 60_000
INITIAL_DELAY_MS = 3_000
SUBSCRIPTION = ConsumerProtocolSubscription(topics=["orders"]).to_bytes()
RANGE = (("range", SUBSCRIPTION),)


class ClassicCoordinator(ClassicProtocol):
    """The classic protocol alone, with its timers."""

    def __init__(self, context: GroupContext) -> None:
        super().__init__(context)
        self._shared = context

    @property
    def next_deadline_ms(self) -> int | None:
        return self._shared.timers.next_deadline_ms

    def expire(self) -> Iterator[tuple[str, Result[GroupRecord, Any]]]:
        return self._shared.timers.expire(self._shared.timer_clock())


def encodable(version: int) -> Callable[[Response], object]:
    """A check that a reply can be sent to a client of this version."""
    return lambda reply: reply.encode(version)


class ClassicDriver(Driver[ClassicCoordinator]):
    """Sends requests of one group, `orders`."""

    def __init__(self, settings: GroupSettings | None = None) -> None:
        super().__init__(ClassicCoordinator, settings)

    @property
    def group(self) -> ClassicGroup:
        group = self.context.groups[GROUP]
        assert isinstance(group, ClassicGroup)
        return group

    def join(
        self,
        member_id: str = "",
        *,
        instance_id: str | None = None,
        protocols: Sequence[tuple[str, bytes]] = RANGE,
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        version: int = 9,
        group_id: str = GROUP,
        client: ClientInfo | None = None,
    ) -> Call:
        request = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in protocols],
        )
        client = client or ClientInfo(client_id="client", host="/127.0.0.1")
        return self.perform(self.coordinator.join(client, request, version), encodable(version))

    def sync(
        self,
        member_id: str,
        generation_id: int,
        assignments: Mapping[str, bytes] | None = None,
        *,
        instance_id: str | None = None,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
        version: int = 5,
        group_id: str = GROUP,
    ) -> Call:
        request = SyncGroupRequest(
            group_id=group_id,
            generation_id=generation_id,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=assigned, assignment=assignment)
                for assigned, assignment in (assignments or {}).items()
            ],
        )
        return self.perform(self.coordinator.sync(request, version), encodable(version))

    def heartbeat(
        self, member_id: str, generation_id: int, *, instance_id: str | None = None, group_id: str = GROUP
    ) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=group_id, generation_id=generation_id, member_id=member_id, group_instance_id=instance_id
        )
        return self.perform(self.coordinator.heartbeat(request), encodable(4)).error

    def leave(self, *members: str | tuple[str, str | None], version: int = 5, group_id: str = GROUP) -> Call:
        """Members by id, or by id and instance id."""
        identities = [
            MemberIdentity(member_id=member)
            if isinstance(member, str)
            else MemberIdentity(member_id=member[0], group_instance_id=member[1])
            for member in members
        ]
        request = LeaveGroupRequest(group_id=group_id, members=identities)
        if version < 3:
            request = LeaveGroupRequest(group_id=group_id, member_id=identities[0].member_id)
        return self.perform(self.coordinator.leave(request, version), encodable(version))

    def new_member(self, **options: Any) -> tuple[str, Call]:
        """A dynamic member's two tries: the first gets it an id, the second waits."""
        member_id = self.join(**options).reply.member_id
        return member_id, self.join(member_id, **options)


def member_record(member_id: str, *, instance_id: str | None = None, session_ms: int = SESSION_MS) -> MemberMetadata:
    """A member whose assignment is its id."""
    return MemberMetadata(
        member_id=member_id,
        group_instance_id=instance_id,
        client_id="client",
        client_host="/127.0.0.1",
        rebalance_timeout=REBALANCE_MS,
        session_timeout=session_ms,
        subscription=SUBSCRIPTION,
        assignment=member_id.encode(),
    )


def group_record(*members: str | MemberMetadata, generation: int = 5, leader: str | None = None) -> GroupRecord:
    """A stable group as it is written; the first member leads. An empty one without members."""
    written = [member_record(member) if isinstance(member, str) else member for member in members]
    value = GroupMetadataValue(
        protocol_type="consumer",
        generation=generation,
        protocol="range" if written else None,
        leader=leader or (written[0].member_id if written else None),
        current_state_timestamp=STARTED_AT_MS,
        members=written,
    )
    return GroupRecord(GroupMetadataKey(group=GROUP), value)


def stable(*members: str | MemberMetadata, settings: GroupSettings | None = None) -> ClassicDriver:
    """A broker that comes up with a stable group of generation 5."""
    driver = ClassicDriver(settings)
    driver.start_with(group_record(*members))
    return driver
