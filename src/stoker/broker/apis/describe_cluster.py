"""DescribeCluster (key 60), versions 0 to 2: the cluster id and its brokers, which is this one.

The endpoint type "controllers" (2) is answered with MISMATCHED_ENDPOINT_TYPE, as a broker's listener does.
"""

from stoker.broker.apis.metadata import CLUSTER_OPERATIONS
from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

decode = DescribeClusterRequest.decode

_BROKERS = 1


def handle(node: Node, context: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    if request.endpoint_type != _BROKERS:
        known = request.endpoint_type == 2
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE if known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message="The request was sent to a broker, and asks for controllers." if known else None,
            endpoint_type=request.endpoint_type,
        )
    host, port = node.address_for(context.connection)
    response = DescribeClusterResponse(
        cluster_id=node.cluster_id,
        controller_id=node.node_id,
        brokers=[DescribeClusterBroker(broker_id=node.node_id, host=host, port=port, rack=node.config.broker_rack)],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response
