"""InitProducerId (key 22), versions 0 to 5: a producer id for an idempotent producer.

Ids are taken from blocks of a thousand that the metadata log reserves, so that none is ever given twice.
Left out: transactional ids (refused with COORDINATOR_NOT_AVAILABLE).
"""

from collections.abc import Coroutine
from typing import Any

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

decode = InitProducerIdRequest.decode


def handle(
    node: Node, context: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse | Coroutine[Any, Any, InitProducerIdResponse]:
    if request.transactional_id is not None:
        empty = request.transactional_id == ""
        return InitProducerIdResponse(
            error_code=ErrorCode.INVALID_REQUEST if empty else ErrorCode.COORDINATOR_NOT_AVAILABLE, producer_epoch=-1
        )
    result = node.producer_ids.next_producer_id()
    response = InitProducerIdResponse(producer_id=result.reply, producer_epoch=0)
    return _commit_then_reply(node, result.records, response) if result.records else response


async def _commit_then_reply(
    node: Node, records: list[Any], response: InitProducerIdResponse
) -> InitProducerIdResponse:
    await node.metadata_log.commit(records)
    return response
