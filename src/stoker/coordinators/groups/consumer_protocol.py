"""The consumer group protocol (KIP-848): one request, ConsumerGroupHeartbeat, joins, stays in and leaves a group.

A heartbeat leads through the same steps each time (see MemberUpdate): the member's own words, the group epoch, the target
assignment of that epoch, and the member's next step towards its target. In a group at rest none has anything to do.
"""

from stoker.coordinators.groups.classic_group import ClassicGroup
from stoker.coordinators.groups.classic_members import ClassicMembers
from stoker.coordinators.groups.classic_protocol import ClassicProtocol
from stoker.coordinators.groups.consumer_description import describe_group
from stoker.coordinators.groups.consumer_group import ConsumerGroup
from stoker.coordinators.groups.consumer_member import JOIN_EPOCH, STATIC_LEAVE_EPOCH, ConsumerMember
from stoker.coordinators.groups.consumer_membership import ConsumerMembership
from stoker.coordinators.groups.consumer_replay import replay_consumer_record
from stoker.coordinators.groups.consumer_requests import check_request
from stoker.coordinators.groups.consumer_states import MemberState
from stoker.coordinators.groups.context import ClientInfo, GroupContext
from stoker.coordinators.groups.conversion import upgrade_records
from stoker.coordinators.groups.group import Group
from stoker.coordinators.groups.member_update import MemberUpdate
from stoker.coordinators.groups.refusal import RequestRefused
from stoker.coordinators.result import Answer, Result
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import ConsumerGroupMemberMetadataKey, GroupRecord
from stoker.wire.messages.consumer_group_describe import DescribedGroup
from stoker.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from stoker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from stoker.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from stoker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from stoker.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


class ConsumerProtocol:
    """The handlers of one coordinator. `classic` is the other protocol, from which and to which groups are converted."""

    def __init__(self, context: GroupContext, classic: ClassicProtocol) -> None:
        self._context = context
        self._membership = ConsumerMembership(context, classic)
        self._timers = self._membership.timers
        self._classic_members = ClassicMembers(context, classic, self._membership)

    # -- state ------------------------------------------------------------------------------------------------------

    def replay(self, record: GroupRecord) -> None:
        replay_consumer_record(self._context.groups, record)
        if record.value is None and isinstance(record.key, ConsumerGroupMemberMetadataKey):
            self._timers.cancel_all(record.key.group_id, record.key.member_id)

    def loaded(self) -> None:
        """Everybody has a whole session time-out to be heard of again, and a whole rebalance time-out to give up."""
        for group in self._context.groups.values():
            if isinstance(group, ConsumerGroup):
                group.doubt_patterns()
                for member in group.members.values():
                    self._expect_heartbeat(group, member)
                    self._watch_revocation(group, member)

    def describe(self, group_id: str) -> DescribedGroup:
        try:
            group = self._membership.group(group_id)
        except RequestRefused as refused:
            return DescribedGroup(error_code=refused.code, error_message=refused.message, group_id=group_id)
        return describe_group(group, self._context.topics, self._context.settings.consumer_assignors)

    # -- ConsumerGroupHeartbeat -------------------------------------------------------------------------------------

    def heartbeat(
        self, client: ClientInfo, request: ConsumerGroupHeartbeatRequest, version: int
    ) -> Result[GroupRecord, ConsumerGroupHeartbeatResponse]:
        try:
            check_request(request, version, self._context.settings.consumer_assignors)
            if request.member_epoch < JOIN_EPOCH:
                return self._leave(request)
            if request.member_epoch == JOIN_EPOCH:
                return self._join(client, request)
            return self._beat(client, request, self._membership.group(request.group_id), [])
        except RequestRefused as refused:
            return Result([], ConsumerGroupHeartbeatResponse(error_code=refused.code, error_message=refused.message))

    def _join(
        self, client: ClientInfo, request: ConsumerGroupHeartbeatRequest
    ) -> Result[GroupRecord, ConsumerGroupHeartbeatResponse]:
        """Of a group that is there, of a new one, or of a classic one, which becomes a KIP-848 group."""
        present = self._context.groups.get(request.group_id)
        if isinstance(present, ConsumerGroup):
            return self._beat(client, request, present, [])
        if present is None:
            return self._beat(client, request, ConsumerGroup(request.group_id), [])
        records, group = self._converted(present)
        result = self._beat(client, request, group, records)
        for member in group.members.values():
            self._expect_heartbeat(group, member)
        answers = _answer_all(present)
        return Result(result.records, result.reply, answers, lambda error: Result([], _refused(error), answers))

    def _converted(self, group: Group) -> tuple[list[GroupRecord], ConsumerGroup]:
        """The records that put a KIP-848 group in the place of a classic one, and what it will be when they are replayed."""
        if not isinstance(group, ClassicGroup) or group.is_empty:
            return group.tombstones(), ConsumerGroup(group.group_id)
        records = upgrade_records(group, self._context.settings, self._context.topics)
        replayed: dict[str, Group] = {group.group_id: ConsumerGroup(group.group_id)}
        for record in records:
            replay_consumer_record(replayed, record)
        converted = replayed[group.group_id]
        assert isinstance(converted, ConsumerGroup)
        return records, converted

    def _beat(
        self,
        client: ClientInfo,
        request: ConsumerGroupHeartbeatRequest,
        group: ConsumerGroup,
        records: list[GroupRecord],
    ) -> Result[GroupRecord, ConsumerGroupHeartbeatResponse]:
        self._membership.check_room(group, request.member_id)
        settings = self._context.settings.consumer_group(group.group_id)
        member_id = request.member_id or self._context.new_member_id()
        member = self._member(group, member_id, request, records)

        update = MemberUpdate(self._context, group, records, member)
        update.change_member(member.updated_by(client, request))
        update.refresh_topics()
        update.refresh_target(settings)
        if update.reconcile(request.topic_partitions):
            self._watch_revocation(group, update.member)
        self._timers.expect_heartbeat(group.group_id, member_id, settings.session_timeout_ms)

        reply = ConsumerGroupHeartbeatResponse(
            member_id=member_id,
            member_epoch=update.member.member_epoch,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
        )
        if _wants_assignment(request) or update.member.assigned != member.assigned:
            reply.assignment = _assignment(update.member)
        return Result(records, reply)

    def _member(
        self,
        group: ConsumerGroup,
        member_id: str,
        request: ConsumerGroupHeartbeatRequest,
        records: list[GroupRecord],
    ) -> ConsumerMember:
        """The member as it was so far, a new one, or what takes the place of a static member that had left."""
        if request.member_epoch == JOIN_EPOCH:
            if request.instance_id is None:
                return self._membership.admit(group, member_id)
            return self._membership.admit_static(group, member_id, request.instance_id, records, classic=False)
        member = self._membership.find(group, member_id, request.instance_id)
        _check_epoch(member, request)
        return member

    def _leave(self, request: ConsumerGroupHeartbeatRequest) -> Result[GroupRecord, ConsumerGroupHeartbeatResponse]:
        group = self._membership.group(request.group_id)
        member = self._membership.find(group, request.member_id, request.instance_id)
        reply = ConsumerGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
        if request.member_epoch == STATIC_LEAVE_EPOCH:
            return Result([member.gone_for_a_while().assignment_record(group.group_id)], reply)
        return self._membership.remove(group, [member], reply, _refused)

    def _expect_heartbeat(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        timeout_ms = self._membership.session_timeout_ms(group, member)
        self._timers.expect_heartbeat(group.group_id, member.member_id, timeout_ms)

    def _watch_revocation(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            self._timers.expect_revocation(group.group_id, member)
        else:
            self._timers.cancel(group.group_id, member.member_id, "rebalance")

    # -- members that speak the classic protocol --------------------------------------------------------------------

    def join_classic_member(
        self, client: ClientInfo, request: JoinGroupRequest, version: int
    ) -> Result[GroupRecord, JoinGroupResponse]:
        return self._classic_members.join(client, request, version)

    def sync_classic_member(self, request: SyncGroupRequest, version: int) -> Result[GroupRecord, SyncGroupResponse]:
        return self._classic_members.sync(request)

    def heartbeat_classic_member(self, request: HeartbeatRequest) -> Result[GroupRecord, HeartbeatResponse]:
        return self._classic_members.heartbeat(request)

    def leave_classic_members(
        self, request: LeaveGroupRequest, version: int
    ) -> Result[GroupRecord, LeaveGroupResponse]:
        return self._classic_members.leave(request, version)


def _refused(error: ErrorCode) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error)


def _answer_all(group: Group) -> list[Answer]:
    """Whoever waits in a classic group that is no more must join the one that took its place."""
    if not isinstance(group, ClassicGroup):
        return []
    group.answer_all(ErrorCode.REBALANCE_IN_PROGRESS)
    return group.take_answers()


def _check_epoch(member: ConsumerMember, request: ConsumerGroupHeartbeatRequest) -> None:
    """A member may be one epoch behind if the reply that told it of the new one was lost: then it has nothing new."""
    epoch = request.member_epoch
    if epoch == member.member_epoch:
        return
    is_behind = epoch == member.previous_member_epoch < member.member_epoch
    if is_behind and member.owns_at_most(request.topic_partitions):
        return
    raise RequestRefused(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The member has epoch {epoch}, the group coordinator knows {member.member_epoch}. "
        "The member must abandon all its partitions and rejoin.",
    )


def _wants_assignment(request: ConsumerGroupHeartbeatRequest) -> bool:
    """When it joins, or when it sends everything it knows, as after an error."""
    return request.member_epoch == JOIN_EPOCH or (
        request.rebalance_timeout_ms != -1
        and request.topic_partitions is not None
        and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
    )


def _assignment(member: ConsumerMember) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in member.assigned.items()
        ]
    )
