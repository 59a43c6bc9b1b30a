"""DeleteGroups (key 42), versions 0 to 2: remove groups that have no members, with their offsets."""

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse

decode = DeleteGroupsRequest.decode


def handle(node: Node, context: RequestContext, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=group_id, error_code=_delete(node, group_id))
            for group_id in dict.fromkeys(request.groups_names)
        ]
    )


def _delete(node: Node, group_id: str) -> ErrorCode:
    groups = node.groups
    error = groups.unavailable(group_id)
    if error is not ErrorCode.NONE:
        return error
    result = groups.coordinator.delete_group(group_id)
    return groups.write(group_id, result.records) if result.reply is ErrorCode.NONE else result.reply
