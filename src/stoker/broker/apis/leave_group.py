"""LeaveGroup (key 13), versions 0 to 5: members leave a classic group, by member id or by group instance id."""

from collections.abc import Coroutine
from typing import Any

from stoker.broker.node import Node
from stoker.broker.reply import Deferred
from stoker.broker.request import RequestContext
from stoker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse

decode = LeaveGroupRequest.decode


def handle(
    node: Node, context: RequestContext, request: LeaveGroupRequest
) -> LeaveGroupResponse | Deferred | Coroutine[Any, Any, LeaveGroupResponse | Deferred]:
    groups = node.groups
    return groups.perform(
        request.group_id,
        lambda: groups.coordinator.leave_group(request, context.api_version),
        lambda error: LeaveGroupResponse(error_code=error),
    )
