"""OffsetFetch (key 9), versions 1 to 10: look up how far groups have read, in some partitions or in all.

A group or partition that is not known has offset -1 and no error, as in Kafka. With `require_stable` (from 7 on) an offset
that an open transaction may still change is UNSTABLE_OFFSET_COMMIT.
"""

import asyncio
from collections.abc import Coroutine, Iterator
from time import monotonic
from typing import Any, Final

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

decode = OffsetFetchRequest.decode

_FIRST_WITH_SEVERAL_GROUPS: Final = 8
_FIRST_WITH_AN_ERROR_OF_ITS_OWN: Final = 2
_GROUPS_AT_ONCE: Final = 10
_TURN_SECONDS: Final = 0.01


def handle(
    node: Node, context: RequestContext, request: OffsetFetchRequest
) -> OffsetFetchResponse | Coroutine[Any, Any, OffsetFetchResponse]:
    version = context.api_version
    if version >= _FIRST_WITH_SEVERAL_GROUPS:
        groups = list(_without_repetitions(request.groups))
        if len(groups) > _GROUPS_AT_ONCE:
            return _fetch_in_turns(node, groups, version, request.require_stable)
        return OffsetFetchResponse(groups=[_fetch(node, group, version, request.require_stable) for group in groups])
    group = _fetch(node, _as_group(request), version, request.require_stable)
    if group.error_code and version < _FIRST_WITH_AN_ERROR_OF_ITS_OWN:
        return OffsetFetchResponse(topics=_error_everywhere(request, group.error_code))
    return OffsetFetchResponse(error_code=group.error_code, topics=_topics_of_old(group))


async def _fetch_in_turns(
    node: Node, groups: list[OffsetFetchRequestGroup], version: int, require_stable: bool
) -> OffsetFetchResponse:
    """A hundred groups may have a hundred thousand offsets: others are served meanwhile."""
    fetched = []
    turn_ends = monotonic() + _TURN_SECONDS
    for group in groups:
        fetched.append(_fetch(node, group, version, require_stable))
        if monotonic() > turn_ends:
            await asyncio.sleep(0)
            turn_ends = monotonic() + _TURN_SECONDS
    return OffsetFetchResponse(groups=fetched)


def _without_repetitions(groups: list[OffsetFetchRequestGroup]) -> Iterator[OffsetFetchRequestGroup]:
    """All offsets of a group are told once, however often they are asked for: the answer could be of any size else."""
    complete: set[str] = set()
    for group in groups:
        if group.topics is not None:
            yield group
        elif group.group_id not in complete:
            complete.add(group.group_id)
            yield group


def _fetch(node: Node, asked: OffsetFetchRequestGroup, version: int, require_stable: bool) -> OffsetFetchResponseGroup:
    error = node.groups.unavailable(asked.group_id)
    if error is not ErrorCode.NONE:
        return OffsetFetchResponseGroup(group_id=asked.group_id, topics=[], error_code=error)
    return node.groups.coordinator.fetch_offsets(asked, version, require_stable=require_stable)


def _as_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    topics = request.topics
    return OffsetFetchRequestGroup(
        group_id=request.group_id,
        topics=None
        if topics is None
        else [OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes) for topic in topics],
    )


def _topics_of_old(group: OffsetFetchResponseGroup) -> list[OffsetFetchResponseTopic]:
    return [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=partition.partition_index,
                    committed_offset=partition.committed_offset,
                    committed_leader_epoch=partition.committed_leader_epoch,
                    metadata=partition.metadata,
                    error_code=partition.error_code,
                )
                for partition in topic.partitions
            ],
        )
        for topic in group.topics
    ]


def _error_everywhere(request: OffsetFetchRequest, error_code: int) -> list[OffsetFetchResponseTopic]:
    return [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=index, committed_offset=-1, metadata="", error_code=error_code
                )
                for index in topic.partition_indexes
            ],
        )
        for topic in request.topics or ()
    ]
