"""Transactions as their coordinators know them: list, describe, abort."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from stoker.client.cluster import Cluster
from stoker.client.errors import as_error_code, raise_if_refused
from stoker.client.targets import TRANSACTION, Broker, CoordinatorOf
from stoker.client.topic_partition import TopicPartition
from stoker.wire.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from stoker.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

EMPTY: Final = "Empty"
ONGOING: Final = "Ongoing"
PREPARE_COMMIT: Final = "PrepareCommit"
PREPARE_ABORT: Final = "PrepareAbort"
COMPLETE_COMMIT: Final = "CompleteCommit"
COMPLETE_ABORT: Final = "CompleteAbort"
PREPARE_EPOCH_FENCE: Final = "PrepareEpochFence"
STATES: Final = (
    EMPTY,
    ONGOING,
    PREPARE_COMMIT,
    PREPARE_ABORT,
    COMPLETE_COMMIT,
    COMPLETE_ABORT,
    PREPARE_EPOCH_FENCE,
)
"""Those that ListTransactions tells of. `Dead`, the eighth, is of ids that are being forgotten."""

OPEN_STATES: Final = (ONGOING, PREPARE_COMMIT, PREPARE_ABORT, PREPARE_EPOCH_FENCE)
"""Of a transaction that has not ended in all its partitions."""

ANY_DURATION: Final = -1
_WITHOUT_TWO_PHASES: Final = 5
"""Version 6 of InitProducerId is for transactions whose outcome somebody else decides (KIP-939)."""


class ListedTransaction(NamedTuple):
    transactional_id: str
    coordinator: int
    producer_id: int
    state: str


class Producer(NamedTuple):
    """A producer as the coordinator knows it."""

    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TransactionDescription:
    """`start_time_ms` is of the last transaction, None if there was none; `partitions` are those that await a marker."""

    transactional_id: str
    coordinator: int | None
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    start_time_ms: int | None
    partitions: tuple[TopicPartition, ...]

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES

    def duration_ms(self, now: int) -> int | None:
        """How long a transaction has been open; None if none is."""
        return now - self.start_time_ms if self.is_open and self.start_time_ms is not None else None


def list_transactions(
    cluster: Cluster,
    *,
    states: Iterable[str] = (),
    producer_ids: Iterable[int] = (),
    longer_than_ms: int = ANY_DURATION,
    id_pattern: str | None = None,
) -> list[ListedTransaction]:
    """The transactional ids of all coordinators, by name; only those that every given filter lets through.

    The duration is counted from the start of the last transaction, also if that has ended or there was none.
    Raises KafkaRefused, and UnsupportedByBroker if a broker does not know a filter that is given.
    """
    request = ListTransactionsRequest(
        state_filters=list(states),
        producer_id_filters=list(producer_ids),
        duration_filter=longer_than_ms,
        transactional_id_pattern=id_pattern,
    )
    found: dict[str, ListedTransaction] = {}
    for node_id in list(cluster.brokers()):
        answer = cluster.send(request, ListTransactionsResponse, to=Broker(node_id))
        raise_if_refused(answer.error_code)
        for each in answer.transaction_states:
            found[each.transactional_id] = ListedTransaction(
                each.transactional_id, node_id, each.producer_id, each.transaction_state
            )
    return [found[transactional_id] for transactional_id in sorted(found)]


def describe_transaction(cluster: Cluster, transactional_id: str) -> TransactionDescription:
    """What the coordinator knows of a transactional id. Raises KafkaRefused."""
    coordinator = CoordinatorOf(transactional_id, TRANSACTION)
    answer = cluster.send(
        DescribeTransactionsRequest(transactional_ids=[transactional_id]),
        DescribeTransactionsResponse,
        to=coordinator,
        error_of=lambda answer: answer.transaction_states[0].error_code,
    )
    described = answer.transaction_states[0]
    raise_if_refused(described.error_code)
    return TransactionDescription(
        transactional_id=transactional_id,
        coordinator=cluster.coordinator_of(coordinator),
        producer_id=described.producer_id,
        producer_epoch=described.producer_epoch,
        state=described.transaction_state,
        timeout_ms=described.transaction_timeout_ms,
        start_time_ms=None if described.transaction_start_time_ms < 0 else described.transaction_start_time_ms,
        partitions=tuple(
            sorted(TopicPartition(each.topic, index) for each in described.topics for index in each.partitions)
        ),
    )


def abort_and_fence(cluster: Cluster, transaction: TransactionDescription) -> None:
    """Begin to abort an open transaction so that its producer cannot go on: the abort is in the name of the next epoch.

    It is the first step of `fence_producer`, without the second, which makes the coordinator forget how the transaction
    ended. Raises KafkaRefused.
    """
    from stoker.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

    answer = cluster.send(
        InitProducerIdRequest(
            transactional_id=transaction.transactional_id, transaction_timeout_ms=transaction.timeout_ms
        ),
        InitProducerIdResponse,
        to=CoordinatorOf(transaction.transactional_id, TRANSACTION),
        up_to=_WITHOUT_TWO_PHASES,
        error_of=lambda answer: 0,  # CONCURRENT_TRANSACTIONS says that it has begun: not to be asked again
    )
    if not as_error_code(answer.error_code).retriable:
        raise_if_refused(answer.error_code)


def fence_producer(cluster: Cluster, transactional_id: str, *, timeout_ms: int) -> Producer:
    """Take the transactional id from its producer, whose open transaction is aborted by then; returns its successor.

    It is what a new producer does when it begins. An id that is not there is created. `timeout_ms` is that of the
    transactions of the successor, which nobody will use. Raises KafkaRefused.
    """
    from stoker.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

    # While the transaction is being ended the answer is CONCURRENT_TRANSACTIONS, which is asked again.
    answer = cluster.send(
        InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms),
        InitProducerIdResponse,
        to=CoordinatorOf(transactional_id, TRANSACTION),
        up_to=_WITHOUT_TWO_PHASES,
    )
    raise_if_refused(answer.error_code)
    return Producer(answer.producer_id, answer.producer_epoch)
