"""The control batches that end a transaction in a partition, and what follows from them there."""

from collections.abc import Callable
from logging import getLogger
from typing import TYPE_CHECKING, NamedTuple

from stoker.broker.metadata import OFFSETS_TOPIC
from stoker.broker.partitions import Partition
from stoker.errors import CorruptRecords
from stoker.log.errors import AppendRefused, LogError
from stoker.log.partition import Clock
from stoker.log.producer_state import AppendOrigin
from stoker.wire.error_codes import ErrorCode
from stoker.wire.record_batch import ControlType, build_end_transaction_batch

if TYPE_CHECKING:
    from stoker.broker.group_service import GroupService

logger = getLogger("stoker.broker")


class Marker(NamedTuple):
    """How the transaction of a producer ends."""

    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int


class TransactionMarkers:
    """Writes them. Belongs to the event loop's thread."""

    def __init__(self, *, clock: Clock, groups: "Callable[[], GroupService | None]") -> None:
        """`groups` gives the groups if they are loaded: those that are not find the marker in their log."""
        self._clock = clock
        self._groups = groups

    def write(self, partition: Partition, marker: Marker) -> ErrorCode:
        """Append it, wake who waits for the records before it, and let groups know. NONE, or why it could not be done."""
        log = partition.log
        if log is None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        batch = build_end_transaction_batch(
            ControlType.COMMIT if marker.committed else ControlType.ABORT,
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            timestamp=self._clock(),
            coordinator_epoch=marker.coordinator_epoch,
        )
        try:
            log.append(memoryview(batch), leader_epoch=partition.leader_epoch, origin=AppendOrigin.COORDINATOR)
        except AppendRefused as refusal:
            logger.warning("%s takes no marker of producer %d: %s", partition, marker.producer_id, refusal)
            return refusal.error_code
        except (OSError, LogError, CorruptRecords) as error:
            logger.error("could not write a marker to %s: %s", partition, error)
            return ErrorCode.KAFKA_STORAGE_ERROR
        if partition.topic == OFFSETS_TOPIC:
            groups = self._groups()
            if groups is not None:
                groups.transaction_ended(partition, marker.producer_id, committed=marker.committed)
        partition.grew(len(batch))
        return ErrorCode.NONE
