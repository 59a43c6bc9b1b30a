"""GetTelemetrySubscriptions (key 71), version 0 (KIP-714): clients get an instance id, and no metrics are asked of them."""

from typing import Final
from uuid import uuid4

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from stoker.wire.schema import ZERO_UUID

decode = GetTelemetrySubscriptionsRequest.decode

SUBSCRIPTION_ID: Final = 0
PUSH_INTERVAL_MS: Final = 300_000
_ACCEPTED_COMPRESSION: Final = [4, 3, 1, 2]  # zstd, lz4, gzip, snappy: in the order Kafka prefers them


def handle(
    node: Node, context: RequestContext, request: GetTelemetrySubscriptionsRequest
) -> GetTelemetrySubscriptionsResponse:
    instance = request.client_instance_id if request.client_instance_id != ZERO_UUID else uuid4()
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=instance,
        subscription_id=SUBSCRIPTION_ID,
        accepted_compression_types=_ACCEPTED_COMPRESSION,
        push_interval_ms=PUSH_INTERVAL_MS,
        telemetry_max_bytes=node.config.telemetry_max_bytes,
        delta_temporality=True,
    )
