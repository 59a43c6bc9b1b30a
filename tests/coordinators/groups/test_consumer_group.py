"""What offsets, listings and deletion ask of a KIP-848 group, and what its records make of it."""

from uuid import UUID

import pytest

from stoker.coordinators.groups.consumer_group import ConsumerGroup
from stoker.coordinators.groups.consumer_states import ConsumerGroupState, MemberState
from stoker.coordinators.groups.group import GroupType
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    CurrentTopicPartitions,
    GroupRecord,
)
from tests.coordinators.groups.consumer_driver import GROUP, ConsumerDriver, FakeMember, settle
from tests.coordinators.groups.driver import Topics

ORDERS = UUID(int=1)


def epochs(*, group: int, target: int) -> list[GroupRecord]:
    return [
        GroupRecord(ConsumerGroupMetadataKey(group_id=GROUP), ConsumerGroupMetadataValue(epoch=group)),
        GroupRecord(
            ConsumerGroupTargetAssignmentMetadataKey(group_id=GROUP),
            ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=target),
        ),
    ]


def metadata(member_id: str, *, classic: bool = False) -> GroupRecord:
    return GroupRecord(
        ConsumerGroupMemberMetadataKey(group_id=GROUP, member_id=member_id),
        ConsumerGroupMemberMetadataValue(
            subscribed_topic_names=["orders"],
            subscribed_topic_regex="",
            rebalance_timeout_ms=60_000,
            classic_member_metadata=ClassicMemberMetadata(session_timeout_ms=10_000) if classic else None,
        ),
    )


def assignment(
    member_id: str,
    epoch: int,
    assigned: dict[int, int] | None = None,
    revoking: dict[int, int] | None = None,
    *,
    state: int = MemberState.STABLE,
) -> GroupRecord:
    """Partitions of `orders`, each with the epoch at which the member got it."""

    def topics(owned: dict[int, int] | None) -> list[CurrentTopicPartitions]:
        if not owned:
            return []
        since = list(owned.values())
        return [CurrentTopicPartitions(topic_id=ORDERS, partitions=list(owned), assignment_epochs=since)]

    return GroupRecord(
        ConsumerGroupCurrentMemberAssignmentKey(group_id=GROUP, member_id=member_id),
        ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=epoch,
            previous_member_epoch=epoch - 1,
            state=state,
            assigned_partitions=topics(assigned),
            partitions_pending_revocation=topics(revoking),
        ),
    )


def loaded(*records: GroupRecord) -> ConsumerDriver:
    broker = ConsumerDriver(Topics(orders=4))
    broker.start_with(*records)
    return broker


def group_of_three() -> ConsumerGroup:
    """At epoch 5, with a new consumer, a classic one, and partitions that were got at different times."""
    return loaded(
        *epochs(group=5, target=5),
        metadata("new"),
        assignment("new", 5, {0: 2, 1: 5}, {2: 3}, state=MemberState.UNREVOKED_PARTITIONS),
        metadata("classic", classic=True),
        assignment("classic", 5, {3: 4}),
    ).group


STATES: dict[str, tuple[list[GroupRecord], ConsumerGroupState]] = {
    "nobody": (epochs(group=1, target=1), ConsumerGroupState.EMPTY),
    "an epoch without a target": (
        [*epochs(group=2, target=1), metadata("a"), assignment("a", 1)],
        ConsumerGroupState.ASSIGNING,
    ),
    "a member at an older epoch": (
        [*epochs(group=2, target=2), metadata("a"), assignment("a", 1)],
        ConsumerGroupState.RECONCILING,
    ),
    "a member that waits for partitions": (
        [*epochs(group=2, target=2), metadata("a"), assignment("a", 2, state=MemberState.UNRELEASED_PARTITIONS)],
        ConsumerGroupState.RECONCILING,
    ),
    "everybody at the target": (
        [*epochs(group=2, target=2), metadata("a"), assignment("a", 2)],
        ConsumerGroupState.STABLE,
    ),
}


@pytest.mark.parametrize(("records", "state"), STATES.values(), ids=STATES.keys())
def test_the_state_follows_from_epochs_and_members(records: list[GroupRecord], state: ConsumerGroupState) -> None:
    group = loaded(*records).group
    assert group.state is state
    assert (group.state_name, group.type, group.protocol_type) == (state.value, GroupType.CONSUMER, "consumer")
    assert group.is_empty == (state is ConsumerGroupState.EMPTY)
    assert group.delete_error() == (ErrorCode.NONE if group.is_empty else ErrorCode.NON_EMPTY_GROUP)


COMMITS: dict[str, tuple[str, int, int, ErrorCode]] = {
    "a member at its epoch": ("new", 5, 9, ErrorCode.NONE),
    "a member that is behind": ("new", 4, 9, ErrorCode.STALE_MEMBER_EPOCH),
    "a member that is ahead": ("new", 6, 9, ErrorCode.STALE_MEMBER_EPOCH),
    "a request that knows no member epochs": ("new", 5, 8, ErrorCode.UNSUPPORTED_VERSION),
    "a classic member at its generation": ("classic", 5, 8, ErrorCode.NONE),
    "a classic member of another generation": ("classic", 4, 8, ErrorCode.ILLEGAL_GENERATION),
    "a stranger": ("stranger", 5, 9, ErrorCode.UNKNOWN_MEMBER_ID),
    "nobody, though there are members": ("", -1, 9, ErrorCode.UNKNOWN_MEMBER_ID),
}


@pytest.mark.parametrize(("member_id", "epoch", "version", "error"), COMMITS.values(), ids=COMMITS.keys())
def test_who_may_commit(member_id: str, epoch: int, version: int, error: ErrorCode) -> None:
    assert group_of_three().commit_error(member_id, None, epoch, version) == error


def test_anybody_may_commit_for_an_empty_group() -> None:
    assert loaded(*epochs(group=1, target=1)).group.commit_error("", None, -1, 9) == ErrorCode.NONE


LATE_COMMITS: dict[str, tuple[str, int, int, ErrorCode]] = {
    "a partition it has had since": ("new", 4, 0, ErrorCode.NONE),
    "a partition it got only later": ("new", 4, 1, ErrorCode.STALE_MEMBER_EPOCH),
    "a partition it is giving up": ("new", 4, 2, ErrorCode.NONE),
    "a partition of another": ("new", 4, 3, ErrorCode.STALE_MEMBER_EPOCH),
    "an epoch to come": ("new", 6, 0, ErrorCode.STALE_MEMBER_EPOCH),
    "a classic member's partition it has had since": ("classic", 4, 3, ErrorCode.NONE),
    "a classic member's partition of another": ("classic", 4, 0, ErrorCode.ILLEGAL_GENERATION),
    "a stranger": ("stranger", 4, 0, ErrorCode.UNKNOWN_MEMBER_ID),
}


@pytest.mark.parametrize(("member_id", "epoch", "partition", "error"), LATE_COMMITS.values(), ids=LATE_COMMITS.keys())
def test_a_member_that_is_behind_may_commit_what_it_has_had_since(
    member_id: str, epoch: int, partition: int, error: ErrorCode
) -> None:
    assert group_of_three().partition_commit_error(member_id, epoch, ORDERS, partition) == error


FETCHES: dict[str, tuple[str | None, int, ErrorCode]] = {
    "anyone": (None, -1, ErrorCode.NONE),
    "a member at its epoch": ("new", 5, ErrorCode.NONE),
    "a member that is behind": ("new", 4, ErrorCode.STALE_MEMBER_EPOCH),
    "a classic member that is behind": ("classic", 4, ErrorCode.ILLEGAL_GENERATION),
    "a stranger": ("stranger", 5, ErrorCode.UNKNOWN_MEMBER_ID),
    "nobody with an epoch": (None, 5, ErrorCode.UNKNOWN_MEMBER_ID),
}


@pytest.mark.parametrize(("member_id", "epoch", "error"), FETCHES.values(), ids=FETCHES.keys())
def test_who_may_read_offsets(member_id: str | None, epoch: int, error: ErrorCode) -> None:
    assert group_of_three().fetch_error(member_id, epoch) == error


def test_offsets_expire_from_their_commit_on_unless_the_topic_is_subscribed() -> None:
    group = group_of_three()
    assert group.offsets_expire_since(42) == 42
    assert group.offset_delete_error() == ErrorCode.NONE
    assert group.is_subscribed_to("orders")
    assert not group.is_subscribed_to("payments")


def test_records_that_were_written_without_assignment_epochs_count_from_the_members_epoch() -> None:
    record = assignment("a", 3, {0: 1})
    assert isinstance(record.value, ConsumerGroupCurrentMemberAssignmentValue)
    record.value.assigned_partitions[0].assignment_epochs = None
    group = loaded(*epochs(group=3, target=3), metadata("a"), record).group
    assert group.members["a"].assigned == {ORDERS: {0: 3}}


def test_a_log_that_is_compacted_only_in_part_tells_who_has_a_partition_now() -> None:
    """The record in which `a` gave partition 0 up is gone, as a later one of `a` took its place."""
    group = loaded(
        *epochs(group=4, target=4),
        metadata("a"),
        assignment("a", 1, {0: 1, 1: 1}),
        metadata("b"),
        assignment("b", 2, {0: 2}),
        assignment("a", 4, {1: 1}),
    ).group
    assert [group.owner_of(ORDERS, partition) for partition in (0, 1, 2)] == ["b", "a", None]


def test_an_unknown_state_of_a_newer_kafka_is_left_by_joining_again() -> None:
    broker = loaded(*epochs(group=1, target=1), metadata("a"), assignment("a", 1, {0: 1}, state=9))
    assert broker.group.members["a"].state is MemberState.UNKNOWN
    a = FakeMember(broker, "a", ["orders"], epoch=1, owned={(ORDERS, 0)})
    assert a.beat().error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert a.epoch == 0
    settle(a)
    assert a.owned == broker.partitions("orders")


def test_tombstones_take_all_of_a_group_away() -> None:
    broker = ConsumerDriver(Topics(orders=4))
    FakeMember(broker, "a", ["orders"], regex="ord.*", instance_id="one").join()
    broker.start_with(*broker.records(), *broker.group.tombstones())
    assert GROUP not in broker.context.groups
    survivors = {key for key, _ in broker.log} - {key for key, value in broker.log if value is None}
    assert not survivors


def test_tombstones_of_a_group_that_is_not_there_do_nothing() -> None:
    broker = ConsumerDriver(Topics(orders=4))
    a = FakeMember(broker, "a", ["orders"], regex="ord.*")
    a.join()
    tombstones = broker.group.tombstones()
    broker = loaded(*tombstones)
    assert not broker.context.groups


def test_a_deleted_group_can_be_joined_again() -> None:
    broker = ConsumerDriver(Topics(orders=4))
    a = FakeMember(broker, "a", ["orders"])
    a.join()
    a.leave()
    broker.start_with(*broker.records(), *broker.group.tombstones())
    assert a.join().member_epoch == 2
    assert a.owned == broker.partitions("orders")
