"""FindCoordinator (key 10), versions 0 to 6: there are no consumer groups or transactions yet, so no coordinator either.

It is served because librdkafka compresses with lz4 only for a broker that has it. Every key is answered with
COORDINATOR_NOT_AVAILABLE, which clients take for a passing state and say nothing of; so the broker's log does, once a key.
"""

from logging import getLogger
from typing import Final

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

logger = getLogger("stoker.broker")

decode = FindCoordinatorRequest.decode

_FIRST_WITH_SEVERAL_KEYS: Final = 4
_MESSAGE: Final = "This broker has no consumer groups and no transactions yet."
_KINDS: Final = {0: "consumer group", 1: "transactional id"}
_KEYS_REMEMBERED: Final = 1000

_told: set[tuple[int, str]] = set()


def handle(node: Node, context: RequestContext, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    for key in request.coordinator_keys if context.api_version >= _FIRST_WITH_SEVERAL_KEYS else [request.key]:
        _tell_once(request.key_type, key, context.connection.peer)
    if context.api_version < _FIRST_WITH_SEVERAL_KEYS:
        return FindCoordinatorResponse(error_code=error, error_message=_MESSAGE, node_id=-1, port=-1)
    return FindCoordinatorResponse(
        coordinators=[
            Coordinator(key=key, node_id=-1, port=-1, error_code=error, error_message=_MESSAGE)
            for key in request.coordinator_keys
        ]
    )


def _tell_once(key_type: int, key: str, peer: str) -> None:
    if (key_type, key) not in _told and len(_told) < _KEYS_REMEMBERED:
        _told.add((key_type, key))
        kind = _KINDS.get(key_type, "coordinator key")
        logger.warning(
            "%s asks for %s %.200r. %s Who subscribes, commits or begins a transaction waits in vain.",
            peer,
            kind,
            key,
            _MESSAGE,
        )
