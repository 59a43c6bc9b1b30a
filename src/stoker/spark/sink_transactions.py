"""A transaction of the sink, from what its predecessor left to the moment at which every reader sees it.

Two things are done here that no Kafka producer does, because a broker may call a transaction complete whose markers it has
not written: Apache Kafka leaves out partitions that have no leader at that moment, because their broker has died. First, before a
transactional id is taken over, what its predecessor did is brought to an end. Second, a commit has succeeded only when the
partitions say so. Where they do not, the markers that are missing are written with the outcome that was decided.
"""

from collections.abc import Callable, Iterable, Sequence
from logging import getLogger
from typing import Final, NamedTuple

from stoker.client.admin.group_offsets import CommittedOffset
from stoker.client.admin.producers import ActiveProducer, describe_producers, end_in_partition, open_transactions
from stoker.client.admin.transactions import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    ONGOING,
    OPEN_STATES,
    TransactionDescription,
    abort_and_fence,
    describe_transaction,
    fence_producer,
)
from stoker.client.cluster import CONNECTION_FAILURES, Cluster
from stoker.client.connection import Connection
from stoker.client.errors import ClientError, KafkaRefused
from stoker.client.topic_partition import TopicPartition, by_topic
from stoker.client.transactions import (
    OFFSETS_TOPIC,
    Transaction,
    Unstable,
    end_transaction,
    offsets_partition,
    speaks_v2,
    stable_offsets,
)
from stoker.spark.errors import NotExactlyOnce
from stoker.spark.sink_markers import Place
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

logger = getLogger("stoker.spark")

OVERTAKEN: Final = frozenset(
    (
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.TRANSACTION_ABORTABLE,
    )
)
"""What a producer hears whose transaction was ended by somebody else: its successor, or the coordinator after its timeout."""
_ENDED_MEANWHILE: Final = frozenset((ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED))
_SECONDS_UNTIL_GONE: Final = 10.0
"""For so long a partition that is not there may be one that a broker, which has just started, has not heard of yet."""


class Settled(NamedTuple):
    """What the predecessor of a transaction left: nothing that is still undecided."""

    coordinated: TransactionDescription | None
    """As its coordinator knows it; None if it never was."""
    offset: CommittedOffset | None
    """What was last committed in its place."""
    beside: CommittedOffset | Unstable | None = None
    """What is in another place that was asked for."""


class SinkTransactions:
    """Of one cluster, for one thread."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        cluster.brokers()  # which waits until one answers
        self._is_v2 = speaks_v2(cluster)

    def settle(self, transactional_id: str, place: Place, *, beside: Place | None = None) -> Settled:
        """End what the transactional id has begun: an open transaction is aborted, a decided one is waited for.

        What is in the place `beside` is told as it is. Raises NotExactlyOnce if nobody knows how it was decided.
        """
        seen: TransactionDescription | None = None
        for attempt in self.cluster.attempts():
            found = self.describe(transactional_id)
            if found is not None and found.state == ONGOING:
                self._abort(found)
            elif found is None or found.state not in OPEN_STATES:
                offsets = self.read([place] if beside is None else [place, beside])
                offset = offsets[place]
                if not isinstance(offset, Unstable):
                    return Settled(found, offset, None if beside is None else offsets[beside])
                if found is not None and found == seen:  # it has ended, they say, and not there
                    self._end_offsets(found, place)
                seen = found
            if attempt.is_last:
                break
        state = "unknown to its coordinator" if found is None else found.state
        raise NotExactlyOnce(
            f"the last transaction of {transactional_id} is {state} and yet not over in the offsets of group "
            f"{place.group_id}: whether it was committed is not known, so nothing is written. Look at it with `stoker "
            f"transactions find-hanging --topic {OFFSETS_TOPIC}`"
        )

    def begin(self, transactional_id: str, *, timeout_ms: int) -> Transaction:
        """Take it over: from now on whoever had it before is refused. `settle` comes first. Raises KafkaRefused."""
        producer = fence_producer(self.cluster, transactional_id, timeout_ms=timeout_ms)
        return Transaction(transactional_id, producer.producer_id, producer.producer_epoch, self._is_v2)

    def commit(self, transaction: Transaction, partitions: Iterable[TopicPartition], place: Place) -> None:
        """Return when every partition has the end of the transaction. Raises KafkaRefused with an OVERTAKEN code."""
        partitions = list(partitions)
        connection = self._coordinator_of(transaction)
        leaders = self._leaders(connection, partitions)
        end_transaction(self.cluster, transaction, committed=True)
        for attempt in self.cluster.attempts():
            found = self.describe(transaction.transactional_id)
            if found is None or found.state not in OPEN_STATES or _is_of_a_successor(found, transaction):
                break
            if attempt.is_last:
                raise NotExactlyOnce(f"the commit of {transaction.transactional_id} does not end: it is {found.state}")
        if (
            found is not None
            and found.state == COMPLETE_COMMIT
            and connection is self._coordinator_of(transaction)
            and leaders is not None
            and leaders == self._leaders(connection, partitions)
        ):
            return  # it was not started anew, and every partition had its leader: what it calls complete is so
        if found is not None and not _is_of_a_successor(found, transaction):
            self.settle(transaction.transactional_id, place)
        self.end_everywhere(
            partitions,
            lambda each: True if (each.producer_id, each.producer_epoch) == transaction[1:3] else None,
        )

    def abort(self, transaction: Transaction) -> None:
        """So that readers need not wait until it times out. Raises ClientError."""
        end_transaction(self.cluster, transaction, committed=False)

    def end_everywhere(
        self, partitions: Iterable[TopicPartition], outcome: Callable[[ActiveProducer], bool | None]
    ) -> None:
        """Write the markers that are missing of transactions that were decided.

        `outcome` tells of an open transaction whether it was committed; None if it is left alone. Raises NotExactlyOnce if
        a partition does not tell of its transactions.
        """
        pending = list(partitions)
        started: float | None = None
        for attempt in self.cluster.attempts() if pending else ():
            started = attempt.seconds_left if started is None else started
            producers = describe_producers(self.cluster, pending)
            for partition, producer in open_transactions(producers):
                is_committed = outcome(producer)
                if is_committed is not None:
                    self._end(partition, producer, committed=is_committed)
            refused = {each: error for each, error in producers.items() if isinstance(error, KafkaRefused)}
            is_gone = started - attempt.seconds_left > _SECONDS_UNTIL_GONE
            pending = [
                each
                for each, error in refused.items()
                if not (is_gone and error.error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            ]
            if not pending:
                return
            if attempt.is_last:
                raise NotExactlyOnce(
                    f"{pending[0]} does not tell whether a transaction is open in it: {refused[pending[0]]}"
                )

    def read(
        self, places: Iterable[Place], *, pending_too: bool = False
    ) -> dict[Place, CommittedOffset | Unstable | None]:
        """What was last committed in each place. Raises KafkaRefused."""
        groups: dict[str, list[TopicPartition]] = {}
        for place in places:
            groups.setdefault(place.group_id, []).append(place.partition)
        return {
            Place(group_id, partition): offset
            for group_id, partitions in groups.items()
            for partition, offset in stable_offsets(self.cluster, group_id, partitions, pending_too=pending_too).items()
        }

    def describe(self, transactional_id: str) -> TransactionDescription | None:
        """As its coordinator knows it; None if it does not. Raises KafkaRefused."""
        try:
            return describe_transaction(self.cluster, transactional_id)
        except KafkaRefused as refused:
            if refused.error_code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                return None
            raise

    def _abort(self, found: TransactionDescription) -> None:
        """And let whoever has begun it not go on. With transactions v2 he cannot: he has not the epoch of the next one.

        Before v2 he keeps his epoch, and what he still does, such as the marker, would be a transaction without the rows.
        """
        predecessor = Transaction(found.transactional_id, found.producer_id, found.producer_epoch, self._is_v2)
        try:
            if self._is_v2:
                end_transaction(self.cluster, predecessor, committed=False)
            else:
                abort_and_fence(self.cluster, found)
        except KafkaRefused as refused:
            if refused.error_code not in OVERTAKEN:  # it has ended meanwhile
                raise

    def _end_offsets(self, found: TransactionDescription, place: Place) -> None:
        if found.state not in (COMPLETE_COMMIT, COMPLETE_ABORT):
            return
        is_committed = found.state == COMPLETE_COMMIT
        partition = offsets_partition(self.cluster, place.group_id)
        self.end_everywhere([partition], lambda each: is_committed if each.producer_id == found.producer_id else None)

    def _end(self, partition: TopicPartition, producer: ActiveProducer, *, committed: bool) -> None:
        try:
            end_in_partition(self.cluster, partition, producer, committed=committed)
            logger.warning(
                "%s lacked the end of a transaction of producer %d that was %s: it is written",
                partition,
                producer.producer_id,
                "committed" if committed else "aborted",
            )
        except KafkaRefused as refused:
            if refused.error_code not in _ENDED_MEANWHILE:
                raise NotExactlyOnce(
                    f"a transaction that was {'committed' if committed else 'aborted'} is still open in {partition}, and its "
                    f"marker cannot be written there: {refused}. Writing it takes the right ClusterAction on the cluster"
                ) from refused

    def _leaders(
        self, coordinator: Connection, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, tuple[int, int]] | None:
        """As a coordinator sees them, each with its epoch; None if a partition has none, or nobody answers."""
        topics = [MetadataRequestTopic(name=topic) for topic in by_topic(partitions)]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        seconds = self.cluster.properties.request_timeout_ms / 1000
        try:
            answer = coordinator.send(request, MetadataResponse, timeout=seconds)
        except CONNECTION_FAILURES:
            return None
        found = {
            TopicPartition(topic.name or "", each.partition_index): (each.leader_id, each.leader_epoch)
            for topic in answer.topics
            for each in topic.partitions
            if each.leader_id >= 0
        }
        leaders = {each: found[each] for each in partitions if each in found}
        return leaders if len(leaders) == len(set(partitions)) else None

    def _coordinator_of(self, transaction: Transaction) -> Connection:
        seconds = self.cluster.properties.request_timeout_ms / 1000
        for attempt in self.cluster.attempts():
            try:
                return self.cluster.connection_to(transaction.coordinator, seconds)
            except ClientError:
                if attempt.is_last:
                    raise
                self.cluster.forget(transaction.coordinator)
        raise AssertionError("the last attempt returns or raises")


def _is_of_a_successor(found: TransactionDescription, transaction: Transaction) -> bool:
    last_epoch = transaction.producer_epoch + (1 if transaction.is_v2 else 0)
    if found.producer_id == transaction.producer_id:
        return found.producer_epoch > last_epoch
    return found.state not in (COMPLETE_COMMIT, COMPLETE_ABORT)  # else its epochs were used up, and it has a new id
