"""Whether records that say they are part of a transaction are: asked of the coordinator once a transaction and partition.

Without this a record that was long on its way could open a transaction that nobody ends, and readers would wait for
ever (KIP-890). While a partition has a transaction of the producer open nothing needs to be asked.
"""

from collections.abc import Coroutine, Iterator
from struct import Struct as Layout
from typing import Any, Final, NamedTuple

from stoker.broker.node import Node
from stoker.broker.partitions import Partition
from stoker.coordinators.transactions.transaction import V2, TopicPartition
from stoker.log.errors import AppendRefused
from stoker.wire.error_codes import ErrorCode
from stoker.wire.produce_hot_path import ProduceCall
from stoker.wire.record_batch import ATTRIBUTES_OFFSET, HEADER_SIZE, TRANSACTIONAL_FLAG, BatchHeader

_LOW_ATTRIBUTES: Final = ATTRIBUTES_OFFSET + 1
_PRODUCER: Final = Layout(">qhi")
_PRODUCER_OFFSET: Final = 43
_FIRST_THAT_ADDS: Final = 12
_FIRST_WITH_ABORTABLE: Final = 11
_NOT_OF_THE_CLIENT: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)


class Admitted(NamedTuple):
    """What became of the question. `errors` holds the partitions of which the coordinator does not know."""

    has_transactional_id: bool
    errors: dict[TopicPartition, ErrorCode]

    def check(self, partition: Partition) -> None:
        """Raises AppendRefused if the partition may not be written to in this transaction."""
        if not self.has_transactional_id:
            raise AppendRefused(
                ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                "records of a transaction came in a request that names no transactional id",
            )
        error = self.errors.get((partition.topic, partition.index))
        if error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            raise AppendRefused(error, f"the first records of this producer in {partition} must have sequence 0")
        if error is not None:
            raise AppendRefused(error, f"{partition} is not in an open transaction of this producer: {error.message}")


NOTHING_ADMITTED: Final = Admitted(False, {})


def is_transactional(records: memoryview) -> bool:
    return len(records) > _LOW_ATTRIBUTES and bool(records[_LOW_ATTRIBUTES] & TRANSACTIONAL_FLAG)


def admit(node: Node, call: ProduceCall, version: int) -> Admitted | Coroutine[Any, Any, Admitted]:
    """Verify that the partitions of a request with a transactional id are in its transaction, or put them there."""
    assert call.transactional_id is not None
    asked: dict[tuple[int, int], list[TopicPartition]] = {}
    errors: dict[TopicPartition, ErrorCode] = {}
    for producer, partition, is_out_of_order in _not_open(node, call):
        asked.setdefault(producer, []).append(partition)
        if is_out_of_order and version >= _FIRST_THAT_ADDS:
            errors[partition] = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    transactions = node.transactions
    for producer, partitions in asked.items():
        if version >= _FIRST_THAT_ADDS:
            added = transactions.add_partitions(call.transactional_id, *producer, frozenset(partitions), V2)
            if isinstance(added, Coroutine):
                return _admit_later(added, partitions, version)
            errors.update(_refused(partitions, added, version))
        elif transactions.verifies:
            for partition in partitions:
                error = transactions.verify_partition(call.transactional_id, *producer, partition)
                errors.update(_refused([partition], error, version))
    return Admitted(True, errors)


def check_still_admitted(
    node: Node, call: ProduceCall, partition: Partition, header: BatchHeader, version: int
) -> None:
    """For who took its time after `admit`: the transaction may have ended meanwhile. Raises AppendRefused."""
    if call.transactional_id is None or not header.is_transactional or partition.log is None:
        return
    producer = (header.producer_id, header.producer_epoch)
    if partition.log.has_open_transaction(*producer) or not node.transactions.verifies:
        return
    name = (partition.topic, partition.index)
    error = node.transactions.verify_partition(call.transactional_id, *producer, name)
    Admitted(True, _refused([name], error, version)).check(partition)


async def _admit_later(
    added: Coroutine[Any, Any, ErrorCode], partitions: list[TopicPartition], version: int
) -> Admitted:
    return Admitted(True, _refused(partitions, await added, version))


def _not_open(node: Node, call: ProduceCall) -> Iterator[tuple[tuple[int, int], TopicPartition, bool]]:
    """The partitions of transactional batches in which the producer has no transaction open yet.

    And whether the batch is known not to be the first: with transactions v2 each transaction begins with sequence 0, also
    where nothing is remembered of its producer. One that came before and was refused comes again (KIP-890).
    """
    for topic, produced in call.topics:
        for index, records in produced:
            if records is None or len(records) < HEADER_SIZE or not is_transactional(records):
                continue
            partition = node.partitions.find(topic, index)
            if partition is None or partition.log is None:
                continue
            producer_id, producer_epoch, base_sequence = _PRODUCER.unpack_from(records, _PRODUCER_OFFSET)
            if not partition.log.has_open_transaction(producer_id, producer_epoch):
                is_out_of_order = base_sequence != 0 and producer_id not in partition.log.active_producers()
                yield (producer_id, producer_epoch), (partition.topic, partition.index), is_out_of_order


def _refused(partitions: list[TopicPartition], error: ErrorCode, version: int) -> dict[TopicPartition, ErrorCode]:
    return {} if error is ErrorCode.NONE else dict.fromkeys(partitions, _as_told(error, version))


def _as_told(error: ErrorCode, version: int) -> ErrorCode:
    """As Kafka's ReplicaManager has it: producers of before know less, and some would not try again."""
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.TRANSACTION_ABORTABLE and version < _FIRST_WITH_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE
    if error in _NOT_OF_THE_CLIENT or (error is ErrorCode.CONCURRENT_TRANSACTIONS and version < _FIRST_THAT_ADDS):
        return ErrorCode.NOT_ENOUGH_REPLICAS
    return error
