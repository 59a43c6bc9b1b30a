"""FindCoordinator (key 10), versions 0 to 6: there are no consumer groups or transactions yet, so no coordinator either.

It is served because librdkafka compresses with lz4 only for a broker that has it. Every key is answered with
COORDINATOR_NOT_AVAILABLE.
"""

from typing import Final

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

decode = FindCoordinatorRequest.decode

_FIRST_WITH_SEVERAL_KEYS: Final = 4
_MESSAGE: Final = "This broker has no consumer groups and no transactions yet."


def handle(node: Node, context: RequestContext, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    if context.api_version < _FIRST_WITH_SEVERAL_KEYS:
        return FindCoordinatorResponse(error_code=error, error_message=_MESSAGE, node_id=-1, port=-1)
    return FindCoordinatorResponse(
        coordinators=[
            Coordinator(key=key, node_id=-1, port=-1, error_code=error, error_message=_MESSAGE)
            for key in request.coordinator_keys
        ]
    )
