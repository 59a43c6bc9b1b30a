"""AlterConfigs (key 33), versions 0 to 2: the older call that replaces all settings of a resource at once."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from stoker.broker.apis.incremental_alter_configs import alter_resources
from stoker.broker.config.alter import alter_by_replacing
from stoker.broker.config.image import ConfigChange
from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

decode = AlterConfigsRequest.decode


def handle(
    node: Node, context: RequestContext, request: AlterConfigsRequest
) -> Coroutine[Any, Any, AlterConfigsResponse]:
    return _alter(node, request)


async def _alter(node: Node, request: AlterConfigsRequest) -> AlterConfigsResponse:
    plans: list[Callable[[], Sequence[ConfigChange]]] = [
        lambda resource=resource: _plan(node, resource)  # type: ignore[misc]
        for resource in request.resources
    ]
    resources = [(resource.resource_type, resource.resource_name) for resource in request.resources]
    refusals = await alter_resources(node, resources, plans, validate_only=request.validate_only)
    return AlterConfigsResponse(
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


def _plan(node: Node, resource: AlterConfigsResource) -> Sequence[ConfigChange]:
    configs = [(config.name, config.value) for config in resource.configs]
    return alter_by_replacing(node.configs, resource.resource_type, resource.resource_name, configs)
