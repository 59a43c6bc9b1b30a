"""ListGroups (key 16), versions 0 to 5: all groups, or those in some states (from version 4) or of some types (5)."""

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse

decode = ListGroupsRequest.decode


def handle(node: Node, context: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse:
    return ListGroupsResponse(groups=node.groups.coordinator.list_groups(request.states_filter, request.types_filter))
