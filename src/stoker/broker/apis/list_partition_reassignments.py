"""ListPartitionReassignments (key 46), version 0: there is never one under way on one node."""

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

decode = ListPartitionReassignmentsRequest.decode


def handle(
    node: Node, context: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_message=None)
