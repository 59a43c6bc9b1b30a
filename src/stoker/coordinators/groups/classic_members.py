"""Members of a KIP-848 group that still speak the classic protocol, while the group goes over to the new one.

They join, sync and send heartbeats as ever, but nobody of them leads: what a member joins with takes it one step towards the
target that the coordinator has computed, the member epoch is its generation, and SyncGroup tells it what it has. When there
is another step to take its heartbeat says that a rebalance is in progress.
"""

from dataclasses import replace

from stoker.coordinators.groups.classic_group import refused_join
from stoker.coordinators.groups.classic_join import FIRST_VERSION_REQUIRING_MEMBER_ID
from stoker.coordinators.groups.classic_protocol import FIRST_LEAVE_VERSION_WITH_MEMBERS, ClassicProtocol, left
from stoker.coordinators.groups.consumer_group import ConsumerGroup
from stoker.coordinators.groups.consumer_member import ConsumerMember
from stoker.coordinators.groups.consumer_membership import ConsumerMembership
from stoker.coordinators.groups.consumer_states import MemberState
from stoker.coordinators.groups.context import ClientInfo, GroupContext
from stoker.coordinators.groups.conversion import assignment_blob, downgrade, may_downgrade, with_topic_ids
from stoker.coordinators.groups.member_update import MemberUpdate
from stoker.coordinators.groups.refusal import RequestRefused
from stoker.coordinators.groups.target_assignment import may_compute_target
from stoker.coordinators.result import Result
from stoker.errors import MalformedMessage
from stoker.wire.consumer_protocol import PROTOCOL_TYPE, ConsumerProtocolSubscription
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import ClassicMemberMetadata, GroupRecord
from stoker.wire.group_records import ClassicProtocol as SupportedProtocol
from stoker.wire.messages.consumer_group_heartbeat import TopicPartitions
from stoker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from stoker.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from stoker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from stoker.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


class ClassicMembers:
    """Called only for groups that are ConsumerGroups."""

    def __init__(self, context: GroupContext, classic: ClassicProtocol, membership: ConsumerMembership) -> None:
        self._context = context
        self._classic = classic
        self._membership = membership
        self._timers = membership.timers

    # -- JoinGroup --------------------------------------------------------------------------------------------------

    def join(
        self, client: ClientInfo, request: JoinGroupRequest, version: int
    ) -> Result[GroupRecord, JoinGroupResponse]:
        try:
            return self._join(client, request, version)
        except RequestRefused as refused:
            return Result([], refused_join(version, "", refused.code))

    def _join(
        self, client: ClientInfo, request: JoinGroupRequest, version: int
    ) -> Result[GroupRecord, JoinGroupResponse]:
        group = self._membership.group(request.group_id)
        self._check_session_timeout(request)
        member_id = request.member_id or self._context.new_member_id()
        self._membership.check_room(group, member_id)
        if not group.supports_classic_protocols(request.protocol_type, {each.name for each in request.protocols}):
            raise RequestRefused(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"Member {member_id} has no protocol in common with the group."
            )
        is_new = not request.member_id
        if is_new and request.group_instance_id is None and version >= FIRST_VERSION_REQUIRING_MEMBER_ID:
            return Result([], refused_join(version, member_id, ErrorCode.MEMBER_ID_REQUIRED))
        subscription = _subscription(request)

        records: list[GroupRecord] = []
        member = self._member(group, member_id, request, records)
        replaced = group.static_member(request.group_instance_id)
        joined = _joined(member, client, request, subscription)
        update = MemberUpdate(self._context, group, records, member)
        update.change_member(member if joined == member else joined)
        update.refresh_topics()
        if replaced is not None and not replaced.uses_classic_protocol:
            staying = [each for each in group.members.values() if each is not replaced]
            if may_downgrade([*staying, joined], self._context.settings):
                return self._join_and_downgrade(group, [*staying, joined], update, version)
        update.refresh_target(self._context.settings.consumer_group(group.group_id))
        update.reconcile(_reported(subscription, self._context))

        self._timers.cancel(group.group_id, member_id, "join")
        self._timers.expect_heartbeat(group.group_id, member_id, request.session_timeout_ms)
        self._timers.expect_sync(group.group_id, member_id, update.member.rebalance_timeout_ms)
        return Result(records, _join_reply(update.member, update.member.member_epoch))

    def _join_and_downgrade(
        self, group: ConsumerGroup, staying: list[ConsumerMember], update: MemberUpdate, version: int
    ) -> Result[GroupRecord, JoinGroupResponse]:
        """The last consumer of the new protocol came back as a classic one, in its own place."""
        return downgrade(
            self._context,
            self._classic,
            group,
            staying,
            reply=_join_reply(update.member, group.group_epoch),
            refused=lambda error: refused_join(version, "", error),
            rebalance=update.group_epoch > group.assignment_epoch,
        )

    def _check_session_timeout(self, request: JoinGroupRequest) -> None:
        settings = self._context.settings
        if not settings.min_session_timeout_ms <= request.session_timeout_ms <= settings.max_session_timeout_ms:
            raise RequestRefused(
                ErrorCode.INVALID_SESSION_TIMEOUT, f"The session timeout is {request.session_timeout_ms} ms."
            )

    def _member(
        self, group: ConsumerGroup, member_id: str, request: JoinGroupRequest, records: list[GroupRecord]
    ) -> ConsumerMember:
        instance_id = request.group_instance_id
        if instance_id is None:
            return self._membership.admit(group, member_id)
        if request.member_id:
            return self._membership.find(group, member_id, instance_id)
        return self._membership.admit_static(group, member_id, instance_id, records, classic=True)

    # -- SyncGroup --------------------------------------------------------------------------------------------------

    def sync(self, request: SyncGroupRequest) -> Result[GroupRecord, SyncGroupResponse]:
        try:
            return Result([], self._sync(request))
        except RequestRefused as refused:
            return Result([], SyncGroupResponse(error_code=refused.code))

    def _sync(self, request: SyncGroupRequest) -> SyncGroupResponse:
        group = self._membership.group(request.group_id)
        member = self._find(group, request.member_id, request.group_instance_id, request.generation_id)
        assert member.classic is not None
        protocol_name = member.classic.supported_protocols[0].name
        if request.protocol_type not in {None, PROTOCOL_TYPE} or request.protocol_name not in {None, protocol_name}:
            raise RequestRefused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"The member's protocol is {protocol_name}.")
        if self._is_behind(group, member) and member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._timers.expect_join(group.group_id, member)
            raise RequestRefused(ErrorCode.REBALANCE_IN_PROGRESS, "The member must join again to catch up.")
        self._timers.cancel(group.group_id, member.member_id, "sync")
        self._timers.expect_heartbeat(group.group_id, member.member_id, member.classic.session_timeout_ms)
        partitions = {topic_id: owned.keys() for topic_id, owned in member.assigned.items()}
        return SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=assignment_blob(member, partitions, self._context.topics),
        )

    # -- Heartbeat --------------------------------------------------------------------------------------------------

    def heartbeat(self, request: HeartbeatRequest) -> Result[GroupRecord, HeartbeatResponse]:
        try:
            return Result([], HeartbeatResponse(error_code=self._heartbeat(request)))
        except RequestRefused as refused:
            return Result([], HeartbeatResponse(error_code=refused.code))

    def _heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        group = self._membership.group(request.group_id)
        member = self._find(group, request.member_id, request.group_instance_id, request.generation_id)
        timeout_ms = self._membership.session_timeout_ms(group, member)
        self._timers.expect_heartbeat(group.group_id, member.member_id, timeout_ms)
        if not self._can_take_a_step(group, member):
            return ErrorCode.NONE
        self._timers.expect_join(group.group_id, member)
        return ErrorCode.REBALANCE_IN_PROGRESS

    def _can_take_a_step(self, group: ConsumerGroup, member: ConsumerMember) -> bool:
        """It is behind; or it has partitions to give up; or what it waited for is free."""
        if self._is_behind(group, member) or member.state is MemberState.UNREVOKED_PARTITIONS:
            return True
        return member.state is MemberState.UNRELEASED_PARTITIONS and not group.is_waiting_for_others(member)

    def _is_behind(self, group: ConsumerGroup, member: ConsumerMember) -> bool:
        """There is a newer target, or its joining would make one: perhaps nobody else is there to do it."""
        if member.member_epoch < group.assignment_epoch:
            return True
        interval_ms = self._context.settings.consumer_group(group.group_id).assignment_interval_ms
        is_due = may_compute_target(group, interval_ms, self._context.wall_clock())
        return group.group_epoch > group.assignment_epoch and is_due

    def _find(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int
    ) -> ConsumerMember:
        member = self._membership.find(group, member_id, instance_id)
        if not member.uses_classic_protocol:
            raise RequestRefused(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} does not use the classic protocol.")
        if generation_id != member.member_epoch:
            raise RequestRefused(ErrorCode.ILLEGAL_GENERATION, f"The member's generation is {member.member_epoch}.")
        return member

    # -- LeaveGroup -------------------------------------------------------------------------------------------------

    def leave(self, request: LeaveGroupRequest, version: int) -> Result[GroupRecord, LeaveGroupResponse]:
        """Members of either protocol: an administrator may take anybody out."""
        group = self._membership.group(request.group_id)
        names_members = version >= FIRST_LEAVE_VERSION_WITH_MEMBERS
        leaving: dict[str, ConsumerMember] = {}
        outcomes: list[tuple[MemberIdentity, ErrorCode]] = []
        for identity in request.members if names_members else [MemberIdentity(member_id=request.member_id)]:
            error = ErrorCode.NONE
            try:
                member = self._who_leaves(group, identity)
                leaving[member.member_id] = member
            except RequestRefused as refused:
                error = refused.code
            outcomes.append((identity, error))
        return self._membership.remove(
            group,
            list(leaving.values()),
            left(version, outcomes),
            lambda error: LeaveGroupResponse(error_code=error),
        )

    def _who_leaves(self, group: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember:
        """An administrator knows the instance id alone."""
        if identity.group_instance_id is not None and not identity.member_id:
            return self._membership.find_static(group, identity.group_instance_id)
        return self._membership.find(group, identity.member_id, identity.group_instance_id)


def _subscription(request: JoinGroupRequest) -> ConsumerProtocolSubscription:
    try:
        return ConsumerProtocolSubscription.from_bytes(request.protocols[0].metadata)
    except MalformedMessage as malformed:
        raise RequestRefused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, str(malformed)) from None


def _joined(
    member: ConsumerMember, client: ClientInfo, request: JoinGroupRequest, subscription: ConsumerProtocolSubscription
) -> ConsumerMember:
    instance_id, timeout_ms = request.group_instance_id, request.rebalance_timeout_ms
    return replace(
        member,
        instance_id=member.instance_id if instance_id is None else instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        client_id=client.client_id,
        client_host=client.host,
        rebalance_timeout_ms=request.session_timeout_ms if timeout_ms == -1 else timeout_ms,
        subscribed_topic_names=frozenset(subscription.topics),
        subscribed_topic_regex="",
        classic=ClassicMemberMetadata(
            session_timeout_ms=request.session_timeout_ms,
            supported_protocols=[
                SupportedProtocol(name=protocol.name, metadata=protocol.metadata) for protocol in request.protocols
            ],
        ),
    )


def _reported(subscription: ConsumerProtocolSubscription, context: GroupContext) -> list[TopicPartitions]:
    """What it has. Consumers that give up everything before they join say that they have nothing, and so it is."""
    owned = with_topic_ids(subscription.owned_partitions, context.topics)
    return [TopicPartitions(topic_id=topic_id, partitions=partitions) for topic_id, partitions in owned.items()]


def _join_reply(member: ConsumerMember, generation_id: int) -> JoinGroupResponse:
    """Without a leader: all of them take what SyncGroup gives them."""
    assert member.classic is not None
    return JoinGroupResponse(
        generation_id=generation_id,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=member.classic.supported_protocols[0].name,
        member_id=member.member_id,
    )
