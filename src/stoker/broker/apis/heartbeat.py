"""Heartbeat (key 12), versions 0 to 4: a member of a classic group is alive; it hears of a rebalance by the answer."""

from collections.abc import Coroutine
from typing import Any

from stoker.broker.node import Node
from stoker.broker.reply import Deferred
from stoker.broker.request import RequestContext
from stoker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

decode = HeartbeatRequest.decode


def handle(
    node: Node, context: RequestContext, request: HeartbeatRequest
) -> HeartbeatResponse | Deferred | Coroutine[Any, Any, HeartbeatResponse | Deferred]:
    groups = node.groups
    return groups.perform(
        request.group_id,
        lambda: groups.coordinator.heartbeat(request),
        lambda error: HeartbeatResponse(error_code=error),
    )
