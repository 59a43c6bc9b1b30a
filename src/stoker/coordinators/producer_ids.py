"""Producer ids, each given out once in the life of a cluster: taken from blocks that records reserve."""

from typing import Final

from stoker.coordinators.result import Result
from stoker.wire.metadata_records import ProducerIdsRecord

BLOCK_SIZE: Final = 1000


class ProducerIds:
    """Hands out ids; a record reserves the next thousand when a block is used up.

    `reserved` is where the last record of the metadata log ended. After a restart the rest of that block is never
    used: who had it may still be producing.
    """

    def __init__(self, node_id: int, reserved: int) -> None:
        self._node_id = node_id
        self._next = self._end = reserved

    def next_producer_id(self) -> Result[ProducerIdsRecord, int]:
        records = []
        if self._next == self._end:
            self._end += BLOCK_SIZE
            records.append(ProducerIdsRecord(broker_id=self._node_id, next_producer_id=self._end))
        producer_id = self._next
        self._next += 1
        return Result(records, producer_id)
