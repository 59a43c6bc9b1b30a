"""The classic protocol of consumer groups: members join, their leader assigns, all of them sync, then heartbeat.

A group in memory is the truth; `GroupMetadata` records are snapshots of it, from which it comes back after a restart.
One is written when a group is made, when the leader's assignments come, when a static member returns under a new id,
and when the last member has gone.
"""

from stoker.coordinators.groups.classic_group import ClassicGroup, refused_join
from stoker.coordinators.groups.classic_join import JoinHandler, JoinResult
from stoker.coordinators.groups.classic_rebalance import ClassicRebalance
from stoker.coordinators.groups.classic_states import ClassicGroupState
from stoker.coordinators.groups.context import ClientInfo, GroupContext
from stoker.coordinators.groups.group import Group
from stoker.coordinators.groups.refusal import shortened
from stoker.coordinators.result import Answer, Result, Waiting
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupMetadataKey, GroupMetadataValue, GroupRecord
from stoker.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember
from stoker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from stoker.wire.messages.join_group import JoinGroupRequest
from stoker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse
from stoker.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

SyncResult = Result[GroupRecord, SyncGroupResponse | Waiting[SyncGroupResponse]]

_FIRST_SYNC_VERSION_WITH_PROTOCOL = 5
FIRST_LEAVE_VERSION_WITH_MEMBERS = 3
_FIRST_DESCRIBE_VERSION_WITH_NOT_FOUND = 6


class ClassicProtocol:
    """Answers the requests of the classic protocol. Every result must be applied before the next call."""

    def __init__(self, context: GroupContext) -> None:
        self._context = context
        self._rebalance = ClassicRebalance(context)

    # -- JoinGroup --------------------------------------------------------------------------------------------------

    def join(self, client: ClientInfo, request: JoinGroupRequest, version: int) -> JoinResult:
        """An empty group of the other protocol gives way to the classic one that is joined."""
        group = self._context.groups.get(request.group_id)
        error = self._join_error(group, request)
        if error is not ErrorCode.NONE:
            return Result([], refused_join(version, request.member_id, error))
        handler = JoinHandler(self._context, self._rebalance, client, request, version)
        if isinstance(group, ClassicGroup):
            return handler.join(group)
        return self._join_new_group(handler, request.group_id, version, former=group)

    def _join_error(self, group: Group | None, request: JoinGroupRequest) -> ErrorCode:
        settings = self._context.settings
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        if not settings.min_session_timeout_ms <= request.session_timeout_ms <= settings.max_session_timeout_ms:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        if not isinstance(group, ClassicGroup) and request.member_id:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if not isinstance(group, ClassicGroup | None) and not group.is_empty:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if not request.protocol_type or not request.protocols:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.NONE

    def _join_new_group(self, handler: JoinHandler, group_id: str, version: int, former: Group | None) -> JoinResult:
        """The group is written at once, so that members who come back with their id find it after a restart."""
        group = self._new_group(group_id)
        records = [] if former is None else former.tombstones()
        records.append(group.metadata_record({}))
        result = handler.join(group)

        def take_back(error: ErrorCode) -> JoinResult:
            self._rebalance.forget(group)
            if former is None:
                del self._context.groups[group_id]
            else:
                self._context.groups[group_id] = former
            return Result([], refused_join(version, "", error))

        return Result([*records, *result.records], result.reply, result.answers, take_back)

    def get_or_create_empty(self, group_id: str) -> Group:
        """For offsets that are committed without members; nothing but the offsets is written of such a group."""
        group = self._context.groups.get(group_id)
        return self._new_group(group_id) if group is None else group

    def _new_group(self, group_id: str) -> ClassicGroup:
        wall_clock = self._context.wall_clock
        group = ClassicGroup(group_id, wall_clock, state_since_ms=wall_clock())
        self._context.groups[group_id] = group
        return group

    # -- SyncGroup --------------------------------------------------------------------------------------------------

    def sync(self, request: SyncGroupRequest, version: int) -> SyncResult:
        group = self._context.groups.get(request.group_id)
        error = self._sync_error(group, request, version)
        if error is not ErrorCode.NONE:
            return Result([], SyncGroupResponse(error_code=error))
        assert isinstance(group, ClassicGroup)
        self._rebalance.keep_session(group, request.member_id)
        if group.state is ClassicGroupState.PREPARING_REBALANCE:
            return Result([], SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        self._rebalance.has_synced(group, request.member_id)
        if group.state is ClassicGroupState.STABLE:
            return Result([], _synced(group, group.members[request.member_id].assignment))
        waiting = group.wait_for_sync(request.member_id)
        if request.member_id == group.leader_id:
            return self._sync_leader(group, request, waiting)
        return Result([], waiting, group.take_answers())

    def _sync_error(self, group: Group | None, request: SyncGroupRequest, version: int) -> ErrorCode:
        if version >= _FIRST_SYNC_VERSION_WITH_PROTOCOL and (
            request.protocol_type is None or request.protocol_name is None
        ):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        if not isinstance(group, ClassicGroup):
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = group.member_error(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
        if request.generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        if request.protocol_type not in (None, group.protocol_type) or (
            request.protocol_name not in (None, group.protocol_name) and group.protocol_name is not None
        ):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.NONE

    def _sync_leader(
        self, group: ClassicGroup, request: SyncGroupRequest, leader: Waiting[SyncGroupResponse]
    ) -> SyncResult:
        """With the leader's assignments written the group is stable (see `replay`); without them it starts over."""
        given = {assignment.member_id: bytes(assignment.assignment) for assignment in request.assignments}
        assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
        waiting = list(group.syncing.values())
        for member_id in list(group.syncing):
            group.answer_sync(member_id, _synced(group, assignments[member_id]))
            self._rebalance.keep_session(group, member_id)

        def start_over(error: ErrorCode) -> SyncResult:
            refused = [Answer(request, SyncGroupResponse(error_code=error)) for request in waiting]
            records = self._rebalance.prepare(group, "its assignments could not be written")
            return Result(records, leader, refused + group.take_answers())

        return Result([group.metadata_record(assignments)], leader, group.take_answers(), start_over)

    # -- Heartbeat --------------------------------------------------------------------------------------------------

    def heartbeat(self, request: HeartbeatRequest) -> Result[GroupRecord, HeartbeatResponse]:
        return Result([], HeartbeatResponse(error_code=self._heartbeat(request)))

    def _heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        group = self._context.groups.get(request.group_id)
        if not isinstance(group, ClassicGroup):
            return ErrorCode.UNKNOWN_MEMBER_ID if request.group_id else ErrorCode.INVALID_GROUP_ID
        error = group.member_error(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
        if request.generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        self._rebalance.keep_session(group, request.member_id)
        if group.state is ClassicGroupState.PREPARING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def touch(self, group: Group, member_id: str) -> None:
        """A commit is a sign of life too."""
        if isinstance(group, ClassicGroup) and member_id in group.members:
            self._rebalance.keep_session(group, member_id)

    # -- LeaveGroup -------------------------------------------------------------------------------------------------

    def leave(self, request: LeaveGroupRequest, version: int) -> Result[GroupRecord, LeaveGroupResponse]:
        if not request.group_id:
            return Result([], LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID))
        leaving = request.members
        if version < FIRST_LEAVE_VERSION_WITH_MEMBERS:
            leaving = [MemberIdentity(member_id=request.member_id)]
        group = self._context.groups.get(request.group_id)
        if not isinstance(group, ClassicGroup):
            return Result([], left(version, [(member, ErrorCode.UNKNOWN_MEMBER_ID) for member in leaving]))
        outcomes = [(member, self._leave(group, member)) for member in leaving]
        records = []
        if any(error is ErrorCode.NONE for _, error in outcomes) and not group.is_empty:
            count = sum(error is ErrorCode.NONE for _, error in outcomes)
            records = self._rebalance.rebalance(group, f"{count} members left")
        answers = group.take_answers()
        return Result(
            records,
            left(version, outcomes),
            answers,
            lambda error: Result([], LeaveGroupResponse(error_code=error), answers),
        )

    def _leave(self, group: ClassicGroup, member: MemberIdentity) -> ErrorCode:
        member_id = member.member_id
        if not member_id and member.group_instance_id is not None:
            # An administrator removes a static member without knowing its id.
            member_id = group.static_members.get(member.group_instance_id, "")
        if member_id not in group.pending_members:
            error = group.member_error(member_id, member.group_instance_id)
            if error is not ErrorCode.NONE:
                return error
        self._rebalance.remove_member(group, member_id)
        return ErrorCode.NONE

    # -- DescribeGroups ---------------------------------------------------------------------------------------------

    def describe(self, group_id: str, version: int) -> DescribedGroup:
        group = self._context.groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            return _not_found(group_id, "not found" if group is None else "is not a classic group", version)
        protocol_name = group.protocol_name if group.state is ClassicGroupState.STABLE else None
        return DescribedGroup(
            group_id=group_id,
            group_state=group.state_name,
            protocol_type=group.protocol_type,
            protocol_data=protocol_name or "",
            members=[
                DescribedGroupMember(
                    member_id=member.member_id,
                    group_instance_id=member.instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    member_metadata=b"" if protocol_name is None else member.metadata(protocol_name),
                    member_assignment=member.assignment,
                )
                for member in group.members.values()
            ],
        )

    # -- the log ----------------------------------------------------------------------------------------------------

    def replay(self, record: GroupRecord) -> None:
        """A `GroupMetadata` record was read or written. A group in memory wrote it itself, and learns that it did."""
        key, value = record
        assert isinstance(key, GroupMetadataKey)
        group = self._context.groups.get(key.group)
        if value is None:
            if isinstance(group, ClassicGroup):
                self._rebalance.forget(group)
                del self._context.groups[key.group]
            return
        assert isinstance(value, GroupMetadataValue)
        if isinstance(group, ClassicGroup) and not self._context.loading:
            self._assignments_are_written(group, value)
        else:
            self.adopt(ClassicGroup.from_record(key.group, value, self._context.wall_clock))

    def _assignments_are_written(self, group: ClassicGroup, value: GroupMetadataValue) -> None:
        if group.state is ClassicGroupState.COMPLETING_REBALANCE and value.generation == group.generation_id:
            group.assign({member.member_id: member.assignment for member in value.members})
            group.transition_to(ClassicGroupState.STABLE)

    def adopt(self, group: ClassicGroup) -> None:
        """From now on this is the group of its id: one that was loaded, or made of the members of another protocol."""
        self._context.groups[group.group_id] = group
        if not self._context.loading:
            for member_id in group.members:
                self._rebalance.keep_session(group, member_id)

    def abandon(self, group: ClassicGroup) -> list[Answer]:
        """The group's log is gone: whoever waits must look for its coordinator again."""
        group.answer_all(ErrorCode.NOT_COORDINATOR)
        self._rebalance.forget(group)
        return group.take_answers()

    def rebalance(self, group: ClassicGroup) -> Result[GroupRecord, None]:
        """Make the members of a group that was adopted join anew."""
        records = self._rebalance.rebalance(group, "it has changed to the classic protocol")
        return Result(records, None, group.take_answers())

    def loaded(self) -> None:
        """The members of all groups have their session time-out to come back."""
        for group in list(self._context.groups.values()):
            if isinstance(group, ClassicGroup):
                self.adopt(group)
                if len(group.members) > self._context.settings.max_size:
                    self._rebalance.prepare(
                        group, "it has more members than group.max.size"
                    )  # which turns the last to rejoin away


def _synced(group: ClassicGroup, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=assignment
    )


def left(version: int, outcomes: list[tuple[MemberIdentity, ErrorCode]]) -> LeaveGroupResponse:
    if version < FIRST_LEAVE_VERSION_WITH_MEMBERS:
        return LeaveGroupResponse(error_code=outcomes[0][1])
    return LeaveGroupResponse(
        members=[
            MemberResponse(member_id=member.member_id, group_instance_id=member.group_instance_id, error_code=error)
            for member, error in outcomes
        ]
    )


def _not_found(group_id: str, why: str, version: int) -> DescribedGroup:
    described = DescribedGroup(group_id=group_id, group_state=ClassicGroupState.DEAD.value)
    if version >= _FIRST_DESCRIBE_VERSION_WITH_NOT_FOUND:
        described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        described.error_message = shortened(f"Group {group_id} {why}.")
    return described
