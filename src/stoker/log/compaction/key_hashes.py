"""128-bit hashes of whole columns of keys, in place of the keys themselves.

Two keys with the same hash would be taken for one, so that a record would be lost. With 128 bits that does not happen by
chance, and because the multipliers are drawn anew for every job nobody can prepare keys for which it does.
"""

import hashlib
from random import Random, SystemRandom
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stoker.wire.batch_columns import Bytes, Integers

Hashes = NDArray[np.uint64]

_WORD: Final = 8
_LONGEST_IN_COLUMNS: Final = 256
"""Longer keys are rare, and would make all others wait for their words."""
_MASKS: Final = np.array([2 ** (8 * length) - 1 for length in range(_WORD)] + [2**64 - 1], dtype=np.uint64)
_FINISH: Final = np.uint64(0xFF51AFD7ED558CCD)


class KeyHashes(NamedTuple):
    """Both halves of the hash of each key."""

    high: Hashes
    low: Hashes


class KeyHasher:
    """Hashes keys, the same way for as long as it lives."""

    def __init__(self, random: Random | None = None) -> None:
        random = random or SystemRandom()
        self._multipliers = [[np.uint64(random.getrandbits(64) | 1) for _ in range(3)] for _ in range(2)]
        self._seeds = [np.uint64(random.getrandbits(64)) for _ in range(2)]
        self._secret = random.randbytes(16)

    def __call__(self, data: Bytes, starts: Integers, lengths: Integers) -> KeyHashes:
        """The hashes of the keys of these lengths at these positions; behind the last there must be 8 bytes of padding."""
        words = np.ndarray((max(len(data) - _WORD + 1, 0),), dtype="<u8", buffer=data.data, strides=(1,))
        halves = [np.full(len(starts), seed, dtype=np.uint64) for seed in self._seeds]
        for half in halves:
            half ^= lengths.astype(np.uint64)
        left = lengths.copy()
        is_long = lengths > _LONGEST_IN_COLUMNS
        left[is_long] = 0
        at = starts.copy()
        rows = np.flatnonzero(left > 0)
        while len(rows):
            word = words[at[rows]] & _MASKS[np.minimum(left[rows], _WORD)]
            for half, (first, second, third), turn in zip(halves, self._multipliers, (31, 33), strict=True):
                mixed = word * first
                mixed = (mixed << np.uint64(turn)) | (mixed >> np.uint64(64 - turn))
                mixed *= second
                state = half[rows] ^ mixed
                half[rows] = ((state << np.uint64(27)) | (state >> np.uint64(37))) * third + first
            at[rows] += _WORD
            left[rows] -= _WORD
            rows = rows[left[rows] > 0]
        for half, (_, second, _) in zip(halves, self._multipliers, strict=True):
            half ^= half >> np.uint64(33)
            half *= _FINISH
            half ^= half >> np.uint64(29)
            half *= second
            half ^= half >> np.uint64(32)
        for row in np.flatnonzero(is_long).tolist():
            key = data[starts[row] : starts[row] + lengths[row]].tobytes()
            digest = hashlib.blake2b(key, digest_size=16, key=self._secret).digest()
            halves[0][row] = int.from_bytes(digest[:8])
            halves[1][row] = int.from_bytes(digest[8:])
        return KeyHashes(*halves)
