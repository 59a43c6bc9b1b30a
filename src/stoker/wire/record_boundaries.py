"""Where each record of many batches begins.

Every record begins with its length, so the next is known only when one was looked at. The batches are cut into stretches
of some dozens of records, and numpy goes through all stretches together, a record of each at every step. To cut a batch, a
record must be found in the middle of it: some bytes are looked through for what looks like a record followed by others.
Such a guess need not be right: the records are only taken if each ends exactly where the next begins, from the first byte
of a batch to its last. If not, they are walked through one by one.

numpy takes 0.06 s to import. Import this module where it is used, never at the start of a broker.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stoker.errors import CorruptRecords
from stoker.wire.batch_columns import Bytes, Integers
from stoker.wire.record_batch import decode_varint
from stoker.wire.schema import Buffer
from stoker.wire.varint_columns import NONE, PADDING, Words, pairs_of, read_zigzags

Flags = NDArray[np.bool_]

_SMALLEST_RECORD: Final = 7
_STRETCH: Final = 128
"""Records in a stretch, about."""
_MANY: Final = 4096
"""Fewer records are not worth a guess."""
_FEW: Final = 40
"""Python goes through so few stretches as fast as numpy does."""
_LARGE: Final = 2048
"""Records of such a size are few, and Python fast enough."""
_ROUND: Final = 16
"""After so many steps it is looked which stretches are done."""
_LIKELY: Final = 4
"""So many records must seem to follow one that seems to be one."""


class Boundaries(NamedTuple):
    starts: Integers
    contents: Integers
    """Behind the length."""
    ends: Integers


def find_boundaries(
    buffer: Buffer, data: Bytes, words: Words, counts: Integers, body_starts: Integers, body_ends: Integers
) -> Boundaries:
    """The records of batches of so many records, which lie one behind the other. Raises CorruptRecords.

    `data` and `words` are those of the buffer, in which at least the padding follows the last batch.
    """
    bodies = _Bodies(counts, body_starts, body_ends)
    _refuse_impossible(bodies, len(data))
    total = int(counts.sum())
    if total > _MANY and int((body_ends - body_starts).sum()) < total * _LARGE:
        found = _linked(data, words, bodies, _walk_stretches(data, bodies, int(counts.max())))
        if found is not None:
            return found
    found = _linked(data, words, bodies, np.array(_walk(buffer, bodies), dtype=np.int64))
    if found is None:
        raise CorruptRecords(f"the records of a batch of {int(counts.max())} have other lengths than they say")
    return found


def find_part(data: Bytes, words: Words, start: int, limit: int, *, typical: int, is_end: bool) -> Boundaries:
    """The records of one batch from `start` on that end before `limit`, or there; maybe none, and not always all.

    If `is_end` they must end exactly there. `typical` is about how many bytes a record has. Raises CorruptRecords.
    """
    pairs = pairs_of(data)
    nearly = np.array([limit - (_LIKELY + 5) * typical - PADDING])
    if is_end:
        stop = np.array([limit])
    elif int(nearly[0]) > start:
        stop = _guess_around(data, pairs, nearly, np.array([limit]), 3 * typical)
    else:
        stop = NONE
    if len(stop):
        body = _Bodies((stop - start) // typical, np.array([start]), stop)
        starts = _walk_stretches(data, body, int(stop[0] - start) // _SMALLEST_RECORD)
        found = _linked(data, words, _Bodies(np.array([len(starts)]), body.starts, stop), starts)
        if found is not None:
            return found
    one_by_one: list[int] = []
    _walk_one(data.data, start, limit, (limit - start) // _SMALLEST_RECORD, one_by_one)
    starts = np.array(one_by_one, dtype=np.int64)
    ends, contents, endless = read_zigzags(data, words, starts)
    ends += contents
    whole = len(starts) if is_end else int(np.count_nonzero(ends <= limit))
    if len(endless) or (ends[:-1] != starts[1:]).any() or (is_end and (not whole or int(ends[-1]) != limit)):
        raise CorruptRecords("the records of a batch have other lengths than they say")
    return Boundaries(starts[:whole], contents[:whole], ends[:whole])


class _Bodies(NamedTuple):
    """The records of each batch."""

    counts: Integers
    starts: Integers
    ends: Integers


def _refuse_impossible(bodies: _Bodies, size: int) -> None:
    rooms = bodies.ends - bodies.starts
    if len(rooms) and ((bodies.counts < 0).any() or (bodies.counts > rooms // _SMALLEST_RECORD).any()):
        raise CorruptRecords(f"a batch of {int(bodies.counts.max())} records in {int(rooms.max())} bytes")
    if len(rooms) and int(bodies.ends.max()) > size - PADDING:
        raise CorruptRecords("batches without padding behind them")


def _linked(data: Bytes, words: Words, bodies: _Bodies, starts: Integers) -> Boundaries | None:
    """The records at these positions, if each ends where the next begins, and they fill the batches as they should."""
    total = int(bodies.counts.sum())
    if len(starts) != total:
        return None
    ends, contents, endless = read_zigzags(data, words, starts)
    if len(endless):
        return None
    ends += contents
    expected = np.empty(total, dtype=np.int64)
    expected[:-1] = starts[1:]
    have_some = np.flatnonzero(bodies.counts)
    lasts = np.cumsum(bodies.counts)[have_some] - 1
    expected[lasts] = bodies.ends[have_some]
    firsts = lasts + 1 - bodies.counts[have_some]
    if not np.array_equal(ends, expected) or not np.array_equal(starts[firsts], bodies.starts[have_some]):
        return None
    if len(have_some) < len(bodies.counts):
        are_empty = bodies.counts == 0
        if (bodies.starts[are_empty] != bodies.ends[are_empty]).any():
            return None
    return Boundaries(starts, contents, ends)


def _walk(buffer: Buffer, bodies: _Bodies) -> list[int]:
    """Batch by batch, for few records. Python only goes from length to length, and never further than it should."""
    found: list[int] = []
    for count, start, end in zip(bodies.counts.tolist(), bodies.starts.tolist(), bodies.ends.tolist(), strict=True):
        _walk_one(buffer, start, end, count, found)
    return found


def _walk_one(buffer: Buffer, position: int, end: int, most: int, found: list[int]) -> None:
    add = found.append
    try:
        for _ in range(most):
            if position >= end:
                return
            add(position)
            byte = buffer[position]
            if byte < 128:
                position += (byte >> 1) + 1
            else:
                second = buffer[position + 1]
                if second < 128:
                    position += (byte - 128 >> 1) + (second << 6) + 2
                else:
                    length, position = decode_varint(buffer, position)
                    position += max(length, 0)
    except (IndexError, CorruptRecords):
        return


def _walk_stretches(data: Bytes, bodies: _Bodies, most: int) -> Integers:
    """What seem to be the starts of all records, in order. `most` is how many a batch can have."""
    buffer, pairs = data.data, pairs_of(data)
    guesses = _guess(data, pairs, bodies)
    have_some = bodies.starts < bodies.ends
    positions = np.sort(np.concatenate((bodies.starts[have_some], guesses)))
    stops = all_stops = np.sort(np.concatenate((bodies.ends[have_some], guesses)))
    stretches = np.arange(len(positions))
    found: list[_Round] = []
    were_stuck = False
    for _ in range(most // _ROUND + 1):
        if len(positions) <= _FEW:
            break
        steps = np.empty((_ROUND + 1, len(positions)), dtype=np.int64)
        steps[0] = positions
        for step in range(_ROUND):
            np.add(steps[step], _STEPS.take(pairs[steps[step]]), out=steps[step + 1])
            np.minimum(steps[step + 1], stops, out=steps[step + 1])
        found.append(_Round(stretches, steps[:-1]))
        positions = steps[-1]
        stuck = np.flatnonzero((positions == steps[-2]) & (positions < stops))
        if len(stuck):
            were_stuck = True
            for slot in stuck.tolist():
                positions[slot] = _step_over(buffer, int(positions[slot]), int(stops[slot]))
        going = np.flatnonzero(positions < stops)
        stretches, positions, stops = stretches[going], positions[going], stops[going]
    rest: list[int] = []
    for position, stop in zip(positions.tolist(), stops.tolist(), strict=True):
        _walk_one(buffer, position, stop, most, rest)
    starts = _in_order(found, all_stops)
    if rest:
        starts = np.concatenate((starts, np.array(rest, dtype=np.int64)))
        starts.sort(kind="stable")  # which is quick where most is in order already
    return starts[np.append(True, starts[1:] != starts[:-1])] if were_stuck else starts


class _Round(NamedTuple):
    stretches: Integers
    """Those that went on."""
    steps: Integers
    """Where each was, step by step; at its stop if it was done."""


def _in_order(rounds: list[_Round], stops: Integers) -> Integers:
    """The starts of one stretch behind those of the other, which costs half as much as to sort them."""
    places = len(stops) * len(rounds) * _ROUND
    if places > 4 * sum(each.steps.size for each in rounds):  # a few stretches are much longer than the others
        starts = np.concatenate([each.steps[each.steps < stops[each.stretches]] for each in rounds])
        starts.sort()
        return starts
    table = np.empty((len(stops), len(rounds), _ROUND), dtype=np.int64)
    for number, each in enumerate(rounds):
        if len(each.stretches) < len(stops):
            table[:, number] = stops[:, np.newaxis]
        table[each.stretches, number] = each.steps.T
    return table[table < stops[:, np.newaxis, np.newaxis]]


def _step_over(buffer: Buffer, position: int, stop: int) -> int:
    """Behind a record with a length of three bytes or more; at the stop if it is none."""
    try:
        length, content = decode_varint(buffer, position)
    except (IndexError, CorruptRecords):
        return stop
    return min(content + length, stop) if length >= 0 else stop


def _steps() -> NDArray[np.int64]:
    """By the first two bytes of a record: how far the next is; 0 if its length has more bytes than that."""
    first, second = np.arange(65536) & 255, np.arange(65536) >> 8
    short = (first >> 1) + 1
    longer = ((first & 127) >> 1) + (second << 6) + 2
    return np.where(first < 128, short, np.where(second < 128, longer, 0)).astype(np.int64)


_STEPS: Final = _steps()


def _guess(data: Bytes, pairs: NDArray[np.uint16], bodies: _Bodies) -> Integers:
    """Where records seem to begin, in batches of more than one stretch: about as many as there are stretches, in order."""
    sizes = bodies.ends - bodies.starts
    pieces = bodies.counts // _STRETCH
    cuts = np.maximum(pieces - 1, 0)
    batch = np.repeat(np.arange(len(cuts)), cuts)
    number = np.arange(len(batch)) - np.repeat(np.cumsum(cuts) - cuts, cuts) + 1
    around: Integers = bodies.starts[batch] + sizes[batch] * number // pieces[batch]
    window = int(max(3 * sizes.sum() // max(int(bodies.counts.sum()), 1), 32))
    return _guess_around(data, pairs, around, bodies.ends[batch], window)


def _guess_around(data: Bytes, pairs: NDArray[np.uint16], around: Integers, ends: Integers, window: int) -> Integers:
    """A record some behind the first in a window from each of these positions on that seems to be one, if there is one.

    The first itself may be none: of bytes that look like a length some lead to a record by chance, and from there on all
    looks right. So it is the last of those that follow that is taken.
    """
    fits = around + window + PADDING < ends
    around, ends = around[fits], ends[fits]
    if not len(around):
        return around
    near = np.lib.stride_tricks.sliding_window_view(data, window + 2)[around]
    are_likely = _look_like_records(near[:, :-2], near[:, 1:-1], near[:, 2:])
    which, distance = np.divmod(np.flatnonzero(are_likely), window)
    following = around[which] + distance
    ends = ends[which]
    for _ in range(_LIKELY):
        following = following + _STEPS.take(pairs[following])
        likely = following < ends
        following, which, ends = following[likely], which[likely], ends[likely]
        likely = _look_like_records(data[following], data[following + 1], data[following + 2])
        following, which, ends = following[likely], which[likely], ends[likely]
    _, first = np.unique(which, return_index=True)
    guesses: Integers = following[first]
    return guesses


def _look_like_records(first: Bytes, second: Bytes, third: Bytes) -> Flags:
    """Whether a length that a record may have, of one byte or two, stands before the 0 of its attributes."""
    short = (first >= 2 * _SMALLEST_RECORD - 2) & (first < 128) & (second == 0)
    longer = (first >= 128) & (second < 128) & (second > 0) & (third == 0)
    are_likely: Flags = (short | longer) & ((first & 1) == 0)
    return are_likely
