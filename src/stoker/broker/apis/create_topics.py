"""CreateTopics (key 19), versions 2 to 7: topics with partitions, configs or manual assignments; validate-only too.

Behaves as Kafka's controller, one answer a topic. A replication factor above 1 makes one replica, and reply and log
say so, unless stoker.replication.factor.policy=refuse.
"""

from collections import Counter
from collections.abc import Coroutine
from typing import Any

from stoker.broker.config.describe import describe_new_topic
from stoker.broker.config.errors import ConfigRefused
from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.broker.topics import NewTopic, TopicPlan, TopicRefused, check_total
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

decode = CreateTopicsRequest.decode


def handle(
    node: Node, context: RequestContext, request: CreateTopicsRequest
) -> Coroutine[Any, Any, CreateTopicsResponse]:
    return _create(node, request)


async def _create(node: Node, request: CreateTopicsRequest) -> CreateTopicsResponse:
    times_named = Counter(topic.name for topic in request.topics)
    total = sum(_count(node, topic) for topic in request.topics)
    results = []
    for topic in request.topics:
        try:
            check_total(total)
            if times_named[topic.name] > 1:
                raise TopicRefused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            wanted = _wanted(topic)
            if request.validate_only:
                plan = node.plan_topic(wanted)
            else:
                plan = await node.create_topic(wanted)
        except (TopicRefused, ConfigRefused) as refusal:
            results.append(
                CreatableTopicResult(name=topic.name, error_code=refusal.error_code, error_message=str(refusal))
            )
        else:
            results.append(_created(node, wanted, plan))
    return CreateTopicsResponse(topics=_once_each(results))


def _count(node: Node, topic: CreatableTopic) -> int:
    """How many partitions a topic would have; a number that is refused later counts as none."""
    if topic.assignments:
        return len(topic.assignments)
    return node.config.num_partitions if topic.num_partitions == -1 else max(topic.num_partitions, 0)


def _wanted(topic: CreatableTopic) -> NewTopic:
    configs: dict[str, str | None] = {}
    for config in topic.configs:
        if config.name in configs:
            raise TopicRefused(ErrorCode.INVALID_REQUEST, f"Config {config.name} is set more than once.")
        configs[config.name] = config.value
    assignments: dict[int, list[int]] = {}
    for assignment in topic.assignments:
        if assignment.partition_index in assignments:
            raise TopicRefused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {assignment.partition_index}",
            )
        assignments[assignment.partition_index] = assignment.broker_ids
    return NewTopic(
        name=topic.name,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=assignments,
        configs=configs,
    )


def _created(node: Node, wanted: NewTopic, plan: TopicPlan) -> CreatableTopicResult:
    own = {name: value for name, value in wanted.configs.items() if value is not None}
    return CreatableTopicResult(
        name=wanted.name,
        topic_id=plan.topic_id,
        error_message=plan.note,
        num_partitions=plan.num_partitions,
        replication_factor=1,
        configs=[
            CreatableTopicConfigs(
                name=entry.name,
                value=entry.value,
                read_only=entry.read_only,
                config_source=entry.source,
                is_sensitive=entry.sensitive,
            )
            for entry in describe_new_topic(node.configs, own)
        ],
    )


def _once_each(results: list[CreatableTopicResult]) -> list[CreatableTopicResult]:
    """A name that was asked for twice is answered once."""
    return list({result.name: result for result in results}.values())
