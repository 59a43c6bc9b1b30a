"""IncrementalAlterConfigs (key 44), versions 0 and 1: set, delete, append to and subtract from settings.

A resource changes whole or not at all; one that is refused does not hold up the others.
"""

from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from stoker.broker.config.alter import ConfigOperation, alter_incrementally, alter_loggers
from stoker.broker.config.errors import ConfigRefused
from stoker.broker.config.image import ConfigChange, ResourceType
from stoker.broker.loggers import logger_levels, set_logger_level
from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.broker.topics import TopicRefused, check_name
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

decode = IncrementalAlterConfigsRequest.decode

Refusal = tuple[ErrorCode, str]


def handle(
    node: Node, context: RequestContext, request: IncrementalAlterConfigsRequest
) -> Coroutine[Any, Any, IncrementalAlterConfigsResponse]:
    return _alter(node, request)


async def _alter(node: Node, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    plans: list[Callable[[], Sequence[ConfigChange]]] = [
        lambda resource=resource: _plan(node, resource, request.validate_only)  # type: ignore[misc]
        for resource in request.resources
    ]
    resources = [(resource.resource_type, resource.resource_name) for resource in request.resources]
    refusals = await alter_resources(node, resources, plans, validate_only=request.validate_only)
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code=refusal[0] if refusal else ErrorCode.NONE,
                error_message=refusal[1] if refusal else None,
                resource_type=resource_type,
                resource_name=resource_name,
            )
            for (resource_type, resource_name), refusal in refusals.items()
        ]
    )


def _plan(node: Node, resource: AlterConfigsResource, validate_only: bool) -> Sequence[ConfigChange]:
    operations = [ConfigOperation(config.name, config.config_operation, config.value) for config in resource.configs]
    if resource.resource_type == ResourceType.BROKER_LOGGER:
        levels = alter_loggers(node.configs, resource.resource_name, operations, logger_levels())
        if not validate_only:
            for name, level in levels:
                set_logger_level(name, level)
        return ()
    return alter_incrementally(node.configs, resource.resource_type, resource.resource_name, operations)


async def alter_resources(
    node: Node,
    resources: Iterable[tuple[int, str]],
    plans: Iterable[Callable[[], Sequence[ConfigChange]]],
    *,
    validate_only: bool,
) -> dict[tuple[int, str], Refusal | None]:
    """Plan each resource's changes and write those that are allowed; what was refused, and why."""
    resources = list(resources)
    times_named = Counter(resources)
    refusals: dict[tuple[int, str], Refusal | None] = {}
    changes: list[ConfigChange] = []
    for resource, plan in zip(resources, plans, strict=True):
        try:
            if times_named[resource] > 1:
                raise ConfigRefused(ErrorCode.INVALID_REQUEST, f"The resource {resource[1]} is named more than once.")
            if resource[0] == ResourceType.TOPIC:
                check_name(resource[1])
                if resource[1] not in node.metadata.topics:
                    raise TopicRefused(
                        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource[1]}' does not exist."
                    )
            changes += plan()
            refusals[resource] = None
        except (ConfigRefused, TopicRefused) as refusal:
            refusals[resource] = (refusal.error_code, str(refusal))
    if changes and not validate_only:
        try:
            await node.alter_configs(changes)
        except (ConfigRefused, TopicRefused) as refusal:
            for change in changes:
                refusals[change.resource_type, change.resource_name] = (refusal.error_code, str(refusal))
    return refusals
