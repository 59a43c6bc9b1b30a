"""The newest offset of every key, in a bounded amount of memory: Kafka's offset map, filled and asked by columns.

A table of open addressing with double hashing. A step is made for all keys of a column at once, and only those that have
not found their place take the next.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stoker.log.compaction.key_hashes import Hashes, KeyHashes
from stoker.wire.batch_columns import Integers

BYTES_PER_KEY: Final = 24
"""16 of hash, 8 of offset, as in Kafka."""
_FEWEST_SLOTS: Final = 11


class OffsetMap:
    """Key hashes to offsets. `limit` keys fit; whoever adds sees to it that there are no more."""

    def __init__(self, memory_bytes: int, load_factor: float, keys_wanted: int) -> None:
        """Takes no more memory than so many bytes, and less if no more than `keys_wanted` keys will come."""
        load_factor = min(max(load_factor, 0.1), 0.95)
        slots = min(memory_bytes // BYTES_PER_KEY, int(keys_wanted / min(load_factor, 0.7)) + 1)
        slots = _prime_up_to(max(slots, _FEWEST_SLOTS))
        self.limit = int(slots * load_factor)
        self._slots = np.uint64(slots)
        self._high = np.zeros(slots, dtype=np.uint64)
        self._low = np.zeros(slots, dtype=np.uint64)
        self._offsets = np.full(slots, -1, dtype=np.int64)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, hashes: KeyHashes, offsets: Integers) -> None:
        """Set the offset of each key; they come in rising order. There must be room for all."""
        high, low = hashes
        slots, steps = self._first_slots(hashes)
        rows = np.arange(len(offsets))
        while len(rows):
            at = slots[rows]
            empty = rows[self._offsets[at] < 0]
            if len(empty):
                # Of several that want one slot the last gets it, in all three arrays alike.
                self._high[slots[empty]] = high[empty]
                self._low[slots[empty]] = low[empty]
                self._offsets[slots[empty]] = offsets[empty]
                self._size += int((self._offsets[slots[empty]] == offsets[empty]).sum())
            is_mine = self._is_mine(at, high[rows], low[rows])
            mine = rows[is_mine]
            self._offsets[slots[mine]] = offsets[mine]
            rows = rows[~is_mine]
            slots[rows] = (slots[rows] + steps[rows]) % self._slots

    def get(self, hashes: KeyHashes) -> Integers:
        """The offset of each key; -1 for one that is not there."""
        high, low = hashes
        found = np.full(len(high), -1, dtype=np.int64)
        slots, steps = self._first_slots(hashes)
        rows = np.arange(len(high))
        while len(rows):
            at = slots[rows]
            offsets = self._offsets[at]
            is_mine = self._is_mine(at, high[rows], low[rows])
            found[rows[is_mine]] = offsets[is_mine]
            rows = rows[(offsets >= 0) & ~is_mine]
            slots[rows] = (slots[rows] + steps[rows]) % self._slots
        return found

    def offsets(self) -> Integers:
        """All offsets that are there, in no order."""
        return self._offsets[self._offsets >= 0]

    def has_room_for(self, hashes: KeyHashes) -> bool:
        """Whether all of these keys can be put without more than `limit` being there then."""
        if self._size + len(hashes.high) <= self.limit:
            return True
        unknown = self.get(hashes) < 0
        keys = np.stack((hashes.high[unknown], hashes.low[unknown]), axis=1)
        return self._size + len(np.unique(keys, axis=0)) <= self.limit

    def _first_slots(self, hashes: KeyHashes) -> tuple[Hashes, Hashes]:
        """Where each key is looked for first, and how far on after that; the number of slots is prime, so all are reached."""
        return hashes.high % self._slots, hashes.low % (self._slots - np.uint64(1)) + np.uint64(1)

    def _is_mine(self, at: Hashes, high: Hashes, low: Hashes) -> NDArray[np.bool_]:
        is_mine: NDArray[np.bool_] = (self._high[at] == high) & (self._low[at] == low) & (self._offsets[at] >= 0)
        return is_mine


def _prime_up_to(number: int) -> int:
    while any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
        number -= 1
    return number
