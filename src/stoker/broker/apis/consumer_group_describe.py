"""ConsumerGroupDescribe (key 69), versions 0 and 1: state and members of groups of the new protocol (KIP-848)."""

from stoker.broker.apis.describe_groups import GROUP_OPERATIONS
from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)

decode = ConsumerGroupDescribeRequest.decode


def handle(node: Node, context: RequestContext, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
    # A group that is named repeatedly is described once: the answer could be of any size else.
    groups = [_describe(node, group_id) for group_id in dict.fromkeys(request.group_ids)]
    if request.include_authorized_operations:
        for group in groups:
            if group.error_code == ErrorCode.NONE:
                group.authorized_operations = GROUP_OPERATIONS
    return ConsumerGroupDescribeResponse(groups=groups)


def _describe(node: Node, group_id: str) -> DescribedGroup:
    error = ErrorCode.INVALID_GROUP_ID if not group_id else node.groups.unavailable(group_id)
    if error is not ErrorCode.NONE:
        return DescribedGroup(group_id=group_id, error_code=error)
    return node.groups.coordinator.describe_consumer_group(group_id)
