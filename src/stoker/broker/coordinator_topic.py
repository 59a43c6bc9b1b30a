"""The log of a coordinator: an internal topic whose partitions each hold the state of some groups or transactional ids."""

from collections.abc import Callable
from functools import lru_cache
from logging import getLogger
from typing import Final

from stoker.broker.partitions import Partition, Partitions
from stoker.errors import StokerError
from stoker.log.errors import AppendRefused, LogError
from stoker.log.producer_state import AppendOrigin
from stoker.wire.error_codes import ErrorCode
from stoker.wire.record_batch import read_header

logger = getLogger("stoker.broker")

_LONGEST_REMEMBERED_NAME: Final = 255


class CoordinatorTopic:
    """Which partition a name belongs to, whether it can be used, and appending to it."""

    def __init__(self, name: str, partitions: Partitions) -> None:
        self.name = name
        self._all_partitions = partitions
        self._damaged: frozenset[int] = frozenset()
        self._sound: list[Partition] | None = None
        """The partitions, if all of them can be used."""

    @property
    def partitions(self) -> list[Partition] | None:
        return self._all_partitions.of_topic(self.name)

    def load(self, load: Callable[[Partition], None]) -> bool:
        """Have each partition loaded; false if some cannot be, and what belongs to these is not available then."""
        damaged = set()
        for partition in self.partitions or ():
            try:
                load(partition)
            except (OSError, StokerError) as error:
                logger.error("what is in %s cannot be served: %s", partition, error)
                damaged.add(partition.index)
        self._damaged = frozenset(damaged)
        return not damaged

    def reset(self) -> None:
        """The topic was deleted."""
        self._damaged = frozenset()

    def unavailable(self, name: str) -> ErrorCode:
        """Why this broker cannot speak for a name now; NONE if it can."""
        partitions = self.partitions
        if not partitions:
            return ErrorCode.NOT_COORDINATOR
        if partitions is self._sound:
            return ErrorCode.NONE  # whichever is the name's: it may take long to hash
        if not self._damaged and all(partition.log is not None for partition in partitions):
            self._sound = partitions
            return ErrorCode.NONE
        partition = partitions[java_hash(name) % len(partitions)]
        if partition.log is None or partition.index in self._damaged:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return ErrorCode.NONE

    def partition_of(self, name: str) -> Partition:
        """Of a name that is available."""
        partitions = self.partitions
        assert partitions
        return partitions[java_hash(name) % len(partitions)]

    def append(self, partition: Partition, batch: bytearray, origin: AppendOrigin = AppendOrigin.CLIENT) -> ErrorCode:
        """Write one batch of the broker's own; NONE, or what the client is to hear."""
        log = partition.log
        assert log is not None
        if len(batch) > log.config.max_message_bytes:
            logger.error(
                "could not write %d bytes to %s: max.message.bytes is %d",
                len(batch),
                partition,
                log.config.max_message_bytes,
            )
            return ErrorCode.UNKNOWN_SERVER_ERROR
        try:
            log.append(
                memoryview(batch), leader_epoch=partition.leader_epoch, origin=origin, valid_header=read_header(batch)
            )
        except (OSError, LogError) as error:
            logger.error("could not write to %s: %s", partition, error)
            if isinstance(error, AppendRefused):
                if error.error_code is ErrorCode.INVALID_PRODUCER_EPOCH:
                    return error.error_code
                if error.error_code is not ErrorCode.KAFKA_STORAGE_ERROR:
                    return ErrorCode.UNKNOWN_SERVER_ERROR
            return ErrorCode.NOT_COORDINATOR
        return ErrorCode.NONE


def java_hash(text: str) -> int:
    """Java's String.hashCode, without its sign: it decides which partition a name belongs to."""
    return _remembered_hash(text) if len(text) <= _LONGEST_REMEMBERED_NAME else _java_hash(text)


def _java_hash(text: str) -> int:
    value = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(encoded), 2):
        value = (31 * value + (encoded[position] << 8 | encoded[position + 1])) & 0xFFFFFFFF
    signed = value - (1 << 32) if value >> 31 else value
    return 0 if signed == -(1 << 31) else abs(signed)


_remembered_hash = lru_cache(maxsize=10_000)(_java_hash)
