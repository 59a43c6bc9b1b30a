"""The control batches that end a transaction in a partition, and what follows from them there."""

from collections.abc import Callable
from logging import getLogger
from typing import TYPE_CHECKING

from stoker.broker.metadata import OFFSETS_TOPIC
from stoker.broker.partitions import Partition
from stoker.errors import CorruptRecords
from stoker.log.errors import AppendRefused, LogError
from stoker.log.producer_state import TransactionMarker
from stoker.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from stoker.broker.group_service import GroupService

logger = getLogger("stoker.broker")


class TransactionMarkers:
    """Writes them. Belongs to the event loop's thread."""

    def __init__(self, groups: "Callable[[], GroupService | None]") -> None:
        """`groups` gives the groups if they are loaded: those that are not find the marker in their log."""
        self._groups = groups

    def write(self, partition: Partition, marker: TransactionMarker) -> ErrorCode:
        """Append it, wake who waits for the records before it, and let groups know. NONE, or why it could not be done."""
        log = partition.log
        if log is None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        try:
            size = log.end_transaction(marker, leader_epoch=partition.leader_epoch)
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
        partition.grew(size)
        return ErrorCode.NONE
