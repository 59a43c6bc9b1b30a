"""Transactional ids in every state on one broker, and requests about them whose answers two brokers can be compared by."""

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from stoker.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from stoker.wire.messages.describe_transactions import DescribeTransactionsRequest
from stoker.wire.messages.end_txn import EndTxnRequest
from stoker.wire.messages.init_producer_id import InitProducerIdRequest
from stoker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stoker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from stoker.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.broker.groups_on_a_broker import TOPIC, Groups, named
from tests.raw_connection import batch_of

_OURS = f"ids-{uuid4().hex[:8]}-"
_NOWHERE_ID = UUID(int=4711)
NOWHERE = "nowhere"
_BUSY = {ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}


class Who(NamedTuple):
    """Whom a request says to come from, as it differs from the producer that the broker knows."""

    is_known: bool = True
    """Else it names another producer id."""
    epoch: int = 0
    """How far its epoch is from the current one."""


HIMSELF = Who()
EVERYONE = (HIMSELF, Who(epoch=-1), Who(epoch=1), Who(is_known=False))


class Transactions:
    """The transactional ids of one broker; each method is one request, and tells what is comparable of the answer."""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        self._numbers = count(1)
        self.transactional_id = ""
        self.producer_id = self.producer_epoch = -1
        """Who the producer is, as far as it knows."""
        self.sequence = 0

    def _call(self, request: Any, version: int) -> Any:
        return self.groups.connection.call(request, version)

    def begin(self) -> None:
        """From now on speak of a transactional id that nobody has used."""
        number = next(self._numbers)
        self.transactional_id = f"{_OURS}{number}"
        self.producer_id, self.producer_epoch = 4_711_000 + number, 0
        self.sequence = 0

    def settle(self) -> None:
        """Wait until the markers are written: Kafka answers before."""
        request = DescribeTransactionsRequest(transactional_ids=[self.transactional_id])
        while True:
            [state] = self._call(request, 0).transaction_states
            if state.transaction_state not in ("PrepareCommit", "PrepareAbort"):
                return

    def state(self) -> tuple[Any, ...]:
        """As the coordinator tells it, with the epoch counted from the producer's."""
        request = DescribeTransactionsRequest(transactional_ids=[self.transactional_id])
        [state] = self._call(request, 0).transaction_states
        topics = sorted((topic.topic, sorted(topic.partitions)) for topic in state.topics)
        return (
            _name(state.error_code),
            state.transaction_state,
            state.transaction_timeout_ms,
            state.transaction_start_time_ms > 0,
            *self._relative(state.producer_id, state.producer_epoch),
            [(topic, len(indexes)) for topic, indexes in topics],
        )

    def _relative(self, producer_id: int, epoch: int) -> tuple[str, int]:
        if producer_id < 0:
            return "nobody", epoch
        if producer_id == self.producer_id:
            return "himself", epoch - self.producer_epoch
        return "another", epoch

    def _producer(self, who: Who) -> dict[str, Any]:
        return {
            "producer_id": self.producer_id if who.is_known else 4_700_000,
            "producer_epoch": self.producer_epoch + who.epoch,
        }

    # -- requests -------------------------------------------------------------------------------------------------------

    def init(
        self, version: int = 4, *, expected: Who | None = None, timeout_ms: int = 60_000, as_named: str | None = ""
    ) -> Any:
        fields: dict[str, Any] = {} if expected is None else self._producer(expected)
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=timeout_ms,
            **fields,
        )
        while True:
            reply = self._call(request, version)
            if reply.error_code not in _BUSY:  # Kafka: come again when the transaction before is aborted
                break
        return _name(reply.error_code), *self._relative(reply.producer_id, reply.producer_epoch)

    def init_as(
        self, version: int, name: str | None, *, producer_id: int = -1, epoch: int = -1
    ) -> tuple[str, bool, int]:
        """Under any name, and as whoever. Tells the error, and whether there was a producer id."""
        fields: dict[str, Any] = {"producer_id": producer_id, "producer_epoch": epoch} if version >= 3 else {}
        asked = name and f"{_OURS}{name}"
        request = InitProducerIdRequest(transactional_id=asked, transaction_timeout_ms=60_000, **fields)
        reply = self._call(request, version)
        while reply.error_code in _BUSY:
            reply = self._call(request, version)
        return _name(reply.error_code), reply.producer_id >= 0, min(reply.producer_epoch, 0)

    def start(self, version: int = 4) -> None:
        """Become the producer."""
        request = InitProducerIdRequest(transactional_id=self.transactional_id, transaction_timeout_ms=60_000)
        while True:
            reply = self._call(request, version)
            if reply.error_code == ErrorCode.NONE:
                break
            assert reply.error_code in _BUSY, reply
        self.producer_id, self.producer_epoch = reply.producer_id, reply.producer_epoch
        self.sequence = 0

    def add(
        self,
        version: int = 3,
        who: Who = HIMSELF,
        *,
        topics: dict[str, list[int]] | None = None,
        verify_only: bool = False,
        as_named: str | None = None,
    ) -> Any:
        producer = self._producer(who)
        name = self.transactional_id if as_named is None else as_named
        wanted = [
            AddPartitionsToTxnTopic(name=topic, partitions=partitions)
            for topic, partitions in (topics or {TOPIC: [0]}).items()
        ]
        if version < 4:
            request = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=name,
                v3_and_below_producer_id=producer["producer_id"],
                v3_and_below_producer_epoch=producer["producer_epoch"],
                v3_and_below_topics=wanted,
            )
        else:
            transaction = AddPartitionsToTxnTransaction(
                transactional_id=name, **producer, verify_only=verify_only, topics=wanted
            )
            request = AddPartitionsToTxnRequest(transactions=[transaction])

        def ask() -> Any:
            reply = self._call(request, version)
            topic_results = reply.results_by_topic_v3_and_below
            if version >= 4:
                topic_results = [topic for result in reply.results_by_transaction for topic in result.topic_results]
            return (
                _name(reply.error_code),
                sorted(
                    (topic.name, partition.partition_index, _name(partition.partition_error_code))
                    for topic in topic_results
                    for partition in topic.results_by_partition
                ),
            )

        return _until_ready(ask)

    def add_offsets(
        self, version: int = 3, who: Who = HIMSELF, *, group: str = "simple", as_named: str | None = None
    ) -> Any:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id if as_named is None else as_named,
            **self._producer(who),
            group_id=named(group),
        )
        return _until_ready(lambda: _name(self._call(request, version).error_code))

    def commit_offsets(
        self,
        version: int = 3,
        who: Who = HIMSELF,
        *,
        group: str = "simple",
        member: str = "",
        generation: int = -1,
        instance_id: str | None = None,
        topics: dict[str, list[int]] | None = None,
        metadata: str | None = "",
        offset: int = 5,
        as_named: str | None = None,
    ) -> Any:
        fields: dict[str, Any] = {}
        if version >= 3:
            fields = {"generation_id": generation, "member_id": member, "group_instance_id": instance_id}
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id if as_named is None else as_named,
            **self._producer(who),
            group_id=named(group),
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=index, committed_offset=offset, committed_metadata=metadata
                        )
                        for index in partitions
                    ],
                )
                for topic, partitions in (topics or {TOPIC: [0]}).items()
            ],
            **fields,
        )

        def ask() -> Any:
            return sorted(
                (topic.name, partition.partition_index, _name(partition.error_code))
                for topic in self._call(request, version).topics
                for partition in topic.partitions
            )

        return _until_ready(ask)

    def produce(
        self,
        version: int = 11,
        who: Who = HIMSELF,
        *,
        partition: int = 0,
        topic: str = TOPIC,
        transactional: bool = True,
        with_id: bool = True,
        sequence: int | None = None,
    ) -> Any:
        batch = batch_of(
            b"v",
            base_sequence=self.sequence if sequence is None else sequence,
            transactional=transactional,
            **self._producer(who),
        )
        which: dict[str, Any] = {"name": topic}
        if version >= 13:
            which = {"topic_id": self.groups.topic_id if topic == TOPIC else _NOWHERE_ID}
        data = PartitionProduceData(index=partition, records=batch)
        request = ProduceRequest(
            transactional_id=self.transactional_id if with_id else None,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[TopicProduceData(**which, partition_data=[data])],
        )

        def ask() -> Any:
            [answered] = self._call(request, version).responses
            return _name(answered.partition_responses[0].error_code)

        return _until_ready(ask)

    def end(self, version: int = 3, who: Who = HIMSELF, *, commit: bool = True, as_named: str | None = None) -> Any:
        request = EndTxnRequest(
            transactional_id=self.transactional_id if as_named is None else as_named,
            **self._producer(who),
            committed=commit,
        )

        def ask() -> Any:
            reply = self._call(request, version)
            told = self._relative(reply.producer_id, reply.producer_epoch) if version >= 5 else ()
            return _name(reply.error_code), *told

        told = _until_ready(ask)
        self.settle()
        return told

    def finish(self, *, commit: bool, v2: bool) -> None:
        """End the transaction and be who the broker says."""
        request = EndTxnRequest(transactional_id=self.transactional_id, **self._producer(HIMSELF), committed=commit)
        reply = self._call(request, 5 if v2 else 3)
        assert reply.error_code == ErrorCode.NONE, reply
        self.settle()
        if v2:
            self.producer_id, self.producer_epoch = reply.producer_id, reply.producer_epoch

    def write_markers(
        self,
        version: int,
        who: Who = HIMSELF,
        *,
        topics: dict[str, list[int]] | None = None,
        commit: bool = False,
        coordinator_epoch: int = 0,
        of_version: int = 0,
    ) -> Any:
        fields: dict[str, Any] = {"transaction_version": of_version} if version >= 2 else {}
        marker = WritableTxnMarker(
            **self._producer(who),
            transaction_result=commit,
            coordinator_epoch=coordinator_epoch,
            topics=[
                WritableTxnMarkerTopic(name=topic, partition_indexes=partitions)
                for topic, partitions in (topics or {TOPIC: [0]}).items()
            ],
            **fields,
        )
        reply = self._call(WriteTxnMarkersRequest(markers=[marker]), version)
        return sorted(
            (topic.name, partition.partition_index, _name(partition.error_code))
            for result in reply.markers
            for topic in result.topics
            for partition in topic.partitions
        )


def _until_ready(ask: Callable[[], Any]) -> Any:
    """Kafka's coordinators may still be busy with what was asked before, or hear of a topic later."""
    for _ in range(200):
        told = ask()
        if "CONCURRENT_TRANSACTIONS" not in str(told) and "NOT_ENOUGH_REPLICAS" not in str(told):
            break
    return told


def _name(number: int) -> str:
    return next((code.name for code in ErrorCode if code == number), str(number))


# -- states -------------------------------------------------------------------------------------------------------------


def unheard_of(transactions: Transactions) -> None:
    """Nobody has used the transactional id."""


def empty(transactions: Transactions) -> None:
    transactions.start()


def empty_again(transactions: Transactions) -> None:
    transactions.start()
    transactions.start()


def ongoing(transactions: Transactions) -> None:
    """By a classic producer that has written."""
    transactions.start()
    assert transactions.add(3) == ("NONE", [(TOPIC, 0, "NONE")])
    assert transactions.produce(11) == "NONE"
    transactions.sequence += 1


def ongoing_unwritten(transactions: Transactions) -> None:
    transactions.start()
    assert transactions.add(3) == ("NONE", [(TOPIC, 0, "NONE")])


def ongoing_v2(transactions: Transactions) -> None:
    transactions.start()
    assert transactions.produce(12) == "NONE"
    transactions.sequence += 1


def committed(transactions: Transactions) -> None:
    ongoing(transactions)
    transactions.finish(commit=True, v2=False)


def aborted(transactions: Transactions) -> None:
    ongoing(transactions)
    transactions.finish(commit=False, v2=False)


def committed_v2(transactions: Transactions) -> None:
    ongoing_v2(transactions)
    transactions.finish(commit=True, v2=True)
    transactions.sequence = 0


def aborted_v2(transactions: Transactions) -> None:
    ongoing_v2(transactions)
    transactions.finish(commit=False, v2=True)
    transactions.sequence = 0


def aborted_empty_v2(transactions: Transactions) -> None:
    transactions.start()
    transactions.finish(commit=False, v2=True)


def taken_over(transactions: Transactions) -> None:
    """A second producer came while a classic transaction was open; the first speaks on."""
    ongoing(transactions)
    mine = transactions.producer_id, transactions.producer_epoch
    transactions.start()
    transactions.producer_id, transactions.producer_epoch = mine
    transactions.sequence = 1


def taken_over_v2(transactions: Transactions) -> None:
    ongoing_v2(transactions)
    mine = transactions.producer_id, transactions.producer_epoch
    transactions.start()
    transactions.producer_id, transactions.producer_epoch = mine
    transactions.sequence = 1


STATES: dict[str, Callable[[Transactions], None]] = {
    state.__name__.replace("_", " "): state
    for state in (
        unheard_of,
        empty,
        empty_again,
        ongoing,
        ongoing_unwritten,
        ongoing_v2,
        committed,
        aborted,
        committed_v2,
        aborted_v2,
        aborted_empty_v2,
        taken_over,
        taken_over_v2,
    )
}
