"""AddPartitionsToTxn (key 24), versions 0 to 5: tell the coordinator which partitions a transaction writes to.

Up to version 3 a producer adds partitions of its own transaction; if one is not there none is added, as in Kafka. From 4
on brokers ask for several transactions, to add partitions or to verify that they have been (KIP-890).
"""

from collections.abc import Coroutine
from typing import Any, Final

from stoker.broker.node import Node
from stoker.broker.reply import answered
from stoker.broker.request import RequestContext
from stoker.coordinators.transactions.transaction import CLASSIC, TopicPartition
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

decode = AddPartitionsToTxnRequest.decode

_FIRST_WITH_PRODUCER_FENCED: Final = 2
_FIRST_WITH_SEVERAL: Final = 4

_Errors = dict[TopicPartition, ErrorCode]


def handle(
    node: Node, context: RequestContext, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse | Coroutine[Any, Any, AddPartitionsToTxnResponse]:
    version = context.api_version
    if version >= _FIRST_WITH_SEVERAL:
        return _add_several(node, request.transactions, version)
    topics = request.v3_and_below_topics
    refused = _unknown(node, topics)
    if refused:
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_results(topics, refused))
    added = node.transactions.add_partitions(
        request.v3_and_below_transactional_id,
        request.v3_and_below_producer_id,
        request.v3_and_below_producer_epoch,
        _partitions(topics),
        CLASSIC,
    )
    return answered(
        added,
        lambda error: AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=_results(topics, _all(topics, _as_of(version, error)))
        ),
    )


async def _add_several(
    node: Node, transactions: list[AddPartitionsToTxnTransaction], version: int
) -> AddPartitionsToTxnResponse:
    results = []
    for transaction in transactions:
        errors = _unknown(node, transaction.topics)
        if not errors and transaction.verify_only:
            errors = _verified(node, transaction, version)
        elif not errors:
            added = node.transactions.add_partitions(
                transaction.transactional_id,
                transaction.producer_id,
                transaction.producer_epoch,
                _partitions(transaction.topics),
                CLASSIC,
            )
            error = await added if isinstance(added, Coroutine) else added
            errors = _all(transaction.topics, _as_of(version, error))
        results.append(
            AddPartitionsToTxnResult(
                transactional_id=transaction.transactional_id, topic_results=_results(transaction.topics, errors)
            )
        )
    return AddPartitionsToTxnResponse(results_by_transaction=results)


def _verified(node: Node, transaction: AddPartitionsToTxnTransaction, version: int) -> _Errors:
    return {
        partition: _as_of(
            version,
            node.transactions.verify_partition(
                transaction.transactional_id, transaction.producer_id, transaction.producer_epoch, partition
            ),
        )
        for partition in _partitions(transaction.topics)
    }


def _unknown(node: Node, topics: list[AddPartitionsToTxnTopic]) -> _Errors:
    """What speaks against adding these partitions; nothing if all can be added, else something for each."""
    errors = {
        partition: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for partition in _partitions(topics)
        if node.partitions.find(*partition) is None
    }
    return _all(topics, ErrorCode.OPERATION_NOT_ATTEMPTED) | errors if errors else errors


def _as_of(version: int, error: ErrorCode) -> ErrorCode:
    if error is ErrorCode.PRODUCER_FENCED and version < _FIRST_WITH_PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error


def _partitions(topics: list[AddPartitionsToTxnTopic]) -> frozenset[TopicPartition]:
    return frozenset((topic.name, index) for topic in topics for index in topic.partitions)


def _all(topics: list[AddPartitionsToTxnTopic], error: ErrorCode) -> _Errors:
    return dict.fromkeys(_partitions(topics), error)


def _results(topics: list[AddPartitionsToTxnTopic], errors: _Errors) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=errors[topic.name, index])
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]
