"""PushTelemetry (key 72), version 0 (KIP-714): nothing was subscribed to, so what comes is checked and dropped."""

from stoker.broker.apis.get_telemetry_subscriptions import SUBSCRIPTION_ID
from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse
from stoker.wire.schema import ZERO_UUID

decode = PushTelemetryRequest.decode

_LAST_CODEC = 4


def handle(node: Node, context: RequestContext, request: PushTelemetryRequest) -> PushTelemetryResponse:
    error = ErrorCode.NONE
    if request.client_instance_id == ZERO_UUID:
        error = ErrorCode.INVALID_REQUEST
    elif request.subscription_id != SUBSCRIPTION_ID:
        error = ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    elif not 0 <= request.compression_type <= _LAST_CODEC:
        error = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    elif len(request.metrics) > node.config.telemetry_max_bytes:
        error = ErrorCode.TELEMETRY_TOO_LARGE
    return PushTelemetryResponse(error_code=error)
