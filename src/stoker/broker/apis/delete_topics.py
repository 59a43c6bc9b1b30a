"""DeleteTopics (key 20), versions 1 to 6: by name, from 6 also by id.

The topic is gone when the reply comes; its files are renamed at once and removed in the background.
"""

from collections.abc import Coroutine
from typing import Any

from stoker.broker.metadata import TopicState
from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.broker.topics import TopicRefused
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from stoker.wire.schema import ZERO_UUID

decode = DeleteTopicsRequest.decode


def handle(
    node: Node, context: RequestContext, request: DeleteTopicsRequest
) -> Coroutine[Any, Any, DeleteTopicsResponse]:
    asked = (
        request.topics if context.api_version >= 6 else [DeleteTopicState(name=name) for name in request.topic_names]
    )
    return _delete(node, asked)


async def _delete(node: Node, asked: list[DeleteTopicState]) -> DeleteTopicsResponse:
    results: list[DeletableTopicResult] = []
    doomed: dict[str, TopicState] = {}
    for wanted in asked:
        by_id = wanted.topic_id != ZERO_UUID
        if by_id == (wanted.name is not None):
            message = (
                "You may not specify both topic name and topic id."
                if by_id
                else "Neither topic name nor id was specified."
            )
            results.append(_refused(wanted, ErrorCode.INVALID_REQUEST, message))
            continue
        topic = (
            node.metadata.topics_by_id.get(wanted.topic_id) if by_id else node.metadata.topics.get(wanted.name or "")
        )
        if topic is None:
            error = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            results.append(_refused(wanted, error, error.message))
        elif topic.name in doomed:
            results.append(_refused(wanted, ErrorCode.INVALID_REQUEST, "Duplicate topic name."))
        elif not node.config.delete_topic_enable:
            results.append(_refused(wanted, ErrorCode.TOPIC_DELETION_DISABLED, "Topic deletion is disabled."))
        else:
            doomed[topic.name] = topic
            results.append(DeletableTopicResult(name=topic.name, topic_id=topic.topic_id))
    if doomed:
        try:
            await node.delete_topics(list(doomed.values()))
        except TopicRefused as refusal:
            for result in results:
                if not result.error_code:
                    result.error_code, result.error_message = refusal.error_code, str(refusal)
    return DeleteTopicsResponse(responses=results)


def _refused(wanted: DeleteTopicState, error: ErrorCode, message: str) -> DeletableTopicResult:
    return DeletableTopicResult(name=wanted.name, topic_id=wanted.topic_id, error_code=error, error_message=message)
