"""DescribeTransactions (key 65), version 0: how far the transactions of some transactional ids have come."""

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.coordinators.transactions.transaction import Transaction
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from stoker.wire.transaction_records import partitions_by_topic

decode = DescribeTransactionsRequest.decode


def handle(node: Node, context: RequestContext, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[_describe(node, name) for name in dict.fromkeys(request.transactional_ids)]
    )


def _describe(node: Node, transactional_id: str) -> TransactionState:
    error = node.transactions.unavailable(transactional_id) if transactional_id else ErrorCode.INVALID_REQUEST
    transaction = node.transactions.coordinator.find(transactional_id)
    if error is ErrorCode.NONE and transaction is None:
        error = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    if error is not ErrorCode.NONE or transaction is None:
        return TransactionState(transactional_id=transactional_id, error_code=error)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=transaction.state.title,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.start_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=_topics(transaction),
    )


def _topics(transaction: Transaction) -> list[TopicData]:
    topics = partitions_by_topic(transaction.partitions)
    return [TopicData(topic=topic.topic, partitions=topic.partition_ids) for topic in topics]
