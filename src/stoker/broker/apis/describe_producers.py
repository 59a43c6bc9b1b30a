"""DescribeProducers (key 61), version 0: the idempotent producers a partition remembers."""

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

decode = DescribeProducersRequest.decode


def handle(node: Node, context: RequestContext, request: DescribeProducersRequest) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[_describe(node, topic.name, index) for index in dict.fromkeys(topic.partition_indexes)],
            )
            for topic in request.topics
        ]
    )


def _describe(node: Node, topic: str, index: int) -> PartitionResponse:
    partition = node.partitions.find(topic, index)
    if partition is None or partition.log is None:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if partition is None else ErrorCode.KAFKA_STORAGE_ERROR
        return PartitionResponse(partition_index=index, error_code=error, error_message=error.message)
    return PartitionResponse(
        partition_index=index,
        active_producers=[
            ProducerState(
                producer_id=producer_id,
                producer_epoch=producer.epoch,
                last_sequence=producer.last_sequence,
                last_timestamp=producer.last_timestamp,
                coordinator_epoch=producer.coordinator_epoch,
                current_txn_start_offset=producer.transaction_first_offset,
            )
            for producer_id, producer in partition.log.active_producers().items()
        ],
    )
