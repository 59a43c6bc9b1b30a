"""OffsetDelete (key 47), version 0: forget how far a group has read in some partitions.

Not those of a topic that a member is subscribed to (GROUP_SUBSCRIBED_TO_TOPIC).
"""

from collections.abc import Coroutine
from typing import Any

from stoker.broker.node import Node
from stoker.broker.reply import Deferred
from stoker.broker.request import RequestContext
from stoker.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse

decode = OffsetDeleteRequest.decode


def handle(
    node: Node, context: RequestContext, request: OffsetDeleteRequest
) -> OffsetDeleteResponse | Deferred | Coroutine[Any, Any, OffsetDeleteResponse | Deferred]:
    groups = node.groups
    return groups.perform(
        request.group_id,
        lambda: groups.coordinator.delete_offsets(request),
        lambda error: OffsetDeleteResponse(error_code=error),
    )
