"""Transactions as compaction meets them: whose records are aborted, and when a marker has had its day.

A marker may go when nothing of its transaction is left, and then only after delete.retention.ms, because a reader that
saw the records before they went must still see how it ended.
"""

import heapq
from collections.abc import Iterable

from stoker.errors import CorruptRecords
from stoker.log.transaction_index import AbortedTransaction
from stoker.wire.record_batch import ControlType, control_type_of, iterate_records

_MAX_MARKER_BYTES = 65536


class CleanedTransactions:
    """Follows the transactions of a log, batch by batch, from its beginning or from any offset."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._coming = [(each.first_offset, each) for each in set(aborted)]
        heapq.heapify(self._coming)
        self._aborted: dict[int, AbortedTransaction] = {}
        self._observed: set[int] = set()
        """Producers of whose transaction, however it ends, a batch is still there."""

    def is_aborted(self, producer_id: int, last_offset: int) -> bool:
        """Account for a batch of records of a transaction; whether it belongs to an aborted one."""
        self._begin_up_to(last_offset)
        self._observed.add(producer_id)
        return producer_id in self._aborted

    def end(self, batch: memoryview, producer_id: int, last_offset: int) -> tuple[bool, AbortedTransaction | None]:
        """Account for a control batch: whether nothing of its transaction is left, and the entry its index needs."""
        self._begin_up_to(last_offset)
        try:
            marker = next(iterate_records(batch, _MAX_MARKER_BYTES), None)
        except CorruptRecords as problem:
            raise CorruptRecords(
                f"the control batch that ends at offset {last_offset} cannot be read: {problem}"
            ) from None
        if marker is None:
            return True, None  # emptied by an earlier cleaning
        control_type = control_type_of(marker)
        if control_type is None:
            return False, None
        has_batches = producer_id in self._observed
        self._observed.discard(producer_id)
        aborted = self._aborted.pop(producer_id, None) if control_type is ControlType.ABORT else None
        return not has_batches, aborted if has_batches else None

    def _begin_up_to(self, offset: int) -> None:
        while self._coming and self._coming[0][0] <= offset:
            _, transaction = heapq.heappop(self._coming)
            self._aborted.setdefault(transaction.producer_id, transaction)
