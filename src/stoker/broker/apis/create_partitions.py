"""CreatePartitions (key 37), versions 0 to 3: more partitions for a topic, never fewer; validate-only too."""

from collections import Counter
from collections.abc import Coroutine
from typing import Any

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.broker.topics import TopicRefused, check_total
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

decode = CreatePartitionsRequest.decode


def handle(
    node: Node, context: RequestContext, request: CreatePartitionsRequest
) -> Coroutine[Any, Any, CreatePartitionsResponse]:
    return _grow(node, request)


async def _grow(node: Node, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    times_named = Counter(topic.name for topic in request.topics)
    total = sum(_added(node, topic) for topic in request.topics)
    results = {}
    for topic in request.topics:
        result = CreatePartitionsTopicResult(name=topic.name)
        try:
            check_total(total)
            if times_named[topic.name] > 1:
                raise TopicRefused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            await _grow_one(node, topic, request.validate_only)
        except TopicRefused as refusal:
            result.error_code, result.error_message = refusal.error_code, str(refusal)
        results[topic.name] = result
    return CreatePartitionsResponse(results=list(results.values()))


def _added(node: Node, topic: CreatePartitionsTopic) -> int:
    state = node.metadata.topics.get(topic.name)
    return 0 if state is None else max(0, topic.count - len(state.partitions))


async def _grow_one(node: Node, topic: CreatePartitionsTopic, validate_only: bool) -> None:
    state = node.metadata.topics.get(topic.name)
    if state is None:
        raise TopicRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.message)
    assignments = None if topic.assignments is None else [assignment.broker_ids for assignment in topic.assignments]
    await node.grow_topic(state, topic.count, assignments, validate_only=validate_only)
