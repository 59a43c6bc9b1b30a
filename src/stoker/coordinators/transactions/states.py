"""The states of a transactional id, as Kafka's TransactionState has them: number, name, what happens in each."""

from enum import Enum


class TransactionState(Enum):
    """`value` is the number in the log; `title` what DescribeTransactions and ListTransactions call it."""

    EMPTY = 0
    """A producer has its id and epoch, and no transaction yet.
    Comes after: nothing, COMPLETE_COMMIT, COMPLETE_ABORT (a new producer came). Goes on with the first partition."""

    ONGOING = 1
    """Partitions are being added and written to.
    Comes after: EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT. Ends by EndTxn, by time-out, or by a new producer of the same id."""

    PREPARE_COMMIT = 2
    """The transaction is committed, whatever happens now; its markers are being written.
    Comes after: ONGOING. Requests of the producer are told to come again."""

    PREPARE_ABORT = 3
    """The transaction is aborted, whatever happens now; its markers are being written.
    Comes after: ONGOING; with transactions v2 also EMPTY and COMPLETE_*, because an abort without partitions raises the
    epoch too. Requests of the producer are told to come again."""

    COMPLETE_COMMIT = 4
    """Every partition has its commit marker. Comes after: PREPARE_COMMIT. The next transaction may begin."""

    COMPLETE_ABORT = 5
    """Every partition has its abort marker. Comes after: PREPARE_ABORT. The next transaction may begin."""

    DEAD = 6
    """The transactional id has expired. Never written: the record without a value says it."""

    PREPARE_EPOCH_FENCE = 7
    """Kafka's way to mark that a producer is about to be fenced. Never written, and not used here: fencing and the
    abort it brings are one record."""

    @property
    def title(self) -> str:
        return self.name.title().replace("_", "")

    @property
    def is_decided(self) -> bool:
        """Committed or aborted, and not yet so in every partition."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_over(self) -> bool:
        """A new transaction may begin, and the transactional id may expire."""
        return self in (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


TITLES: dict[str, TransactionState] = {state.title: state for state in TransactionState}
