"""InitProducerId (key 22), versions 0 to 5: a producer id for an idempotent producer.

Ids are taken from blocks of a thousand that the metadata log reserves, so that none is ever given twice.
Left out: transactional ids (refused with COORDINATOR_NOT_AVAILABLE).
"""

from collections.abc import Coroutine
from logging import getLogger
from typing import Any

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.coordinators.producer_ids import ProducerIds
from stoker.log.errors import AppendRefused
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

logger = getLogger("stoker.broker")

decode = InitProducerIdRequest.decode

_TRY_AGAIN = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
"""What Kafka answers while it cannot get a block of ids; every client tries again."""


def handle(
    node: Node, context: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse | Coroutine[Any, Any, InitProducerIdResponse]:
    if request.transactional_id is not None:
        empty = request.transactional_id == ""
        return _refused(ErrorCode.INVALID_REQUEST if empty else ErrorCode.COORDINATOR_NOT_AVAILABLE)
    result = node.producer_ids.next_producer_id()
    try:
        node.metadata_log.append(result.records)
    except AppendRefused:
        node.producer_ids = ProducerIds(node.node_id, node.metadata.next_producer_id)
        return _refused(_TRY_AGAIN)
    response = InitProducerIdResponse(producer_id=result.reply, producer_epoch=0)
    return _flush_then_reply(node, response) if node.metadata_log.log.unflushed_messages else response


async def _flush_then_reply(node: Node, response: InitProducerIdResponse) -> InitProducerIdResponse:
    """An id is given out when the record of its block is on the disk: after a power cut it must not come again."""
    try:
        await node.flusher.flushed(node.metadata_log.log)
    except OSError as error:
        logger.error("the metadata log could not be flushed: %s", error)
        return _refused(_TRY_AGAIN)
    return response


def _refused(error_code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error_code, producer_epoch=-1)
