"""Metadata (key 3), versions 0 to 13: brokers, topics, partitions and their leaders.

Behaves as Kafka 4; a topic that is created automatically is there in the same reply. The address of this broker is
the advertised one of the listener the client came by, else the address the client reached us at.
Left out: authorized operations are all or none, since there are no ACLs yet.
"""

from collections.abc import Coroutine
from typing import Any, Final
from uuid import UUID

from stoker.broker.metadata import INTERNAL_TOPICS, TopicState
from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.broker.topics import MAX_PARTITIONS_PER_REQUEST, NewTopic, TopicRefused, check_name
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from stoker.wire.schema import ZERO_UUID

decode = MetadataRequest.decode

TOPIC_OPERATIONS: Final = 0b110111111000
"""READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS as Kafka's bit field."""
CLUSTER_OPERATIONS: Final = 0b1111110100000
"""CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE."""
_NOT_ASKED: Final = -(2**31)
_FIRST_WITH_TOPIC_IDS: Final = 12
"""Versions 10 and 11 have the field, but Kafka never took one there."""


def handle(
    node: Node, context: RequestContext, request: MetadataRequest
) -> MetadataResponse | Coroutine[Any, Any, MetadataResponse]:
    if request.topics is None or (context.api_version == 0 and not request.topics):
        topics = [_describe(node, topic, request) for topic in node.metadata.topics.values()]
        return _response(node, context, request, topics)
    # A topic that is named a million times is described once: all of its partitions are in the answer.
    request.topics = list({(topic.topic_id, topic.name): topic for topic in request.topics}.values())
    if context.api_version < _FIRST_WITH_TOPIC_IDS and any(
        topic.name is None or topic.topic_id != ZERO_UUID for topic in request.topics
    ):
        return _response(node, context, request, [_unnamed(topic) for topic in request.topics])
    missing = [
        topic.name
        for topic in request.topics
        if topic.topic_id == ZERO_UUID and topic.name is not None and topic.name not in node.metadata.topics
    ]
    may_create = request.allow_auto_topic_creation or context.api_version < 4
    if missing and may_create and node.config.auto_create_topics_enable:
        return _create_then_respond(node, context, request, missing)
    return _response(node, context, request, _asked_for(node, request, {}))


async def _create_then_respond(
    node: Node, context: RequestContext, request: MetadataRequest, missing: list[str]
) -> MetadataResponse:
    refused: dict[str, ErrorCode] = {}
    for name in missing[: MAX_PARTITIONS_PER_REQUEST // node.config.num_partitions]:
        try:
            if name not in INTERNAL_TOPICS:
                await node.create_topic(NewTopic(name=name))
        except TopicRefused as refusal:
            if refusal.error_code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                refused[name] = refusal.error_code
    return _response(node, context, request, _asked_for(node, request, refused))


def _asked_for(node: Node, request: MetadataRequest, refused: dict[str, ErrorCode]) -> list[MetadataResponseTopic]:
    topics = []
    for asked in request.topics or ():
        if asked.topic_id != ZERO_UUID:
            topic = node.metadata.topics_by_id.get(asked.topic_id)
            error = ErrorCode.UNKNOWN_TOPIC_ID
        else:
            topic = node.metadata.topics.get(asked.name or "")
            error = refused.get(asked.name or "") or _error_for_missing(asked.name or "")
        if topic is not None:
            topics.append(_describe(node, topic, request))
        else:
            topics.append(_missing(asked.name, asked.topic_id, error))
    return topics


def _unnamed(asked: MetadataRequestTopic) -> MetadataResponseTopic:
    """For versions in which a topic must be asked for by its name."""
    return MetadataResponseTopic(error_code=ErrorCode.INVALID_REQUEST, name=asked.name or "")


def _error_for_missing(name: str) -> ErrorCode:
    try:
        check_name(name)
    except TopicRefused as refusal:
        return refusal.error_code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _missing(name: str | None, topic_id: UUID, error: ErrorCode) -> MetadataResponseTopic:
    by_id = topic_id != ZERO_UUID
    return MetadataResponseTopic(
        error_code=error, name=None if by_id else name, topic_id=topic_id, is_internal=name in INTERNAL_TOPICS
    )


def _describe(node: Node, topic: TopicState, request: MetadataRequest) -> MetadataResponseTopic:
    here = [node.node_id]
    offline = node.partitions.offline_of(topic.name)
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[
            MetadataResponsePartition(
                partition_index=index,
                leader_id=node.node_id,
                leader_epoch=partition.leader_epoch,
                replica_nodes=here,
                isr_nodes=here,
            )
            if index not in offline
            else MetadataResponsePartition(
                error_code=ErrorCode.LEADER_NOT_AVAILABLE,
                partition_index=index,
                leader_id=-1,
                leader_epoch=partition.leader_epoch,
                replica_nodes=here,
                isr_nodes=here,
                offline_replicas=here,
            )
            for index, partition in enumerate(topic.partitions)
        ],
        topic_authorized_operations=TOPIC_OPERATIONS if request.include_topic_authorized_operations else _NOT_ASKED,
    )


def _response(
    node: Node, context: RequestContext, request: MetadataRequest, topics: list[MetadataResponseTopic]
) -> MetadataResponse:
    host, port = node.address_for(context.connection)
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=node.node_id, host=host, port=port, rack=node.config.broker_rack)],
        cluster_id=node.cluster_id,
        controller_id=node.node_id,
        topics=topics,
        cluster_authorized_operations=CLUSTER_OPERATIONS
        if request.include_cluster_authorized_operations
        else _NOT_ASKED,
    )
