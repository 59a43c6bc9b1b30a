"""The fields of many messages at once: a tag of each at every step, those with the same tag together."""

from typing import Final, NamedTuple

import numpy as np

from stoker.spark.formats.protobuf_types import END_GROUP, FIXED32, FIXED64, LENGTH, START_GROUP, VARINT, MessagePlan
from stoker.wire.batch_columns import Bytes, Integers
from stoker.wire.varint_columns import Words, read_varints, words_of

MALFORMED: Final = "not Protobuf: "

_LONGEST_TAG: Final = 5
_MANY_STEPS: Final = 100
_FEW: Final = 32
"""After many steps so few are left to those who read one message at a time."""


class Messages(NamedTuple):
    """Where messages of one type are, in order, and which record each is of."""

    starts: Integers
    ends: Integers
    rows: Integers

    def __len__(self) -> int:
        return len(self.starts)


class Event(NamedTuple):
    """A field that some messages have next: each of them once, in order."""

    who: Integers
    values: Words
    """Varints; where a fixed number is; where bytes begin."""
    lengths: Integers
    """Of bytes; empty for others."""
    is_packed: bool


class Trouble:
    """Which records are bad, and why; and which are too odd to be read together, as those that say a thing twice."""

    def __init__(self, count: int) -> None:
        self.odd = np.zeros(count, dtype=np.bool_)
        self.reasons: dict[int, str] = {}

    def bad(self, rows: Integers, reason: str) -> None:
        for row in rows.tolist():
            self.reasons.setdefault(row, reason)


class Scan:
    """What was met, field by field of the plan."""

    def __init__(self, plan: MessagePlan, count: int) -> None:
        self.events: list[list[Event]] = [[] for _ in plan.fields]
        self.last_of_oneof: dict[str, Integers] = {
            field.oneof: np.full(count, -1, dtype=np.int64) for field in plan.fields if field.oneof is not None
        }


class Scanner:
    def __init__(self, data: Bytes, trouble: Trouble) -> None:
        self.data = data
        self.words = words_of(data)
        self.trouble = trouble

    def scan(self, plan: MessagePlan, messages: Messages) -> Scan:
        found = Scan(plan, len(messages))
        tags = {tag: (place, packed) for place, field in enumerate(plan.fields) for tag, packed in field.tags()}
        known = np.array(sorted(tags), dtype=np.uint64)
        who = np.arange(len(messages))
        at, ends = messages.starts, messages.ends
        for step in range(1 << 62):
            going = at < ends
            if not going.all():
                who, at, ends = who[going], at[going], ends[going]
            if not len(who):
                break
            if step > _MANY_STEPS and len(who) < _FEW:
                self.trouble.odd[messages.rows[who]] = True
                break
            tag_values, after, endless = read_varints(self.data, self.words, at)
            too_long = after - at > _LONGEST_TAG
            if len(endless) or too_long.any():
                too_long[endless] = True
                self.trouble.bad(messages.rows[who[too_long]], f"{MALFORMED}a tag of more than {_LONGEST_TAG} bytes")
                fine = ~too_long
                who, ends, tag_values, after = who[fine], ends[fine], tag_values[fine], after[fine]
                at = after
                if not len(who):
                    break
            first = int(tag_values[0])
            if (tag_values == tag_values[0]).all():
                at = self._field(found, plan, messages, first, tags.get(first), who, after, ends)
                continue
            places = np.searchsorted(known, tag_values)
            places[places == len(known)] = 0
            is_known = known[places] == tag_values if len(known) else np.zeros(len(who), dtype=np.bool_)
            # Fields that are not wanted are alike if they are of one kind on the wire.
            unknown = (tag_values & np.uint64(7)).astype(np.int64) + len(known)
            unknown[(tag_values < 8) | (tag_values >= 1 << 32)] = len(known) + 8
            codes = np.where(is_known, places, unknown)
            at = np.empty_like(after)
            for code in np.flatnonzero(np.bincount(codes)).tolist():
                some = np.flatnonzero(codes == code)
                tag = int(known[code]) if code < len(known) else (code - len(known)) | 8
                if code == len(known) + 8:
                    tag = 0
                at[some] = self._field(
                    found,
                    plan,
                    messages,
                    tag,
                    tags.get(tag) if code < len(known) else None,
                    who[some],
                    after[some],
                    ends[some],
                )
        return found

    def _field(
        self,
        found: Scan,
        plan: MessagePlan,
        messages: Messages,
        tag: int,
        place: tuple[int, bool] | None,
        who: Integers,
        at: Integers,
        ends: Integers,
    ) -> Integers:
        """Take note of one field, if it is wanted, and say where the next is: at the end of a message that is malformed."""
        wire = tag & 7
        lengths = _NONE
        values: Words
        if tag < 8 or tag >= 1 << 32 or wire > FIXED32 or wire == END_GROUP:
            what = "the end of a group that did not begin" if wire == END_GROUP and tag >= 8 else f"the tag {tag}"
            self.trouble.bad(messages.rows[who], f"{MALFORMED}{what}")
            return ends
        if wire == START_GROUP:
            self.trouble.odd[messages.rows[who]] = True
            return ends
        if wire == VARINT:
            values, after, endless = read_varints(self.data, self.words, at)
            wrong = after > ends
            wrong[endless] = True
        elif wire == LENGTH:
            sizes, starts, endless = read_varints(self.data, self.words, at)
            values, lengths = starts.view(np.uint64), sizes.view(np.int64)
            wrong = (lengths < 0) | (lengths > ends - starts)
            wrong[endless] = True
            after = starts + np.where(wrong, 0, lengths)
        else:
            values, after = at.view(np.uint64), at + (8 if wire == FIXED64 else 4)
            wrong = after > ends
        if wrong.any():
            self.trouble.bad(messages.rows[who[wrong]], f"{MALFORMED}field {tag >> 3} ends after its message")
            after = np.where(wrong, ends, after)
            who, values = who[~wrong], values[~wrong]
            lengths = lengths[~wrong] if wire == LENGTH else lengths
        if place is not None and len(who):
            field, is_packed = place
            found.events[field].append(Event(who, values, lengths, is_packed))
            oneof = plan.fields[field].oneof
            if oneof is not None:
                found.last_of_oneof[oneof][who] = field
        return after

    def unpacked(self, event: Event, wire: int, rows: Integers) -> Event:
        """The numbers of packed fields, one by one: in order, each message as often as it has one."""
        starts, lengths = event.values.view(np.int64), event.lengths
        if wire != VARINT:
            size = 8 if wire == FIXED64 else 4
            torn = lengths % size != 0
            if torn.any():
                self.trouble.bad(rows[event.who[torn]], f"{MALFORMED}packed numbers of {size} bytes end within one")
            counts = lengths // size
            return Event(np.repeat(event.who, counts), (_ranges(starts, counts, size)).view(np.uint64), _NONE, False)
        places = _ranges(starts, lengths, 1)
        is_end = self.data[places] < 0x80
        span_ends = np.cumsum(lengths)
        torn = (
            (lengths > 0) & ~is_end[np.maximum(span_ends - 1, 0)] if len(is_end) else np.zeros(len(lengths), np.bool_)
        )
        if torn.any():
            self.trouble.bad(rows[event.who[torn]], f"{MALFORMED}packed numbers end within one")
        begins = np.empty(len(places), dtype=np.bool_)
        begins[1:] = is_end[:-1]
        begins[(span_ends - lengths)[lengths > 0]] = True
        who = np.repeat(event.who, lengths)[begins]
        values, _, endless = read_varints(self.data, self.words, places[begins])
        if len(endless):
            self.trouble.bad(rows[who[endless]], f"{MALFORMED}a packed number of more than 10 bytes")
        return Event(who, values, _NONE, False)


_NONE: Final[Integers] = np.empty(0, dtype=np.int64)


def _ranges(starts: Integers, counts: Integers, step: int) -> Integers:
    """`starts[i]`, `starts[i] + step` and so on, `counts[i]` of them, for each i."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before * step, counts) + np.arange(int(counts.sum())) * step
