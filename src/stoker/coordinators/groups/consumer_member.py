"""A member of a KIP-848 group, as the records have it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from stoker.coordinators.groups.consumer_states import MemberState
from stoker.coordinators.groups.context import ClientInfo
from stoker.wire.group_records import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    CurrentTopicPartitions,
    GroupRecord,
)
from stoker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions

Owned = Mapping[UUID, Mapping[int, int]]
"""Partitions by topic, each with the epoch at which the member got it (KIP-1251)."""

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2
"""A static member is gone for a while: what it had is kept for its instance id until the session time-out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsumerMember:
    """Never changed, only replaced: a handler computes the next one, the replay of its records puts it in place."""

    member_id: str
    # What the member says of itself: ConsumerGroupMemberMetadata.
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: frozenset[str] = frozenset()
    subscribed_topic_regex: str = ""
    server_assignor: str | None = None
    classic: ClassicMemberMetadata | None = None
    """How it takes part by JoinGroup, SyncGroup and Heartbeat; None if it speaks KIP-848."""
    # Where its reconciliation stands: ConsumerGroupCurrentMemberAssignment.
    state: MemberState = MemberState.STABLE
    member_epoch: int = 0
    previous_member_epoch: int = -1
    assigned: Owned = field(default_factory=dict)
    revoking: Owned = field(default_factory=dict)
    """What it must give up; nobody else gets it before."""

    @property
    def uses_classic_protocol(self) -> bool:
        return self.classic is not None

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.member_epoch == assignment_epoch

    def owns_at_most(self, owned: list[TopicPartitions] | None) -> bool:
        """Whether what the member reports is part of what it was given; a member that does not report may have more."""
        if owned is None:
            return False
        return all(
            topic.topic_id in self.assigned and self.assigned[topic.topic_id].keys() >= set(topic.partitions)
            for topic in owned
        )

    def assignment_epoch_of(self, topic_id: UUID, partition: int) -> int | None:
        """When the member got the partition that it has, even if it must give it up; None if it has not."""
        epoch = self.assigned.get(topic_id, {}).get(partition)
        return epoch if epoch is not None else self.revoking.get(topic_id, {}).get(partition)

    # -- changes ----------------------------------------------------------------------------------------------------

    def updated_by(self, client: ClientInfo, request: ConsumerGroupHeartbeatRequest) -> "ConsumerMember":
        """With what the request says; the very same member if that is nothing new, as in most heartbeats."""
        if (
            request.subscribed_topic_names is None
            and request.subscribed_topic_regex in {None, self.subscribed_topic_regex}
            and request.rebalance_timeout_ms in {-1, self.rebalance_timeout_ms}
            and request.server_assignor in {None, self.server_assignor}
            and request.rack_id in {None, self.rack_id}
            and request.instance_id in {None, self.instance_id}
            and client.client_id == self.client_id
            and client.host == self.client_host
            and self.classic is None
        ):
            return self
        names, regex, timeout = (
            request.subscribed_topic_names,
            request.subscribed_topic_regex,
            request.rebalance_timeout_ms,
        )
        updated = replace(
            self,
            instance_id=self.instance_id if request.instance_id is None else request.instance_id,
            rack_id=self.rack_id if request.rack_id is None else request.rack_id,
            client_id=client.client_id,
            client_host=client.host,
            rebalance_timeout_ms=self.rebalance_timeout_ms if timeout == -1 else timeout,
            subscribed_topic_names=self.subscribed_topic_names if names is None else frozenset(names),
            subscribed_topic_regex=self.subscribed_topic_regex if regex is None else regex,
            server_assignor=self.server_assignor if request.server_assignor is None else request.server_assignor,
            classic=None,
        )
        return self if updated == self else updated

    def moved_to(self, epoch: int, state: MemberState, assigned: Owned, revoking: Owned) -> "ConsumerMember":
        """The next step of its reconciliation. The epoch it had is remembered: the reply that tells the new one may be
        lost."""
        return replace(
            self,
            state=state,
            member_epoch=epoch,
            previous_member_epoch=self.member_epoch,
            assigned=assigned,
            revoking=revoking,
        )

    def replaced_by(self, member_id: str) -> "ConsumerMember":
        """The member that takes over this one's instance id and all it has (KIP-345)."""
        return replace(self, member_id=member_id, member_epoch=JOIN_EPOCH, previous_member_epoch=JOIN_EPOCH)

    def gone_for_a_while(self) -> "ConsumerMember":
        """A static member that left: what it had waits for its return, what it was to give up is free."""
        return replace(
            self,
            member_epoch=STATIC_LEAVE_EPOCH,
            assigned={topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in self.assigned.items()},
            revoking={},
        )

    # -- records ----------------------------------------------------------------------------------------------------

    def metadata_record(self, group_id: str) -> GroupRecord:
        return GroupRecord(
            ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=self.member_id),
            ConsumerGroupMemberMetadataValue(
                instance_id=self.instance_id,
                rack_id=self.rack_id,
                client_id=self.client_id,
                client_host=self.client_host,
                subscribed_topic_names=sorted(self.subscribed_topic_names),
                subscribed_topic_regex=self.subscribed_topic_regex,
                rebalance_timeout_ms=self.rebalance_timeout_ms,
                server_assignor=self.server_assignor,
                classic_member_metadata=self.classic,
            ),
        )

    def with_metadata(self, value: ConsumerGroupMemberMetadataValue) -> "ConsumerMember":
        return replace(
            self,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            subscribed_topic_names=frozenset(value.subscribed_topic_names),
            subscribed_topic_regex=value.subscribed_topic_regex or "",
            server_assignor=value.server_assignor,
            classic=value.classic_member_metadata,
        )

    def assignment_record(self, group_id: str) -> GroupRecord:
        return GroupRecord(
            ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=self.member_id),
            ConsumerGroupCurrentMemberAssignmentValue(
                member_epoch=self.member_epoch,
                previous_member_epoch=self.previous_member_epoch,
                state=self.state,
                assigned_partitions=_topic_partitions(self.assigned),
                partitions_pending_revocation=_topic_partitions(self.revoking),
            ),
        )

    def with_assignment(self, value: ConsumerGroupCurrentMemberAssignmentValue) -> "ConsumerMember":
        return replace(
            self,
            state=MemberState.of_record(value.state),
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            assigned=_owned(value.assigned_partitions, value.member_epoch),
            revoking=_owned(value.partitions_pending_revocation, value.member_epoch),
        )


def _topic_partitions(owned: Owned) -> list[CurrentTopicPartitions]:
    topics = []
    for topic_id in sorted(owned):
        partitions = sorted(owned[topic_id])
        topics.append(
            CurrentTopicPartitions(
                topic_id=topic_id,
                partitions=partitions,
                assignment_epochs=[owned[topic_id][partition] for partition in partitions],
            )
        )
    return topics


def _owned(topics: list[CurrentTopicPartitions], member_epoch: int) -> Owned:
    owned = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):  # before Kafka 4.3 a record did not tell them
            epochs = [max(member_epoch, 0)] * len(topic.partitions)
        owned[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return owned
