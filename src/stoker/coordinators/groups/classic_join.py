"""JoinGroup: how one becomes a member of a classic group, and how a member takes part in a rebalance."""

from dataclasses import replace

from stoker.coordinators.groups.classic_group import ClassicGroup, refused_join
from stoker.coordinators.groups.classic_member import ClassicMember, distinct_protocols
from stoker.coordinators.groups.classic_rebalance import NEW_MEMBER_JOIN_TIMEOUT_MS, ClassicRebalance
from stoker.coordinators.groups.classic_states import ClassicGroupState
from stoker.coordinators.groups.context import ClientInfo, GroupContext
from stoker.coordinators.result import Result, Waiting
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupRecord
from stoker.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

FIRST_VERSION_REQUIRING_MEMBER_ID = 4
FIRST_VERSION_SKIPPING_ASSIGNMENT = 9

_LONGEST_STRING = 2**15 - 1
_UUID_LENGTH = 36

JoinResult = Result[GroupRecord, JoinGroupResponse | Waiting[JoinGroupResponse]]


class JoinHandler:
    """One JoinGroup request that is valid in itself, from a client that may or may not be a member already."""

    def __init__(
        self,
        context: GroupContext,
        rebalance: ClassicRebalance,
        client: ClientInfo,
        request: JoinGroupRequest,
        version: int,
    ) -> None:
        self._context = context
        self._rebalance = rebalance
        self._client = client
        self._request = request
        self._version = version
        self._protocols = distinct_protocols(request.protocols)

    def join(self, group: ClassicGroup) -> JoinResult:
        member_id = self._request.member_id
        if not self._is_accepted(group):
            self._rebalance.remove_member(group, member_id)
            records = self._rebalance.complete_join_if_possible(group)
            return self._refused(group, ErrorCode.GROUP_MAX_SIZE_REACHED, "", records)
        if not group.supports(self._request.protocol_type, self._protocols):
            return self._refused(group, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id)
        return self._join_known(group) if member_id else self._join_unknown(group)

    def _is_accepted(self, group: ClassicGroup) -> bool:
        """Whether `group.max.size` leaves room (KIP-389). While members gather those who have joined count: so the last
        to rejoin are turned away after the limit was lowered."""
        limit = self._context.settings.max_size
        if group.is_empty:
            return True
        if group.state is ClassicGroupState.PREPARING_REBALANCE:
            return self._request.member_id in group.joining or len(group.joining) < limit
        return self._request.member_id in group.members or len(group.members) < limit

    # -- without a member id ----------------------------------------------------------------------------------------

    def _join_unknown(self, group: ClassicGroup) -> JoinResult:
        instance_id = self._request.group_instance_id
        member_id = self._new_member_id()
        if instance_id is not None and instance_id in group.static_members:
            return self._return_static_member(group, group.static_members[instance_id], member_id)
        if instance_id is not None or self._version < FIRST_VERSION_REQUIRING_MEMBER_ID:
            return self._add_member(group, member_id)
        # The client must come back with the id, so that retries do not leave members behind (KIP-394).
        group.pending_members.add(member_id)
        self._rebalance.expect_sign_of_life(group, member_id, self._request.session_timeout_ms)
        return self._refused(group, ErrorCode.MEMBER_ID_REQUIRED, member_id)

    def _new_member_id(self) -> str:
        name = self._request.group_instance_id
        if name is None:
            name = self._client.client_id
        # A name may fill its field; name and uuid together must still fit one.
        fitting = name.encode()[: _LONGEST_STRING - _UUID_LENGTH - 1].decode(errors="ignore")
        return f"{fitting}-{self._context.new_uuid()}"

    def _add_member(self, group: ClassicGroup, member_id: str) -> JoinResult:
        if group.state is ClassicGroupState.PREPARING_REBALANCE:
            group.joined_meanwhile = True
        group.add(self._as_member(member_id), self._request.protocol_type)
        group.new_members.add(member_id)
        waiting = group.wait_for_join(member_id, self._version)
        self._rebalance.expect_sign_of_life(group, member_id, NEW_MEMBER_JOIN_TIMEOUT_MS)
        return self._result(group, waiting, self._rebalance.rebalance(group, f"member {member_id:.200} joins"))

    def _as_member(self, member_id: str) -> ClassicMember:
        return ClassicMember(
            member_id=member_id,
            instance_id=self._request.group_instance_id,
            client_id=self._client.client_id,
            client_host=self._client.host,
            rebalance_timeout_ms=self._rebalance_timeout_ms,
            session_timeout_ms=self._request.session_timeout_ms,
            protocols=self._protocols,
        )

    @property
    def _rebalance_timeout_ms(self) -> int:
        """Version 0 has none."""
        if self._version == 0 or self._request.rebalance_timeout_ms < 0:
            return self._request.session_timeout_ms
        return self._request.rebalance_timeout_ms

    # -- with a member id -------------------------------------------------------------------------------------------

    def _join_known(self, group: ClassicGroup) -> JoinResult:
        member_id = self._request.member_id
        if member_id in group.pending_members and self._request.group_instance_id is None:
            return self._add_member(group, member_id)
        error = group.member_error(member_id, self._request.group_instance_id)
        if error is not ErrorCode.NONE:
            return self._refused(group, error, member_id)
        if self._already_has_generation(group):
            self._rebalance.keep_session(group, member_id)
            return Result([], group.joined(member_id))
        self._update_member(group, member_id)
        waiting = group.wait_for_join(member_id, self._version)
        return self._result(group, waiting, self._rebalance.rebalance(group, self._why_again(member_id)))

    def _already_has_generation(self, group: ClassicGroup) -> bool:
        """It may only have missed the answer. The leader of a stable group, though, rejoins because it wants a rebalance:
        it has seen a change of which its metadata does not tell, for example new partitions."""
        member_id = self._request.member_id
        unchanged = group.members[member_id].protocols == self._protocols
        if group.state is ClassicGroupState.STABLE:
            return unchanged and member_id != group.leader_id
        return unchanged and group.state is ClassicGroupState.COMPLETING_REBALANCE

    def _why_again(self, member_id: str) -> str:
        said = self._request.reason
        return f"member {member_id:.200} joins again" + (f": {said:.200}" if said else "")

    def _update_member(self, group: ClassicGroup, member_id: str) -> None:
        """It is the same member, whether or not it names its instance again."""
        member = group.members[member_id]
        group.update(replace(self._as_member(member_id), instance_id=member.instance_id, assignment=member.assignment))

    # -- a static member comes back ---------------------------------------------------------------------------------

    def _return_static_member(self, group: ClassicGroup, old_id: str, new_id: str) -> JoinResult:
        """It takes over the place of its former self, which is fenced (KIP-345)."""
        former, former_leader_id = group.members[old_id], group.leader_id
        group.replace_static_member(old_id, new_id)
        self._update_member(group, new_id)
        self._rebalance.end_session(group, old_id)
        self._rebalance.keep_session(group, new_id)

        if group.state is ClassicGroupState.STABLE and group.select_protocol() == group.protocol_name:
            return self._keep_generation(group, former, former_leader_id, new_id)
        waiting = group.wait_for_join(new_id, self._version)
        return self._result(group, waiting, self._rebalance.rebalance(group, f"static member {new_id:.200} comes back"))

    def _keep_generation(
        self, group: ClassicGroup, former: ClassicMember, former_leader_id: str | None, member_id: str
    ) -> JoinResult:
        """No rebalance, only a new id: it has the assignment of its former self."""
        group.find_subscribed_topics()
        reply = group.joined(member_id)
        if self._version >= FIRST_VERSION_SKIPPING_ASSIGNMENT:
            # It leads again and may watch the topics, but its assignments would not be heard (KIP-814).
            reply.skip_assignment = member_id == group.leader_id
        else:
            # If it led it must not notice, lest it assigns.
            reply.leader, reply.members = former_leader_id or "", []

        def keep_former(error: ErrorCode) -> JoinResult:
            group.replace_static_member(member_id, former.member_id)
            group.update(former)
            group.find_subscribed_topics()
            self._rebalance.end_session(group, member_id)
            self._rebalance.keep_session(group, former.member_id)
            return self._refused(group, error, "")

        return Result([group.metadata_record(group.assignments)], reply, group.take_answers(), keep_former)

    # -- results ----------------------------------------------------------------------------------------------------

    def _refused(
        self, group: ClassicGroup, error: ErrorCode, member_id: str, records: list[GroupRecord] | None = None
    ) -> JoinResult:
        return self._result(group, refused_join(self._version, member_id, error), records or [])

    def _result(
        self,
        group: ClassicGroup,
        reply: JoinGroupResponse | Waiting[JoinGroupResponse],
        records: list[GroupRecord],
    ) -> JoinResult:
        answers = group.take_answers()
        return Result(records, reply, answers, lambda error: Result([], reply, answers))
