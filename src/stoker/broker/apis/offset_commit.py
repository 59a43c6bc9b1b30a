"""OffsetCommit (key 8), versions 2 to 10: store how far a group has read.

By a member, who must be of the current generation or epoch, or by anyone when the group has no members. What is
acknowledged is in the log of `__consumer_offsets`. Retention is the broker's (`offsets.retention.minutes`) unless a client
of versions 2 to 4 names its own.
"""

from collections.abc import Coroutine
from typing import Any

from stoker.broker.node import Node
from stoker.broker.reply import Deferred
from stoker.broker.request import RequestContext
from stoker.coordinators.groups.offsets import refused_commit
from stoker.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse

decode = OffsetCommitRequest.decode


def handle(
    node: Node, context: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | Deferred | Coroutine[Any, Any, OffsetCommitResponse | Deferred]:
    groups = node.groups
    return groups.perform(
        request.group_id,
        lambda: groups.coordinator.commit_offsets(request, context.api_version),
        lambda error: refused_commit(request, error),
    )
