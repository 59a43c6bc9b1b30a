"""The coordinator of all groups of a broker: one method an API, each giving records to write and a reply.

Nothing here reads a socket, a file or a clock. What must outlive the process is in the records of `__consumer_offsets`;
`replay` makes the state from them, at start and after every write.
"""

from collections.abc import Callable, Iterator
from typing import Any

from stoker.coordinators.groups.classic_group import ClassicGroup
from stoker.coordinators.groups.classic_protocol import ClassicProtocol
from stoker.coordinators.groups.consumer_group import ConsumerGroup
from stoker.coordinators.groups.consumer_protocol import ConsumerProtocol
from stoker.coordinators.groups.context import ClientInfo, GroupContext, GroupSettings
from stoker.coordinators.groups.offsets import CommitErrors, Offsets
from stoker.coordinators.groups.pending_offsets import InTransaction
from stoker.coordinators.result import Answer, Result, Waiting
from stoker.wire.commit_hot_path import CommitCall
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupMetadataKey, GroupRecord, OffsetCommitKey, OffsetCommitValue
from stoker.wire.messages import consumer_group_describe, describe_groups
from stoker.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from stoker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from stoker.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from stoker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from stoker.wire.messages.list_groups import ListedGroup
from stoker.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from stoker.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchResponseGroup
from stoker.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from stoker.wire.topic_commits import TopicCommits


class GroupCoordinator:
    """Every result is applied before the next method is called: written, replayed, answered."""

    def __init__(self, context: GroupContext) -> None:
        self._context = context
        self._classic = ClassicProtocol(self._context)
        self._consumer = ConsumerProtocol(self._context, self._classic)
        self._offsets = Offsets(self._context, self._classic)

    # -- state ------------------------------------------------------------------------------------------------------

    def replay(self, record: GroupRecord | TopicCommits, transaction: InTransaction | None = None) -> None:
        """Of what is written in a transaction, which can be offsets alone, nothing counts before the transaction ends."""
        if isinstance(record, TopicCommits):
            self._offsets.replay_commits(record, transaction)
            return
        key, value = record
        if isinstance(key, OffsetCommitKey):
            assert value is None or isinstance(value, OffsetCommitValue)
            self._offsets.replay(key, value, transaction)
        elif isinstance(key, GroupMetadataKey):
            self._classic.replay(record)
        else:
            self._consumer.replay(record)

    def end_transaction(self, transaction: InTransaction, *, committed: bool) -> None:
        """Its marker is in the log: the offsets it committed count from now on, or are forgotten."""
        self._offsets.end_transaction(transaction, committed=committed)

    def loaded(self) -> None:
        """All that was in the log has been replayed: time runs from now on, and members have their session time-out."""
        self._context.loading = False
        self._classic.loaded()
        self._consumer.loaded()

    def abandon(self, is_lost: Callable[[str], bool]) -> list[Answer]:
        """Let go of groups whose log is gone or cannot be read. The answers are for those who wait in them."""
        answers: list[Answer] = []
        for group in list(self._context.groups.values()):
            if is_lost(group.group_id):
                if isinstance(group, ClassicGroup):
                    answers += self._classic.abandon(group)
                self._offsets.abandon(group.group_id)
                del self._context.groups[group.group_id]
        return answers

    def configure(self, settings: GroupSettings) -> None:
        self._context.settings = settings

    @property
    def next_deadline_ms(self) -> int | None:
        """When `expire` has something to do, by the timer clock. It may be early, never late."""
        return self._context.timers.next_deadline_ms

    def expire(self) -> Iterator[tuple[str, Result[GroupRecord, Any]]]:
        """What the time that has passed brings about, group by group. Each must be applied before the next is taken."""
        return self._context.timers.expire(self._context.timer_clock())

    # -- members ----------------------------------------------------------------------------------------------------

    def join_group(
        self, client: ClientInfo, request: JoinGroupRequest, version: int
    ) -> Result[GroupRecord, JoinGroupResponse | Waiting[JoinGroupResponse]]:
        if self._is_active_consumer_group(request.group_id):
            return self._consumer.join_classic_member(client, request, version)
        return self._classic.join(client, request, version)

    def sync_group(
        self, request: SyncGroupRequest, version: int
    ) -> Result[GroupRecord, SyncGroupResponse | Waiting[SyncGroupResponse]]:
        if self._is_consumer_group(request.group_id):
            return self._consumer.sync_classic_member(request, version)
        return self._classic.sync(request, version)

    def heartbeat(self, request: HeartbeatRequest) -> Result[GroupRecord, HeartbeatResponse]:
        if self._is_consumer_group(request.group_id):
            return self._consumer.heartbeat_classic_member(request)
        return self._classic.heartbeat(request)

    def leave_group(self, request: LeaveGroupRequest, version: int) -> Result[GroupRecord, LeaveGroupResponse]:
        if self._is_consumer_group(request.group_id):
            return self._consumer.leave_classic_members(request, version)
        return self._classic.leave(request, version)

    def consumer_group_heartbeat(
        self, client: ClientInfo, request: ConsumerGroupHeartbeatRequest, version: int
    ) -> Result[GroupRecord, ConsumerGroupHeartbeatResponse]:
        return self._consumer.heartbeat(client, request, version)

    def _is_consumer_group(self, group_id: str) -> bool:
        return isinstance(self._context.groups.get(group_id), ConsumerGroup)

    def _is_active_consumer_group(self, group_id: str) -> bool:
        """An empty one may be taken over by members of the classic protocol."""
        group = self._context.groups.get(group_id)
        return isinstance(group, ConsumerGroup) and not group.is_empty

    # -- offsets ----------------------------------------------------------------------------------------------------

    def commit_offsets(
        self, request: CommitCall, version: int, *, in_transaction: bool = False
    ) -> Result[TopicCommits, CommitErrors]:
        return self._offsets.commit(request, version, in_transaction=in_transaction)

    def refuse_commit(self, request: CommitCall, version: int, error: ErrorCode) -> CommitErrors:
        return self._offsets.refuse(request, version, error)

    def fetch_offsets(
        self, request: OffsetFetchRequestGroup, version: int, *, require_stable: bool = False
    ) -> OffsetFetchResponseGroup:
        return self._offsets.fetch(request, version, require_stable=require_stable)

    def delete_offsets(self, request: OffsetDeleteRequest) -> Result[GroupRecord, OffsetDeleteResponse]:
        return self._offsets.delete(request)

    def expire_offsets(self) -> Iterator[tuple[str, list[GroupRecord]]]:
        """Tombstones of offsets whose retention is over, and of groups that have neither members nor offsets left.

        Each group is named, also if there is nothing to write: the caller may take a break then.
        """
        for group_id in list(self._context.groups):
            group = self._context.groups.get(group_id)
            if group is None:
                continue  # it was deleted during a break
            records, none_left = self._offsets.expired(group)
            if none_left and group.delete_error() is ErrorCode.NONE:
                records += group.tombstones()
            yield group_id, records

    def forget_topics(self, topics: frozenset[str]) -> Iterator[tuple[str, list[GroupRecord]]]:
        """Tombstones of all offsets of topics that were deleted."""
        return self._offsets.tombstones_of_topics(topics)

    # -- groups -----------------------------------------------------------------------------------------------------

    def list_groups(self, states: list[str], types: list[str]) -> list[ListedGroup]:
        """The filters are Kafka's: any case, empty for all; one that names nothing known matches nothing."""
        wanted_states = {state.lower() for state in states}
        wanted_types = {type_.lower() for type_ in types}
        return [
            ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state_name,
                group_type=group.type.value,
            )
            for group in self._context.groups.values()
            if (not wanted_states or group.state_name.lower() in wanted_states)
            and (not wanted_types or group.type.value in wanted_types)
        ]

    def describe_group(self, group_id: str, version: int) -> describe_groups.DescribedGroup:
        return self._classic.describe(group_id, version)

    def describe_consumer_group(self, group_id: str) -> consumer_group_describe.DescribedGroup:
        return self._consumer.describe(group_id)

    def delete_group(self, group_id: str) -> Result[GroupRecord, ErrorCode]:
        """A group with its offsets; only one without members."""
        group = self._context.groups.get(group_id)
        if group is None:
            return Result([], ErrorCode.GROUP_ID_NOT_FOUND)
        error = group.delete_error()
        if error is not ErrorCode.NONE:
            return Result([], error)
        return Result(self._offsets.tombstones_of(group_id) + group.tombstones(), ErrorCode.NONE)
