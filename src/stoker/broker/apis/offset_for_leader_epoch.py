"""OffsetForLeaderEpoch (key 23), versions 2 to 4: where an epoch ended, so that a reader can tell that a log was cut."""

from stoker.broker.node import Node
from stoker.broker.partitions import Partition
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

decode = OffsetForLeaderEpochRequest.decode


def handle(node: Node, context: RequestContext, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    _look_up(node.partitions.find(topic.topic, asked.partition), asked) for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _look_up(partition: Partition | None, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    answer = EpochEndOffset(partition=asked.partition)
    if partition is None:
        answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif partition.log is None:
        answer.error_code = ErrorCode.KAFKA_STORAGE_ERROR
    else:
        answer.error_code = partition.epoch_error(asked.current_leader_epoch)
        if not answer.error_code:
            answer.leader_epoch, answer.end_offset = partition.log.end_offset_for_epoch(asked.leader_epoch)
    return answer
