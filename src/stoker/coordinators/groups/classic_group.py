"""A group of the classic protocol: its members as plain data, its generation, and the requests that wait for it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from stoker.coordinators.groups.classic_member import ClassicMember, MemberProtocol
from stoker.coordinators.groups.classic_states import ClassicGroupState
from stoker.coordinators.groups.group import Group, GroupType
from stoker.coordinators.result import Answer, Waiting
from stoker.errors import MalformedMessage
from stoker.wire.consumer_protocol import PROTOCOL_TYPE, ConsumerProtocolSubscription
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupMetadataKey, GroupMetadataValue, GroupRecord
from stoker.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from stoker.wire.messages.sync_group import SyncGroupResponse


class WaitingJoin(NamedTuple):
    """A JoinGroup request that waits, and its version, on which the form of the reply depends."""

    waiting: Waiting[JoinGroupResponse]
    version: int


def refused_join(version: int, member_id: str, error: ErrorCode) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=error, member_id=member_id, protocol_name=None if version >= 7 else "")


class ClassicGroup(Group):
    """Soft state, changed at once; the record of it is written when a generation is complete (see ClassicProtocol).

    Requests that wait are kept beside the members. Their answers gather until `take_answers`, so that they leave with
    the records that were made in the same step.
    """

    type = GroupType.CLASSIC

    def __init__(
        self,
        group_id: str,
        wall_clock: Callable[[], int],
        *,
        state: ClassicGroupState = ClassicGroupState.EMPTY,
        generation_id: int = 0,
        protocol_type: str = "",
        protocol_name: str | None = None,
        leader_id: str | None = None,
        state_since_ms: int | None = None,
    ) -> None:
        self.group_id = group_id
        self._wall_clock = wall_clock

        # Written to the log.
        self.generation_id = generation_id
        self._protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader_id = leader_id
        self.state_since_ms = state_since_ms
        self.members: dict[str, ClassicMember] = {}

        # Follows from the members.
        self.static_members: dict[str, str] = {}
        """From instance id to member id (KIP-345)."""
        self.subscribed_topics: frozenset[str] | None = None
        """None if the members do not say, or in a form that is not a consumer's."""
        self._supporters: Counter[str] = Counter()

        # Of the rebalance under way.
        self.state = state
        self.previous_state = ClassicGroupState.DEAD
        self.pending_members: set[str] = set()
        """Ids that were given out and have not joined yet (KIP-394)."""
        self.new_members: set[str] = set()
        """Members that wait for their first generation: they do not know their id yet, so cannot send heartbeats."""
        self.unsynced_members: set[str] = set()
        """Members of this generation that have not sent SyncGroup yet."""
        self.joined_meanwhile = False
        """Somebody joined since the delay of the first rebalance began or was extended."""
        self.joining: dict[str, WaitingJoin] = {}
        self.syncing: dict[str, Waiting[SyncGroupResponse]] = {}
        self._answers: list[Answer] = []

    @classmethod
    def from_record(cls, group_id: str, value: GroupMetadataValue, wall_clock: Callable[[], int]) -> "ClassicGroup":
        """The group as it was when the record was written: Stable, or Empty without members."""
        protocol_name = value.protocol or ""
        group = cls(
            group_id,
            wall_clock,
            state=ClassicGroupState.STABLE if value.members else ClassicGroupState.EMPTY,
            generation_id=value.generation,
            protocol_type=value.protocol_type,
            protocol_name=value.protocol,
            leader_id=value.leader,
            state_since_ms=None if value.current_state_timestamp == -1 else value.current_state_timestamp,
        )
        for member in value.members:
            group.add(ClassicMember.from_record(member, protocol_name), value.protocol_type)
        group.find_subscribed_topics()
        return group

    # -- what it is -------------------------------------------------------------------------------------------------

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def protocol_type(self) -> str:
        return self._protocol_type

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicGroupState.EMPTY

    @property
    def uses_consumer_protocol(self) -> bool:
        return self._protocol_type == PROTOCOL_TYPE

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest that any member asked for."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def have_all_joined(self) -> bool:
        return len(self.joining) == len(self.members) and not self.pending_members

    @property
    def assignments(self) -> dict[str, bytes]:
        return {member.member_id: member.assignment for member in self.members.values()}

    def metadata_record(self, assignments: Mapping[str, bytes]) -> GroupRecord:
        """The group as it is, with these assignments: those of a leader hold only once they are written."""
        value = GroupMetadataValue(
            protocol_type=self._protocol_type,
            generation=self.generation_id,
            protocol=self.protocol_name,
            leader=self.leader_id,
            current_state_timestamp=-1 if self.state_since_ms is None else self.state_since_ms,
            members=[
                member.to_record(self.protocol_name or "", assignments[member.member_id])
                for member in self.members.values()
            ],
        )
        return GroupRecord(GroupMetadataKey(group=self.group_id), value)

    # -- members ----------------------------------------------------------------------------------------------------

    def member_error(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """Whether this is a member; another one with its instance id has taken its place if FENCED_INSTANCE_ID."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def add(self, member: ClassicMember, protocol_type: str) -> None:
        """The first member decides the protocol type, and leads."""
        if not self.members:
            self._protocol_type = protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.pending_members.discard(member.member_id)
        self._put(member)

    def update(self, member: ClassicMember) -> None:
        """Take the place of the member with the same id."""
        self._supporters.subtract(protocol.name for protocol in self.members[member.member_id].protocols)
        self._put(member)

    def remove(self, member_id: str) -> None:
        """A request of it that waits is answered: if it is alive after all it joins anew."""
        self.answer_join(member_id, ErrorCode.UNKNOWN_MEMBER_ID, told_member_id="")
        self.answer_sync(member_id, SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        member = self.members.pop(member_id, None)
        if member is not None:
            self._supporters.subtract(protocol.name for protocol in member.protocols)
            if member.instance_id is not None:
                del self.static_members[member.instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self.pending_members.discard(member_id)
        self.new_members.discard(member_id)

    def replace_static_member(self, old_id: str, new_id: str) -> None:
        """The same member under a new id (KIP-345). If its old self waits for an answer, that is fenced."""
        self.answer_join(old_id, ErrorCode.FENCED_INSTANCE_ID)
        self.answer_sync(old_id, SyncGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))
        renamed = replace(self.members[old_id], member_id=new_id)
        assert renamed.instance_id is not None
        self.static_members[renamed.instance_id] = new_id
        members = [renamed if member.member_id == old_id else member for member in self.members.values()]
        self.members = {member.member_id: member for member in members}
        if self.leader_id == old_id:
            self.leader_id = new_id
        if old_id in self.unsynced_members:
            self.unsynced_members.remove(old_id)
            self.unsynced_members.add(new_id)

    def _put(self, member: ClassicMember) -> None:
        self.members[member.member_id] = member
        self._supporters.update(protocol.name for protocol in member.protocols)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    # -- protocols --------------------------------------------------------------------------------------------------

    def supports(self, protocol_type: str, protocols: Iterable[MemberProtocol]) -> bool:
        """Whether somebody who speaks these could be a member: one of them is spoken by all."""
        if self.is_empty:
            return True
        return protocol_type == self._protocol_type and any(
            self._supporters[protocol.name] == len(self.members) for protocol in protocols
        )

    def select_protocol(self) -> str:
        """Of the protocols that all members speak the one that most would choose."""
        candidates = {name for name, supporters in self._supporters.items() if supporters == len(self.members)}
        votes = Counter(
            next(protocol.name for protocol in member.protocols if protocol.name in candidates)
            for member in self.members.values()
        )
        return max(votes, key=votes.__getitem__)

    def find_subscribed_topics(self) -> None:
        self.subscribed_topics = self._subscribed_topics()

    def _subscribed_topics(self) -> frozenset[str] | None:
        if not self.uses_consumer_protocol:
            return None
        topics: set[str] = set()
        try:
            for member in self.members.values():
                subscription = member.metadata(self.protocol_name or "")
                topics.update(ConsumerProtocolSubscription.from_bytes(subscription).topics)
        except MalformedMessage:
            return None
        return frozenset(topics)

    # -- rebalances -------------------------------------------------------------------------------------------------

    def transition_to(self, state: ClassicGroupState) -> None:
        if not state.may_follow(self.state):
            raise AssertionError(f"group {self.group_id!r} cannot go from {self.state.value} to {state.value}")
        self.previous_state, self.state = self.state, state
        self.state_since_ms = self._wall_clock()

    def elect_joined_leader(self) -> bool:
        """Let somebody lead who has joined; False if nobody has."""
        if self.leader_id not in self.joining:
            self.leader_id = next(
                (member_id for member_id in self.members if member_id in self.joining), self.leader_id
            )
        return self.leader_id in self.joining

    def begin_generation(self) -> None:
        """Of those who are members now; without any, the group is empty."""
        self.generation_id += 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.find_subscribed_topics()
        self.unsynced_members = set(self.members)
        self.new_members.clear()
        self.transition_to(ClassicGroupState.COMPLETING_REBALANCE if self.members else ClassicGroupState.EMPTY)

    def assign(self, assignments: Mapping[str, bytes]) -> None:
        for member_id, member in self.members.items():
            self.members[member_id] = replace(member, assignment=assignments.get(member_id, b""))

    # -- requests that wait -----------------------------------------------------------------------------------------

    def wait_for_join(self, member_id: str, version: int) -> Waiting[JoinGroupResponse]:
        """A request of the same member that waits already is answered: its sender gave up on it."""
        self.answer_join(member_id, ErrorCode.REBALANCE_IN_PROGRESS)
        waiting: Waiting[JoinGroupResponse] = Waiting()
        self.joining[member_id] = WaitingJoin(waiting, version)
        return waiting

    def wait_for_sync(self, member_id: str) -> Waiting[SyncGroupResponse]:
        """As `wait_for_join`."""
        self.answer_sync(member_id, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        waiting = self.syncing[member_id] = Waiting()
        return waiting

    def answer_join(self, member_id: str, error: ErrorCode, *, told_member_id: str | None = None) -> None:
        join = self.joining.pop(member_id, None)
        if join is not None:
            told = member_id if told_member_id is None else told_member_id
            self._answers.append(Answer(join.waiting, refused_join(join.version, told, error)))

    def answer_joined(self, member_id: str) -> None:
        join = self.joining.pop(member_id, None)
        if join is not None:
            self._answers.append(Answer(join.waiting, self.joined(member_id)))

    def answer_sync(self, member_id: str, reply: SyncGroupResponse) -> bool:
        waiting = self.syncing.pop(member_id, None)
        if waiting is None:
            return False
        self._answers.append(Answer(waiting, reply))
        return True

    def answer_all(self, error: ErrorCode) -> None:
        """To whoever waits: the group ends, or becomes one of another protocol."""
        for member_id in self.members:
            self.answer_join(member_id, error)
            self.answer_sync(member_id, SyncGroupResponse(error_code=error))

    def take_answers(self) -> list[Answer]:
        answers, self._answers = self._answers, []
        return answers

    def joined(self, member_id: str) -> JoinGroupResponse:
        """The generation as this member is told of it. Only the leader hears of the others."""
        return JoinGroupResponse(
            generation_id=self.generation_id,
            protocol_type=self._protocol_type,
            protocol_name=self.protocol_name,
            leader=self.leader_id or "",
            member_id=member_id,
            members=self._members_for_leader() if member_id == self.leader_id else [],
        )

    def _members_for_leader(self) -> list[JoinGroupResponseMember]:
        return [
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                metadata=member.metadata(self.protocol_name or ""),
            )
            for member in self.members.values()
        ]

    # -- what offsets and listings ask ------------------------------------------------------------------------------

    def commit_error(
        self,
        member_id: str,
        instance_id: str | None,
        generation_or_epoch: int,
        version: int,
        *,
        in_transaction: bool = False,
    ) -> ErrorCode:
        if self.state is ClassicGroupState.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if generation_or_epoch < 0 and self.is_empty:
            return ErrorCode.NONE  # an admin client, or a consumer that chooses its partitions itself
        if generation_or_epoch < 0 and not member_id and instance_id is None:
            return ErrorCode.NONE if in_transaction else ErrorCode.UNKNOWN_MEMBER_ID
        error = self.member_error(member_id, instance_id)
        if error is ErrorCode.NONE and generation_or_epoch != self.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        is_completing = self.state is ClassicGroupState.COMPLETING_REBALANCE
        if error is ErrorCode.NONE and is_completing and not in_transaction:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return error

    def fetch_error(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        return self._dead_or(ErrorCode.NONE)

    def delete_error(self) -> ErrorCode:
        return self._dead_or(ErrorCode.NONE if self.is_empty else ErrorCode.NON_EMPTY_GROUP)

    def offset_delete_error(self) -> ErrorCode:
        allowed = self.is_empty or self.uses_consumer_protocol
        return self._dead_or(ErrorCode.NONE if allowed else ErrorCode.NON_EMPTY_GROUP)

    def _dead_or(self, error: ErrorCode) -> ErrorCode:
        return ErrorCode.GROUP_ID_NOT_FOUND if self.state is ClassicGroupState.DEAD else error

    def is_subscribed_to(self, topic: str) -> bool:
        if self.subscribed_topics is None:
            return self.uses_consumer_protocol
        return topic in self.subscribed_topics

    def offsets_expire_since(self, commit_timestamp_ms: int) -> int | None:
        if not self._protocol_type:
            return commit_timestamp_ms
        if self.is_empty:
            return commit_timestamp_ms if self.state_since_ms is None else self.state_since_ms
        if self.state is ClassicGroupState.STABLE and self.subscribed_topics is not None:
            return commit_timestamp_ms
        return None

    def tombstones(self) -> list[GroupRecord]:
        return [GroupRecord(GroupMetadataKey(group=self.group_id), None)]
