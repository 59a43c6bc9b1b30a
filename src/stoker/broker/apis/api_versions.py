"""ApiVersions (key 18), versions 0 to 4: what this broker speaks.

A version newer than ours is answered in version 0 with UNSUPPORTED_VERSION, as the protocol asks, so that the client
can step down. Finalised features: metadata.version, group.version and transaction.version, as a Kafka of the same release
reports them.
"""

import re
from typing import Final

from stoker.broker.apis.table import APIS
from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

decode = ApiVersionsRequest.decode

METADATA_VERSION: Final = 29
"""Kafka 4.2-IV1: the level of the metadata records we write."""
_FEATURES: Final = {"group.version": 1, "metadata.version": METADATA_VERSION, "transaction.version": 2}
"""group.version 1 is the consumer protocol of KIP-848, transaction.version 2 the transactions of KIP-890."""
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_FIRST_WITH_SOFTWARE: Final = 3


def handle(node: Node, context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
    if context.api_version >= _FIRST_WITH_SOFTWARE:
        named = (request.client_software_name, request.client_software_version)
        if not all(_SOFTWARE.fullmatch(text) for text in named):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST, api_keys=_api_keys())
        context.connection.client_software = " ".join(named)
    return ApiVersionsResponse(
        api_keys=_api_keys(),
        supported_features=[
            SupportedFeatureKey(name=name, min_version=level, max_version=level) for name, level in _FEATURES.items()
        ],
        finalized_features_epoch=0,
        finalized_features=[
            FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in _FEATURES.items()
        ],
    )


def unsupported_version() -> ApiVersionsResponse:
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=_api_keys())


def _api_keys() -> list[ApiVersion]:
    return [
        ApiVersion(
            api_key=api.key,
            min_version=api.min_version if api.advertised_min_version is None else api.advertised_min_version,
            max_version=api.max_version,
        )
        for api in APIS.values()
    ]
