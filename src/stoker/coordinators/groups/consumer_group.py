"""A KIP-848 consumer group: its members, who owns which partition, and the assignment they are on the way to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from stoker.coordinators.groups.assignors import Assignment
from stoker.coordinators.groups.consumer_member import ConsumerMember
from stoker.coordinators.groups.consumer_records import group_tombstones
from stoker.coordinators.groups.consumer_states import ConsumerGroupState
from stoker.coordinators.groups.group import Group, GroupType
from stoker.wire.consumer_protocol import PROTOCOL_TYPE
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupRecord

_FIRST_EPOCH = 1
"""Of a group in which nothing has happened yet: even a member that joins without a subscription has an epoch, as 0 means
to join."""
_EPOCHS_IN_COMMITS_FROM = 9
"""The version of OffsetCommit from which on it knows member epochs (KIP-848)."""


@dataclass(frozen=True, slots=True)
class ResolvedPattern:
    """The topics that a regular expression matched, when, and as of which version of the topics."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


class ConsumerGroup(Group):
    """What the replayed records say; what the group has looked up since is not in them."""

    type = GroupType.CONSUMER

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.group_epoch = _FIRST_EPOCH
        self.metadata_hash = 0
        """Of the subscribed topics as they were at `group_epoch` (KIP-1101)."""
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}
        """The member that has an instance id."""
        self.patterns: dict[str, ResolvedPattern] = {}
        self.assignment_epoch = _FIRST_EPOCH
        self.assignment_timestamp_ms = 0
        self.target: dict[str, Assignment] = {}
        self.has_partition_metadata_record = False
        """Kafka before 4.1 wrote one; it is taken away when the metadata hash is written."""
        self._owners: dict[UUID, dict[int, str]] = {}
        self._subscribed: frozenset[str] | None = None
        self._resolved_at: dict[str, int] = {}
        """The version of the topics for which each pattern is known to match what its record says."""
        self._checked_topics: tuple[int, int] | None = None

    # -- members ----------------------------------------------------------------------------------------------------

    def update_member(self, member: ConsumerMember) -> None:
        """Also takes note of what the member owns now and no longer owns."""
        old = self.members.get(member.member_id)
        if old is not None:
            self._release_partitions(old)
            if old.instance_id is not None and old.instance_id != member.instance_id:
                self._release_instance(old)
        self.members[member.member_id] = member
        self._subscribed = None
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        for owned in (member.assigned, member.revoking):
            for topic_id, partitions in owned.items():
                self._owners.setdefault(topic_id, {}).update(dict.fromkeys(partitions, member.member_id))

    def remove_member(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        self._subscribed = None
        if member is not None:
            self._release_partitions(member)
            self._release_instance(member)

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        member_id = self.static_members.get(instance_id) if instance_id is not None else None
        return self.members[member_id] if member_id is not None else None

    def target_of(self, member_id: str, instance_id: str | None = None) -> Assignment:
        """The target of the member; that of its instance id, which another member may have had so far, if it has one."""
        if instance_id is not None:
            member_id = self.static_members.get(instance_id, member_id)
        return self.target.get(member_id, {})

    def owner_of(self, topic_id: UUID, partition: int) -> str | None:
        """The member that has the partition and has not given it up yet."""
        return self._owners.get(topic_id, {}).get(partition)

    def is_waiting_for_others(self, member: ConsumerMember) -> bool:
        """Whether some partition of the member's target still belongs to another member."""
        return any(
            self.owner_of(topic_id, partition) not in {None, member.member_id}
            for topic_id, partitions in self.target_of(member.member_id).items()
            for partition in partitions
        )

    def supports_classic_protocols(self, protocol_type: str, names: set[str]) -> bool:
        """Whether all classic members, and the one that joins, have one of these protocols in common."""
        if protocol_type != PROTOCOL_TYPE or not names:
            return False
        common = set(names)
        for member in self.members.values():
            if member.classic is not None:
                common &= {protocol.name for protocol in member.classic.supported_protocols}
        return bool(common)

    def _release_partitions(self, member: ConsumerMember) -> None:
        """What others have got meanwhile stays theirs: a log that is partly compacted tells of them first."""
        for owned in (member.assigned, member.revoking):
            for topic_id, partitions in owned.items():
                owners = self._owners.get(topic_id, {})
                for partition in partitions:
                    if owners.get(partition) == member.member_id:
                        del owners[partition]
                if not owners:
                    self._owners.pop(topic_id, None)

    def _release_instance(self, member: ConsumerMember) -> None:
        if member.instance_id is not None and self.static_members.get(member.instance_id) == member.member_id:
            del self.static_members[member.instance_id]

    # -- topics -----------------------------------------------------------------------------------------------------

    def must_check_topics(self, version: int) -> bool:
        """Whether topics may have changed since the group looked, or what it then wanted to write was not written."""
        return (
            self._checked_topics is None
            or self._checked_topics[0] != version
            or (self.group_epoch < self._checked_topics[1])
        )

    def checked_topics(self, version: int, group_epoch: int) -> None:
        """`group_epoch` is the one that what was found leads to."""
        self._checked_topics = (version, group_epoch)

    # -- Group ------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> ConsumerGroupState:
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.group_epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def protocol_type(self) -> str:
        return PROTOCOL_TYPE

    @property
    def is_empty(self) -> bool:
        return not self.members

    def commit_error(
        self,
        member_id: str,
        instance_id: str | None,
        generation_or_epoch: int,
        version: int,
        *,
        in_transaction: bool = False,
    ) -> ErrorCode:
        is_nobody = generation_or_epoch < 0 and not member_id and instance_id is None
        if (generation_or_epoch < 0 and not self.members) or (in_transaction and is_nobody):
            return ErrorCode.NONE
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if not member.uses_classic_protocol and version < _EPOCHS_IN_COMMITS_FROM and not in_transaction:
            return ErrorCode.UNSUPPORTED_VERSION
        return _epoch_error(member, generation_or_epoch)

    def partition_commit_error(
        self, member_id: str, generation_or_epoch: int, topic_id: UUID, partition: int
    ) -> ErrorCode:
        """Whether a member whose epoch is behind may still commit this partition: it may if it has had it since then
        (KIP-1251). Asked when `commit_error` says STALE_MEMBER_EPOCH or ILLEGAL_GENERATION."""
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        since = member.assignment_epoch_of(topic_id, partition)
        if since is not None and since <= generation_or_epoch <= member.member_epoch:
            return ErrorCode.NONE
        return _epoch_error(member, generation_or_epoch)

    def fetch_error(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        if member_id is None and member_epoch < 0:
            return ErrorCode.NONE
        member = self.members.get(member_id) if member_id is not None else None
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return _epoch_error(member, member_epoch)

    def delete_error(self) -> ErrorCode:
        return ErrorCode.NON_EMPTY_GROUP if self.members else ErrorCode.NONE

    def offset_delete_error(self) -> ErrorCode:
        return ErrorCode.NONE

    def is_subscribed_to(self, topic: str) -> bool:
        if self._subscribed is None:
            self._subscribed = subscribed_topics(self.members.values(), self.patterns)
        return topic in self._subscribed

    def offsets_expire_since(self, commit_timestamp_ms: int) -> int | None:
        return commit_timestamp_ms

    def tombstones(self) -> list[GroupRecord]:
        return group_tombstones(self.group_id, self.members, self.patterns)

    # -- patterns ---------------------------------------------------------------------------------------------------

    def update_pattern(self, text: str, pattern: ResolvedPattern) -> None:
        self.patterns[text] = pattern
        self._resolved_at[text] = pattern.version
        self._subscribed = None

    def remove_pattern(self, text: str) -> None:
        self.patterns.pop(text, None)
        self._resolved_at.pop(text, None)
        self._subscribed = None

    def is_resolved(self, text: str, version: int) -> bool:
        """Whether the pattern still stands for the same topics as of this version of the topics."""
        return self._resolved_at.get(text) == version

    def resolved(self, text: str, version: int) -> None:
        """It does: nothing needs to be written."""
        self._resolved_at[text] = version

    def doubt_patterns(self) -> None:
        """The versions in records that were loaded are not those of these topics."""
        self._resolved_at.clear()


def topics_of(member: ConsumerMember, patterns: Mapping[str, ResolvedPattern]) -> frozenset[str]:
    """The topics a member wants, by name and by pattern; they need not exist."""
    pattern = patterns.get(member.subscribed_topic_regex) if member.subscribed_topic_regex else None
    return member.subscribed_topic_names if pattern is None else member.subscribed_topic_names | pattern.topics


def subscribed_topics(members: Iterable[ConsumerMember], patterns: Mapping[str, ResolvedPattern]) -> frozenset[str]:
    """The topics that any of the members wants."""
    return frozenset[str]().union(*(topics_of(member, patterns) for member in members))


def _epoch_error(member: ConsumerMember, epoch: int) -> ErrorCode:
    if epoch == member.member_epoch:
        return ErrorCode.NONE
    return ErrorCode.ILLEGAL_GENERATION if member.uses_classic_protocol else ErrorCode.STALE_MEMBER_EPOCH
