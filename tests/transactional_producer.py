"""A transactional producer without a client library: each request by itself, in either protocol, and every error told."""

import time
from collections import Counter

from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from stoker.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from stoker.wire.messages.end_txn import EndTxnRequest
from stoker.wire.messages.find_coordinator import FindCoordinatorRequest
from stoker.wire.messages.init_producer_id import InitProducerIdRequest
from stoker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stoker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from stoker.wire.record_batch import Record, build_batch
from tests.raw_connection import RawConnection

CLASSIC_VERSIONS = {"produce": 11, "commit_offsets": 3, "end": 3}
V2_VERSIONS = {"produce": 12, "commit_offsets": 5, "end": 5}
"""KIP-890: writing adds a partition to the transaction, and its end raises the epoch."""


class TransactionalProducer:
    """Between two requests anything may happen: to the connection, which can be replaced, and to the broker."""

    def __init__(
        self, connection: RawConnection, transactional_id: str, *, v2: bool, transaction_timeout_ms: int = 60_000
    ) -> None:
        self.connection = connection
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.versions = V2_VERSIONS if v2 else CLASSIC_VERSIONS
        self.v2 = v2
        self.producer_id = self.producer_epoch = -1
        self.sequences: Counter[tuple[str, int]] = Counter()

    @property
    def producer(self) -> dict[str, object]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.producer_epoch,
        }

    def init(self) -> ErrorCode:
        found = self.connection.call(FindCoordinatorRequest(coordinator_keys=[self.transactional_id], key_type=1), 6)
        assert found.coordinators[0].error_code == ErrorCode.NONE, found
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=self.transaction_timeout_ms
        )
        response = self.connection.call(request, 4)
        if response.error_code == ErrorCode.NONE:
            self._became(response.producer_id, response.producer_epoch)
        return _error(response.error_code)

    def _became(self, producer_id: int, producer_epoch: int) -> None:
        if (producer_id, producer_epoch) != (self.producer_id, self.producer_epoch):
            self.producer_id, self.producer_epoch = producer_id, producer_epoch
            self.sequences.clear()

    def add_partition(self, topic: str, partition: int) -> ErrorCode:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[partition])],
        )
        [result] = self.connection.call(request, 3).results_by_topic_v3_and_below
        return _error(result.results_by_partition[0].partition_error_code)

    def produce(self, topic: str, partition: int, *values: bytes) -> ErrorCode:
        now_ms = time.time_ns() // 1_000_000
        return self.produce_records(
            topic, partition, *[Record(timestamp=now_ms, key=value, value=value) for value in values]
        )

    def produce_records(self, topic: str, partition: int, *records: Record) -> ErrorCode:
        sequence = self.sequences[topic, partition]
        batch = build_batch(
            records,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=sequence,
            transactional=True,
        )
        data = PartitionProduceData(index=partition, records=batch)
        request = ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[TopicProduceData(name=topic, partition_data=[data])],
        )
        response = self.connection.call(request, self.versions["produce"])
        error = _error(response.responses[0].partition_responses[0].error_code)
        if error is ErrorCode.NONE:
            self.sequences[topic, partition] += len(records)
        return error

    def write(self, topic: str, partition: int, *values: bytes) -> ErrorCode:
        """Produce, and before that add the partition where the protocol wants it."""
        if not self.v2:
            error = self.add_partition(topic, partition)
            if error is not ErrorCode.NONE:
                return error
        return self.produce(topic, partition, *values)

    def add_offsets(self, group: str) -> ErrorCode:
        request = AddOffsetsToTxnRequest(**self.producer, group_id=group)  # type: ignore[arg-type]
        return _error(self.connection.call(request, 3).error_code)

    def commit_offset(self, group: str, topic: str, partition: int, offset: int) -> ErrorCode:
        if not self.v2:
            error = self.add_offsets(group)
            if error is not ErrorCode.NONE:
                return error
        wanted = TxnOffsetCommitRequestPartition(
            partition_index=partition, committed_offset=offset, committed_metadata="in a transaction"
        )
        request = TxnOffsetCommitRequest(
            **self.producer,  # type: ignore[arg-type]
            group_id=group,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[wanted])],
        )
        response = self.connection.call(request, self.versions["commit_offsets"])
        return _error(response.topics[0].partitions[0].error_code)

    def end(self, *, commit: bool) -> ErrorCode:
        request = EndTxnRequest(**self.producer, committed=commit)  # type: ignore[arg-type]
        response = self.connection.call(request, self.versions["end"])
        if response.error_code == ErrorCode.NONE and self.v2:
            self._became(response.producer_id, response.producer_epoch)
        return _error(response.error_code)


def _error(number: int) -> ErrorCode:
    return next(error for error in ErrorCode if error == number)
