"""Honest requests of producers that the coordinator knows, so that what is spoiled in them goes deeper than to an unknown id."""

from collections.abc import Iterator
from typing import Any

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
from stoker.wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from stoker.wire.schema import Request
from tests.broker.sensible_requests import Target
from tests.faults.raw_transactions import PROTOCOLS, RawTransactions
from tests.raw_connection import RawConnection, batch_of

_GROUP = "fuzzed-transactions"


def requests_of_producers(connection: RawConnection, target: Target) -> Iterator[tuple[Request, int]]:
    """Begins a transaction of each protocol, and gives what its producer would go on with."""
    for protocol in PROTOCOLS:
        transactions = RawTransactions(connection, f"fuzzed-{protocol}", protocol)
        transactions.init()
        transactions.produce(target.topic, 0, b"record")
        transactions.commit_offset(_GROUP, target.topic, 0, 1)
        yield from _of_producer(transactions, target)


def _of_producer(transactions: RawTransactions, target: Target) -> Iterator[tuple[Request, int]]:
    name, is_classic = transactions.transactional_id, not transactions.is_v2
    producer: dict[str, Any] = {
        "transactional_id": name,
        "producer_id": transactions.producer_id,
        "producer_epoch": transactions.producer_epoch,
    }
    added = [AddPartitionsToTxnTopic(name=target.topic, partitions=[0, 1])]
    yield InitProducerIdRequest(transaction_timeout_ms=60_000, **producer), 4
    if is_classic:
        older = {f"v3_and_below_{field}": value for field, value in producer.items()}
        yield AddPartitionsToTxnRequest(**older, v3_and_below_topics=added), 3
        yield AddOffsetsToTxnRequest(**producer, group_id=_GROUP), 3
    else:
        yield AddPartitionsToTxnRequest(transactions=[AddPartitionsToTxnTransaction(**producer, topics=added)]), 5
    partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="")
    committed = TxnOffsetCommitRequestTopic(name=target.topic, partitions=[partition])
    yield TxnOffsetCommitRequest(**producer, group_id=_GROUP, topics=[committed]), 3 if is_classic else 5
    yield _produce(transactions, target), 11 if is_classic else 12
    for commit in (True, False):
        yield EndTxnRequest(**producer, committed=commit), 3 if is_classic else 5
    marked = WritableTxnMarkerTopic(name=target.topic, partition_indexes=[0, 1])
    marker = WritableTxnMarker(
        producer_id=transactions.producer_id, producer_epoch=transactions.producer_epoch, topics=[marked]
    )
    yield WriteTxnMarkersRequest(markers=[marker]), 1
    yield DescribeTransactionsRequest(transactional_ids=[name]), 0


def _produce(transactions: RawTransactions, target: Target) -> ProduceRequest:
    records = batch_of(
        b"another",
        producer_id=transactions.producer_id,
        producer_epoch=transactions.producer_epoch,
        base_sequence=1,
        transactional=True,
    )
    data = PartitionProduceData(index=0, records=records)
    return ProduceRequest(
        transactional_id=transactions.transactional_id,
        acks=-1,
        timeout_ms=10_000,
        topic_data=[TopicProduceData(name=target.topic, partition_data=[data])],
    )
