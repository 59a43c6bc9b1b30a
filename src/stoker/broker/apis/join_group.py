"""JoinGroup (key 11), versions 0 to 9: enter a group of the classic protocol, or stay in it at a rebalance.

The answer waits until every member has joined or its rebalance time-out is over; the first rebalance of an empty group
waits `group.initial.rebalance.delay.ms` for more members. From version 4 on a new member is first told its id. In a group
of the new protocol (KIP-848) the answer comes at once.
"""

from collections.abc import Coroutine
from typing import Any

from stoker.broker.group_service import client_info
from stoker.broker.node import Node
from stoker.broker.reply import Deferred
from stoker.broker.request import RequestContext
from stoker.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

decode = JoinGroupRequest.decode


def handle(
    node: Node, context: RequestContext, request: JoinGroupRequest
) -> JoinGroupResponse | Deferred | Coroutine[Any, Any, JoinGroupResponse | Deferred]:
    groups = node.groups
    return groups.perform(
        request.group_id,
        lambda: groups.coordinator.join_group(client_info(context), request, context.api_version),
        lambda error: JoinGroupResponse(error_code=error, member_id=request.member_id, protocol_name=""),
    )
