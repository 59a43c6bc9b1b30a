"""ListOffsets (key 2), versions 1 to 10: an offset by timestamp, or the earliest, the latest, the newest record's.

Special timestamps: -1 latest, -2 earliest, -3 the record with the largest timestamp (from 7), -4 earliest local and
-5 latest tiered (from 8 and 9; without tiered storage the log start, and none). `read_committed` ends at the last
stable offset. Leader epochs are checked.
"""

from stoker.broker.node import Node
from stoker.broker.partitions import Partition
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

decode = ListOffsetsRequest.decode

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
_OLDEST_VERSION_WITH = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9}
_FIRST_WITH_LEADER_EPOCH = 4


def handle(node: Node, context: RequestContext, request: ListOffsetsRequest) -> ListOffsetsResponse:
    read_committed = request.isolation_level == 1
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    _look_up(
                        node.partitions.find(topic.name, asked.partition_index),
                        asked,
                        read_committed,
                        context.api_version,
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _look_up(
    partition: Partition | None, asked: ListOffsetsPartition, read_committed: bool, version: int
) -> ListOffsetsPartitionResponse:
    answer = ListOffsetsPartitionResponse(partition_index=asked.partition_index)
    if partition is None:
        answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return answer
    log = partition.log
    if log is None:
        answer.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        return answer
    answer.error_code = partition.epoch_error(asked.current_leader_epoch)
    if answer.error_code:
        return answer
    end = log.last_stable_offset if read_committed else log.high_watermark
    match asked.timestamp:
        case -1:
            answer.offset, answer.leader_epoch = end, log.leader_epoch
        case -2 | -4 if version >= _OLDEST_VERSION_WITH.get(asked.timestamp, 1):
            answer.offset = log.log_start_offset
            answer.leader_epoch = log.epoch_of(log.log_start_offset)
        case -3 if version >= _OLDEST_VERSION_WITH[MAX_TIMESTAMP]:
            _fill(answer, log.max_timestamp_offset(), end)
        case -5 if version >= _OLDEST_VERSION_WITH[LATEST_TIERED]:
            pass
        case timestamp if timestamp >= 0:
            _fill(answer, log.offset_for_timestamp(timestamp), end)
        case _:
            answer.error_code = ErrorCode.UNSUPPORTED_VERSION
    if version < _FIRST_WITH_LEADER_EPOCH:
        answer.leader_epoch = -1
    return answer


def _fill(answer: ListOffsetsPartitionResponse, found: tuple[int, int, int] | None, end: int) -> None:
    if found is not None and found[0] < end:
        answer.offset, answer.timestamp, answer.leader_epoch = found
