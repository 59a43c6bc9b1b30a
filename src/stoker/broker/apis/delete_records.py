"""DeleteRecords (key 21), versions 0 to 2: forget all records of a partition before an offset (-1: before its end)."""

from stoker.broker.node import Node
from stoker.broker.partitions import Partition
from stoker.broker.request import RequestContext
from stoker.log.errors import OffsetOutOfRange
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

decode = DeleteRecordsRequest.decode


def handle(node: Node, context: RequestContext, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    _delete(node.partitions.find(topic.name, asked.partition_index), asked)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _delete(partition: Partition | None, asked: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
    result = DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=-1)
    if partition is None:
        result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif partition.log is None:
        result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
    elif not partition.log.config.is_deleted_by_retention:
        result.error_code = ErrorCode.POLICY_VIOLATION  # as Kafka: a compacted topic is not for deleting from the front
    else:
        before = partition.log.high_watermark if asked.offset == -1 else asked.offset
        try:
            result.low_watermark = partition.log.delete_records(before)
        except OffsetOutOfRange:
            result.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
    return result
