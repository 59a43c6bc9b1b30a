"""ElectLeaders (key 43), versions 0 to 2: every partition's only replica leads already, so ELECTION_NOT_NEEDED, as Kafka.

An election over all partitions (null) lists, as Kafka, only those for which something happened: none.
"""

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

decode = ElectLeadersRequest.decode

_PREFERRED_AND_UNCLEAN = (0, 1)


def handle(node: Node, context: RequestContext, request: ElectLeadersRequest) -> ElectLeadersResponse:
    if request.election_type not in _PREFERRED_AND_UNCLEAN:
        return ElectLeadersResponse(error_code=ErrorCode.INVALID_REQUEST)
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic, partition_result=[_elect(node, topic.topic, index) for index in topic.partitions]
            )
            for topic in request.topic_partitions or ()
        ]
    )


def _elect(node: Node, topic: str, index: int) -> PartitionResult:
    found = node.partitions.find(topic, index) is not None
    error = ErrorCode.ELECTION_NOT_NEEDED if found else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return PartitionResult(partition_id=index, error_code=error, error_message=error.message)
