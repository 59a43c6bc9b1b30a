"""Columns of the fields that were found in many messages, whatever their shape."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import FieldDescriptor
from numpy.typing import NDArray

from stoker.spark.columns import ByteColumn, byte_array
from stoker.spark.formats.protobuf_messages import OUT_OF_RANGE
from stoker.spark.formats.protobuf_scanning import Messages, Scan, Scanner, Trouble
from stoker.spark.formats.protobuf_types import (
    FIXED32,
    LENGTH,
    NANOS_OF,
    SECONDS_OF,
    TIMESTAMP,
    VARINT,
    EnumPlan,
    FieldPlan,
    MessagePlan,
)
from stoker.spark.formats.utf8 import not_utf8
from stoker.wire.batch_columns import Bytes, Integers
from stoker.wire.varint_columns import Words, words_of, zigzag

Flags = NDArray[np.bool_]


class ColumnBuilder:
    """Columns of what a scan has found. A row that turns out bad or odd has something in them that nobody sees."""

    def __init__(self, data: Bytes, trouble: Trouble) -> None:
        self._data = data
        self._words = words_of(data)
        self._trouble = trouble
        self._scanner = Scanner(data, trouble)

    def messages(self, plan: MessagePlan, messages: Messages) -> pa.Array:
        columns = self._columns(plan, messages)
        if plan.special is not None:
            return self._moments(plan, columns, messages)
        if not columns:
            return pa.StructArray.from_buffers(plan.arrow, len(messages), [None])
        return pa.StructArray.from_arrays(columns, fields=list(plan.arrow))

    def _columns(self, plan: MessagePlan, messages: Messages) -> list[pa.Array]:
        scan = self._scanner.scan(plan, messages)
        columns = []
        for place, field in enumerate(plan.fields):
            if field.is_wanted:
                build = self._repeated if field.is_repeated else self._singular
                columns.append(build(place, field, scan, messages))
        return columns

    def _moments(self, plan: MessagePlan, columns: list[pa.Array], messages: Messages) -> pa.Array:
        seconds, nanos = (column.to_numpy() for column in columns)
        assert plan.special is not None
        least, most = SECONDS_OF[plan.special]
        least_nanos, most_nanos = NANOS_OF[plan.special]
        wrong = (seconds < least) | (seconds > most) | (nanos < least_nanos) | (nanos > most_nanos)
        if wrong.any():
            self._trouble.bad(messages.rows[wrong], OUT_OF_RANGE)
        micros = np.where(wrong, 0, seconds) * 1_000_000 + nanos // 1000
        kind = pa.timestamp("us", tz="UTC") if plan.special == TIMESTAMP else pa.duration("us")
        return pa.array(micros).view(kind)

    def _singular(self, place: int, field: FieldPlan, scan: Scan, messages: Messages) -> pa.Array:
        count = len(messages)
        events = scan.events[place]
        is_bytes = field.wire == LENGTH
        if len(events) == 1 and len(events[0].who) == count:
            values, lengths = events[0].values, events[0].lengths
            has: Flags = np.ones(count, dtype=np.bool_)
        else:
            has = np.zeros(count, dtype=np.bool_)
            values = messages.starts.view(np.uint64).copy() if is_bytes else np.zeros(count, dtype=np.uint64)
            lengths = np.zeros(count if is_bytes else 0, dtype=np.int64)
            for event in events:
                if field.message is not None:
                    self._trouble.odd[messages.rows[event.who[has[event.who]]]] = True
                has[event.who] = True
                values[event.who] = event.values
                if is_bytes:
                    lengths[event.who] = event.lengths
        if field.oneof is not None:
            has &= scan.last_of_oneof[field.oneof] == place
        if field.message is not None:
            return self._message(field, values.view(np.int64), lengths, has, messages)
        if is_bytes:
            lengths = np.where(has, lengths, -1 if field.has_presence else 0)
            column = self._bytes(field, values.view(np.int64), lengths, messages.rows)
        else:
            column = self._numbers(field, values, has, messages.rows)
            if field.has_presence and not has.all():
                column = pc.if_else(pa.array(has), column, pa.scalar(None, type=column.type))
        if field.default is not None and column.null_count:
            column = column.fill_null(_default(field))
        return column

    def _message(
        self, field: FieldPlan, starts: Integers, lengths: Integers, has: Flags, messages: Messages
    ) -> pa.Array:
        assert field.message is not None
        if has.all():
            return self.messages(field.message, Messages(starts, starts + lengths, messages.rows))
        there = np.flatnonzero(has)
        if field.is_entry_part:  # where it is not null but an empty message
            self._trouble.odd[messages.rows[~has]] = True
        inner = Messages(starts[there], (starts + lengths)[there], messages.rows[there])
        places = np.full(len(messages), -1, dtype=np.int64)
        places[there] = np.arange(len(there))
        return self.messages(field.message, inner).take(pa.array(places, mask=~has))

    def _repeated(self, place: int, field: FieldPlan, scan: Scan, messages: Messages) -> pa.Array:
        events = [
            self._scanner.unpacked(event, field.wire, messages.rows) if event.is_packed else event
            for event in scan.events[place]
        ]
        who = _joined([event.who for event in events])
        values: Words = _joined([event.values for event in events]).view(np.uint64)
        lengths = _joined([event.lengths for event in events])
        if len(events) > 1:
            order = np.argsort(who, kind="stable")
            who, values = who[order], values[order]
            lengths = lengths[order] if len(lengths) else lengths
        offsets = np.zeros(len(messages) + 1, dtype=np.int32)
        np.cumsum(np.bincount(who, minlength=len(messages)), out=offsets[1:])
        rows = messages.rows[who]
        starts = values.view(np.int64)
        if field.is_map:
            return self._map(field, Messages(starts, starts + lengths, rows), who, offsets)
        if field.message is not None:
            items = self.messages(field.message, Messages(starts, starts + lengths, rows))
        elif field.wire == LENGTH:
            items = self._bytes(field, starts, lengths, rows)
        else:
            items = self._numbers(field, values, None, rows)
        return pa.ListArray.from_arrays(pa.array(offsets), items, type=field.arrow)

    def _map(self, field: FieldPlan, entries: Messages, who: Integers, offsets: NDArray[np.int32]) -> pa.Array:
        assert field.message is not None
        keys, items = self._columns(field.message, entries)
        codes = keys.dictionary_encode().indices.to_numpy()
        pairs = who * (len(codes) + 1) + codes
        if len(np.unique(pairs)) < len(pairs):
            ordered = np.argsort(pairs, kind="stable")
            twice = ordered[1:][pairs[ordered][1:] == pairs[ordered][:-1]]
            self._trouble.odd[entries.rows[twice]] = True
        return pa.MapArray.from_arrays(pa.array(offsets), keys, items, type=field.arrow)

    def _bytes(self, field: FieldPlan, starts: Integers, lengths: Integers, rows: Integers) -> pa.Array:
        kind = pa.binary() if field.type == FieldDescriptor.TYPE_BYTES else pa.string()
        found = byte_array(ByteColumn(self._data, starts, lengths), kind)
        if kind == pa.binary():
            return found
        wrong = not_utf8(found)
        if len(wrong):
            self._trouble.bad(rows[wrong], f"{field.name} is no UTF-8")
            lengths = lengths.copy()
            lengths[wrong] = 0
            found = byte_array(ByteColumn(self._data, starts, lengths), kind)
        return found

    def _numbers(self, field: FieldPlan, values: Words, has: Flags | None, rows: Integers) -> pa.Array:
        if field.wire != VARINT:
            values = self._words[values.view(np.int64)] if has is None or has.all() else self._gathered(values, has)
            if field.wire == FIXED32:
                values = values & np.uint64(0xFFFFFFFF)
        if field.enum is not None:
            return self._names(field.enum, _CONVERT[FieldDescriptor.TYPE_INT32](values), has, rows)
        return pa.array(_CONVERT[field.type](values))

    def _gathered(self, places: Words, has: Flags) -> Words:
        found = np.zeros(len(places), dtype=np.uint64)
        found[has] = self._words[places[has].view(np.int64)]
        return found

    def _names(self, enum: EnumPlan, numbers: NDArray[np.int32], has: Flags | None, rows: Integers) -> pa.Array:
        distinct, codes = np.unique(numbers, return_inverse=True)
        if enum.is_closed:
            strange = ~np.isin(numbers, list(enum.names))
            if has is not None:
                strange &= has
            self._trouble.odd[rows[strange]] = True
        names = pa.array([enum.name_of(number) for number in distinct.tolist()], type=pa.string())
        return names.take(pa.array(codes))


def _joined(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _default(field: FieldPlan) -> pa.Scalar:
    value = field.default if field.enum is None else field.enum.name_of(field.default)
    if field.type in _UNSIGNED:
        return (
            pa.array(np.array([value], dtype=np.uint64))
            .cast(pa.uint64())
            .view(pa.int64())
            .cast(field.arrow, safe=False)[0]
        )
    return pa.scalar(value, type=field.arrow)


def _int32(values: Words) -> NDArray[np.int32]:
    return values.astype(np.uint32).view(np.int32)


def _int64(values: Words) -> Integers:
    return values.view(np.int64)


def _sint32(values: Words) -> NDArray[np.int32]:
    low = values.astype(np.uint32)
    return ((low >> np.uint32(1)) ^ (np.uint32(0) - (low & np.uint32(1)))).view(np.int32)


_UNSIGNED: Final = (
    FieldDescriptor.TYPE_UINT32,
    FieldDescriptor.TYPE_FIXED32,
    FieldDescriptor.TYPE_UINT64,
    FieldDescriptor.TYPE_FIXED64,
)
_CONVERT: Final[dict[int, Callable[[Words], NDArray[Any]]]] = {
    FieldDescriptor.TYPE_INT32: _int32,
    FieldDescriptor.TYPE_UINT32: _int32,
    FieldDescriptor.TYPE_FIXED32: _int32,
    FieldDescriptor.TYPE_SFIXED32: _int32,
    FieldDescriptor.TYPE_SINT32: _sint32,
    FieldDescriptor.TYPE_INT64: _int64,
    FieldDescriptor.TYPE_UINT64: _int64,
    FieldDescriptor.TYPE_FIXED64: _int64,
    FieldDescriptor.TYPE_SFIXED64: _int64,
    FieldDescriptor.TYPE_SINT64: lambda values: zigzag(values.copy()),
    FieldDescriptor.TYPE_BOOL: lambda values: values != 0,
    FieldDescriptor.TYPE_FLOAT: lambda values: values.astype(np.uint32).view(np.float32),
    FieldDescriptor.TYPE_DOUBLE: lambda values: values.view(np.float64),
}
