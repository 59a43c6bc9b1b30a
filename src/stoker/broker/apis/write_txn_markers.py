"""WriteTxnMarkers (key 27), versions 1 and 2: end transactions in partitions, whatever their coordinator says.

Between the brokers of a Kafka cluster it is the coordinator's way to other leaders. Here it is for operators, who abort
with it what no coordinator knows (`stoker transactions abort`, `kafka-transactions.sh`).
"""

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
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


def handle(node: Node, context: RequestContext, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(
                                partition_index=index, error_code=_write(node, marker, topic.name, index)
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


def _write(node: Node, marker: WritableTxnMarker, topic: str, index: int) -> ErrorCode:
    partition = node.partitions.find(topic, index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return node.transaction_markers.write(
        partition,
        TransactionMarker(
            marker.producer_id, marker.producer_epoch, marker.transaction_result, marker.coordinator_epoch
        ),
    )
