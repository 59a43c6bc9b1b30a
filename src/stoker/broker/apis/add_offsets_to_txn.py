"""AddOffsetsToTxn (key 25), versions 0 to 4: tell the coordinator that a transaction commits offsets of a group.

It adds the partition of `__consumer_offsets` that is the group's. Clients of transactions v2 do without (KIP-890).
"""

from collections.abc import Coroutine
from logging import getLogger
from typing import Any, Final

from stoker.broker.config.errors import ConfigRefused
from stoker.broker.metadata import OFFSETS_TOPIC
from stoker.broker.node import Node
from stoker.broker.reply import answered
from stoker.broker.request import RequestContext
from stoker.broker.topics import TopicRefused
from stoker.coordinators.transactions.transaction import CLASSIC
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

logger = getLogger("stoker.broker")

decode = AddOffsetsToTxnRequest.decode

_FIRST_WITH_PRODUCER_FENCED: Final = 2


def handle(
    node: Node, context: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse | Coroutine[Any, Any, AddOffsetsToTxnResponse]:
    if OFFSETS_TOPIC not in node.metadata.topics:
        return _make_topic_then_add(node, context, request)
    return _add(node, context, request)


async def _make_topic_then_add(
    node: Node, context: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse:
    """A producer may get here before any consumer of the group has looked for its coordinator."""
    try:
        await node.make_internal_topic(OFFSETS_TOPIC)
    except (TopicRefused, ConfigRefused) as refusal:
        logger.error("%s cannot be made: %s", OFFSETS_TOPIC, refusal)
        return AddOffsetsToTxnResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    reply = _add(node, context, request)
    return await reply if isinstance(reply, Coroutine) else reply


def _add(
    node: Node, context: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse | Coroutine[Any, Any, AddOffsetsToTxnResponse]:
    partition = node.groups.partition_of(request.group_id)
    added = node.transactions.add_partitions(
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        frozenset([(partition.topic, partition.index)]),
        CLASSIC,
    )
    return answered(added, lambda error: _response(error, context.api_version))


def _response(error: ErrorCode, version: int) -> AddOffsetsToTxnResponse:
    if error is ErrorCode.PRODUCER_FENCED and version < _FIRST_WITH_PRODUCER_FENCED:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return AddOffsetsToTxnResponse(error_code=error)
