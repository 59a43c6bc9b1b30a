"""InitProducerId (key 22), versions 0 to 5: a producer id and epoch, for an idempotent or a transactional producer.

Ids are taken from blocks of a thousand that the metadata log reserves, so that none is ever given twice. With a
transactional id, whoever asks is its only producer from then on: earlier ones are fenced by their epoch, and a transaction
they left open is aborted before the reply (Kafka answers CONCURRENT_TRANSACTIONS until it is).
Left out: two-phase commit of outside coordinators (version 6).
"""

from collections.abc import Coroutine
from logging import getLogger
from typing import Any, Final

from stoker.broker.node import Node
from stoker.broker.reply import answered
from stoker.broker.request import RequestContext
from stoker.coordinators.transactions.coordinator import Producer
from stoker.coordinators.transactions.transaction import NO_EPOCH, NO_PRODUCER_ID
from stoker.log.errors import AppendRefused
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

logger = getLogger("stoker.broker")

decode = InitProducerIdRequest.decode

_FIRST_WITH_PRODUCER_FENCED: Final = 4
_TRY_AGAIN: Final = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
"""What Kafka answers while it cannot get a block of ids; every client tries again."""


def handle(
    node: Node, context: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse | Coroutine[Any, Any, InitProducerIdResponse]:
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_EPOCH):
        return _refused(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        return _init_transactional(node, context, request, request.transactional_id)
    try:
        producer_id = node.new_producer_id()
    except AppendRefused:
        return _refused(_TRY_AGAIN)
    response = InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
    return _flush_then_reply(node, response) if node.metadata_log.log.unflushed_messages else response


def _init_transactional(
    node: Node, context: RequestContext, request: InitProducerIdRequest, transactional_id: str
) -> InitProducerIdResponse | Coroutine[Any, Any, InitProducerIdResponse]:
    if not transactional_id:
        return _refused(ErrorCode.INVALID_REQUEST)
    expected = None if request.producer_id == NO_PRODUCER_ID else (request.producer_id, request.producer_epoch)
    return answered(
        node.transactions.init_producer_id(transactional_id, request.transaction_timeout_ms, expected),
        lambda producer: _response(producer, context.api_version),
    )


def _response(producer: Producer, version: int) -> InitProducerIdResponse:
    error = producer.error
    if error is ErrorCode.PRODUCER_FENCED and version < _FIRST_WITH_PRODUCER_FENCED:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return InitProducerIdResponse(
        error_code=error, producer_id=producer.producer_id, producer_epoch=producer.producer_epoch
    )


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
