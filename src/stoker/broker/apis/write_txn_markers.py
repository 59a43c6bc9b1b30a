"""WriteTxnMarkers (key 27), versions 1 and 2: end transactions in partitions, whatever their coordinator says.

Between the brokers of a Kafka cluster it is the coordinator's way to other leaders. Here it is for operators, who abort
with it what no coordinator knows (`stoker transactions abort`, `kafka-transactions.sh`).
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
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
    error = node.transaction_markers.write(
        partition,
        TransactionMarker(
            marker.producer_id, marker.producer_epoch, marker.transaction_result, marker.coordinator_epoch
        ),
    )
    log = partition.log
    if error is ErrorCode.NONE and log is not None and log.unflushed_messages >= log.config.flush_messages:
        to_flush.add(log)
    return error
