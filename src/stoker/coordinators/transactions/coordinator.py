"""The coordinator of all transactions of a broker: one method an API, each giving what to write and a reply.

Nothing here reads a socket, a file or a clock. A transaction is decided by one record of `__transaction_state`; the driver
then writes a marker to each of its partitions, and when the last is written asks for the record that calls it complete. A
broker that dies in between finds the decision in its log and goes on from there.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from stoker.coordinators.result import Result
from stoker.coordinators.transactions.states import TransactionState
from stoker.coordinators.transactions.transaction import (
    CLASSIC,
    LAST_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    V2,
    TopicPartition,
    Transaction,
)
from stoker.wire.error_codes import ErrorCode


@dataclass(frozen=True, kw_only=True, slots=True)
class TransactionSettings:
    """The broker's settings that decide something here."""

    max_timeout_ms: int
    id_expiration_ms: int


class Change(NamedTuple):
    """A transactional id as it is from now on; None: it is forgotten."""

    transactional_id: str
    transaction: Transaction | None


class Producer(NamedTuple):
    """Who a producer is, or why it cannot be told."""

    error: ErrorCode
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH


class TransactionCoordinator:
    """Every result is applied before the next method is called: written, replayed, answered."""

    def __init__(
        self, *, settings: TransactionSettings, clock: Callable[[], int], new_producer_id: Callable[[], int]
    ) -> None:
        """`new_producer_id` may raise: then nothing has changed."""
        self.settings = settings
        self._clock = clock
        self._new_producer_id = new_producer_id
        self._transactions: dict[str, Transaction] = {}
        self._ongoing: dict[str, None] = {}
        self._decided: dict[str, None] = {}

    # -- state ------------------------------------------------------------------------------------------------------

    def replay(self, change: Change) -> None:
        transactional_id, transaction = change
        if transaction is None:
            self._transactions.pop(transactional_id, None)
            state = TransactionState.DEAD
        else:
            self._transactions[transactional_id] = transaction
            state = transaction.state
        _keep(self._ongoing, transactional_id, state is TransactionState.ONGOING)
        _keep(self._decided, transactional_id, state.is_decided)

    def find(self, transactional_id: str) -> Transaction | None:
        return self._transactions.get(transactional_id)

    def all(self) -> Iterator[Transaction]:
        return iter(self._transactions.values())

    def decided(self) -> list[Transaction]:
        """Those whose markers are not all known to be written."""
        return [self._transactions[transactional_id] for transactional_id in self._decided]

    def abandon(self, is_lost: Callable[[str], bool]) -> None:
        """Let go of transactional ids whose log is gone or cannot be read."""
        for transactional_id in list(self._transactions):
            if is_lost(transactional_id):
                self.replay(Change(transactional_id, None))

    # -- producers --------------------------------------------------------------------------------------------------

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: tuple[int, int] | None
    ) -> Result[Change, Producer]:
        """Make the one who asks the only producer of this transactional id.

        `expected` is what a producer believes to be that wants to go on (KIP-360). An open transaction is aborted first:
        the record decides that, the reply is CONCURRENT_TRANSACTIONS, and whoever asks again when it is complete gets on.
        """
        if not transactional_id:
            return _refused(ErrorCode.INVALID_REQUEST)
        if not 0 < timeout_ms <= self.settings.max_timeout_ms:
            return _refused(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        now = self._clock()
        known = self._transactions.get(transactional_id)
        if known is None:
            new = Transaction(
                transactional_id=transactional_id,
                producer_id=self._new_producer_id(),
                producer_epoch=0,
                timeout_ms=timeout_ms,
                state=TransactionState.EMPTY,
                update_ms=now,
            )
            return _became(new)
        if expected is not None and not _may_be(known, *expected):
            return _refused(ErrorCode.PRODUCER_FENCED)
        if known.state.is_decided:
            return _refused(ErrorCode.CONCURRENT_TRANSACTIONS)
        if known.state is TransactionState.ONGOING:
            return Result([_change(known.fenced(now))], Producer(ErrorCode.CONCURRENT_TRANSACTIONS))
        expected_epoch = expected[1] if expected is not None else None
        is_current = expected_epoch in (None, known.producer_epoch)
        if known.is_epoch_exhausted and (
            is_current or (known.is_fenced_for_good and expected_epoch == known.last_producer_epoch)
        ):
            last_epoch = NO_EPOCH if expected_epoch is None else expected_epoch
            return _became(known.with_producer(self._new_producer_id(), 0, last_epoch, timeout_ms, now))
        if expected_epoch is None:
            epoch, last_epoch = known.producer_epoch + 1, NO_EPOCH
        elif expected_epoch == known.producer_epoch:
            epoch, last_epoch = known.producer_epoch + 1, known.producer_epoch
        elif expected_epoch == known.last_producer_epoch:
            epoch, last_epoch = known.producer_epoch, known.last_producer_epoch  # it did not hear the first answer
        else:
            return _refused(ErrorCode.PRODUCER_FENCED)
        return _became(known.with_producer(known.producer_id, epoch, last_epoch, timeout_ms, now))

    # -- partitions -------------------------------------------------------------------------------------------------

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: frozenset[TopicPartition],
        client_version: int,
    ) -> Result[Change, ErrorCode]:
        """The transaction writes to these; the first ones begin it."""
        transaction = self._transactions.get(transactional_id)
        error = _producer_error(transactional_id, transaction, producer_id, producer_epoch)
        if error is not ErrorCode.NONE or transaction is None:
            return Result([], error)
        if transaction.state is TransactionState.ONGOING and partitions <= transaction.partitions:
            return Result([], ErrorCode.NONE)
        return Result([_change(transaction.with_partitions(partitions, client_version, self._clock()))], ErrorCode.NONE)

    def verify_partition(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partition: TopicPartition
    ) -> ErrorCode:
        """Whether the producer has an open transaction with this partition in it; TRANSACTION_ABORTABLE if not (KIP-890)."""
        transaction = self._transactions.get(transactional_id)
        error = _producer_error(transactional_id, transaction, producer_id, producer_epoch)
        if error is not ErrorCode.NONE or transaction is None:
            return error
        if transaction.state is not TransactionState.ONGOING or partition not in transaction.partitions:
            return ErrorCode.TRANSACTION_ABORTABLE
        return ErrorCode.NONE

    # -- the end ----------------------------------------------------------------------------------------------------

    def end(
        self, transactional_id: str, producer_id: int, producer_epoch: int, *, commit: bool, client_version: int
    ) -> Result[Change, Producer]:
        """Decide the transaction. The reply tells who the producer is in its next one."""
        if not transactional_id:
            return _refused(ErrorCode.INVALID_REQUEST)
        transaction = self._transactions.get(transactional_id)
        if transaction is None:
            return _refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if client_version >= V2:
            return self._end_v2(transaction, producer_id, producer_epoch, commit)
        if producer_id != transaction.producer_id:
            return _refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if producer_epoch != transaction.producer_epoch:
            return _refused(ErrorCode.PRODUCER_FENCED)
        match transaction.state:
            case TransactionState.ONGOING:
                return self._decide(transaction, commit, CLASSIC, NO_PRODUCER_ID)
            case TransactionState.COMPLETE_COMMIT if commit:
                return _still(transaction)
            case TransactionState.COMPLETE_ABORT if not commit:
                return _still(transaction)
        return _refused(_wrong_end(transaction, commit))

    def _end_v2(
        self, transaction: Transaction, producer_id: int, producer_epoch: int, commit: bool
    ) -> Result[Change, Producer]:
        """The epoch tells a repeated request from the end of the next transaction (KIP-890).

        A repeated one it can be only if the end was of version 2: a classic producer that took over has an epoch that is
        one higher too.
        """
        is_after_rotation = (
            transaction.previous_producer_id == producer_id
            and producer_epoch == LAST_EPOCH
            and transaction.producer_epoch == 0
        )
        is_repeated = transaction.client_version >= V2 and (
            is_after_rotation or transaction.producer_epoch == producer_epoch + 1
        )
        is_current = transaction.producer_epoch == producer_epoch
        if producer_id != transaction.producer_id and not is_after_rotation:
            return _refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        state = transaction.state
        if state.is_decided:
            return _refused(_wrong_end(transaction, commit) if is_repeated else ErrorCode.PRODUCER_FENCED)
        if state is TransactionState.ONGOING or state is TransactionState.EMPTY:
            if not is_current:
                return _refused(ErrorCode.PRODUCER_FENCED)
            if state is TransactionState.EMPTY and commit:
                return _refused(ErrorCode.INVALID_TXN_STATE)
        elif is_repeated:
            ended_so = state is (TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT)
            return _still(transaction) if ended_so else _refused(ErrorCode.INVALID_TXN_STATE)
        elif not is_current:
            return _refused(ErrorCode.PRODUCER_FENCED)
        elif commit:
            return _refused(ErrorCode.INVALID_TXN_STATE)
        next_producer_id = self._new_producer_id() if transaction.is_epoch_exhausted else NO_PRODUCER_ID
        return self._decide(transaction, commit, V2, next_producer_id)

    def _decide(
        self, transaction: Transaction, commit: bool, client_version: int, next_producer_id: int
    ) -> Result[Change, Producer]:
        decided = transaction.ended(
            commit=commit, client_version=client_version, next_producer_id=next_producer_id, now_ms=self._clock()
        )
        if next_producer_id != NO_PRODUCER_ID:
            return Result([_change(decided)], Producer(ErrorCode.NONE, next_producer_id, 0))
        return _became(decided)

    def complete(self, transactional_id: str) -> Result[Change, None]:
        """Every marker of a decided transaction is written."""
        transaction = self._transactions[transactional_id]
        assert transaction.state.is_decided
        return Result([_change(transaction.completed(self._clock()))], None)

    # -- time -------------------------------------------------------------------------------------------------------

    def timed_out(self) -> Iterator[Result[Change, None]]:
        """Abort the transactions that have been open for longer than their producers allowed.

        Here and in `expired` each result must be applied before the next is taken; in between may be a break.
        """
        now = self._clock()
        for transactional_id in list(self._ongoing):
            transaction = self._transactions.get(transactional_id)
            if transaction is None or transaction.state is not TransactionState.ONGOING:
                continue  # it ended during a break
            if transaction.start_ms + transaction.timeout_ms < now:
                yield Result([_change(transaction.fenced(now))], None)

    def expired(self) -> Iterator[Result[Change, None]]:
        """Forget the transactional ids that nobody has used for transactional.id.expiration.ms."""
        oldest = self._clock() - self.settings.id_expiration_ms
        for transactional_id in list(self._transactions):
            transaction = self._transactions.get(transactional_id)
            if transaction is not None and transaction.state.is_over and transaction.update_ms <= oldest:
                yield Result([Change(transactional_id, None)], None)


def _keep(names: dict[str, None], name: str, wanted: bool) -> None:
    if wanted:
        names[name] = None
    else:
        names.pop(name, None)


def _change(transaction: Transaction) -> Change:
    return Change(transaction.transactional_id, transaction)


def _refused(error: ErrorCode) -> Result[Change, Producer]:
    return Result([], Producer(error))


def _still(transaction: Transaction) -> Result[Change, Producer]:
    return Result([], Producer(ErrorCode.NONE, transaction.producer_id, transaction.producer_epoch))


def _became(transaction: Transaction) -> Result[Change, Producer]:
    return Result([_change(transaction)], Producer(ErrorCode.NONE, transaction.producer_id, transaction.producer_epoch))


def _may_be(known: Transaction, producer_id: int, epoch: int) -> bool:
    """Whether a producer that believes to be this one may go on; its epoch is looked at later.

    The previous id is right if its epochs are used up: then the answer that told of the new one was lost.
    """
    return producer_id == known.producer_id or (producer_id == known.previous_producer_id and epoch >= LAST_EPOCH)


def _producer_error(
    transactional_id: str, transaction: Transaction | None, producer_id: int, producer_epoch: int
) -> ErrorCode:
    """Why this producer cannot write to a transaction now; NONE if it can."""
    if not transactional_id:
        return ErrorCode.INVALID_REQUEST
    if transaction is None or producer_id != transaction.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if producer_epoch != transaction.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.CONCURRENT_TRANSACTIONS if transaction.state.is_decided else ErrorCode.NONE


def _wrong_end(transaction: Transaction, commit: bool) -> ErrorCode:
    """What to say of an end that cannot be: come again if it is being done, else it is the wrong one."""
    wanted = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
    return ErrorCode.CONCURRENT_TRANSACTIONS if transaction.state is wanted else ErrorCode.INVALID_TXN_STATE
