"""EndTxn (key 26), versions 0 to 5: commit or abort a transaction.

When it is answered the decision is in the log, and so are the markers in all partitions unless a disk refused some; these
are tried again. From version 5 on each transaction has an epoch of its own, which the reply tells (KIP-890).
"""

from collections.abc import Coroutine
from typing import Any, Final

from stoker.broker.node import Node
from stoker.broker.reply import answered
from stoker.broker.request import RequestContext
from stoker.coordinators.transactions.coordinator import Producer
from stoker.coordinators.transactions.transaction import CLASSIC, V2
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

decode = EndTxnRequest.decode

_FIRST_WITH_PRODUCER_FENCED: Final = 2
_FIRST_OF_V2: Final = 5


def handle(
    node: Node, context: RequestContext, request: EndTxnRequest
) -> EndTxnResponse | Coroutine[Any, Any, EndTxnResponse]:
    version = context.api_version
    ended = node.transactions.end(
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        commit=request.committed,
        client_version=V2 if version >= _FIRST_OF_V2 else CLASSIC,
    )
    return answered(ended, lambda producer: _response(producer, version))


def _response(producer: Producer, version: int) -> EndTxnResponse:
    error = producer.error
    if error is ErrorCode.PRODUCER_FENCED and version < _FIRST_WITH_PRODUCER_FENCED:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return EndTxnResponse(error_code=error, producer_id=producer.producer_id, producer_epoch=producer.producer_epoch)
