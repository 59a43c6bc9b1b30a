"""Where many records stand, while all of them are read together.

A record that turns out to be bad is told so once, with the reason, and stands at its end from then on: what is read of it
there is a nothing or garbage, all within the bytes there are, and its row will be null. So nothing has to be left out or
read again because of it.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stoker.spark.columns import ByteColumn
from stoker.wire.batch_columns import Bytes, Integers
from stoker.wire.varint_columns import read_varints, words_of, zigzag

Flags = NDArray[np.bool_]
Codes = NDArray[np.int32]

FEW_ITEMS: Final = 16
"""So many items that take no bytes a record may have, or as many as it has bytes."""


class Records:
    """The bytes of some records, and which of them are bad."""

    def __init__(self, values: ByteColumn) -> None:
        self.data: Bytes = values.data
        self.words = words_of(values.data)
        self._codes: Codes = np.zeros(len(values), dtype=np.int32)
        self._reasons: list[str] = [""]
        self._spare = np.maximum(values.lengths, FEW_ITEMS)

    def blame(self, rows: Integers, reason: str) -> None:
        """These rows are bad, for this reason if not for an earlier one."""
        rows = rows[self._codes[rows] == 0]
        if len(rows):
            if reason not in self._reasons:
                self._reasons.append(reason)
            self._codes[rows] = self._reasons.index(reason)

    def bad(self) -> tuple[Integers, list[str]]:
        rows = np.flatnonzero(self._codes)
        return rows, [self._reasons[code] for code in self._codes[rows].tolist()]

    def have_few(self, rows: Integers, counts: Integers) -> Flags:
        """Whether each of the rows may have so many more items that take no bytes; `rows` may name one several times."""
        most = np.minimum(counts, self._spare[rows] + 1)
        self._spare -= np.bincount(rows, weights=most, minlength=len(self._spare)).astype(np.int64)
        np.maximum(self._spare, -1, out=self._spare)
        return self._spare[rows] >= 0


class Cursor:
    """Places in records, one or several of each; all move on together."""

    __slots__ = ("at", "depth", "ends", "records", "rows")

    def __init__(self, records: Records, rows: Integers, at: Integers, ends: Integers, depth: int = 0) -> None:
        self.records = records
        self.rows = rows
        """The record that each is in."""
        self.at = at
        self.ends = ends
        """Of the records."""
        self.depth = depth

    def __len__(self) -> int:
        return len(self.at)

    def part(self, index: Integers) -> "Cursor":
        """Some of the places; `follow` moves these to where the part has got to."""
        return Cursor(self.records, self.rows[index], self.at[index], self.ends[index], self.depth)

    def follow(self, index: Integers, part: "Cursor") -> None:
        self.at[index] = part.at

    def fail(self, index: Integers, reason: str) -> None:
        """What is at these places cannot be; they go to the end of their records."""
        self.records.blame(self.rows[index], reason)
        self.at[index] = self.ends[index]

    def numbers(self, path: str) -> Integers:
        """The zigzag varint at each place; 0 where there is none."""
        found = read_varints(self.records.data, self.records.words, self.at)
        numbers = zigzag(found.values)
        self.at = found.ends
        if len(found.endless):
            self.fail(found.endless, f"{path}: a number of more than 10 bytes")
            numbers[found.endless] = 0
        beyond = self.at > self.ends
        if beyond.any():
            self._fail_beyond(beyond, numbers, path)
        return numbers

    def lengths(self, path: str) -> tuple[Integers, Integers]:
        """Of the bytes that follow: where they begin, and how many they are. The places move behind them."""
        first = self.records.data.take(self.at)
        if (
            not len(first) or int(first.max()) < 0x80
        ):  # all of them are one byte, and the numbers it stands for are small
            starts, lengths = self.at + 1, (first >> 1).astype(np.int64)
            self.at = starts + lengths
            wrong = self.at > self.ends
            if (first & 1).any():
                wrong |= (first & 1) == 1
        else:
            found = read_varints(self.records.data, self.records.words, self.at)
            starts, lengths = found.ends, zigzag(found.values)
            self.at = starts + lengths
            wrong = lengths > self.ends - starts
            wrong |= lengths < 0
            if len(found.endless):
                wrong[found.endless] = True
        if wrong.any():
            index = np.flatnonzero(wrong)
            self.fail(index, f"{path}: longer than what is left of the record")
            starts[index], lengths[index] = self.ends[index], 0
        return starts, lengths

    def step(self, size: int, path: str) -> Integers:
        """Goes on by so many bytes, and tells where they begin. The 16 bytes from there on can be read in any case."""
        starts = self.at
        beyond = self.ends - starts < size
        if beyond.any():
            index = np.flatnonzero(beyond)
            starts = starts.copy()
            starts[index] = self.ends[index]
            self.at = starts + size
            self.fail(index, f"{path}: the record ends before it")
        else:
            self.at = starts + size
        return starts

    def _fail_beyond(self, beyond: Flags, numbers: Integers, path: str) -> None:
        index = np.flatnonzero(beyond)
        self.fail(index, f"{path}: the record ends before it")
        numbers[index] = 0
