"""What is known of every offset in the dirty part of a log once its keys have been read: a bit for all there is to decide.

Most batches of a dirty log are superseded as a whole, or not at all. With this that is known without looking into them a
second time.
"""

from typing import Final

import numpy as np

from stoker.log.compaction.offset_map import BYTES_PER_KEY, OffsetMap
from stoker.wire.batch_columns import Integers
from stoker.wire.record_columns import Flags

_BYTES_PER_OFFSET: Final = 2


class KnownOffsets:
    """Which offsets from `first` on are the newest of their key, and which are tombstones."""

    def __init__(self, first: int, end: int) -> None:
        self.first = first
        self._newest = np.zeros(end - first, dtype=bool)
        self._tombstones = np.zeros(end - first, dtype=bool)

    @staticmethod
    def fit(first: int, end: int, memory_bytes: int) -> bool:
        """Whether they take little memory beside the map of the same job."""
        return (end - first) * _BYTES_PER_OFFSET <= max(memory_bytes // 2, BYTES_PER_KEY)

    def note_tombstones(self, offsets: Integers) -> None:
        self._tombstones[offsets - self.first] = True

    def note_newest(self, newest: OffsetMap) -> None:
        """All keys are known now."""
        self._newest[newest.offsets() - self.first] = True

    def are_newest(self, offsets: Integers) -> Flags:
        return self._newest[offsets - self.first]

    def count(self, base_offsets: Integers, last_offsets: Integers) -> tuple[Integers, Integers]:
        """How many of the records in each batch are the newest of their key, and how many of those are tombstones."""
        begin, end = int(base_offsets[0]) - self.first, int(last_offsets[-1]) - self.first + 1
        newest = self._newest[begin:end]
        counts = []
        for flags in (newest, newest & self._tombstones[begin:end]):
            before = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(flags)))
            counts.append(before[last_offsets + 1 - self.first - begin] - before[base_offsets - self.first - begin])
        return counts[0], counts[1]
