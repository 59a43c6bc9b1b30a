"""WriteTxnMarkers (key 27), versions 1 and 2: end transactions in partitions, whatever their coordinator says.

Between the brokers of a Kafka cluster it is the coordinator's way to other leaders. Here it is for operators, who abort
with it what no coordinator knows (`stoker transactions abort`, `kafka-transactions.sh`). A marker of transactions v2 has a
higher epoch than the transaction it ends.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.coordinators.transactions.transaction import V2
from stoker.log.partition import PartitionLog
from stoker.log.producer_state import TransactionMarker
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

decode = WriteTxnMarkersRequest.decode


def handle(
    node: Node, context: RequestContext, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse | Coroutine[Any, Any, WriteTxnMarkersResponse]:
    to_flush: set[PartitionLog] = set()
    response = WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(
                                partition_index=index, error_code=_write(node, marker, topic.name, index, to_flush)
                            )
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )
    return _flush_then_reply(node, to_flush, response) if to_flush else response


async def _flush_then_reply(
    node: Node, to_flush: set[PartitionLog], response: WriteTxnMarkersResponse
) -> WriteTxnMarkersResponse:
    await asyncio.gather(*map(node.flusher.flushed, to_flush))
    return response


def _write(node: Node, marker: WritableTxnMarker, topic: str, index: int, to_flush: set[PartitionLog]) -> ErrorCode:
    partition = node.partitions.find(topic, index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if marker.producer_id < 0 or marker.producer_epoch < 0:
        return ErrorCode.UNKNOWN_SERVER_ERROR  # as Kafka says it
    log = partition.log
    is_v2 = marker.transaction_version >= V2
    if is_v2 and log is not None and log.has_open_transaction(marker.producer_id, marker.producer_epoch):
        return ErrorCode.INVALID_PRODUCER_EPOCH  # what this one ended had another epoch, and so is over
    error = node.transaction_markers.write(
        partition,
        TransactionMarker(
            marker.producer_id, marker.producer_epoch, marker.transaction_result, marker.coordinator_epoch
        ),
    )
    if error is ErrorCode.NONE and log is not None and log.unflushed_messages >= log.config.flush_messages:
        to_flush.add(log)
    return error
