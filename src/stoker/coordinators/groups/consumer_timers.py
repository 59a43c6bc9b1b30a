"""The deadlines of the members of KIP-848 groups. Whoever misses one is fenced."""

from collections.abc import Callable, Hashable
from functools import partial
from logging import getLogger
from typing import Any, Literal

from stoker.coordinators.groups.consumer_group import ConsumerGroup
from stoker.coordinators.groups.consumer_member import ConsumerMember
from stoker.coordinators.groups.context import GroupContext
from stoker.coordinators.result import Result
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupRecord

logger = getLogger("stoker.groups")

Deadline = Literal["session", "rebalance", "join", "sync"]
"""session: the next heartbeat. rebalance: partitions given up. join, sync: a classic member's next JoinGroup, SyncGroup."""

Fence = Callable[[ConsumerGroup, ConsumerMember], Result[GroupRecord, Any]]

_RETRY_MS = 500
"""After the log refused to write that a member is fenced."""


class ConsumerTimers:
    """Time-outs are looked at anew when they are met: the group may have changed, or be gone."""

    def __init__(self, context: GroupContext, fence: Fence) -> None:
        self._context = context
        self._fence = fence

    def expect_heartbeat(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        self._schedule("session", group_id, member_id, timeout_ms)

    def expect_revocation(self, group_id: str, member: ConsumerMember) -> None:
        """The member must leave the epoch it is in within its rebalance time-out."""
        self._schedule("rebalance", group_id, member.member_id, member.rebalance_timeout_ms, member.member_epoch)

    def expect_join(self, group_id: str, member: ConsumerMember) -> None:
        """Counted from when the member was first told to join again."""
        if not self._context.timers.is_scheduled(group_id, _key("join", member.member_id)):
            self._schedule("join", group_id, member.member_id, member.rebalance_timeout_ms)

    def expect_sync(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        self._schedule("sync", group_id, member_id, timeout_ms)

    def cancel(self, group_id: str, member_id: str, deadline: Deadline) -> None:
        self._context.timers.cancel(group_id, _key(deadline, member_id))

    def cancel_all(self, group_id: str, member_id: str) -> None:
        for deadline in ("session", "rebalance", "join", "sync"):
            self.cancel(group_id, member_id, deadline)

    def _schedule(
        self, deadline: Deadline, group_id: str, member_id: str, timeout_ms: int, epoch: int | None = None
    ) -> None:
        self._context.timers.schedule(
            group_id,
            _key(deadline, member_id),
            self._context.timer_clock() + timeout_ms,
            partial(self._missed, deadline, group_id, member_id, epoch),
        )

    def _missed(
        self, deadline: Deadline, group_id: str, member_id: str, epoch: int | None
    ) -> Result[GroupRecord, Any] | None:
        group = self._context.groups.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        if member is None or epoch not in {None, member.member_epoch}:
            return None
        assert isinstance(group, ConsumerGroup)
        logger.info("group %.200r fences member %.200r: it missed its %s time-out", group_id, member_id, deadline)
        fenced = self._fence(group, member)

        def try_again(error: ErrorCode) -> Result[GroupRecord, Any]:
            self._schedule(deadline, group_id, member_id, _RETRY_MS, epoch)
            return Result([], None) if fenced.if_refused is None else fenced.if_refused(error)

        return Result(fenced.records, fenced.reply, fenced.answers, try_again)


def _key(deadline: Deadline, member_id: str) -> Hashable:
    return ("consumer", deadline, member_id)
