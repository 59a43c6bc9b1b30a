"""Who is a member of a KIP-848 group: finding, admitting, replacing and removing members of either protocol."""

from collections.abc import Callable
from logging import getLogger
from typing import Any

from stoker.coordinators.groups.classic_protocol import ClassicProtocol
from stoker.coordinators.groups.consumer_departure import departure_records
from stoker.coordinators.groups.consumer_group import ConsumerGroup
from stoker.coordinators.groups.consumer_member import STATIC_LEAVE_EPOCH, ConsumerMember
from stoker.coordinators.groups.consumer_records import member_tombstones, target_record
from stoker.coordinators.groups.consumer_timers import ConsumerTimers
from stoker.coordinators.groups.context import GroupContext
from stoker.coordinators.groups.conversion import downgrade, may_downgrade
from stoker.coordinators.groups.refusal import RequestRefused
from stoker.coordinators.result import Result
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupRecord

Refused = Callable[[ErrorCode], Any]
"""Makes the reply to a request whose records the log did not take."""

logger = getLogger("stoker.groups")


class ConsumerMembership:
    """Raises RequestRefused where somebody has no right to be who it says it is."""

    def __init__(self, context: GroupContext, classic: ClassicProtocol) -> None:
        self._context = context
        self._classic = classic
        self.timers = ConsumerTimers(
            context, lambda group, member: self.remove(group, [member], None, lambda error: None)
        )

    def group(self, group_id: str) -> ConsumerGroup:
        group = self._context.groups.get(group_id)
        if not isinstance(group, ConsumerGroup):
            why = "not found" if group is None else "is not a consumer group"
            raise RequestRefused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {why}.")
        return group

    def check_room(self, group: ConsumerGroup, member_id: str) -> None:
        largest = self._context.settings.consumer_max_size
        if len(group.members) >= largest and member_id not in group.members:
            raise RequestRefused(
                ErrorCode.GROUP_MAX_SIZE_REACHED, f"The group has reached its maximum capacity of {largest} members."
            )

    def find(self, group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
        """The member; nobody else may speak for its instance id."""
        if instance_id is None:
            member = group.members.get(member_id)
            if member is None:
                raise RequestRefused(
                    ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}."
                )
            return member
        member = self.find_static(group, instance_id)
        if member.member_id != member_id:
            raise RequestRefused(
                ErrorCode.FENCED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}.",
            )
        return member

    def find_static(self, group: ConsumerGroup, instance_id: str) -> ConsumerMember:
        member = group.static_member(instance_id)
        if member is None:
            raise RequestRefused(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        return member

    def admit(self, group: ConsumerGroup, member_id: str) -> ConsumerMember:
        """A dynamic member: as it is if it joins again, else new."""
        return group.members.get(member_id) or ConsumerMember(member_id=member_id)

    def admit_static(
        self, group: ConsumerGroup, member_id: str, instance_id: str, records: list[GroupRecord], *, classic: bool
    ) -> ConsumerMember:
        """A static member: new, or in the place of the one that had its instance id.

        A consumer of the new protocol says when it leaves; before that nobody of the new protocol gets its place. The
        same member may join again, which Kafka refuses: the reply that told it that it had joined may have been lost.
        """
        present = group.static_member(instance_id)
        if present is None or present.member_id == member_id:
            return self.admit(group, member_id)
        if not classic and not present.uses_classic_protocol and present.member_epoch != STATIC_LEAVE_EPOCH:
            raise RequestRefused(
                ErrorCode.UNRELEASED_INSTANCE_ID,
                f"Static member {member_id} cannot join: instance id {instance_id} is owned by {present.member_id}.",
            )
        member = present.replaced_by(member_id)
        records += member_tombstones(group.group_id, present.member_id)
        records.append(member.metadata_record(group.group_id))
        records.append(target_record(group.group_id, member_id, group.target_of(present.member_id)))
        records.append(member.assignment_record(group.group_id))
        return member

    def remove(
        self, group: ConsumerGroup, members: list[ConsumerMember], reply: Any, refused: Refused
    ) -> Result[GroupRecord, Any]:
        """Because they leave or are not heard of. A group of classic members alone becomes a classic group again."""
        if not members:
            return Result([], reply)
        leaving = {member.member_id for member in members}
        logger.info("group %.200r loses %d of %d members", group.group_id, len(leaving), len(group.members))
        staying = [member for member in group.members.values() if member.member_id not in leaving]
        if may_downgrade(staying, self._context.settings):
            return downgrade(self._context, self._classic, group, staying, reply=reply, refused=refused, rebalance=True)
        return Result(departure_records(group, staying, self._context.topics), reply)

    def session_timeout_ms(self, group: ConsumerGroup, member: ConsumerMember) -> int:
        """A classic member chose its own."""
        if member.classic is not None:
            return member.classic.session_timeout_ms
        return self._context.settings.consumer_group(group.group_id).session_timeout_ms
