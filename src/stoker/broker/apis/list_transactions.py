"""ListTransactions (key 66), versions 0 to 2: the transactional ids that are known, all or those that filters leave.

Filters: states, producer ids, from 1 on those open for longer than a duration, from 2 on a regular expression of the whole
transactional id (RE2, as in Kafka).
"""

from stoker.broker.node import Node
from stoker.broker.request import RequestContext
from stoker.coordinators.groups.subscription_patterns import InvalidRegularExpression, compile_pattern
from stoker.coordinators.transactions.states import TITLES, TransactionState
from stoker.coordinators.transactions.transaction import Transaction
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages import list_transactions
from stoker.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

decode = ListTransactionsRequest.decode


def handle(node: Node, context: RequestContext, request: ListTransactionsRequest) -> ListTransactionsResponse:
    pattern = None
    if request.transactional_id_pattern:
        try:
            pattern = compile_pattern(request.transactional_id_pattern)
        except InvalidRegularExpression:
            return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    states = {TITLES[title] for title in request.state_filters if title in TITLES}
    producer_ids = frozenset(request.producer_id_filters)
    now = node.clock()

    def is_wanted(transaction: Transaction) -> bool:
        return (
            transaction.state is not TransactionState.DEAD
            and (not request.state_filters or transaction.state in states)
            and (not producer_ids or transaction.producer_id in producer_ids)
            and (request.duration_filter < 0 or _duration(transaction, now) > request.duration_filter)
            and (pattern is None or pattern.matches(transaction.transactional_id))
        )

    return ListTransactionsResponse(
        unknown_state_filters=[title for title in request.state_filters if title not in TITLES],
        transaction_states=[
            list_transactions.TransactionState(
                transactional_id=transaction.transactional_id,
                producer_id=transaction.producer_id,
                transaction_state=transaction.state.title,
            )
            for transaction in node.transactions.coordinator.all()
            if is_wanted(transaction)
        ],
    )


def _duration(transaction: Transaction, now_ms: int) -> int:
    """How long it has been open; -1 if it is not."""
    is_open = transaction.state is TransactionState.ONGOING or transaction.state.is_decided
    return now_ms - transaction.start_ms if is_open else -1
