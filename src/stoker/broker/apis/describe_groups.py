"""DescribeGroups (key 15), versions 0 to 6: state and members of groups of the classic protocol."""

from typing import Final

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse

decode = DescribeGroupsRequest.decode

GROUP_OPERATIONS: Final = 0b110101001000
"""All that can be done to a group, as bits: read, delete, describe, describe and alter configs. There are no ACLs yet."""


def handle(node: Node, context: RequestContext, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    # A group that is named repeatedly is described once: the answer could be of any size else.
    groups = [_describe(node, group_id, context.api_version) for group_id in dict.fromkeys(request.groups)]
    if request.include_authorized_operations:
        for group in groups:
            if group.error_code == ErrorCode.NONE:
                group.authorized_operations = GROUP_OPERATIONS
    return DescribeGroupsResponse(groups=groups)


def _describe(node: Node, group_id: str, version: int) -> DescribedGroup:
    error = node.groups.unavailable(group_id)
    if error is not ErrorCode.NONE:
        return DescribedGroup(group_id=group_id, error_code=error)
    return node.groups.coordinator.describe_group(group_id, version)
