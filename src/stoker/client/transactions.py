"""Transactions from the producer's side, request by request: begin, add, commit offsets, end.

With transactions v2 (KIP-890) a partition is in the transaction when it is written to, and the end of a transaction gives
its producer the next epoch; before, the producer says what it adds, and keeps its epoch. `speaks_v2` says which it is.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from stoker.client.admin.group_offsets import CommittedOffset
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused, raise_if_refused
from stoker.client.targets import ANY_BROKER, TRANSACTION, CoordinatorOf
from stoker.client.topic_partition import TopicPartition, by_topic
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from stoker.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from stoker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

if TYPE_CHECKING:
    from stoker.wire.messages.add_partitions_to_txn import AddPartitionsToTxnResponse

TRANSACTION_VERSION: Final = "transaction.version"
OFFSETS_TOPIC: Final = "__consumer_offsets"
V2: Final = 2
_WITH_TOPIC_NAMES: Final = 9
_NO_OFFSET: Final = -1
_FIRST_WITH_V2: Final = 5
"""Of EndTxn and TxnOffsetCommit."""
_FROM_CLIENTS: Final = 3
"""Later versions of AddPartitionsToTxn are for brokers, which ask for many transactions at once."""


class Transaction(NamedTuple):
    """A producer with a transactional id, whose transaction begins with what is first added to it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_v2: bool

    @property
    def coordinator(self) -> CoordinatorOf:
        return CoordinatorOf(self.transactional_id, TRANSACTION)


class Unstable(NamedTuple):
    """In place of a committed offset that a transaction may still change, for it has not ended in the group's log."""


UNSTABLE: Final = Unstable()


def speaks_v2(cluster: Cluster) -> bool:
    """Whether the cluster has transactions v2. Raises ClientError."""
    connection = cluster.connection_to(ANY_BROKER, cluster.properties.request_timeout_ms / 1000)
    return connection.features.get(TRANSACTION_VERSION, 0) >= V2


def add_partitions(cluster: Cluster, transaction: Transaction, partitions: Iterable[TopicPartition]) -> None:
    """Tell the coordinator what is about to be written to; not for transactions v2. Raises KafkaRefused."""
    from stoker.wire.messages.add_partitions_to_txn import (
        AddPartitionsToTxnRequest,
        AddPartitionsToTxnResponse,
        AddPartitionsToTxnTopic,
    )

    answer = cluster.send(
        AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transaction.transactional_id,
            v3_and_below_producer_id=transaction.producer_id,
            v3_and_below_producer_epoch=transaction.producer_epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=indexes)
                for topic, indexes in by_topic(partitions).items()
            ],
        ),
        AddPartitionsToTxnResponse,
        to=transaction.coordinator,
        up_to=_FROM_CLIENTS,
        error_of=_error_of_adding,
    )
    raise_if_refused(_error_of_adding(answer))


def commit_offsets(
    cluster: Cluster, transaction: Transaction, group_id: str, offsets: Mapping[TopicPartition, tuple[int, str]]
) -> None:
    """Commit offsets, each with its metadata, of a group without members; they count when the transaction is committed.

    Raises KafkaRefused.
    """
    if not transaction.is_v2:
        _add_group(cluster, transaction, group_id)
    topics = [
        TxnOffsetCommitRequestTopic(
            name=topic,
            partitions=[
                TxnOffsetCommitRequestPartition(
                    partition_index=index,
                    committed_offset=offsets[TopicPartition(topic, index)][0],
                    committed_metadata=offsets[TopicPartition(topic, index)][1],
                )
                for index in indexes
            ],
        )
        for topic, indexes in by_topic(offsets).items()
    ]

    def first_error(answer: TxnOffsetCommitResponse) -> int:
        return next((each.error_code for topic in answer.topics for each in topic.partitions if each.error_code), 0)

    answer = cluster.send(
        TxnOffsetCommitRequest(
            transactional_id=transaction.transactional_id,
            group_id=group_id,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            topics=topics,
        ),
        TxnOffsetCommitResponse,
        to=CoordinatorOf(group_id),
        up_to=None if transaction.is_v2 else _FIRST_WITH_V2 - 1,
        error_of=first_error,
    )
    raise_if_refused(first_error(answer))


def end_transaction(cluster: Cluster, transaction: Transaction, *, committed: bool) -> None:
    """Decide it; readers may see the outcome a moment later. Sent again while the answer does not come.

    Raises KafkaRefused: PRODUCER_FENCED, INVALID_PRODUCER_EPOCH or INVALID_TXN_STATE if it is not ours to decide any more.
    """
    answer = cluster.send(
        EndTxnRequest(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            committed=committed,
        ),
        EndTxnResponse,
        to=transaction.coordinator,
        up_to=None if transaction.is_v2 else _FIRST_WITH_V2 - 1,
    )
    raise_if_refused(answer.error_code)


def stable_offsets(
    cluster: Cluster, group_id: str, partitions: Iterable[TopicPartition], *, pending_too: bool = False
) -> dict[TopicPartition, CommittedOffset | Unstable | None]:
    """What a group has committed; None where nothing, UNSTABLE where a transaction is in between.

    With `pending_too` those give what was committed before. Raises KafkaRefused.
    """
    wanted = list(partitions)
    topics = [
        OffsetFetchRequestTopics(name=topic, partition_indexes=indexes) for topic, indexes in by_topic(wanted).items()
    ]
    answer = cluster.send(
        OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group_id=group_id, topics=topics)], require_stable=not pending_too
        ),
        OffsetFetchResponse,
        to=CoordinatorOf(group_id),
        up_to=_WITH_TOPIC_NAMES,
        error_of=_error_of_fetching,
    )
    (group,) = answer.groups
    raise_if_refused(group.error_code)
    found: dict[TopicPartition, CommittedOffset | Unstable | None] = dict.fromkeys(wanted)
    for topic in group.topics:
        for each in topic.partitions:
            partition = TopicPartition(topic.name, each.partition_index)
            if each.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT:
                found[partition] = UNSTABLE
            elif each.error_code:
                raise KafkaRefused(each.error_code)
            elif each.committed_offset != _NO_OFFSET:
                found[partition] = CommittedOffset(
                    each.committed_offset, each.metadata or "", each.committed_leader_epoch
                )
    return found


def offsets_partition(cluster: Cluster, group_id: str) -> TopicPartition:
    """Where the offsets of a group are written. Raises KafkaRefused."""
    (topic,) = cluster.metadata([OFFSETS_TOPIC]).topics
    raise_if_refused(topic.error_code)
    return TopicPartition(OFFSETS_TOPIC, _java_hash(group_id) % len(topic.partitions))


def _add_group(cluster: Cluster, transaction: Transaction, group_id: str) -> None:
    from stoker.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

    answer = cluster.send(
        AddOffsetsToTxnRequest(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            group_id=group_id,
        ),
        AddOffsetsToTxnResponse,
        to=transaction.coordinator,
    )
    raise_if_refused(answer.error_code)


def _error_of_adding(answer: "AddPartitionsToTxnResponse") -> int:
    errors = (
        each.partition_error_code
        for topic in answer.results_by_topic_v3_and_below
        for each in topic.results_by_partition
        if each.partition_error_code and each.partition_error_code != ErrorCode.OPERATION_NOT_ATTEMPTED
    )
    return next(errors, 0)


def _error_of_fetching(answer: OffsetFetchResponse) -> int:
    """What is worth another try; an unstable offset is for the caller."""
    (group,) = answer.groups
    if group.error_code:
        return group.error_code
    unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
    errors = (each.error_code for topic in group.topics for each in topic.partitions)
    return next((error for error in errors if error and error != unstable), 0)


def _java_hash(text: str) -> int:
    """Java's String.hashCode, without its sign as Kafka takes it away."""
    value = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(encoded), 2):
        value = (31 * value + (encoded[position] << 8 | encoded[position + 1])) & 0xFFFF_FFFF
    signed = value - (1 << 32) if value >> 31 else value
    return 0 if signed == -(1 << 31) else abs(signed)
