"""One transactional id: who its producer is and how far its transaction has come. Never changed, only replaced."""

from typing import Final, NamedTuple, Self

from stoker.coordinators.transactions.states import TransactionState
from stoker.wire.transaction_records import (
    TransactionLogValue,
    encode_plain_value,
    encode_transaction_value,
    partitions_by_topic,
)

TopicPartition = tuple[str, int]

NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1
NO_TIME: Final = -1
LAST_EPOCH: Final = 32_766
"""The last one a producer gets: the end of a transaction raises it once more, and an int16 must hold that."""
_HIGHEST_EPOCH: Final = 32_767

CLASSIC: Final = 0
"""Client transaction versions below 2: partitions are added by requests of their own, the epoch is the producer's."""
V2: Final = 2
"""KIP-890: partitions are added by writing to them, and each transaction has an epoch of its own."""


class Transaction(NamedTuple):
    """The methods give what is true after a transition; whether it is allowed is the coordinator's affair."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState
    update_ms: int
    start_ms: int = NO_TIME
    partitions: frozenset[TopicPartition] = frozenset()
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    """Takes the place of `producer_id`, whose epochs are used up, when this transaction is complete."""
    client_version: int = CLASSIC
    last_producer_epoch: int = NO_EPOCH
    """What the epoch was before the producer itself had it raised: it may ask again. Not in the log, as in Kafka."""

    @property
    def is_epoch_exhausted(self) -> bool:
        return self.producer_epoch >= LAST_EPOCH

    @property
    def is_fenced_for_good(self) -> bool:
        """The epoch is one that no producer may have, because nothing could fence it."""
        return self.producer_epoch > LAST_EPOCH

    @property
    def _raised_epoch(self) -> int:
        return min(self.producer_epoch + 1, _HIGHEST_EPOCH)

    def with_producer(self, producer_id: int, epoch: int, last_epoch: int, timeout_ms: int, now_ms: int) -> Self:
        """A producer came, new or again; a transaction is not open."""
        rotated = producer_id != self.producer_id
        return self._replace(
            producer_id=producer_id,
            producer_epoch=epoch,
            last_producer_epoch=last_epoch,
            timeout_ms=timeout_ms,
            state=TransactionState.EMPTY,
            update_ms=now_ms,
            start_ms=NO_TIME,
            partitions=frozenset(),
            previous_producer_id=self.producer_id if rotated else self.previous_producer_id,
            next_producer_id=NO_PRODUCER_ID,
        )

    def with_partitions(self, partitions: frozenset[TopicPartition], client_version: int, now_ms: int) -> Self:
        is_open = self.state is TransactionState.ONGOING
        return self._replace(
            state=TransactionState.ONGOING,
            partitions=self.partitions | partitions if is_open else partitions,
            start_ms=self.start_ms if is_open else now_ms,
            update_ms=now_ms,
            client_version=client_version,
            last_producer_epoch=NO_EPOCH,
        )

    def ended(self, *, commit: bool, client_version: int, next_producer_id: int, now_ms: int) -> Self:
        """By its producer. With transactions v2 the next one has another epoch, so that stray records are told apart."""
        raised = client_version >= V2
        return self._replace(
            state=TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
            producer_epoch=self._raised_epoch if raised else self.producer_epoch,
            last_producer_epoch=self.producer_epoch if raised else self.last_producer_epoch,
            next_producer_id=next_producer_id,
            client_version=client_version,
            start_ms=now_ms if self.state is not TransactionState.ONGOING else self.start_ms,
            partitions=self.partitions if self.state is TransactionState.ONGOING else frozenset(),
            update_ms=now_ms,
        )

    def fenced(self, now_ms: int) -> Self:
        """Aborted by the broker; the producer's epoch is from now on an old one, by which it may ask for the next (KIP-360)."""
        return self._replace(
            state=TransactionState.PREPARE_ABORT,
            producer_epoch=self._raised_epoch,
            last_producer_epoch=self.producer_epoch,
            update_ms=now_ms,
        )

    def completed(self, now_ms: int) -> Self:
        """Every marker is written."""
        committed = self.state is TransactionState.PREPARE_COMMIT
        rotates = self.next_producer_id != NO_PRODUCER_ID
        return self._replace(
            state=TransactionState.COMPLETE_COMMIT if committed else TransactionState.COMPLETE_ABORT,
            producer_id=self.next_producer_id if rotates else self.producer_id,
            producer_epoch=0 if rotates else self.producer_epoch,
            previous_producer_id=self.producer_id if rotates else self.previous_producer_id,
            next_producer_id=NO_PRODUCER_ID,
            partitions=frozenset(),
            update_ms=now_ms,
        )

    # -- in the log -------------------------------------------------------------------------------------------------

    def value(self) -> TransactionLogValue:
        return TransactionLogValue(
            producer_id=self.producer_id,
            previous_producer_id=self.previous_producer_id,
            next_producer_id=self.next_producer_id,
            producer_epoch=self.producer_epoch,
            transaction_timeout_ms=self.timeout_ms,
            transaction_status=self.state.value,
            # Kafka too writes null for none yet and an empty list for none any more.
            transaction_partitions=None
            if self.state is TransactionState.EMPTY
            else partitions_by_topic(self.partitions),
            transaction_last_update_timestamp_ms=self.update_ms,
            transaction_start_timestamp_ms=self.start_ms,
            client_transaction_version=self.client_version,
        )

    def encoded(self) -> bytes:
        """The value of its log record."""
        if self.previous_producer_id != NO_PRODUCER_ID or self.next_producer_id != NO_PRODUCER_ID:
            return encode_transaction_value(self.value())
        return encode_plain_value(
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            timeout_ms=self.timeout_ms,
            status=self.state.value,
            partitions=None if self.state is TransactionState.EMPTY else self.partitions,
            update_ms=self.update_ms,
            start_ms=self.start_ms,
            client_version=self.client_version,
        )

    @classmethod
    def from_value(cls, transactional_id: str, value: TransactionLogValue) -> Self:
        """Raises ValueError for a state that does not exist."""
        return cls(
            transactional_id=transactional_id,
            producer_id=value.producer_id,
            producer_epoch=value.producer_epoch,
            timeout_ms=value.transaction_timeout_ms,
            state=TransactionState(value.transaction_status),
            update_ms=value.transaction_last_update_timestamp_ms,
            start_ms=value.transaction_start_timestamp_ms,
            partitions=frozenset(
                (topic.topic, index) for topic in value.transaction_partitions or () for index in topic.partition_ids
            ),
            previous_producer_id=value.previous_producer_id,
            next_producer_id=value.next_producer_id,
            client_version=value.client_transaction_version,
        )
