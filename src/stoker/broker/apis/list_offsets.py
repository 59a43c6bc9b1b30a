"""ListOffsets (key 2), versions 1 to 10: an offset by timestamp, or the earliest, the latest, the newest record's.

Special timestamps: -1 latest, -2 earliest, -3 the record with the largest timestamp (from 7), -4 earliest local and
-5 latest tiered (from 8 and 9; without tiered storage the log start, and none). `read_committed` ends at the last
stable offset. Leader epochs are checked. A partition that is named twice gets INVALID_REQUEST, as in Kafka.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any, NamedTuple

from stoker.broker.node import Node
from stoker.broker.partitions import Partition
from stoker.broker.request import RequestContext
from stoker.errors import CorruptRecords
from stoker.log.errors import LogError
from stoker.log.partition import PartitionLog
from stoker.log.timestamps import TimestampedOffset
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


def handle(
    node: Node, context: RequestContext, request: ListOffsetsRequest
) -> ListOffsetsResponse | Coroutine[Any, Any, ListOffsetsResponse]:
    times_named = Counter((topic.name, asked.partition_index) for topic in request.topics for asked in topic.partitions)
    response = ListOffsetsResponse()
    searches: list[_Search] = []
    for topic in request.topics:
        answers = []
        for asked in topic.partitions:
            answer = ListOffsetsPartitionResponse(partition_index=asked.partition_index)
            if times_named[topic.name, asked.partition_index] > 1:
                answer.error_code = ErrorCode.INVALID_REQUEST
            else:
                partition = node.partitions.find(topic.name, asked.partition_index)
                search = _look_up(partition, asked, request.isolation_level == 1, context.api_version, answer)
                if search is not None:
                    searches.append(search)
            answers.append(answer)
        response.topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
    return _search_then_reply(node, searches, context.api_version, response) if searches else response


class _Search(NamedTuple):
    """A partition of which records have to be read, the end of what its reader may see, and where the result goes."""

    log: PartitionLog
    timestamp: int
    end: int
    answer: ListOffsetsPartitionResponse


def _look_up(
    partition: Partition | None,
    asked: ListOffsetsPartition,
    read_committed: bool,
    version: int,
    answer: ListOffsetsPartitionResponse,
) -> _Search | None:
    """Fill in the answer, or say what has to be searched for it."""
    if partition is None:
        answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return None
    log = partition.log
    if log is None:
        answer.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        return None
    answer.error_code = partition.epoch_error(asked.current_leader_epoch)
    if answer.error_code:
        return None
    end = log.last_stable_offset if read_committed else log.high_watermark
    match asked.timestamp:
        case -1:
            _fill(answer, end, -1, log.leader_epoch, version)
        case -2 | -4 if version >= _OLDEST_VERSION_WITH.get(asked.timestamp, 1):
            _fill(answer, log.log_start_offset, -1, log.epoch_of(log.log_start_offset), version)
        case -5 if version >= _OLDEST_VERSION_WITH[LATEST_TIERED]:
            pass
        case timestamp if timestamp >= 0 or (timestamp == -3 and version >= _OLDEST_VERSION_WITH[MAX_TIMESTAMP]):
            return _Search(log, timestamp, end, answer)
        case _:
            answer.error_code = ErrorCode.UNSUPPORTED_VERSION
    return None


def _fill(answer: ListOffsetsPartitionResponse, offset: int, timestamp: int, leader_epoch: int, version: int) -> None:
    answer.offset, answer.timestamp = offset, timestamp
    if version >= _FIRST_WITH_LEADER_EPOCH:
        answer.leader_epoch = leader_epoch


async def _search_then_reply(
    node: Node, searches: list[_Search], version: int, response: ListOffsetsResponse
) -> ListOffsetsResponse:
    for search in searches:
        try:
            found = await _find(node, search)
        except CorruptRecords:
            search.answer.error_code = ErrorCode.CORRUPT_MESSAGE
        except (OSError, LogError):
            search.answer.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        else:
            if found is not None and found.offset < search.end:
                _fill(search.answer, found.offset, found.timestamp, found.leader_epoch, version)
    return response


async def _find(node: Node, search: _Search) -> TimestampedOffset | None:
    log = search.log
    if search.timestamp == MAX_TIMESTAMP:
        batches = log.batches_by_max_timestamp()
    else:
        batches = log.batches_by_timestamp(search.timestamp)
    for batch in batches:
        found = batch.search() if batch.is_quick else await node.read_records(batch.search)
        if found is not None:
            return found
        await asyncio.sleep(0)
    return None
