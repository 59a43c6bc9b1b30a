"""DescribeConfigs (key 32), versions 1 to 4: settings of topics, brokers, broker loggers, groups, client metrics.

Values, sources, synonyms and types as Kafka 4.3 reports them; sensitive values are null.
"""

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


def handle(node: Node, context: RequestContext, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(results=[_describe(node, resource, request) for resource in request.resources])


def _describe(node: Node, asked: DescribeConfigsResource, request: DescribeConfigsRequest) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        resource_type=asked.resource_type, resource_name=asked.resource_name, error_message=None
    )
    try:
        if asked.resource_type == ResourceType.TOPIC:
            check_name(asked.resource_name)
            if asked.resource_name not in node.metadata.topics:
                raise TopicRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.message)
        entries = describe(
            node.configs, asked.resource_type, asked.resource_name, asked.configuration_keys, logger_levels()
        )
    except (ConfigRefused, TopicRefused) as refusal:
        result.error_code, result.error_message = refusal.error_code, str(refusal)
    else:
        result.configs = [_entry(entry, request) for entry in entries]
    return result


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
