"""A transactional producer of one request after the other, and what a broker says of its transactions. For any Kafka broker.

A client library tries again by itself; here every answer, and every answer that does not come, is seen.
"""

import time
from collections.abc import Iterable, Iterator
from typing import Any, Final

from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from stoker.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from stoker.wire.messages.describe_producers import DescribeProducersRequest
from stoker.wire.messages.describe_producers import TopicRequest as ProducersOfTopic
from stoker.wire.messages.describe_transactions import DescribeTransactionsRequest
from stoker.wire.messages.end_txn import EndTxnRequest
from stoker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest
from stoker.wire.messages.init_producer_id import InitProducerIdRequest
from stoker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stoker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from stoker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stoker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from stoker.wire.record_batch import BatchHeader, ControlType, Record, control_type_of, iterate_records, read_header
from tests.raw_connection import RawConnection, batch_of

CLASSIC: Final = "classic"
V2: Final = "v2"
PROTOCOLS: Final = (CLASSIC, V2)

TopicPartition = tuple[str, int]

GROUP: Final = 0
TRANSACTION: Final = 1
_LATEST: Final = -1
_WAIT_SECONDS: Final = 30
_TRY_AGAIN: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_ENOUGH_REPLICAS,
    }
)
_MAX_BYTES: Final = 16 * 1024 * 1024


class Answered(Exception):
    """The broker answered with an error that trying again does not mend."""

    def __init__(self, what: str, error_code: int) -> None:
        super().__init__(f"{what}: {next((each.name for each in ErrorCode if each == error_code), error_code)}")
        self.error_code = error_code


class RawTransactions:
    """The transactions of one transactional id, in the requests of the classic protocol or of v2 (KIP-890)."""

    def __init__(self, connection: RawConnection, transactional_id: str, protocol: str) -> None:
        self.connection = connection
        self.transactional_id = transactional_id
        self.is_v2 = protocol == V2
        self.producer_id = self.producer_epoch = -1
        self._sequences: dict[TopicPartition, int] = {}

    def init(self, timeout_ms: int = 60_000) -> None:
        find_coordinator(self.connection, self.transactional_id, TRANSACTION)
        request = InitProducerIdRequest(transactional_id=self.transactional_id, transaction_timeout_ms=timeout_ms)
        for _ in _tries():
            reply = self.connection.call(request, 5 if self.is_v2 else 4)
            if _is_done("InitProducerId", reply.error_code):
                self._become(reply.producer_id, reply.producer_epoch)
                return

    def add_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        """Only the classic protocol has this request for producers."""
        by_topic: dict[str, list[int]] = {}
        for topic, index in partitions:
            by_topic.setdefault(topic, []).append(index)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.producer_epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=indexes) for topic, indexes in by_topic.items()
            ],
        )
        for _ in _tries():
            results = self.connection.call(request, 3).results_by_topic_v3_and_below
            errors = {each.partition_error_code for result in results for each in result.results_by_partition}
            if _is_done("AddPartitionsToTxn", *errors):
                return

    def produce(self, topic: str, partition: int, *values: bytes) -> int:
        """Returns the offset of the first; a partition that is not in the transaction comes into it."""
        if not self.is_v2:
            self.add_partitions([(topic, partition)])
        base_sequence = self._sequences.get((topic, partition), 0)
        records = batch_of(
            *values,
            timestamp=time.time_ns() // 1_000_000,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=base_sequence,
            transactional=True,
        )
        request = ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[
                TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=records)])
            ],
        )
        for _ in _tries():
            answer = self.connection.call(request, 12 if self.is_v2 else 11).responses[0].partition_responses[0]
            if _is_done("Produce", answer.error_code):
                break
        self._sequences[topic, partition] = base_sequence + len(values)
        offset: int = answer.base_offset
        return offset

    def commit_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        """As part of the transaction."""
        find_coordinator(self.connection, group, GROUP)
        if not self.is_v2:
            adding = AddOffsetsToTxnRequest(**self._producer, group_id=group)
            for _ in _tries():
                if _is_done("AddOffsetsToTxn", self.connection.call(adding, 3).error_code):
                    break
        committed = TxnOffsetCommitRequestPartition(
            partition_index=partition, committed_offset=offset, committed_metadata=""
        )
        request = TxnOffsetCommitRequest(
            **self._producer,
            group_id=group,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[committed])],
        )
        for _ in _tries():
            reply = self.connection.call(request, 5 if self.is_v2 else 3)
            if _is_done("TxnOffsetCommit", reply.topics[0].partitions[0].error_code):
                return

    def end_request(self, *, commit: bool) -> tuple[EndTxnRequest, int]:
        """The request and its version."""
        return EndTxnRequest(**self._producer, committed=commit), 5 if self.is_v2 else 3

    def end(self, *, commit: bool) -> None:
        request, version = self.end_request(commit=commit)
        for _ in _tries():
            reply = self.connection.call(request, version)
            if _is_done("EndTxn", reply.error_code):
                if self.is_v2:
                    self._become(reply.producer_id, reply.producer_epoch)
                return

    @property
    def _producer(self) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.producer_epoch,
        }

    def _become(self, producer_id: int, producer_epoch: int) -> None:
        """Sequences begin anew with each epoch."""
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        self._sequences.clear()


def _tries() -> Iterator[None]:
    deadline = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < deadline:
        yield
        time.sleep(0.005)  # the broker said to come again, and nothing tells when
    raise AssertionError("the broker says to try again and again")


def _is_done(what: str, *error_codes: int) -> bool:
    for error_code in error_codes:
        if error_code in _TRY_AGAIN:
            return False
        if error_code != ErrorCode.NONE:
            raise Answered(what, error_code)
    return True


def find_coordinator(connection: RawConnection, name: str, kind: int) -> None:
    """Until there is one; the first search makes the coordinator's topic."""
    request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[name])
    for _ in _tries():
        if _is_done("FindCoordinator", connection.call(request, 4).coordinators[0].error_code):
            return


def state_of(connection: RawConnection, transactional_id: str) -> str:
    """What DescribeTransactions calls it."""
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    for _ in _tries():
        described = connection.call(request, 0).transaction_states[0]
        if _is_done("DescribeTransactions", described.error_code):
            break
    state: str = described.transaction_state
    return state


def end_offset(connection: RawConnection, topic: str, partition: int, *, stable: bool) -> int:
    """The end of a partition for who reads all of it, or (`stable`) what is committed."""
    wanted = ListOffsetsTopic(
        name=topic, partitions=[ListOffsetsPartition(partition_index=partition, timestamp=_LATEST)]
    )
    request = ListOffsetsRequest(replica_id=-1, isolation_level=int(stable), topics=[wanted])
    for _ in _tries():
        answer = connection.call(request, 8).topics[0].partitions[0]
        if _is_done("ListOffsets", answer.error_code):
            break
    offset: int = answer.offset
    return offset


def is_stable(connection: RawConnection, topic: str, partition: int) -> bool:
    """Whether no transaction is open there."""
    return end_offset(connection, topic, partition, stable=True) == end_offset(
        connection, topic, partition, stable=False
    )


def open_producers(connection: RawConnection, topic: str, partition: int) -> set[int]:
    """The ids of the producers that have a transaction open in a partition."""
    request = DescribeProducersRequest(topics=[ProducersOfTopic(name=topic, partition_indexes=[partition])])
    for _ in _tries():
        answer = connection.call(request, 0).topics[0].partitions[0]
        if _is_done("DescribeProducers", answer.error_code):
            break
    return {each.producer_id for each in answer.active_producers if each.current_txn_start_offset >= 0}


def committed_offsets(
    connection: RawConnection, group: str, partition: TopicPartition | None = None
) -> dict[TopicPartition, tuple[int, int]]:
    """The stable ones of a group, each with its error: all that there are, or that of one partition."""
    topics = None
    if partition is not None:
        topics = [OffsetFetchRequestTopics(name=partition[0], partition_indexes=[partition[1]])]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)], require_stable=True)
    for _ in _tries():
        answer = connection.call(request, 9).groups[0]
        if _is_done("OffsetFetch", answer.error_code):
            break
    return {
        (topic.name, each.partition_index): (each.committed_offset, each.error_code)
        for topic in answer.topics
        for each in topic.partitions
    }


def read_batches(
    connection: RawConnection, topic: str, partition: int, *, committed: bool = False
) -> Iterator[tuple[BatchHeader, list[Record]]]:
    """All batches of a partition, markers and aborted ones too; with `committed` none past the last stable offset."""
    end = end_offset(connection, topic, partition, stable=committed)
    offset = 0
    while offset < end:
        wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=_MAX_BYTES)
        request = FetchRequest(
            max_wait_ms=100,
            min_bytes=1,
            max_bytes=_MAX_BYTES,
            isolation_level=int(committed),
            session_epoch=-1,
            topics=[FetchTopic(topic=topic, partitions=[wanted])],
        )
        answer = connection.call(request, 12).responses[0].partitions[0]
        if not _is_done("Fetch", answer.error_code):
            continue
        for header, records in batches_in(bytes(answer.records or b"")):
            offset = header.next_offset
            yield header, records


def batches_in(data: bytes) -> Iterator[tuple[BatchHeader, list[Record]]]:
    """The whole batches at the front of some bytes."""
    position = 0
    view = memoryview(data)
    while position + 61 <= len(data):
        header = read_header(view, position)
        if position + header.size > len(data):
            return
        yield header, list(iterate_records(view[position : position + header.size], _MAX_BYTES))
        position += header.size


def markers_in(batches: Iterable[tuple[BatchHeader, list[Record]]], producer_id: int) -> list[ControlType]:
    """How the transactions of a producer ended in a partition, in order."""
    found = []
    for header, records in batches:
        if header.is_control and header.producer_id == producer_id:
            found += [kind for record in records if (kind := control_type_of(record)) is not None]
    return found
