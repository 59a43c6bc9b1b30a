"""SyncGroup (key 14), versions 0 to 5: the leader of a classic group hands in assignments, each member receives its own.

Followers wait for the leader. The group is written to `__consumer_offsets` before anyone has its assignment.
"""

from collections.abc import Coroutine
from typing import Any

from stoker.broker.node import Node
from stoker.broker.reply import Deferred
from stoker.broker.request import RequestContext
from stoker.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

decode = SyncGroupRequest.decode


def handle(
    node: Node, context: RequestContext, request: SyncGroupRequest
) -> SyncGroupResponse | Deferred | Coroutine[Any, Any, SyncGroupResponse | Deferred]:
    groups = node.groups
    return groups.perform(
        request.group_id,
        lambda: groups.coordinator.sync_group(request, context.api_version),
        lambda error: SyncGroupResponse(error_code=error),
    )
