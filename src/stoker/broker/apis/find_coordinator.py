"""FindCoordinator (key 10), versions 0 to 6: this broker coordinates every group and every transaction.

The first to ask for a coordinator makes its log, `__consumer_offsets` or `__transaction_state`; Kafka answers
COORDINATOR_NOT_AVAILABLE until it has. Left out: share groups (COORDINATOR_NOT_AVAILABLE, with a line in the broker's log).
"""

from collections.abc import Coroutine
from logging import getLogger
from typing import Any, Final

from stoker.broker.config.errors import ConfigRefused
from stoker.broker.metadata import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.broker.topics import TopicRefused
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

logger = getLogger("stoker.broker")

decode = FindCoordinatorRequest.decode

_FIRST_WITH_SEVERAL_KEYS: Final = 4
_GROUP: Final = 0
_TRANSACTION: Final = 1
_SHARE: Final = 2
_TOPICS: Final = {_GROUP: OFFSETS_TOPIC, _TRANSACTION: TRANSACTIONS_TOPIC}
_KEYS_REMEMBERED: Final = 1000
_LONGEST_SHOWN: Final = 200

_told: set[tuple[int, str]] = set()


def handle(
    node: Node, context: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Coroutine[Any, Any, FindCoordinatorResponse]:
    topic = _TOPICS.get(request.key_type)
    if topic is not None and topic not in node.metadata.topics:
        return _make_topic_then_find(node, context, request, topic)
    return _find(node, context, request, None)


async def _make_topic_then_find(
    node: Node, context: RequestContext, request: FindCoordinatorRequest, topic: str
) -> FindCoordinatorResponse:
    try:
        await node.make_internal_topic(topic)
    except (TopicRefused, ConfigRefused) as refusal:
        logger.error("%s cannot be made: %s", topic, refusal)
        return _find(node, context, request, str(refusal))
    return _find(node, context, request, None)


def _find(
    node: Node, context: RequestContext, request: FindCoordinatorRequest, problem: str | None
) -> FindCoordinatorResponse:
    several = context.api_version >= _FIRST_WITH_SEVERAL_KEYS
    found = [
        _coordinator(node, context, request.key_type, key, problem)
        for key in (request.coordinator_keys if several else [request.key])
    ]
    if several:
        return FindCoordinatorResponse(coordinators=found)
    only = found[0]
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message="NONE" if only.error_code == ErrorCode.NONE else only.error_message,
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )


def _coordinator(node: Node, context: RequestContext, key_type: int, key: str, problem: str | None) -> Coordinator:
    error, message = ErrorCode.COORDINATOR_NOT_AVAILABLE, problem
    if key_type in _TOPICS:
        coordinator = node.groups if key_type == _GROUP else node.transactions
        if problem is None and coordinator.unavailable(key) is ErrorCode.NONE:
            host, port = node.address_for(context.connection)
            return Coordinator(key=key, node_id=node.node_id, host=host, port=port)
    elif key_type == _SHARE:
        message = "This broker has no share groups yet."
        _tell_once(key_type, key, context.connection.peer, message)
    else:
        error, message = ErrorCode.INVALID_REQUEST, f"Coordinator key type {key_type} is not known."
    return Coordinator(key=key, node_id=-1, port=-1, error_code=error, error_message=message)


def _tell_once(key_type: int, key: str, peer: str, message: str) -> None:
    """Clients take the error for a passing state and say nothing of it."""
    shown = (key_type, key[:_LONGEST_SHOWN])
    if shown not in _told and len(_told) < _KEYS_REMEMBERED:
        _told.add(shown)
        logger.warning("%s asks for the coordinator of %r. %s It waits in vain.", peer, shown[1], message)
