"""How a classic group gets from one generation to the next, and what its timers do.

All methods change the group at once and return the records to write; the answers to waiting requests gather in the group.
"""

from functools import partial
from logging import getLogger
from typing import Any

from stoker.coordinators.groups.classic_group import ClassicGroup
from stoker.coordinators.groups.classic_states import ClassicGroupState
from stoker.coordinators.groups.context import GroupContext
from stoker.coordinators.result import Result
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupRecord
from stoker.wire.messages.sync_group import SyncGroupResponse

logger = getLogger("stoker.groups")

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""How long a new member may wait for its first generation. Nothing else would notice that it is gone, and each try of a
client that gives up too early leaves another such member behind."""

_SHORTEST_RETRY_MS = 100
"""Between two tries to complete a rebalance that nobody has joined, also if members ask for no rebalance time-out."""

_JOIN = "join"
_SYNC = "sync"


def _session(member_id: str) -> tuple[str, str]:
    return ("session", member_id)


class ClassicRebalance:
    """The steps of a rebalance, taken by requests and by timers alike."""

    def __init__(self, context: GroupContext) -> None:
        self._context = context

    # -- sessions ---------------------------------------------------------------------------------------------------

    def keep_session(self, group: ClassicGroup, member_id: str) -> None:
        """The member is alive: its session time-out begins anew."""
        self.expect_sign_of_life(group, member_id, group.members[member_id].session_timeout_ms)

    def expect_sign_of_life(self, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
        self._context.timers.schedule(
            group.group_id,
            _session(member_id),
            self._context.timer_clock() + timeout_ms,
            partial(self._session_expired, group, member_id),
        )

    def end_session(self, group: ClassicGroup, member_id: str) -> None:
        self._context.timers.cancel(group.group_id, _session(member_id))

    def remove_member(self, group: ClassicGroup, member_id: str) -> None:
        self.end_session(group, member_id)
        group.remove(member_id)

    def forget(self, group: ClassicGroup) -> None:
        """The group is gone, or another took its place: nothing of it may happen any more."""
        for member_id in [*group.members, *group.pending_members]:
            self.end_session(group, member_id)
        self._context.timers.cancel(group.group_id, _JOIN)
        self._context.timers.cancel(group.group_id, _SYNC)
        group.transition_to(ClassicGroupState.DEAD)

    def _session_expired(self, group: ClassicGroup, member_id: str) -> Result[GroupRecord, Any] | None:
        if member_id in group.pending_members:
            group.remove(member_id)
            return self._result(group, self._complete_if_all_joined(group))
        waits = member_id in group.joining or member_id in group.syncing
        if member_id not in group.members or (waits and member_id not in group.new_members):
            return None  # whoever waits for us is not late; its session begins anew with the answer
        group.remove(member_id)
        if group.state is ClassicGroupState.PREPARING_REBALANCE:
            return self._result(group, self._complete_if_all_joined(group))
        reason = f"member {member_id:.200} was not heard of for its session time-out"
        return self._result(group, self.rebalance(group, reason))

    def _complete_if_all_joined(self, group: ClassicGroup) -> list[GroupRecord]:
        if group.state is ClassicGroupState.PREPARING_REBALANCE and group.have_all_joined:
            return self._complete_join(group)
        return []

    # -- the members gather -----------------------------------------------------------------------------------------

    def rebalance(self, group: ClassicGroup, reason: str) -> list[GroupRecord]:
        """Begin one; or, if it has begun, see whether it can go on."""
        if ClassicGroupState.PREPARING_REBALANCE.may_follow(group.state):
            return self.prepare(group, reason)
        return self.complete_join_if_possible(group)

    def prepare(self, group: ClassicGroup, reason: str) -> list[GroupRecord]:
        """Let the members gather again. Whoever waits for its assignment must rejoin."""
        logger.info("group %.200r rebalances: %s", group.group_id, reason)
        if group.state is ClassicGroupState.COMPLETING_REBALANCE:
            self._take_assignments_back(group)
        group.unsynced_members.clear()
        self._context.timers.cancel(group.group_id, _SYNC)

        is_first = group.is_empty
        group.transition_to(ClassicGroupState.PREPARING_REBALANCE)
        if is_first:
            return self._gather_first_members(group)
        if group.have_all_joined:
            return self._complete_join(group)
        self._complete_join_after(group, group.rebalance_timeout_ms)
        return []

    def _take_assignments_back(self, group: ClassicGroup) -> None:
        group.assign({})
        for member_id in list(group.syncing):
            group.answer_sync(member_id, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
            self.keep_session(group, member_id)

    def complete_join_if_possible(self, group: ClassicGroup) -> list[GroupRecord]:
        """All are there. The first rebalance of a group waits out its delay (KIP-134)."""
        if group.previous_state is ClassicGroupState.EMPTY:
            return []
        return self._complete_if_all_joined(group)

    def _gather_first_members(self, group: ClassicGroup) -> list[GroupRecord]:
        group.joined_meanwhile = False
        delay_ms = self._context.settings.initial_rebalance_delay_ms
        if delay_ms == 0:
            return self._complete_join(group)
        self._wait_for_more_members(group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        return []

    def _wait_for_more_members(self, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
        self._context.timers.schedule(
            group.group_id,
            _JOIN,
            self._context.timer_clock() + delay_ms,
            partial(self._initial_delay_expired, group, delay_ms, remaining_ms),
        )

    def _initial_delay_expired(
        self, group: ClassicGroup, delay_ms: int, remaining_ms: int
    ) -> Result[GroupRecord, Any] | None:
        if not group.joined_meanwhile or remaining_ms == 0:
            return self._result(group, self._complete_join(group))
        group.joined_meanwhile = False
        next_delay_ms = min(self._context.settings.initial_rebalance_delay_ms, remaining_ms)
        self._wait_for_more_members(group, next_delay_ms, max(remaining_ms - delay_ms, 0))
        return None

    def _complete_join_after(self, group: ClassicGroup, delay_ms: int) -> None:
        self._context.timers.schedule(
            group.group_id,
            _JOIN,
            self._context.timer_clock() + delay_ms,
            lambda: self._result(group, self._complete_join(group)),
        )

    def _complete_join(self, group: ClassicGroup) -> list[GroupRecord]:
        """The next generation is of those who have joined, and of static members, who keep their place (KIP-345)."""
        self._context.timers.cancel(group.group_id, _JOIN)
        for member in list(group.members.values()):
            if member.instance_id is None and member.member_id not in group.joining:
                self.remove_member(group, member.member_id)
        if group.members and not group.elect_joined_leader():
            # Only silent static members are left: their sessions will end, or one of them comes back.
            self._complete_join_after(group, max(group.rebalance_timeout_ms, _SHORTEST_RETRY_MS))
            return []
        group.begin_generation()
        logger.info(
            "group %.200r has generation %d with %d members", group.group_id, group.generation_id, len(group.members)
        )
        if group.is_empty:
            return [group.metadata_record({})]
        for member_id in group.members:
            group.answer_joined(member_id)
            self.keep_session(group, member_id)
        self._expect_syncs(group)
        return []

    # -- the members synchronize ------------------------------------------------------------------------------------

    def _expect_syncs(self, group: ClassicGroup) -> None:
        self._context.timers.schedule(
            group.group_id,
            _SYNC,
            self._context.timer_clock() + group.rebalance_timeout_ms,
            partial(self._sync_expired, group),
        )

    def has_synced(self, group: ClassicGroup, member_id: str) -> None:
        group.unsynced_members.discard(member_id)
        if not group.unsynced_members:
            self._context.timers.cancel(group.group_id, _SYNC)

    def _sync_expired(self, group: ClassicGroup) -> Result[GroupRecord, Any] | None:
        """Who has not asked for its assignment in time is not going to use it: others shall (KAFKA-12890)."""
        late = sorted(group.unsynced_members)
        for member_id in late:
            self.remove_member(group, member_id)
        return self._result(group, self.prepare(group, f"{len(late)} members did not ask for their assignment in time"))

    def _result(self, group: ClassicGroup, records: list[GroupRecord]) -> Result[GroupRecord, Any] | None:
        """What a timer has brought about. Nothing is taken back if the log refuses that a group is empty: the members it
        still knows of have no session any more, so a restart lets them go by time-out."""
        answers = group.take_answers()
        if not records and not answers:
            return None
        return Result(records, None, answers, lambda error: Result([], None, answers))
