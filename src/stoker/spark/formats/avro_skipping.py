"""What of a record is not wanted, and where the items of arrays and maps begin.

An item begins where the one before it ends, so items are found by skipping: an item of each array at every step. When few
arrays are left that still have items, these are gone through one by one, which takes Python less time than numpy then.
"""

from abc import ABC, abstractmethod
from array import array
from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from stoker.registry.formats.avro.model import Array, Enum, Fixed, Map, Record, Type, Union
from stoker.spark.formats.avro_cursor import Cursor
from stoker.wire.batch_columns import Integers
from stoker.wire.varint_columns import LONGEST_VARINT

FIXED_SIZES: Final = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_FEW_ARRAYS: Final = 24
_FEW_NUMBERS: Final = 16
"""Python goes over so few of a block as fast as numpy does."""
_DEEPEST: Final = 50
_OTHER_SIZE: Final = "a block of another size than it says"


class Broken(Exception):
    """Bytes that cannot be what they should be."""


class Skip(ABC):
    """Goes over what one type of a writer's has written."""

    size: int | None = None
    """How many bytes that is, if always the same; else it is one at least."""

    @abstractmethod
    def all(self, cursor: Cursor) -> None: ...

    @abstractmethod
    def one(self, record: bytes, at: int, depth: int) -> int:
        """Where it ends that begins at `at`. Raises Broken, and IndexError where the record ends before it."""


class SkipSize(Skip):
    def __init__(self, size: int, path: str) -> None:
        self.size: int = size
        self._path = path

    def all(self, cursor: Cursor) -> None:
        if self.size:
            cursor.step(self.size, self._path)

    def one(self, record: bytes, at: int, depth: int) -> int:
        return at + self.size


class SkipNumber(Skip):
    def __init__(self, path: str) -> None:
        self._path = path

    def all(self, cursor: Cursor) -> None:
        cursor.numbers(self._path)

    def one(self, record: bytes, at: int, depth: int) -> int:
        while record[at] >= 0x80:
            at += 1
        return at + 1


class SkipBytes(Skip):
    def __init__(self, path: str) -> None:
        self._path = path

    def all(self, cursor: Cursor) -> None:
        cursor.lengths(self._path)

    def one(self, record: bytes, at: int, depth: int) -> int:
        length = record[at]
        if length < 0x80:
            at += 1
            length = (length >> 1) ^ -(length & 1)
        else:
            length, at = number_at(record, at)
        if length < 0:
            raise Broken(f"{self._path}: longer than what is left of the record")
        return at + length


class SkipSeveral(Skip):
    """One after the other."""

    def __init__(self, parts: list[Skip], path: str) -> None:
        self._parts: list[Skip] = []
        for part in parts:
            last = self._parts[-1] if self._parts else None
            if last is not None and last.size is not None and part.size is not None:
                self._parts[-1] = SkipSize(last.size + part.size, path)
            elif part.size != 0:
                self._parts.append(part)
        if not self._parts:
            self.size = 0
        elif len(self._parts) == 1:
            self.size = self._parts[0].size

    def all(self, cursor: Cursor) -> None:
        for part in self._parts:
            part.all(cursor)

    def one(self, record: bytes, at: int, depth: int) -> int:
        for part in self._parts:
            at = part.one(record, at, depth)
        return at


class SkipUnion(Skip):
    def __init__(self, branches: list[Skip], path: str) -> None:
        self._branches = branches
        self._path = path

    def all(self, cursor: Cursor) -> None:
        choices = choices_of(cursor, len(self._branches), self._path)
        for choice, branch in enumerate(self._branches):
            if branch.size != 0:
                index = np.flatnonzero(choices == choice)
                if len(index):
                    part = cursor.part(index)
                    branch.all(part)
                    cursor.follow(index, part)

    def one(self, record: bytes, at: int, depth: int) -> int:
        choice, at = number_at(record, at)
        if not 0 <= choice < len(self._branches):
            raise Broken(f"{self._path}: a branch that its union does not have")
        return self._branches[choice].one(record, at, depth)


class SkipItems(Skip):
    """The blocks of an array or map. A block that says how many bytes it has is believed only if it has them, so that what
    is skipped and what is read end at the same place."""

    def __init__(self, item: Skip, path: str) -> None:
        self._item = item
        self._path = path

    def all(self, cursor: Cursor) -> None:
        find_items(cursor, self._item, self._path, only_skip=True)

    def one(self, record: bytes, at: int, depth: int) -> int:
        while True:
            count, block_end, at = block_head(record, at, self._path)
            if count == 0:
                return at
            at = many(self._item, count, record, at, depth)
            if block_end is not None and at != block_end:
                raise Broken(f"{self._path}: {_OTHER_SIZE}")


class SkipAgain(Skip):
    """A record inside of itself. How deep it goes is told by the data."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.target: Skip = self
        """What skips the record, once that is known."""

    def all(self, cursor: Cursor) -> None:
        if cursor.depth >= _DEEPEST:
            cursor.fail(np.arange(len(cursor)), f"{self._path}: nested too deep")
        else:
            cursor.depth += 1
            self.target.all(cursor)
            cursor.depth -= 1

    def one(self, record: bytes, at: int, depth: int) -> int:
        if depth >= _DEEPEST:
            raise Broken(f"{self._path}: nested too deep")
        return self.target.one(record, at, depth + 1)


NOT_INSIDE: Final[Mapping[Record, SkipAgain]] = {}


def skip_of(type_: Type, path: str, around: Mapping[Record, SkipAgain] = NOT_INSIDE) -> Skip:
    """What goes over a type, inside of those records."""
    if isinstance(type_, Record):
        if type_ in around:
            return around[type_]
        again = SkipAgain(path)
        inside = {**around, type_: again}
        fields = type_.fields.values()
        again.target = SkipSeveral([skip_of(field.type, f"{path}.{field.name}", inside) for field in fields], path)
        return again.target
    if isinstance(type_, Union):
        return SkipUnion([skip_of(branch, path, around) for branch in type_.branches], path)
    if isinstance(type_, Array):
        return SkipItems(skip_of(type_.items, f"{path}[]", around), path)
    if isinstance(type_, Map):
        return SkipItems(entry_skip(type_, path, around), path)
    if isinstance(type_, Fixed):
        return SkipSize(type_.size, path)
    if isinstance(type_, Enum) or type_.kind in ("int", "long"):
        return SkipNumber(path)
    return SkipSize(FIXED_SIZES[type_.kind], path) if type_.kind in FIXED_SIZES else SkipBytes(path)


def entry_skip(type_: Map, path: str, around: Mapping[Record, SkipAgain] = NOT_INSIDE) -> Skip:
    return SkipSeveral([SkipBytes(f"a key of {path}"), skip_of(type_.values, f"{path}{{}}", around)], path)


def choices_of(cursor: Cursor, count: int, path: str) -> Integers:
    """The branch of a union that is at each place; -1 where there is none."""
    choices = cursor.numbers(path)
    wrong = choices >= count
    wrong |= choices < 0
    if wrong.any():
        index = np.flatnonzero(wrong)
        cursor.fail(index, f"{path}: a branch that its union does not have")
        choices[index] = -1
    return choices


def number_at(record: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = record[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
        if shift > 63:
            raise Broken("a number of more than 10 bytes")


def block_head(record: bytes, at: int, path: str) -> tuple[int, int | None, int]:
    """How many items a block has, where it says that it ends, if it does, and where they begin."""
    count, at = number_at(record, at)
    if count >= 0:
        return count, None, at
    size, at = number_at(record, at)
    if size < 0:
        raise Broken(f"{path}: a block that is longer than what is left of the record")
    return -count, at + size, at


def many(item: Skip, count: int, record: bytes, at: int, depth: int) -> int:
    """Where so many items end."""
    if item.size is not None:
        return at + count * item.size
    if count > len(record) - at:
        raise IndexError
    for _ in range(count):
        at = item.one(record, at, depth)
    return at


class Items(NamedTuple):
    counts: Integers
    """How many items there are at each place of the cursor."""
    starts: Integers
    """Where each of them begins, those of the first place first."""


class _Found(NamedTuple):
    """One item of each of some arrays, the how many-th it is, and where it begins."""

    owners: Integers
    ordinals: Integers
    starts: Integers


class _Run(NamedTuple):
    """Items of one array that follow each other."""

    owner: int
    ordinal: int
    starts: Integers


def find_items(cursor: Cursor, item: Skip, path: str, *, only_skip: bool = False) -> Items:
    """The items of the array that is at each place. Those of bad records are some within it, or none."""
    taken = np.zeros(len(cursor), dtype=np.int64)
    found: list[_Found | _Run] = []
    active = np.arange(len(cursor))
    part = cursor.part(active)
    left = np.zeros(len(cursor), dtype=np.int64)
    until = np.full(len(cursor), -1, dtype=np.int64)
    while len(active):
        ended = np.flatnonzero(left == 0)
        if len(ended):
            head = part.part(ended)
            left[ended], until[ended] = _block_heads(head, item, path, only_skip=only_skip)
            part.follow(ended, head)
            goes_on = left != 0
            if not goes_on.all():
                finished = np.flatnonzero(~goes_on)
                cursor.at[active[finished]] = part.at[finished]
                rest = np.flatnonzero(goes_on)
                active, left, until, part = active[rest], left[rest], until[rest], part.part(rest)
        if not len(active):
            break
        if item.size is not None:
            if not only_skip:
                if len(active) == 1:  # it may be large
                    starts = int(part.at[0]) + np.arange(int(left[0])) * item.size
                    found.append(_Run(int(active[0]), int(taken[active[0]]), starts))
                else:
                    found.append(_blocks_at_once(active, taken[active], part.at, left, item.size))
                taken[active] += left
            part.at = part.at + left * item.size
            left[:] = 0
        elif len(active) <= _FEW_ARRAYS:
            for slot, place in enumerate(active.tolist()):
                starts = _walk(part, slot, int(left[slot]), int(until[slot]), item, path)
                found.append(_Run(place, int(taken[place]), starts))
                taken[place] += len(starts)
                cursor.at[place] = part.at[slot]
            break
        else:
            if not only_skip:
                found.append(_Found(active, taken[active], part.at.copy()))
                taken[active] += 1
            item.all(part)
            left -= 1
            stuck = np.flatnonzero((part.at >= part.ends) & (left > 0))
            if len(stuck):
                part.fail(stuck, f"{path}: the record ends before its last item")
                left[stuck] = 0
        if (until >= 0).any():
            part.fail(np.flatnonzero((left == 0) & (until >= 0) & (part.at != until)), f"{path}: {_OTHER_SIZE}")
    return _in_order(taken, found)


def _block_heads(head: Cursor, item: Skip, path: str, *, only_skip: bool) -> tuple[Integers, Integers]:
    """How many items there are in the block that begins at each place, 0 at the end of an array; and where the block says
    that it ends, or -1."""
    counts = head.numbers(path)
    until = np.full(len(counts), -1, dtype=np.int64)
    negative = np.flatnonzero(counts < 0)
    if len(negative):
        sized = head.part(negative)
        sizes = sized.numbers(path)
        wrong = (sizes < 0) | (sizes > sized.ends - sized.at)
        until[negative] = np.where(wrong, -1, sized.at + sizes)
        counts[negative] = np.where(wrong, 0, -counts[negative])  # -2**63 has no positive: it is refused below
        sized.fail(np.flatnonzero(wrong), f"{path}: a block that is longer than what is left of the record")
        head.follow(negative, sized)
    least = 1 if item.size is None else item.size
    if least:
        wrong = (counts < 0) | (counts > (head.ends - head.at) // least)
        reason = f"{path}: more items than what is left of the record can hold"
    elif only_skip:
        return counts, until
    else:
        wrong = counts < 0
        some = np.flatnonzero(counts > 0)
        wrong[some] = ~head.records.have_few(head.rows[some], counts[some])
        reason = f"{path}: more items without a byte than the record has bytes"
    if wrong.any():
        index = np.flatnonzero(wrong)
        head.fail(index, reason)
        counts[index], until[index] = 0, -1
    return counts, until


def _blocks_at_once(owners: Integers, ordinals: Integers, at: Integers, counts: Integers, size: int) -> _Found:
    """All items of blocks in which they have one size."""
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = np.repeat(at, counts) + within * size
    within += np.repeat(ordinals, counts)
    return _Found(np.repeat(owners, counts), within, starts)


def _walk(part: Cursor, slot: int, left: int, until: int, item: Skip, path: str) -> Integers:
    """The rest of one array, of which `left` items of a block are to come; its place moves behind it."""
    begin, end = int(part.at[slot]), int(part.ends[slot])
    record = part.records.data[begin:end].tobytes()
    starts = array("q")
    add = starts.append
    at = 0
    block_end = until - begin if until >= 0 else None
    try:
        while left:
            if isinstance(item, SkipNumber) and left > _FEW_NUMBERS:
                starts.frombytes(_numbers_from(record, at, left).tobytes())
                at = item.one(record, starts[-1], 0)
            else:
                for _ in range(left):
                    add(at)
                    at = item.one(record, at, 0)
            if block_end is not None and at != block_end:
                raise Broken(f"{path}: {_OTHER_SIZE}")
            left, block_end, at = block_head(record, at, path)
            if left > len(record) - at:
                raise IndexError
        if at > len(record):
            raise IndexError
        part.at[slot] = begin + at
    except IndexError:
        part.fail(np.array([slot]), f"{path}: the record ends before its last item")
    except Broken as broken:
        part.fail(np.array([slot]), str(broken))
    found = np.frombuffer(starts, dtype=np.int64)
    return begin + np.minimum(found, len(record))


def _numbers_from(record: bytes, at: int, count: int) -> Integers:
    """Where so many numbers begin, of which the first is at `at`: each behind the last byte of the one before."""
    longest = min(count * LONGEST_VARINT, len(record) - at)  # not more: there may be a block for each item
    last_bytes = np.flatnonzero(np.frombuffer(record, dtype=np.uint8, count=longest, offset=at) < 0x80)
    if len(last_bytes) < count:
        raise IndexError
    starts = np.empty(count, dtype=np.int64)
    starts[0] = at
    starts[1:] = last_bytes[: count - 1] + (at + 1)
    return starts


def _in_order(counts: Integers, found: list[_Found | _Run]) -> Items:
    if len(found) == 1 and isinstance(found[0], _Run):
        return Items(counts, found[0].starts)
    firsts = np.cumsum(counts) - counts
    starts = np.empty(int(counts.sum()), dtype=np.int64)
    for each in found:
        if isinstance(each, _Run):
            first = int(firsts[each.owner]) + each.ordinal
            starts[first : first + len(each.starts)] = each.starts
        else:
            starts[firsts[each.owners] + each.ordinals] = each.starts
    return Items(counts, starts)
