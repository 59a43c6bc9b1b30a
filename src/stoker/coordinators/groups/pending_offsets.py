"""Offsets committed in transactions that are still open: they count when the commit marker comes, and never if it does not.

A marker ends a transaction in one partition of `__consumer_offsets`, so what waits is kept by partition and producer id.
"""

from collections.abc import Iterator, Set
from typing import NamedTuple

from stoker.coordinators.groups.committed_offset import StoredOffset


class InTransaction(NamedTuple):
    """Where in `__consumer_offsets`, and whose, an open transaction is."""

    log_partition: int
    producer_id: int


class PendingOffset(NamedTuple):
    group_id: str
    topic: str
    partition: int
    stored: StoredOffset


class _Pending(NamedTuple):
    order: int
    stored: StoredOffset | None
    """None when something written later counts already."""


_PartitionOf = tuple[str, str, int]


class PendingOffsets:
    """What was written last counts, as in Kafka: not what was committed last."""

    def __init__(self) -> None:
        self._order = 0
        self._by_transaction: dict[InTransaction, dict[_PartitionOf, _Pending]] = {}
        self._by_group: dict[str, dict[InTransaction, None]] = {}

    def add(self, transaction: InTransaction, group_id: str, topic: str, partition: int, stored: StoredOffset) -> None:
        self._order += 1
        pending = self._by_transaction.setdefault(transaction, {})
        pending[group_id, topic, partition] = _Pending(self._order, stored)
        self._by_group.setdefault(group_id, {})[transaction] = None

    def overwrite(self, group_id: str, topic: str, partition: int) -> None:
        """An offset was committed outside of transactions: what was written before it does not count."""
        if group_id in self._by_group:
            self._supersede(group_id, topic, partition, self._order + 1)

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        """An offset was taken away, and what was written before does not count: nobody need wait for it."""
        for transaction in list(self._by_group.get(group_id, ())):
            pending = self._by_transaction[transaction]
            if pending.pop((group_id, topic, partition), None) is None:
                continue
            if not any(group == group_id for group, _, _ in pending):
                self._forget(group_id, transaction)
            if not pending:
                del self._by_transaction[transaction]

    def _forget(self, group_id: str, transaction: InTransaction) -> None:
        transactions = self._by_group[group_id]
        del transactions[transaction]
        if not transactions:
            del self._by_group[group_id]

    def end(self, transaction: InTransaction) -> Iterator[PendingOffset]:
        """The offsets of a transaction that was committed, in the order they were written; they are not pending any more."""
        for (group_id, topic, partition), (order, stored) in self.drop(transaction).items():
            if stored is not None:
                self._supersede(group_id, topic, partition, order)
                yield PendingOffset(group_id, topic, partition, stored)

    def drop(self, transaction: InTransaction) -> dict[_PartitionOf, _Pending]:
        """Forget a transaction."""
        ended = self._by_transaction.pop(transaction, {})
        for group_id in {group_id for group_id, _, _ in ended}:
            self._forget(group_id, transaction)
        return ended

    def forget_group(self, group_id: str) -> None:
        for transaction in self._by_group.pop(group_id, {}):
            pending = self._by_transaction[transaction]
            for key in [key for key in pending if key[0] == group_id]:
                del pending[key]
            if not pending:
                del self._by_transaction[transaction]

    def groups(self) -> Set[str]:
        return self._by_group.keys()

    def has(self, group_id: str, topic: str, partition: int) -> bool:
        key = (group_id, topic, partition)
        return any(key in self._by_transaction[transaction] for transaction in self._by_group.get(group_id, ()))

    def has_any(self, group_id: str) -> bool:
        return group_id in self._by_group

    def partitions_of(self, group_id: str) -> frozenset[tuple[str, int]]:
        """Those whose offset may change with a transaction that is still open."""
        return frozenset(
            (topic, partition)
            for transaction in self._by_group.get(group_id, ())
            for group, topic, partition in self._by_transaction[transaction]
            if group == group_id
        )

    def _supersede(self, group_id: str, topic: str, partition: int, before_order: int) -> None:
        key = (group_id, topic, partition)
        for transaction in self._by_group.get(group_id, ()):
            pending = self._by_transaction[transaction]
            waiting = pending.get(key)
            if waiting is not None and waiting.order < before_order:
                pending[key] = waiting._replace(stored=None)
