"""What `stoker transactions abort` does: only to what is open, and only so that no transaction ends in two ways."""

from collections.abc import Sequence
from typing import Any, Final

from stoker.cli.failure import CommandFailed
from stoker.cli.output import confirm, say
from stoker.cli.transaction_tables import producer_as_json
from stoker.client.admin.hanging_transactions import OpenTransaction, coordinated_transactions
from stoker.client.admin.producers import abort_in_partition, describe_producers, open_transactions
from stoker.client.admin.transactions import (
    COMPLETE_COMMIT,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    PREPARE_EPOCH_FENCE,
    TransactionDescription,
    fence_producer,
)
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.client.topic_partition import TopicPartition

_WHY_NOT: Final = {
    PREPARE_COMMIT: "is being committed",
    PREPARE_ABORT: "is being aborted already",
    PREPARE_EPOCH_FENCE: "is being aborted already",
}
"""Else it has no open transaction."""


def abort_of_ids(cluster: Cluster, transactions: Sequence[TransactionDescription], *, yes: bool) -> list[Any]:
    """Abort what is ongoing, by fencing each producer. Raises CommandFailed, before anything is done if one is not."""
    for each in transactions:
        if each.state != ONGOING:
            why = _WHY_NOT.get(each.state, "has no open transaction")
            raise CommandFailed(f"transactional id {each.transactional_id!r} {why}: it is {each.state}")
    named = " and ".join(f"{each.transactional_id!r} ({_partitions(each)})" for each in transactions)
    confirm(f"Abort what is open of {named}, and fence the producer?", yes=yes)
    aborted = []
    for each in transactions:
        # Of no matter to anybody, but refused if it is longer than transaction.max.timeout.ms.
        timeout_ms = min(each.timeout_ms, cluster.properties.request_timeout_ms)
        try:
            fence_producer(cluster, each.transactional_id, timeout_ms=timeout_ms)
        except KafkaRefused as refused:
            raise CommandFailed(
                f"the transaction of {each.transactional_id!r} was not aborted, or not everywhere: {refused}"
            ) from refused
        say(
            f"Aborted the transaction of {each.transactional_id!r} in {_partitions(each)}. Its producer, id "
            f"{each.producer_id} epoch {each.producer_epoch}, is fenced."
        )
        aborted.append(
            {
                "transactional_id": each.transactional_id,
                "partitions": [partition._asdict() for partition in each.partitions],
                "producer_id": each.producer_id,
                "producer_epoch": each.producer_epoch,
            }
        )
    return aborted


def abort_hanging(cluster: Cluster, partition: TopicPartition, start_offset: int, *, yes: bool) -> list[Any]:
    """Write an abort marker for the transaction that starts at the offset, if its coordinator will not end it.

    Raises CommandFailed.
    """
    transaction = _open_transaction(cluster, partition, start_offset)
    producer, coordinated = transaction.producer, transaction.coordinated
    of_producer = f"producer id {producer.producer_id} epoch {producer.producer_epoch}"
    if coordinated is not None:
        check_hangs(transaction, coordinated)
        if coordinated.state == COMPLETE_COMMIT:
            say(
                f"The last transaction of this producer, {coordinated.transactional_id!r}, was committed: if these "
                "records belong to it, to abort is to lose them."
            )
    confirm(f"Abort the transaction of {of_producer} in {partition} that starts at offset {start_offset}?", yes=yes)
    try:
        abort_in_partition(cluster, partition, producer)
    except KafkaRefused as refused:
        raise CommandFailed(f"the transaction of {of_producer} in {partition} was not aborted: {refused}") from refused
    say(f"Aborted the transaction of {of_producer} in {partition} that started at offset {start_offset}.")
    return [producer_as_json(partition, producer)]


def _open_transaction(cluster: Cluster, partition: TopicPartition, start_offset: int) -> OpenTransaction:
    known = describe_producers(cluster, [partition])
    refused = known[partition]
    if isinstance(refused, KafkaRefused):
        raise CommandFailed(f"the producers of {partition} are not known: {refused}")
    starts = {producer.transaction_start_offset: producer for _, producer in open_transactions(known)}
    producer = starts.get(start_offset)
    if producer is None:
        listed = ", ".join(map(str, sorted(start for start in starts if start is not None)))
        others = f"those that are open start at {listed}" if starts else "none is open there"
        raise CommandFailed(f"{partition} has no open transaction that starts at offset {start_offset}; {others}")
    coordinated = coordinated_transactions(cluster, {producer.producer_id})
    return OpenTransaction(partition, producer, coordinated.get(producer.producer_id))


def check_hangs(transaction: OpenTransaction, coordinated: TransactionDescription) -> None:
    """A marker by hand would end a part of a transaction in another way than its coordinator ends the rest."""
    if transaction.is_hanging or coordinated.state not in (ONGOING, PREPARE_COMMIT):
        return
    name = coordinated.transactional_id
    choice = (
        f"`stoker transactions abort {name}` aborts it in all its partitions"
        if coordinated.state == ONGOING
        else "it is being committed"
    )
    raise CommandFailed(
        f"the transaction in {transaction.partition} does not hang: its coordinator knows it as {name!r}, "
        f"{coordinated.state}; {choice}"
    )


def _partitions(transaction: TransactionDescription) -> str:
    return ", ".join(map(str, transaction.partitions)) or "no partition"
