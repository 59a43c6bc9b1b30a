"""DescribeConfigs (key 32), versions 1 to 4: settings of topics, brokers, broker loggers, groups, client metrics.

Values, sources, synonyms and types as Kafka 4.3 reports them; sensitive values are null.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from stoker.broker.config.describe import ConfigEntry, describe
from stoker.broker.config.errors import ConfigRefused
from stoker.broker.config.image import ResourceType
from stoker.broker.loggers import logger_levels
from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.broker.topics import TopicRefused, check_name
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

decode = DescribeConfigsRequest.decode


_RESOURCES_PER_TURN = 10
_MAX_RESOURCES = 10_000
_TOO_MANY = f"One request may describe {_MAX_RESOURCES} resources."


def handle(
    node: Node, context: RequestContext, request: DescribeConfigsRequest
) -> DescribeConfigsResponse | Coroutine[Any, Any, DescribeConfigsResponse]:
    # Each is described once: a broker that is named ten thousand times would be half a gigabyte of settings.
    resources = list({(asked.resource_type, asked.resource_name): asked for asked in request.resources}.values())
    if len(resources) > _RESOURCES_PER_TURN:
        return _describe_in_turns(node, resources, request)
    return DescribeConfigsResponse(results=[_describe(node, resource, request) for resource in resources])


async def _describe_in_turns(
    node: Node, resources: list[DescribeConfigsResource], request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    response = DescribeConfigsResponse()
    for position, resource in enumerate(resources):
        if position % _RESOURCES_PER_TURN == 0:
            await asyncio.sleep(0)
        if position < _MAX_RESOURCES:
            response.results.append(_describe(node, resource, request))
        else:
            response.results.append(_refused(resource, ErrorCode.POLICY_VIOLATION, _TOO_MANY))
    return response


def _describe(node: Node, asked: DescribeConfigsResource, request: DescribeConfigsRequest) -> DescribeConfigsResult:
    try:
        if asked.resource_type == ResourceType.TOPIC:
            check_name(asked.resource_name)
            if asked.resource_name not in node.metadata.topics:
                raise TopicRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.message)
        entries = describe(
            node.configs, asked.resource_type, asked.resource_name, asked.configuration_keys, logger_levels()
        )
    except (ConfigRefused, TopicRefused) as refusal:
        return _refused(asked, refusal.error_code, str(refusal))
    return DescribeConfigsResult(
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
        error_message=None,
        configs=[_entry(entry, request) for entry in entries],
    )


def _refused(asked: DescribeConfigsResource, error_code: ErrorCode, message: str) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
        error_code=error_code,
        error_message=message,
    )


def _entry(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.sensitive,
        synonyms=[DescribeConfigsSynonym(name=name, value=value, source=source) for name, value, source in synonyms],
        config_type=entry.type,
        documentation=entry.documentation if request.include_documentation else None,
    )
