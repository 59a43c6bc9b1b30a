"""DescribeQuorum (key 55), versions 0 to 2: the metadata quorum, which is this node alone and always caught up."""

from stoker.broker.metadata_log import METADATA_TOPIC
from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    Listener,
    ReplicaState,
)
from stoker.wire.messages.describe_quorum import Node as QuorumNode
from stoker.wire.schema import ZERO_UUID

decode = DescribeQuorumRequest.decode

_FIRST_WITH_NODES = 2
"""Also the first that names the log directories of voters."""


def handle(node: Node, context: RequestContext, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    now = node.clock()
    end = node.metadata_log.log.log_end_offset
    with_nodes = context.api_version >= _FIRST_WITH_NODES
    topics = []
    for topic in request.topics:
        partitions = []
        for partition in topic.partitions:
            described = DescribeQuorumResponsePartitionData(partition_index=partition.partition_index)
            if topic.topic_name == METADATA_TOPIC and partition.partition_index == 0:
                described.leader_id = node.node_id
                described.leader_epoch = node.metadata_log.log.leader_epoch
                described.high_watermark = end
                described.current_voters = [
                    ReplicaState(
                        replica_id=node.node_id,
                        replica_directory_id=node.directory_id if with_nodes else ZERO_UUID,
                        log_end_offset=end,
                        last_fetch_timestamp=now,
                        last_caught_up_timestamp=now,
                    )
                ]
            else:
                described.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                described.error_message = f"the only quorum is that of {METADATA_TOPIC}-0"
            partitions.append(described)
        topics.append(DescribeQuorumResponseTopicData(topic_name=topic.topic_name, partitions=partitions))
    response = DescribeQuorumResponse(topics=topics)
    if with_nodes:
        host, port = node.address_for(context.connection)
        listener = Listener(name=context.connection.listener, host=host, port=port)
        response.nodes = [QuorumNode(node_id=node.node_id, listeners=[listener])]
    return response
