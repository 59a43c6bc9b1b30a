"""The transaction coordinator alone: its state is made by replaying, its answers are looked at, no log is near."""

from collections.abc import Iterable
from itertools import count

import pytest

from stoker.coordinators.result import Result
from stoker.coordinators.transactions.coordinator import (
    Change,
    Producer,
    TransactionCoordinator,
    TransactionSettings,
)
from stoker.coordinators.transactions.states import TransactionState
from stoker.coordinators.transactions.transaction import CLASSIC, LAST_EPOCH, V2, Transaction
from stoker.wire.error_codes import ErrorCode
from stoker.wire.transaction_records import encode_transaction_value

ID = "orders-1"
PARTITIONS = frozenset([("orders", 0), ("payments", 3)])
NONE = ErrorCode.NONE
FENCED = ErrorCode.PRODUCER_FENCED
MAPPING = ErrorCode.INVALID_PRODUCER_ID_MAPPING
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
WRONG_STATE = ErrorCode.INVALID_TXN_STATE


class Coordinator(TransactionCoordinator):
    """One whose results are applied at once, with a clock that stands still."""

    def __init__(self, *transactions: Transaction) -> None:
        ids = count(1000)
        super().__init__(
            settings=TransactionSettings(max_timeout_ms=900_000, id_expiration_ms=7_000_000),
            clock=lambda: self.now,
            new_producer_id=lambda: next(ids),
        )
        self.now = 10_000
        for transaction in transactions:
            self.replay(Change(transaction.transactional_id, transaction))

    def apply(self, *results: Result[Change, object]) -> None:
        for result in results:
            for change in result.records:
                self.replay(change)

    def state(self) -> TransactionState:
        transaction = self.find(ID)
        assert transaction is not None
        return transaction.state


def transaction(state: TransactionState, **others: object) -> Transaction:
    values: dict[str, object] = {
        "transactional_id": ID,
        "producer_id": 7,
        "producer_epoch": 3,
        "timeout_ms": 60_000,
        "state": state,
        "update_ms": 5_000,
        "start_ms": 5_000,
        "partitions": PARTITIONS if state in (ONGOING, PREPARE_COMMIT, PREPARE_ABORT) else frozenset(),
    }
    return Transaction(**{**values, **others})  # type: ignore[arg-type]


EMPTY = TransactionState.EMPTY
ONGOING = TransactionState.ONGOING
PREPARE_COMMIT = TransactionState.PREPARE_COMMIT
PREPARE_ABORT = TransactionState.PREPARE_ABORT
COMPLETE_COMMIT = TransactionState.COMPLETE_COMMIT
COMPLETE_ABORT = TransactionState.COMPLETE_ABORT


# -- InitProducerId -------------------------------------------------------------------------------------------------


def test_the_first_producer_gets_a_new_id_and_epoch_0() -> None:
    coordinator = Coordinator()
    result = coordinator.init_producer_id(ID, 60_000, None)
    coordinator.apply(result)

    assert result.reply == Producer(NONE, 1000, 0)
    assert coordinator.find(ID) == Transaction(ID, 1000, 0, 60_000, EMPTY, update_ms=10_000)


@pytest.mark.parametrize("state", [EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT])
def test_the_next_producer_gets_the_next_epoch(state: TransactionState) -> None:
    coordinator = Coordinator(transaction(state))
    result = coordinator.init_producer_id(ID, 30_000, None)
    coordinator.apply(result)

    assert result.reply == Producer(NONE, 7, 4)
    found = coordinator.find(ID)
    assert found is not None
    assert (found.state, found.timeout_ms, found.start_ms) == (EMPTY, 30_000, -1)


def test_an_open_transaction_is_aborted_for_the_next_producer() -> None:
    coordinator = Coordinator(transaction(ONGOING))
    aborting = coordinator.init_producer_id(ID, 60_000, None)
    coordinator.apply(aborting)

    assert aborting.reply == Producer(CONCURRENT)
    assert coordinator.state() is PREPARE_ABORT
    assert coordinator.add_partitions(ID, 7, 3, PARTITIONS, CLASSIC).reply is FENCED
    assert coordinator.init_producer_id(ID, 60_000, None).reply == Producer(CONCURRENT)
    coordinator.apply(coordinator.complete(ID))
    assert coordinator.init_producer_id(ID, 60_000, None).reply == Producer(NONE, 7, 5)


@pytest.mark.parametrize(
    ("timeout", "transactional_id", "error"),
    [
        (0, ID, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (900_001, ID, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (900_000, ID, NONE),
        (60_000, "", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_a_producer_may_ask_for(timeout: int, transactional_id: str, error: ErrorCode) -> None:
    assert Coordinator().init_producer_id(transactional_id, timeout, None).reply.error is error


@pytest.mark.parametrize(
    ("expected", "reply"),
    [
        ((7, 3), Producer(NONE, 7, 4)),
        ((7, 2), Producer(FENCED)),
        ((7, 4), Producer(FENCED)),
        ((6, 3), Producer(FENCED)),
    ],
)
def test_a_producer_that_goes_on_must_be_the_current_one(expected: tuple[int, int], reply: Producer) -> None:
    """KIP-360."""
    assert Coordinator(transaction(EMPTY)).init_producer_id(ID, 60_000, expected).reply == reply


def test_a_producer_that_did_not_hear_its_new_epoch_may_ask_again() -> None:
    coordinator = Coordinator(transaction(EMPTY))
    coordinator.apply(coordinator.init_producer_id(ID, 60_000, (7, 3)))

    assert coordinator.init_producer_id(ID, 60_000, (7, 3)).reply == Producer(NONE, 7, 4)


def test_a_producer_that_aborts_by_asking_for_its_next_epoch_gets_it() -> None:
    """librdkafka does so after an error in a transaction, where Java ends it first."""
    coordinator = Coordinator(transaction(ONGOING))
    aborting = coordinator.init_producer_id(ID, 60_000, (7, 3))
    assert aborting.reply == Producer(CONCURRENT)
    coordinator.apply(aborting)
    coordinator.apply(coordinator.complete(ID))

    result = coordinator.init_producer_id(ID, 60_000, (7, 3))
    assert result.reply == Producer(NONE, 7, 4)
    coordinator.apply(result)
    assert coordinator.init_producer_id(ID, 60_000, (7, 2)).reply == Producer(FENCED)


@pytest.mark.parametrize("version", [CLASSIC, V2])
def test_a_producer_that_has_timed_out_may_ask_for_its_next_epoch(version: int) -> None:
    coordinator = Coordinator(transaction(ONGOING, client_version=version))
    coordinator.now += 60_001
    coordinator.apply(*coordinator.timed_out())
    coordinator.apply(coordinator.complete(ID))

    assert coordinator.init_producer_id(ID, 60_000, (7, 3)).reply == Producer(NONE, 7, 4)


def test_one_that_does_so_at_its_last_epoch_gets_a_new_id() -> None:
    coordinator = Coordinator(transaction(ONGOING, producer_epoch=LAST_EPOCH))
    coordinator.apply(coordinator.init_producer_id(ID, 60_000, (7, LAST_EPOCH)))
    coordinator.apply(coordinator.complete(ID))

    for _ in range(2):  # the first answer may be lost
        result = coordinator.init_producer_id(ID, 60_000, (7, LAST_EPOCH))
        assert result.reply == Producer(NONE, 1000, 0)
        coordinator.apply(result)


def test_another_producer_in_between_ends_that() -> None:
    coordinator = Coordinator(transaction(EMPTY))
    coordinator.apply(coordinator.init_producer_id(ID, 60_000, (7, 3)))
    coordinator.apply(coordinator.init_producer_id(ID, 60_000, None))

    assert coordinator.init_producer_id(ID, 60_000, (7, 3)).reply == Producer(FENCED)


@pytest.mark.parametrize("expected", [None, (7, LAST_EPOCH)])
def test_an_id_whose_epochs_are_used_up_is_replaced(expected: tuple[int, int] | None) -> None:
    coordinator = Coordinator(transaction(EMPTY, producer_epoch=LAST_EPOCH))
    result = coordinator.init_producer_id(ID, 60_000, expected)
    coordinator.apply(result)

    assert result.reply == Producer(NONE, 1000, 0)
    found = coordinator.find(ID)
    assert found is not None
    assert found.previous_producer_id == 7
    if expected:  # and it may ask again, not having heard of its new id
        assert coordinator.init_producer_id(ID, 60_000, expected).reply == Producer(NONE, 1000, 0)


# -- partitions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT])
def test_the_first_partition_begins_a_transaction(state: TransactionState) -> None:
    coordinator = Coordinator(transaction(state))
    result = coordinator.add_partitions(ID, 7, 3, PARTITIONS, V2)
    coordinator.apply(result)

    found = coordinator.find(ID)
    assert found is not None
    assert (result.reply, found.state, found.partitions) == (NONE, ONGOING, PARTITIONS)
    assert (found.start_ms, found.client_version) == (10_000, V2)


def test_more_partitions_join_it_and_known_ones_write_nothing() -> None:
    coordinator = Coordinator(transaction(ONGOING))
    more = frozenset([("refunds", 1)])

    assert coordinator.add_partitions(ID, 7, 3, frozenset([("orders", 0)]), CLASSIC) == Result([], NONE)
    coordinator.apply(coordinator.add_partitions(ID, 7, 3, more, CLASSIC))
    found = coordinator.find(ID)
    assert found is not None
    assert (found.partitions, found.start_ms) == (PARTITIONS | more, 5_000)


@pytest.mark.parametrize(
    ("state", "transactional_id", "producer_id", "epoch", "error"),
    [
        (ONGOING, "", 7, 3, ErrorCode.INVALID_REQUEST),
        (ONGOING, "another", 7, 3, MAPPING),
        (ONGOING, ID, 8, 3, MAPPING),
        (ONGOING, ID, 7, 2, FENCED),
        (ONGOING, ID, 7, 4, FENCED),
        (PREPARE_COMMIT, ID, 7, 3, CONCURRENT),
        (PREPARE_ABORT, ID, 7, 3, CONCURRENT),
    ],
)
def test_who_may_not_add_partitions(
    state: TransactionState, transactional_id: str, producer_id: int, epoch: int, error: ErrorCode
) -> None:
    coordinator = Coordinator(transaction(state))

    assert coordinator.add_partitions(transactional_id, producer_id, epoch, PARTITIONS, CLASSIC) == Result([], error)
    assert coordinator.verify_partition(transactional_id, producer_id, epoch, ("orders", 0)) is error


@pytest.mark.parametrize(
    ("state", "partition", "error"),
    [
        (ONGOING, ("orders", 0), NONE),
        (ONGOING, ("orders", 1), ErrorCode.TRANSACTION_ABORTABLE),
        (EMPTY, ("orders", 0), ErrorCode.TRANSACTION_ABORTABLE),
        (COMPLETE_COMMIT, ("orders", 0), ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_a_partition_is_verified(state: TransactionState, partition: tuple[str, int], error: ErrorCode) -> None:
    assert Coordinator(transaction(state)).verify_partition(ID, 7, 3, partition) is error


# -- EndTxn ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "commit", "reply", "becomes"),
    [
        (ONGOING, True, Producer(NONE, 7, 3), PREPARE_COMMIT),
        (ONGOING, False, Producer(NONE, 7, 3), PREPARE_ABORT),
        (PREPARE_COMMIT, True, Producer(CONCURRENT), PREPARE_COMMIT),
        (PREPARE_COMMIT, False, Producer(WRONG_STATE), PREPARE_COMMIT),
        (PREPARE_ABORT, True, Producer(WRONG_STATE), PREPARE_ABORT),
        (PREPARE_ABORT, False, Producer(CONCURRENT), PREPARE_ABORT),
        (COMPLETE_COMMIT, True, Producer(NONE, 7, 3), COMPLETE_COMMIT),
        (COMPLETE_COMMIT, False, Producer(WRONG_STATE), COMPLETE_COMMIT),
        (COMPLETE_ABORT, True, Producer(WRONG_STATE), COMPLETE_ABORT),
        (COMPLETE_ABORT, False, Producer(NONE, 7, 3), COMPLETE_ABORT),
        (EMPTY, True, Producer(WRONG_STATE), EMPTY),
        (EMPTY, False, Producer(WRONG_STATE), EMPTY),
    ],
)
def test_a_classic_end(state: TransactionState, commit: bool, reply: Producer, becomes: TransactionState) -> None:
    coordinator = Coordinator(transaction(state))
    result = coordinator.end(ID, 7, 3, commit=commit, client_version=CLASSIC)
    coordinator.apply(result)

    assert (result.reply, coordinator.state()) == (reply, becomes)


@pytest.mark.parametrize(
    ("state", "epoch", "commit", "reply", "becomes"),
    [
        # The transaction in hand has epoch 3, the one before it had 2.
        (ONGOING, 3, True, Producer(NONE, 7, 4), PREPARE_COMMIT),
        (ONGOING, 3, False, Producer(NONE, 7, 4), PREPARE_ABORT),
        (ONGOING, 2, True, Producer(FENCED), ONGOING),
        (PREPARE_COMMIT, 2, True, Producer(CONCURRENT), PREPARE_COMMIT),
        (PREPARE_COMMIT, 2, False, Producer(WRONG_STATE), PREPARE_COMMIT),
        (PREPARE_COMMIT, 3, True, Producer(FENCED), PREPARE_COMMIT),
        (PREPARE_ABORT, 2, False, Producer(CONCURRENT), PREPARE_ABORT),
        (PREPARE_ABORT, 2, True, Producer(WRONG_STATE), PREPARE_ABORT),
        (COMPLETE_COMMIT, 2, True, Producer(NONE, 7, 3), COMPLETE_COMMIT),
        (COMPLETE_COMMIT, 2, False, Producer(WRONG_STATE), COMPLETE_COMMIT),
        (COMPLETE_COMMIT, 3, True, Producer(WRONG_STATE), COMPLETE_COMMIT),
        (COMPLETE_COMMIT, 3, False, Producer(NONE, 7, 4), PREPARE_ABORT),
        (COMPLETE_COMMIT, 1, True, Producer(FENCED), COMPLETE_COMMIT),
        (COMPLETE_ABORT, 2, False, Producer(NONE, 7, 3), COMPLETE_ABORT),
        (COMPLETE_ABORT, 2, True, Producer(WRONG_STATE), COMPLETE_ABORT),
        (COMPLETE_ABORT, 3, False, Producer(NONE, 7, 4), PREPARE_ABORT),
        (EMPTY, 3, True, Producer(WRONG_STATE), EMPTY),
        (EMPTY, 3, False, Producer(NONE, 7, 4), PREPARE_ABORT),
        (EMPTY, 2, False, Producer(FENCED), EMPTY),
    ],
)
def test_an_end_of_version_2(
    state: TransactionState, epoch: int, commit: bool, reply: Producer, becomes: TransactionState
) -> None:
    coordinator = Coordinator(transaction(state, client_version=V2))
    result = coordinator.end(ID, 7, epoch, commit=commit, client_version=V2)
    coordinator.apply(result)

    assert (result.reply, coordinator.state()) == (reply, becomes)


def test_a_zombie_of_version_2_is_not_taken_for_the_classic_producer_after_it() -> None:
    coordinator = Coordinator(transaction(COMPLETE_ABORT))
    assert coordinator.end(ID, 7, 2, commit=False, client_version=V2).reply == Producer(FENCED)


@pytest.mark.parametrize("version", [CLASSIC, V2])
def test_who_may_not_end_it(version: int) -> None:
    coordinator = Coordinator(transaction(ONGOING))

    def error(transactional_id: str, producer_id: int, epoch: int) -> ErrorCode:
        return coordinator.end(transactional_id, producer_id, epoch, commit=True, client_version=version).reply.error

    assert error("", 7, 3) is ErrorCode.INVALID_REQUEST
    assert error("another", 7, 3) is MAPPING
    assert error(ID, 8, 3) is MAPPING
    assert error(ID, 7, 4) is FENCED


def test_the_last_epoch_of_version_2_brings_a_new_id() -> None:
    coordinator = Coordinator(transaction(ONGOING, producer_epoch=LAST_EPOCH))
    ended = coordinator.end(ID, 7, LAST_EPOCH, commit=True, client_version=V2)
    coordinator.apply(ended)

    assert ended.reply == Producer(NONE, 1000, 0)
    decided = coordinator.find(ID)
    assert decided is not None
    assert (decided.producer_id, decided.producer_epoch, decided.next_producer_id) == (7, LAST_EPOCH + 1, 1000)
    assert coordinator.end(ID, 7, LAST_EPOCH, commit=True, client_version=V2).reply == Producer(CONCURRENT)
    coordinator.apply(coordinator.complete(ID))
    assert coordinator.end(ID, 7, LAST_EPOCH, commit=True, client_version=V2).reply == Producer(NONE, 1000, 0)
    assert coordinator.add_partitions(ID, 1000, 0, PARTITIONS, V2).reply is NONE


def test_a_fenced_producer_at_the_last_epoch_cannot_overflow_it() -> None:
    coordinator = Coordinator(
        transaction(ONGOING, producer_epoch=LAST_EPOCH, start_ms=0, timeout_ms=1, client_version=V2)
    )
    coordinator.apply(*coordinator.timed_out())
    coordinator.apply(coordinator.complete(ID))
    aborted = coordinator.end(ID, 7, LAST_EPOCH, commit=False, client_version=V2)
    assert aborted.reply == Producer(NONE, 7, LAST_EPOCH + 1)
    coordinator.apply(coordinator.add_partitions(ID, 7, LAST_EPOCH + 1, PARTITIONS, V2))
    ended = coordinator.end(ID, 7, LAST_EPOCH + 1, commit=True, client_version=V2)

    assert ended.reply == Producer(NONE, 1000, 0)
    [change] = ended.records
    assert change.transaction is not None
    assert change.transaction.producer_epoch == LAST_EPOCH + 1  # an int16 holds no more


@pytest.mark.parametrize(("decided", "completed"), [(PREPARE_COMMIT, COMPLETE_COMMIT), (PREPARE_ABORT, COMPLETE_ABORT)])
def test_a_decided_transaction_is_completed(decided: TransactionState, completed: TransactionState) -> None:
    coordinator = Coordinator(transaction(decided))
    assert [each.transactional_id for each in coordinator.decided()] == [ID]
    coordinator.apply(coordinator.complete(ID))

    assert coordinator.state() is completed
    assert coordinator.decided() == []


# -- time -----------------------------------------------------------------------------------------------------------


def test_a_transaction_times_out_and_its_producer_is_fenced() -> None:
    coordinator = Coordinator(transaction(ONGOING, start_ms=10_000, timeout_ms=1_000))
    coordinator.now = 11_000
    assert list(coordinator.timed_out()) == []
    coordinator.now = 11_001
    coordinator.apply(*coordinator.timed_out())

    found = coordinator.find(ID)
    assert found is not None
    assert (found.state, found.producer_epoch, found.partitions) == (PREPARE_ABORT, 4, PARTITIONS)
    assert coordinator.end(ID, 7, 3, commit=True, client_version=CLASSIC).reply.error is FENCED
    assert list(coordinator.timed_out()) == []


def test_a_producer_of_version_2_may_abort_what_has_timed_out_and_go_on() -> None:
    coordinator = Coordinator(transaction(ONGOING, start_ms=0, timeout_ms=1_000, client_version=V2))
    coordinator.apply(*coordinator.timed_out())
    coordinator.apply(coordinator.complete(ID))

    assert coordinator.end(ID, 7, 3, commit=True, client_version=V2).reply.error is WRONG_STATE
    assert coordinator.end(ID, 7, 3, commit=False, client_version=V2).reply == Producer(NONE, 7, 4)
    assert coordinator.add_partitions(ID, 7, 4, PARTITIONS, V2).reply is NONE


def test_a_break_while_time_outs_are_looked_for_does_no_harm() -> None:
    others = [transaction(ONGOING, transactional_id=name, start_ms=0, timeout_ms=1) for name in "abc"]
    coordinator = Coordinator(*others)
    found = coordinator.timed_out()
    coordinator.apply(next(found))
    coordinator.apply(coordinator.end("b", 7, 3, commit=True, client_version=CLASSIC))
    coordinator.replay(Change("c", None))

    assert list(found) == []


@pytest.mark.parametrize(
    ("state", "expires"),
    [(EMPTY, True), (COMPLETE_COMMIT, True), (COMPLETE_ABORT, True), (ONGOING, False), (PREPARE_COMMIT, False)],
)
def test_an_id_that_nobody_uses_is_forgotten(state: TransactionState, expires: bool) -> None:
    coordinator = Coordinator(transaction(state, update_ms=10_000, timeout_ms=900_000_000))
    coordinator.now = 7_009_999
    assert list(coordinator.expired()) == []
    coordinator.now = 7_010_000
    coordinator.apply(*coordinator.expired())

    assert (coordinator.find(ID) is None) is expires


# -- the log --------------------------------------------------------------------------------------------------------


def all_states() -> Iterable[Transaction]:
    for state in (EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT):
        yield transaction(state)
        yield transaction(state, previous_producer_id=5, next_producer_id=9, client_version=V2, start_ms=-1)


@pytest.mark.parametrize("known", list(all_states()), ids=lambda known: known.state.title)
def test_what_is_written_is_what_is_read(known: Transaction) -> None:
    assert Transaction.from_value(ID, known.value()) == known
    assert known.encoded() == encode_transaction_value(known.value())


def test_the_titles_are_kafkas() -> None:
    assert [state.title for state in TransactionState] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
