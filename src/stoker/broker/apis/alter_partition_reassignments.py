"""AlterPartitionReassignments (key 45), versions 0 and 1: what a one-node Kafka answers.

The replicas a partition has already: done, nothing to do. Another broker: INVALID_REPLICA_ASSIGNMENT, naming it.
Cancelling (null replicas): NO_REASSIGNMENT_IN_PROGRESS.
"""

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode, shortened
from stoker.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

decode = AlterPartitionReassignmentsRequest.decode


def handle(
    node: Node, context: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[_reassign(node, topic.name, partition) for partition in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def _reassign(node: Node, topic: str, asked: ReassignablePartition) -> ReassignablePartitionResponse:
    answer = ReassignablePartitionResponse(partition_index=asked.partition_index, error_message=None)
    strangers = [broker for broker in asked.replicas or () if broker != node.node_id]
    if node.partitions.find(topic, asked.partition_index) is None:
        answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        answer.error_message = shortened(f"Unable to find partition {topic}-{asked.partition_index}.")
    elif asked.replicas is None:
        answer.error_code = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
        answer.error_message = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS.message
    elif not asked.replicas:
        answer.error_code = ErrorCode.INVALID_REPLICA_ASSIGNMENT
        answer.error_message = "The manual partition assignment includes an empty replica list."
    elif strangers:
        answer.error_code = ErrorCode.INVALID_REPLICA_ASSIGNMENT
        answer.error_message = (
            f"The manual partition assignment includes broker {strangers[0]}, but no such broker is registered; "
            f"the only one is {node.node_id}."
        )
    return answer
