"""ConsumerGroupHeartbeat (key 68), versions 0 and 1: join, stay in and leave a group of the new protocol (KIP-848).

The broker assigns, with the `uniform` or the `range` assignor; patterns are RE2's. A running group of the classic
protocol changes over when its first member comes by this API, and back when the last such member leaves
(`group.consumer.migration.policy`).
"""

from collections.abc import Coroutine
from typing import Any

from stoker.broker.group_service import client_info
from stoker.broker.node import Node
from stoker.broker.reply import Deferred
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

decode = ConsumerGroupHeartbeatRequest.decode


def handle(
    node: Node, context: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse | Deferred | Coroutine[Any, Any, ConsumerGroupHeartbeatResponse | Deferred]:
    if "consumer" not in node.config.group_coordinator_rebalance_protocols:
        return ConsumerGroupHeartbeatResponse(
            error_code=ErrorCode.UNSUPPORTED_VERSION,
            error_message="The consumer protocol is not among this broker's group.coordinator.rebalance.protocols.",
        )
    groups = node.groups
    return groups.perform(
        request.group_id,
        lambda: groups.coordinator.consumer_group_heartbeat(client_info(context), request, context.api_version),
        lambda error: ConsumerGroupHeartbeatResponse(error_code=error),
    )
