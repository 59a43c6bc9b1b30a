"""Committed offsets: who may commit, what comes back, when it goes."""

from uuid import UUID

import pytest

from stoker.coordinators.groups.context import ClientInfo, GroupSettings
from stoker.coordinators.groups.coordinator import GroupCoordinator
from stoker.coordinators.groups.pending_offsets import InTransaction
from stoker.wire.commit_hot_path import CommitCall, CommittedTopic, commit_call
from stoker.wire.error_codes import ErrorCode
from stoker.wire.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    CurrentTopicPartitions,
    GroupMetadataKey,
    GroupMetadataValue,
    GroupRecord,
    MemberMetadata,
    OffsetCommitKey,
)
from stoker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from stoker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stoker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stoker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from stoker.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from tests.coordinators.groups.driver import Driver, Topics

DAY_MS = 24 * 3600 * 1000
NO_ID = UUID(int=0)
TRANSACTION = InTransaction(3, 1)


@pytest.fixture
def driver() -> Driver[GroupCoordinator]:
    settings = GroupSettings(offset_metadata_max_bytes=10, offsets_retention_ms=7 * DAY_MS)
    return Driver(GroupCoordinator, settings, Topics(orders=3, payments=1))


def commit(
    driver: Driver[GroupCoordinator],
    offset: int,
    *,
    group: str = "readers",
    topic: str = "orders",
    partition: int = 0,
    generation: int = -1,
    member_id: str = "",
    metadata: str = "",
    retention_ms: int = -1,
    version: int = 9,
) -> ErrorCode:
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        retention_time_ms=retention_ms,
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                topic_id=driver.topics.topic_id(topic) or UUID(int=999),
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=partition,
                        committed_offset=offset,
                        committed_leader_epoch=4,
                        committed_metadata=metadata,
                    )
                ],
            )
        ],
    )
    errors = driver.perform(driver.coordinator.commit_offsets(commit_call(request), version)).reply
    return errors[0][0] if errors is not None else ErrorCode.NONE


def commit_in_transaction(driver: Driver[GroupCoordinator], offset: int, *, partition: int = 0) -> None:
    topic = CommittedTopic("orders", NO_ID, (partition,), (offset,), (-1,), None)
    call = CommitCall("readers", -1, "", None, -1, [topic])
    result = driver.coordinator.commit_offsets(call, 8, in_transaction=True)
    for record in result.records:
        driver.coordinator.replay(record, TRANSACTION)


def fetched(driver: Driver[GroupCoordinator], group: str = "readers") -> dict[tuple[str, int], tuple[int, int, str]]:
    reply = driver.coordinator.fetch_offsets(OffsetFetchRequestGroup(group_id=group, topics=None), 9)
    assert reply.error_code == ErrorCode.NONE
    return {
        (topic.name, partition.partition_index): (
            partition.committed_offset,
            partition.committed_leader_epoch,
            partition.metadata or "",
        )
        for topic in reply.topics
        for partition in topic.partitions
    }


def classic_group(*member_ids: str, generation: int = 5) -> GroupRecord:
    return GroupRecord(
        GroupMetadataKey(group="readers"),
        GroupMetadataValue(
            protocol_type="consumer",
            generation=generation,
            protocol="range" if member_ids else None,
            leader=member_ids[0] if member_ids else None,
            current_state_timestamp=1_700_000_000_000,
            members=[
                MemberMetadata(
                    member_id=member_id,
                    client_id="client",
                    client_host="/127.0.0.1",
                    rebalance_timeout=30_000,
                    session_timeout=10_000,
                    # version 0, one topic "orders", no user data
                    subscription=b"\0\0\0\0\0\1\0\6orders\xff\xff\xff\xff",
                )
                for member_id in member_ids
            ],
        ),
    )


def test_a_partition_that_comes_twice_is_judged_twice(driver: Driver[GroupCoordinator]) -> None:
    """As in Kafka: what is wrong with one does not touch the other, and of two good ones the last counts."""
    call = CommitCall(
        *("readers", -1, "", None, -1),
        [CommittedTopic("orders", UUID(int=0), (0, 0, 0, 9), (5, 6, 7, 8), (1, 1, 1, 1), ("", "", "x" * 5_000, ""))],
    )
    errors = driver.perform(driver.coordinator.commit_offsets(call, 9)).reply
    too_large, unknown = ErrorCode.OFFSET_METADATA_TOO_LARGE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert errors == [{2: too_large, 3: unknown}]
    assert fetched(driver) == {("orders", 0): (6, 1, "")}


def test_a_topic_that_is_not_there_is_told_of_whatever_else_is_wrong(driver: Driver[GroupCoordinator]) -> None:
    columns = ((0,), (5,), (1,), None)
    topics = [CommittedTopic(name, UUID(int=0), *columns) for name in ("orders", "nowhere")]
    call = CommitCall("readers", -1, "", None, -1, topics)
    error = ErrorCode.NOT_COORDINATOR
    assert driver.coordinator.refuse_commit(call, 9, error) == [{0: error}, {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}]


def test_what_was_committed_comes_back_after_a_restart(driver: Driver[GroupCoordinator]) -> None:
    assert commit(driver, 7, metadata="so far") is ErrorCode.NONE
    assert commit(driver, 9, partition=2) is ErrorCode.NONE
    expected = {("orders", 0): (7, 4, "so far"), ("orders", 2): (9, 4, "")}
    assert fetched(driver) == expected
    driver.restart()
    assert fetched(driver) == expected


def test_the_last_commit_counts(driver: Driver[GroupCoordinator]) -> None:
    for offset in (7, 3):
        commit(driver, offset)
    assert fetched(driver)["orders", 0][0] == 3


def test_a_topic_that_is_not_there_is_refused_as_such_whoever_asks(driver: Driver[GroupCoordinator]) -> None:
    driver.start_with(classic_group("first"))
    assert commit(driver, 7, member_id="stranger", topic="unknown") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert commit(driver, 7, member_id="stranger") is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("partition", "error"), [(0, ErrorCode.NONE), (1, ErrorCode.STALE_MEMBER_EPOCH)])
def test_a_member_that_is_behind_commits_what_it_has_had_since(
    driver: Driver[GroupCoordinator], partition: int, error: ErrorCode
) -> None:
    """It got partition 1 only later (KIP-1251)."""
    orders = driver.topics.topic_id("orders") or NO_ID
    owned = CurrentTopicPartitions(topic_id=orders, partitions=[0, 1], assignment_epochs=[4, 5])
    driver.start_with(
        GroupRecord(ConsumerGroupMetadataKey(group_id="readers"), ConsumerGroupMetadataValue(epoch=5)),
        GroupRecord(
            ConsumerGroupCurrentMemberAssignmentKey(group_id="readers", member_id="behind"),
            ConsumerGroupCurrentMemberAssignmentValue(
                member_epoch=5, previous_member_epoch=4, assigned_partitions=[owned]
            ),
        ),
    )
    assert commit(driver, 7, member_id="behind", generation=4, partition=partition) is error
    assert (("orders", partition) in fetched(driver)) is (error is ErrorCode.NONE)


def test_a_retention_without_end(driver: Driver[GroupCoordinator]) -> None:
    """Versions 2 to 4 may ask for more than there is time: it is cut where the record ends."""
    assert commit(driver, 7, retention_ms=2**63 - 1, version=4) is ErrorCode.NONE
    driver.restart()
    assert fetched(driver)["orders", 0][0] == 7


@pytest.mark.parametrize("version", [9, 10])
def test_partitions_that_were_asked_for(driver: Driver[GroupCoordinator], version: int) -> None:
    """What was never committed is -1 and no error; from version 10 on topics are named by their id."""
    commit(driver, 7, version=version)
    orders = driver.topics.topic_id("orders") or NO_ID
    wanted = [
        OffsetFetchRequestTopics(name="orders", topic_id=orders, partition_indexes=[0, 1]),
        OffsetFetchRequestTopics(name="unknown", topic_id=UUID(int=77), partition_indexes=[0]),
    ]
    reply = driver.coordinator.fetch_offsets(OffsetFetchRequestGroup(group_id="readers", topics=wanted), version)
    found = [[(p.committed_offset, p.error_code) for p in topic.partitions] for topic in reply.topics]
    unknown = ErrorCode.UNKNOWN_TOPIC_ID if version == 10 else ErrorCode.NONE
    assert found == [[(7, ErrorCode.NONE), (-1, ErrorCode.NONE)], [(-1, unknown)]]


def test_a_group_nobody_heard_of_has_no_offsets(driver: Driver[GroupCoordinator]) -> None:
    assert fetched(driver, "unheard-of") == {}
    assert driver.coordinator.list_groups([], []) == []


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, ErrorCode.NONE),
        ({"topic": "unknown"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"topic": "unknown", "version": 10}, ErrorCode.UNKNOWN_TOPIC_ID),
        ({"partition": 3}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"partition": -1}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"metadata": "0123456789"}, ErrorCode.NONE),
        ({"metadata": "0123456789+"}, ErrorCode.OFFSET_METADATA_TOO_LARGE),
        ({"generation": 0}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"generation": 0, "version": 8}, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_commits_without_members(
    driver: Driver[GroupCoordinator], arguments: dict[str, object], error: ErrorCode
) -> None:
    assert commit(driver, 7, **arguments) is error  # type: ignore[arg-type]  # the cases name their types
    assert bool(driver.log) is (error is ErrorCode.NONE)


@pytest.mark.parametrize(
    ("member_id", "generation", "error"),
    [
        ("first", 5, ErrorCode.NONE),
        ("first", 4, ErrorCode.ILLEGAL_GENERATION),
        ("stranger", 5, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_commits_of_a_classic_group(
    driver: Driver[GroupCoordinator], member_id: str, generation: int, error: ErrorCode
) -> None:
    driver.start_with(classic_group("first"))
    assert commit(driver, 7, member_id=member_id, generation=generation) is error


def test_commits_of_a_group_of_the_new_protocol(driver: Driver[GroupCoordinator]) -> None:
    request = ConsumerGroupHeartbeatRequest(
        group_id="readers",
        member_id="first",
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    client = ClientInfo(client_id="client", host="/127.0.0.1")
    joined = driver.perform(driver.coordinator.consumer_group_heartbeat(client, request, 1)).reply
    assert joined.error_code == ErrorCode.NONE
    epoch = joined.member_epoch
    assert commit(driver, 7, member_id="first", generation=epoch) is ErrorCode.NONE
    assert commit(driver, 8, member_id="first", generation=epoch + 1) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit(driver, 8, member_id="stranger", generation=epoch) is ErrorCode.UNKNOWN_MEMBER_ID
    assert fetched(driver)["orders", 0][0] == 7


def test_a_commit_keeps_the_session_of_a_classic_member(driver: Driver[GroupCoordinator]) -> None:
    driver.start_with(classic_group("first"))
    for _ in range(3):
        driver.advance(9_000)
        assert commit(driver, 7, member_id="first", generation=5) is ErrorCode.NONE
    driver.advance(10_000)
    assert commit(driver, 8, member_id="first", generation=5) is not ErrorCode.NONE


def test_offsets_of_an_empty_group_expire(driver: Driver[GroupCoordinator]) -> None:
    """Retention counts from when the group became empty, which its record tells; then the group goes too."""
    driver.start_with(classic_group())
    commit(driver, 7)
    driver.advance(7 * DAY_MS - 1)
    assert list(driver.coordinator.expire_offsets()) == [("readers", [])]
    driver.advance(1)
    expire(driver)
    assert fetched(driver) == {}
    assert driver.coordinator.list_groups([], []) == []
    driver.restart()
    assert driver.coordinator.list_groups([], []) == []


def test_an_offset_that_a_transaction_is_about_to_replace_does_not_expire(driver: Driver[GroupCoordinator]) -> None:
    """Its tombstone would take along what the transaction has written before it."""
    driver.start_with(classic_group())
    commit(driver, 7)
    commit(driver, 1, topic="payments")
    driver.advance(7 * DAY_MS)
    commit_in_transaction(driver, 8)
    expire(driver)
    assert set(fetched(driver)) == {("orders", 0)}
    driver.coordinator.end_transaction(TRANSACTION, committed=True)
    assert fetched(driver) == {("orders", 0): (8, -1, "")}


def test_an_offset_that_is_deleted_is_not_brought_back_by_a_transaction(driver: Driver[GroupCoordinator]) -> None:
    driver.start_with(classic_group())
    for partition in (0, 1):
        commit_in_transaction(driver, 8, partition=partition)
    wanted = OffsetDeleteRequestTopic(name="orders", partitions=[OffsetDeleteRequestPartition(partition_index=0)])
    request = OffsetDeleteRequest(group_id="readers", topics=[wanted])
    reply = driver.perform(driver.coordinator.delete_offsets(request)).reply
    assert reply.topics[0].partitions[0].error_code == ErrorCode.NONE

    partitions = OffsetFetchRequestTopics(name="orders", partition_indexes=[0, 1])
    asked = OffsetFetchRequestGroup(group_id="readers", topics=[partitions])
    [topic] = driver.coordinator.fetch_offsets(asked, 9, require_stable=True).topics
    errors = [partition.error_code for partition in topic.partitions]
    assert errors == [ErrorCode.NONE, ErrorCode.UNSTABLE_OFFSET_COMMIT]
    driver.coordinator.end_transaction(TRANSACTION, committed=True)
    assert set(fetched(driver)) == {("orders", 1)}


def test_offsets_of_a_subscribed_topic_do_not_expire(driver: Driver[GroupCoordinator]) -> None:
    """Those of other topics do, even while the group has members."""
    driver.start_with(classic_group("first"))
    commit(driver, 7, member_id="first", generation=5)
    commit(driver, 1, topic="payments", member_id="first", generation=5)
    driver.clock.passed_ms += 8 * DAY_MS  # not `advance`: nobody's session shall end
    expire(driver)
    assert set(fetched(driver)) == {("orders", 0)}


def test_a_client_that_names_its_own_retention(driver: Driver[GroupCoordinator]) -> None:
    commit(driver, 7, version=4, retention_ms=DAY_MS)
    driver.restart()
    driver.advance(DAY_MS - 1)
    assert list(driver.coordinator.expire_offsets()) == [("readers", [])]
    driver.advance(1)
    expire(driver)
    assert fetched(driver) == {}


def test_a_group_that_was_made_anew_during_a_break_is_left_alone(driver: Driver[GroupCoordinator]) -> None:
    """Groups are looked at in turns, between which they may be deleted, made anew and joined."""
    for group in ("first", "readers"):
        commit(driver, 7, group=group)
    driver.advance(7 * DAY_MS)
    turns = driver.coordinator.expire_offsets()
    assert next(turns)[0] == "first"
    driver.perform(driver.coordinator.delete_group("readers"))
    assert list(turns) == []
    commit(driver, 8)
    assert [records for _, records in driver.coordinator.expire_offsets()][1:] == [[]]


def test_an_offset_is_deleted_once_however_often_it_is_named(driver: Driver[GroupCoordinator]) -> None:
    commit(driver, 7)
    partitions = [OffsetDeleteRequestPartition(partition_index=0)] * 3
    request = OffsetDeleteRequest(
        group_id="readers", topics=[OffsetDeleteRequestTopic(name="orders", partitions=partitions)]
    )
    result = driver.coordinator.delete_offsets(request)
    assert len(result.records) == 1
    assert len(result.reply.topics[0].partitions) == 3


def test_groups_whose_log_is_lost_are_let_go_of(driver: Driver[GroupCoordinator]) -> None:
    """Those who wait in them are told to look for the coordinator again."""
    driver.start_with(classic_group("first"))
    commit(driver, 7, member_id="first", generation=5)
    commit(driver, 7, group="other")
    join = JoinGroupRequest(
        group_id="readers",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    waits = driver.perform(driver.coordinator.join_group(ClientInfo(client_id="second", host="/"), join, 3))
    for waiting, reply in driver.coordinator.abandon(lambda group_id: group_id == "readers"):
        waiting.resolve(reply)
    assert waits.reply.error_code == ErrorCode.NOT_COORDINATOR
    assert [group.group_id for group in driver.coordinator.list_groups([], [])] == ["other"]
    assert fetched(driver) == {}
    assert fetched(driver, "other") != {}
    assert list(driver.coordinator.expire()) == []


def expire(driver: Driver[GroupCoordinator]) -> None:
    for _, records in driver.coordinator.expire_offsets():
        driver._write(records)
        for record in records:
            driver.coordinator.replay(record)


@pytest.mark.parametrize(
    ("group", "topic", "partition", "error"),
    [
        ("readers", "payments", 0, ErrorCode.NONE),
        ("readers", "orders", 0, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC),
        ("readers", "payments", 9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("unheard-of", "orders", 0, ErrorCode.GROUP_ID_NOT_FOUND),
        ("", "orders", 0, ErrorCode.INVALID_GROUP_ID),
    ],
)
def test_single_offsets_are_deleted(
    driver: Driver[GroupCoordinator], group: str, topic: str, partition: int, error: ErrorCode
) -> None:
    driver.start_with(classic_group("first"))
    commit(driver, 7, member_id="first", generation=5)
    commit(driver, 1, topic="payments", member_id="first", generation=5)
    request = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=partition)])
        ],
    )
    reply = driver.perform(driver.coordinator.delete_offsets(request)).reply
    found = reply.error_code or reply.topics[0].partitions[0].error_code
    assert found == error
    assert (("payments", 0) in fetched(driver)) is (error is not ErrorCode.NONE)


def test_a_deleted_topic_takes_its_offsets_along(driver: Driver[GroupCoordinator]) -> None:
    commit(driver, 7)
    commit(driver, 8, group="others")
    commit(driver, 9, topic="payments")
    forgotten = {
        group: [record.key for record in records]
        for group, records in driver.coordinator.forget_topics(frozenset({"orders", "unknown"}))
    }
    key = OffsetCommitKey(topic="orders", partition=0)
    assert forgotten == {
        "readers": [OffsetCommitKey(group="readers", topic=key.topic, partition=0)],
        "others": [OffsetCommitKey(group="others", topic=key.topic, partition=0)],
    }


def test_a_deleted_group_takes_its_offsets_along(driver: Driver[GroupCoordinator]) -> None:
    driver.start_with(classic_group())
    commit(driver, 7)
    assert driver.perform(driver.coordinator.delete_group("readers")).reply is ErrorCode.NONE
    driver.restart()
    assert fetched(driver) == {}
    assert driver.perform(driver.coordinator.delete_group("readers")).reply is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_with_members_is_not_deleted(driver: Driver[GroupCoordinator]) -> None:
    driver.start_with(classic_group("first"))
    assert driver.perform(driver.coordinator.delete_group("readers")).reply is ErrorCode.NON_EMPTY_GROUP


@pytest.mark.parametrize(
    ("states", "types", "found"),
    [
        ([], [], {"readers", "simple"}),
        (["stable"], [], {"readers"}),
        (["EMPTY", "Stable"], ["Classic"], {"readers", "simple"}),
        ([], ["consumer"], set()),
        (["Nonsense"], [], set()),
    ],
)
def test_groups_are_listed_by_state_and_type(
    driver: Driver[GroupCoordinator], states: list[str], types: list[str], found: set[str]
) -> None:
    driver.start_with(classic_group("first"))
    commit(driver, 7, group="simple")
    assert {group.group_id for group in driver.coordinator.list_groups(states, types)} == found
