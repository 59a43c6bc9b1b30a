"""Committed offsets: how far each group has read, committed by members and by whoever has no membership."""

from collections.abc import Container, Iterator
from itertools import repeat
from uuid import UUID

from stoker.coordinators.groups.classic_protocol import ClassicProtocol
from stoker.coordinators.groups.committed_offset import CommittedOffset, StoredOffset
from stoker.coordinators.groups.consumer_group import ConsumerGroup
from stoker.coordinators.groups.context import GroupContext
from stoker.coordinators.groups.group import Group
from stoker.coordinators.groups.pending_offsets import InTransaction, PendingOffsets
from stoker.coordinators.result import Result
from stoker.wire.commit_hot_path import FIRST_WITH_TOPIC_IDS, CommitCall, CommittedTopic
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import GroupRecord, OffsetCommitKey, OffsetCommitValue
from stoker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from stoker.wire.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from stoker.wire.topic_commits import TopicCommits

_GROUP_ID_NOT_FOUND_FROM = 9
_BROKERS_RETENTION = -1
_OF_ANOTHER_EPOCH = {ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.ILLEGAL_GENERATION}
_LATEST_MS = 2**63 - 1
_NO_TOPIC_ID = UUID(int=0)


TopicOffsets = dict[int, StoredOffset]
CommitErrors = list[dict[int, ErrorCode]] | None
"""For each topic of a commit what was refused, by the place of the partition in the request; None if nothing was."""


class Offsets:
    """The offsets of all groups. Changed by `replay` alone."""

    def __init__(self, context: GroupContext, classic: ClassicProtocol) -> None:
        self._context = context
        self._classic = classic
        self._by_group: dict[str, dict[str, TopicOffsets]] = {}
        self._pending = PendingOffsets()

    def replay(
        self, key: OffsetCommitKey, value: OffsetCommitValue | None, transaction: InTransaction | None = None
    ) -> None:
        if value is not None:
            stored = (
                *(value.offset, value.leader_epoch, value.metadata),
                *(value.commit_timestamp, value.expire_timestamp),
            )
            if transaction is not None:
                self._add_pending(transaction, key.group, key.topic, key.partition, stored)
                return
            self._committed(key.group, key.topic)[key.partition] = stored
            self._pending.overwrite(key.group, key.topic, key.partition)
            return
        self._pending.remove(key.group, key.topic, key.partition)
        topics = self._by_group.get(key.group)
        partitions = topics.get(key.topic) if topics is not None else None
        if topics is None or partitions is None:
            return
        partitions.pop(key.partition, None)
        if not partitions:
            del topics[key.topic]
            if not topics:
                del self._by_group[key.group]

    def replay_commits(self, commits: TopicCommits, transaction: InTransaction | None = None) -> None:
        group, topic, _, commit_timestamp, expire_timestamp, partitions, offsets, leader_epochs, metadata = commits
        times = repeat(commit_timestamp), repeat(expire_timestamp)
        stored = zip(offsets, leader_epochs, repeat("") if metadata is None else metadata, *times, strict=False)
        if transaction is not None:
            for partition, offset in zip(partitions, stored, strict=True):
                self._add_pending(transaction, group, topic, partition, offset)
            return
        self._committed(group, topic).update(zip(partitions, stored, strict=True))
        if self._pending.has_any(group):
            for partition in partitions:
                self._pending.overwrite(group, topic, partition)

    def _add_pending(
        self, transaction: InTransaction, group_id: str, topic: str, partition: int, stored: StoredOffset
    ) -> None:
        if group_id not in self._context.groups:
            self._classic.get_or_create_empty(group_id)
        self._pending.add(transaction, group_id, topic, partition, stored)

    def end_transaction(self, transaction: InTransaction, *, committed: bool) -> None:
        """The marker of a transaction was written to the log."""
        if not committed:
            self._pending.drop(transaction)
            return
        for group_id, topic, partition, stored in self._pending.end(transaction):
            self._committed(group_id, topic)[partition] = stored

    def _committed(self, group_id: str, topic: str) -> TopicOffsets:
        """A commit for a group that is not there makes it: a simple consumer has no membership (as in Kafka)."""
        if group_id not in self._context.groups:
            self._classic.get_or_create_empty(group_id)
        return self._by_group.setdefault(group_id, {}).setdefault(topic, {})

    def of_group(self, group_id: str) -> dict[str, TopicOffsets]:
        return self._by_group.get(group_id, {})

    # -- commit -----------------------------------------------------------------------------------------------------

    def commit(
        self, request: CommitCall, version: int, *, in_transaction: bool = False
    ) -> Result[TopicCommits, CommitErrors]:
        """Topics that are not there are refused as such, whoever asks; the others with what speaks against the member."""
        refusal = self._may_commit(request, version, in_transaction)
        now = self._context.wall_clock()
        retention = request.retention_time_ms
        expires = -1 if retention == _BROKERS_RETENTION else min(now + retention, _LATEST_MS)
        commits: list[TopicCommits] = []
        errors: list[dict[int, ErrorCode]] = []
        for topic in request.topics:
            name, topic_id, of_topic = self._check_topic(request, topic, version, refusal)
            accepted = _without(topic, of_topic) if of_topic else topic
            if accepted.partitions:
                commits.append(TopicCommits(request.group_id, name, topic_id, now, expires, *accepted[2:]))
            errors.append(of_topic)
        return Result(commits, errors if any(errors) else None)

    def refuse(self, request: CommitCall, version: int, error: ErrorCode) -> CommitErrors:
        """What the client hears when the offsets cannot be written. Topics that are not there are told of all the same."""
        return [self._check_topic(request, topic, version, error)[2] for topic in request.topics]

    def _may_commit(self, request: CommitCall, version: int, in_transaction: bool) -> ErrorCode:
        group = self._context.groups.get(request.group_id)
        if group is None:
            if request.generation_id_or_member_epoch < 0:
                return ErrorCode.NONE
            return ErrorCode.GROUP_ID_NOT_FOUND if version >= _GROUP_ID_NOT_FOUND_FROM else ErrorCode.ILLEGAL_GENERATION
        error = group.commit_error(
            request.member_id,
            request.group_instance_id,
            request.generation_id_or_member_epoch,
            version,
            in_transaction=in_transaction,
        )
        if error is ErrorCode.NONE:
            self._classic.touch(group, request.member_id)
        return error

    def _check_topic(
        self, request: CommitCall, topic: CommittedTopic, version: int, refusal: ErrorCode
    ) -> tuple[str, UUID, dict[int, ErrorCode]]:
        """The topic's name and id, and which of its partitions cannot be committed."""
        topics = self._context.topics
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if version >= FIRST_WITH_TOPIC_IDS:
            name, topic_id = topics.topic_name(topic.topic_id) or "", topic.topic_id
            if not name:
                unknown = ErrorCode.UNKNOWN_TOPIC_ID
        else:
            name, topic_id = topic.name, topics.topic_id(topic.name) or _NO_TOPIC_ID
        count = topics.partition_count(name) or 0
        errors: dict[int, ErrorCode] = {}
        indexes = topic.partitions
        if (
            refusal is ErrorCode.NONE
            and topic.metadata is None
            and indexes
            and 0 <= min(indexes) <= max(indexes) < count
        ):
            return name, topic_id, errors
        longest = self._context.settings.offset_metadata_max_bytes
        all_metadata = topic.metadata or [""] * len(indexes)
        for place, (index, metadata) in enumerate(zip(indexes, all_metadata, strict=True)):
            error = refusal
            if not 0 <= index < count:
                error = unknown
            elif error in _OF_ANOTHER_EPOCH:
                error = self._refusal_of_partition(request, topic_id, index, refusal)
            if error is ErrorCode.NONE and len(metadata) > longest:
                error = ErrorCode.OFFSET_METADATA_TOO_LARGE
            if error is not ErrorCode.NONE:
                errors[place] = error
        return name, topic_id, errors

    def _refusal_of_partition(
        self, request: CommitCall, topic_id: UUID, partition: int, refusal: ErrorCode
    ) -> ErrorCode:
        group = self._context.groups.get(request.group_id)
        if not isinstance(group, ConsumerGroup):
            return refusal
        return group.partition_commit_error(
            request.member_id, request.generation_id_or_member_epoch, topic_id, partition
        )

    # -- fetch ------------------------------------------------------------------------------------------------------

    def fetch(
        self, request: OffsetFetchRequestGroup, version: int, *, require_stable: bool = False
    ) -> OffsetFetchResponseGroup:
        """The offsets of some partitions, or with topics=None all there are. A group that is not there has none.

        With `require_stable`, an offset that an open transaction may change is UNSTABLE_OFFSET_COMMIT (KIP-447).
        """
        group = self._context.groups.get(request.group_id)
        if group is not None:
            error = group.fetch_error(request.member_id, request.member_epoch)
            if error is not ErrorCode.NONE:
                return OffsetFetchResponseGroup(group_id=request.group_id, topics=[], error_code=error)
        committed = self.of_group(request.group_id)
        if request.topics is None:
            topics = [self._all_of(name, partitions) for name, partitions in committed.items()]
        else:
            topics = [self._asked(topic, committed, version) for topic in request.topics]
        if version >= FIRST_WITH_TOPIC_IDS:  # a deleted topic has no id to name it by
            topics = [topic for topic in topics if request.topics is not None or topic.topic_id != _NO_TOPIC_ID]
        if require_stable and self._pending.has_any(request.group_id):
            self._mark_unstable(request.group_id, topics)
        return OffsetFetchResponseGroup(group_id=request.group_id, topics=topics)

    def _mark_unstable(self, group_id: str, topics: list[OffsetFetchResponseTopics]) -> None:
        unstable = self._pending.partitions_of(group_id)
        for topic in topics:
            name = topic.name or self._context.topics.topic_name(topic.topic_id) or ""
            topic.partitions = [
                _committed(partition.partition_index, None, ErrorCode.UNSTABLE_OFFSET_COMMIT)
                if (name, partition.partition_index) in unstable
                else partition
                for partition in topic.partitions
            ]

    def _all_of(self, name: str, partitions: TopicOffsets) -> OffsetFetchResponseTopics:
        return OffsetFetchResponseTopics(
            name=name,
            topic_id=self._context.topics.topic_id(name) or _NO_TOPIC_ID,
            partitions=[_committed(index, value) for index, value in partitions.items()],
        )

    def _asked(
        self, topic: OffsetFetchRequestTopics, committed: dict[str, TopicOffsets], version: int
    ) -> OffsetFetchResponseTopics:
        name: str | None = topic.name
        error = ErrorCode.NONE
        if version >= FIRST_WITH_TOPIC_IDS:
            name = self._context.topics.topic_name(topic.topic_id)
            if name is None:
                error = ErrorCode.UNKNOWN_TOPIC_ID
        offsets = committed.get(name, {}) if name is not None else {}
        return OffsetFetchResponseTopics(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[_committed(index, offsets.get(index), error) for index in topic.partition_indexes],
        )

    # -- delete and expire ------------------------------------------------------------------------------------------

    def delete(self, request: OffsetDeleteRequest) -> Result[GroupRecord, OffsetDeleteResponse]:
        group = self._context.groups.get(request.group_id)
        if not request.group_id:
            return Result([], OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID))
        if group is None:
            return Result([], OffsetDeleteResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND))
        error = group.offset_delete_error()
        if error is not ErrorCode.NONE:
            return Result([], OffsetDeleteResponse(error_code=error))
        tombstones: dict[tuple[str, int], GroupRecord] = {}
        topics = []
        for topic in request.topics:
            known = self._context.topics.partition_count(topic.name) or 0
            subscribed = group.is_subscribed_to(topic.name)
            committed = self.of_group(request.group_id).get(topic.name, {})
            partitions = []
            for asked in topic.partitions:
                index = asked.partition_index
                error = ErrorCode.NONE
                if not 0 <= index < known:
                    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                elif subscribed:
                    error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
                elif index in committed or self._pending.has(request.group_id, topic.name, index):
                    tombstones[topic.name, index] = _tombstone(request.group_id, topic.name, index)
                partitions.append(OffsetDeleteResponsePartition(partition_index=index, error_code=error))
            topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
        return Result(list(tombstones.values()), OffsetDeleteResponse(topics=topics))

    def tombstones_of(self, group_id: str) -> list[GroupRecord]:
        """Of all offsets, those included that a transaction may still commit: what is written before does not count then."""
        return [_tombstone(group_id, topic, index) for topic, index in self._partitions_of(group_id)]

    def _partitions_of(self, group_id: str) -> dict[tuple[str, int], None]:
        committed = self.of_group(group_id).items()
        partitions = dict.fromkeys((topic, index) for topic, offsets in committed for index in offsets)
        partitions.update(dict.fromkeys(sorted(self._pending.partitions_of(group_id))))
        return partitions

    def tombstones_of_topics(self, topics: frozenset[str]) -> Iterator[tuple[str, list[GroupRecord]]]:
        """What deleted topics leave behind, group by group."""
        for group_id in self._by_group.keys() | self._pending.groups():
            partitions = self._partitions_of(group_id)
            gone = [_tombstone(group_id, topic, index) for topic, index in partitions if topic in topics]
            if gone:
                yield group_id, gone

    def abandon(self, group_id: str) -> None:
        """Their log is gone."""
        self._by_group.pop(group_id, None)
        self._pending.forget_group(group_id)

    def expired(self, group: Group) -> tuple[list[GroupRecord], bool]:
        """Tombstones of the offsets whose retention is over, and whether that leaves the group none (KIP-211)."""
        now = self._context.wall_clock()
        retention_ms = self._context.settings.offsets_retention_ms
        records: list[GroupRecord] = []
        kept = self._pending.has_any(group.group_id)
        for topic, partitions in self.of_group(group.group_id).items():
            subscribed = group.is_subscribed_to(topic)
            for index, value in partitions.items():
                if (
                    not subscribed
                    and self._is_over(group, CommittedOffset._make(value), now, retention_ms)
                    and not self._pending.has(group.group_id, topic, index)
                ):
                    records.append(_tombstone(group.group_id, topic, index))
                else:
                    kept = True
        return records, not kept

    def _is_over(self, group: Group, value: CommittedOffset, now: int, retention_ms: int) -> bool:
        since = group.offsets_expire_since(value.commit_timestamp)
        if since is None:
            return False
        if value.expire_timestamp != -1:
            return now >= value.expire_timestamp
        return now - since >= retention_ms


def _without(topic: CommittedTopic, refused: Container[int]) -> CommittedTopic:
    kept = [place for place in range(len(topic.partitions)) if place not in refused]
    return topic._replace(
        partitions=tuple(topic.partitions[place] for place in kept),
        offsets=tuple(topic.offsets[place] for place in kept),
        leader_epochs=tuple(topic.leader_epochs[place] for place in kept),
        metadata=None if topic.metadata is None else tuple(topic.metadata[place] for place in kept),
    )


def _committed(
    index: int, value: StoredOffset | None, error: ErrorCode = ErrorCode.NONE
) -> OffsetFetchResponsePartitions:
    if value is None:
        return OffsetFetchResponsePartitions(partition_index=index, committed_offset=-1, metadata="", error_code=error)
    offset, leader_epoch, metadata, _, _ = value
    return OffsetFetchResponsePartitions(
        partition_index=index, committed_offset=offset, committed_leader_epoch=leader_epoch, metadata=metadata
    )


def _tombstone(group_id: str, topic: str, partition: int) -> GroupRecord:
    return GroupRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition), None)
