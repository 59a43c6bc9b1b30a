"""A transactional producer that does as a test says, also what no client library would: on stoker.client, request by request.

It speaks the versions before transactions v2 (KIP-890), in which a producer says what it adds, and may say it too late.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from stoker.client.admin.configs import Alteration, Operation, Resource, ResourceType, alter_configs
from stoker.client.admin.offsets import LATEST
from stoker.client.admin.transactions import COMPLETE_COMMIT, describe_transaction
from stoker.client.cluster import Cluster
from stoker.client.errors import as_error_code
from stoker.client.properties import client_properties
from stoker.client.targets import TRANSACTION, CoordinatorOf, LeaderOf
from stoker.client.topic_partition import TopicPartition
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from stoker.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from stoker.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from stoker.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from stoker.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from stoker.wire.record_batch import Record, build_batch

HOUR_MS = 3_600_000
TIMEOUT_MS = 600_000
"""Longer than any test."""
VERIFICATION = "transaction.partition.verification.enable"


class TransactionalProducer:
    """Its producer id is new, or that of the transactional id with the next epoch."""

    def __init__(self, cluster: Cluster, transactional_id: str, *, producer_id: int | None = None) -> None:
        """One that is given a producer id has it, with epoch 0, and no coordinator knows."""
        self._cluster = cluster
        self.transactional_id = transactional_id
        self._coordinator = CoordinatorOf(transactional_id, TRANSACTION)
        self._sequences: dict[TopicPartition, int] = {}
        self.producer_id, self.producer_epoch = producer_id or 0, 0
        if producer_id is None:
            self._begin()

    def _begin(self) -> None:
        answer = self._cluster.send(
            InitProducerIdRequest(transactional_id=self.transactional_id, transaction_timeout_ms=TIMEOUT_MS),
            InitProducerIdResponse,
            to=self._coordinator,
            up_to=4,
        )
        assert answer.error_code == ErrorCode.NONE, answer
        self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch

    def add(self, *partitions: TopicPartition) -> None:
        """Tell the coordinator; the first makes the transaction begin."""
        answer = self._cluster.send(
            AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.transactional_id,
                v3_and_below_producer_id=self.producer_id,
                v3_and_below_producer_epoch=self.producer_epoch,
                v3_and_below_topics=[
                    AddPartitionsToTxnTopic(name=each.topic, partitions=[each.partition]) for each in partitions
                ],
            ),
            AddPartitionsToTxnResponse,
            to=self._coordinator,
            up_to=3,
            error_of=_first_error_of_adding,  # while the last transaction is being ended it is to be sent again
        )
        assert _first_error_of_adding(answer) == ErrorCode.NONE, answer

    def produce(self, partition: TopicPartition, *, age_ms: int = 0) -> int:
        """The offset of one record of the transaction, with a timestamp that long ago.

        Where brokers verify (KIP-890), the transaction has to have begun. A change of that setting reaches the parts of a
        broker one after the other, and meanwhile records are refused that are not to be: they are sent again.
        """
        for _ in self._cluster.attempts():
            error_code, offset = self.try_to_produce(partition, age_ms=age_ms)
            if error_code is ErrorCode.NONE:
                return offset
            assert error_code in (ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_PRODUCER_ID_MAPPING), error_code
        raise AssertionError("no transaction has begun, and the broker keeps asking for it")

    def try_to_produce(self, partition: TopicPartition, *, age_ms: int = 0) -> tuple[ErrorCode, int]:
        record = Record(offset=0, timestamp=time.time_ns() // 1_000_000 - age_ms, key=None, value=b"value", headers=())
        batch = build_batch(
            [record],
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self._sequences.get(partition, 0),
            transactional=True,
        )
        data = TopicProduceData(
            name=partition.topic, partition_data=[PartitionProduceData(index=partition.partition, records=batch)]
        )
        answer = self._cluster.send(
            ProduceRequest(transactional_id=self.transactional_id, acks=-1, timeout_ms=10_000, topic_data=[data]),
            ProduceResponse,
            to=LeaderOf(*partition),
            up_to=11,
            error_of=lambda answer: answer.responses[0].partition_responses[0].error_code,
        )
        (response,) = answer.responses[0].partition_responses
        if not response.error_code:
            self._sequences[partition] = self._sequences.get(partition, 0) + 1
        return as_error_code(response.error_code), response.base_offset

    def end(self, *, committed: bool) -> ErrorCode:
        answer = self._cluster.send(
            EndTxnRequest(
                transactional_id=self.transactional_id,
                producer_id=self.producer_id,
                producer_epoch=self.producer_epoch,
                committed=committed,
            ),
            EndTxnResponse,
            to=self._coordinator,
            up_to=4,
        )
        return as_error_code(answer.error_code)

    def commit(self) -> None:
        """And wait until the marker is in every partition, which is after the coordinator has answered."""
        assert self.end(committed=True) is ErrorCode.NONE
        for _ in self._cluster.attempts():
            if describe_transaction(self._cluster, self.transactional_id).state == COMPLETE_COMMIT:
                return
        raise AssertionError(f"{self.transactional_id} is not committed")


def last_stable_offset(cluster: Cluster, partition: TopicPartition) -> int:
    """How far readers with read_committed get."""
    answer = cluster.send(
        ListOffsetsRequest(
            replica_id=-1,
            isolation_level=1,
            topics=[
                ListOffsetsTopic(
                    name=partition.topic,
                    partitions=[ListOffsetsPartition(partition_index=partition.partition, timestamp=LATEST)],
                )
            ],
        ),
        ListOffsetsResponse,
        to=LeaderOf(*partition),
        error_of=lambda answer: answer.topics[0].partitions[0].error_code,
    )
    (listed,) = answer.topics[0].partitions
    assert listed.error_code == ErrorCode.NONE
    return listed.offset


def _first_error_of_adding(answer: AddPartitionsToTxnResponse) -> int:
    return answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code


@contextmanager
def without_verification(address: str) -> Iterator[Cluster]:
    """Within, brokers take records of transactions that have not begun, as before KIP-890."""
    brokers = Resource(ResourceType.BROKER, "")
    with Cluster(client_properties(address)) as cluster:
        alter_configs(cluster, brokers, [Alteration(VERIFICATION, Operation.SET, "false")])
        try:
            yield cluster
        finally:
            alter_configs(cluster, brokers, [Alteration(VERIFICATION, Operation.DELETE)])


def let_hang(cluster: Cluster, transactional_id: str, partition: TopicPartition, *, age_ms: int = HOUR_MS) -> int:
    """A transaction whose last record comes after its end: the offset where it hangs.

    Needs `without_verification`.
    """
    producer = TransactionalProducer(cluster, transactional_id)
    producer.add(partition)
    producer.produce(partition, age_ms=age_ms)
    producer.commit()
    return producer.produce(partition, age_ms=age_ms)
