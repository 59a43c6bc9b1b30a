"""DescribeTopicPartitions (key 75), version 0 (KIP-966): topics a page at a time, sorted by name, with a cursor."""

from stoker.broker.apis.metadata import TOPIC_OPERATIONS
from stoker.broker.metadata import INTERNAL_TOPICS, TopicState
from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.broker.topics import TopicRefused, check_name
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

decode = DescribeTopicPartitionsRequest.decode


def handle(
    node: Node, context: RequestContext, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    names = sorted({topic.name for topic in request.topics} or set(node.metadata.topics))
    first_partition = 0
    if request.cursor is not None:
        names = [name for name in names if name >= request.cursor.topic_name]
        if names and names[0] == request.cursor.topic_name:
            first_partition = max(request.cursor.partition_index, 0)
    room = max(1, min(request.response_partition_limit, node.config.max_request_partition_size_limit))
    response = DescribeTopicPartitionsResponse()
    for name in names:
        if room == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        topic = node.metadata.topics.get(name)
        if topic is None:
            response.topics.append(_missing(name))
        else:
            page = range(first_partition, min(len(topic.partitions), first_partition + room))
            response.topics.append(_describe(node, topic, page))
            room -= len(page)
            if page.stop < len(topic.partitions):
                response.next_cursor = Cursor(topic_name=name, partition_index=page.stop)
                break
        first_partition = 0
    return response


def _missing(name: str) -> DescribeTopicPartitionsResponseTopic:
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_name(name)
    except TopicRefused as refusal:
        error = refusal.error_code
    return DescribeTopicPartitionsResponseTopic(error_code=error, name=name, is_internal=name in INTERNAL_TOPICS)


def _describe(node: Node, topic: TopicState, page: range) -> DescribeTopicPartitionsResponseTopic:
    here = [node.node_id]
    offline = node.partitions.offline_of(topic.name)
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[
            DescribeTopicPartitionsResponsePartition(
                error_code=ErrorCode.LEADER_NOT_AVAILABLE if index in offline else ErrorCode.NONE,
                partition_index=index,
                leader_id=-1 if index in offline else node.node_id,
                leader_epoch=topic.partitions[index].leader_epoch,
                replica_nodes=here,
                isr_nodes=here,
                eligible_leader_replicas=[],  # null would crash Java's admin client
                last_known_elr=[],
                offline_replicas=here if index in offline else [],
            )
            for index in page
        ],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )
