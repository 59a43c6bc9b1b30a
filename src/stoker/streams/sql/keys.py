"""Keys of records: the columns that are in them, and how these are read and written, as Spark SQL of the column `_key`.

KAFKA     one column: text as it is, whole numbers big-endian as Kafka's serializers write them, bytes as they are
JSON      one column by itself, several as an object
AVRO, PROTOBUF  by the registry's schema of `<topic>-key`; one column by itself, or a field of a record
NONE      none

With windows, the start of the window follows in eight bytes, as Kafka Streams writes it; with sessions its end, then its start.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from stoker.streams.sql.catalogue import Column, Source, WindowedBy
from stoker.streams.sql.conversion import converted, quoted_name
from stoker.streams.sql.types import BIGINT, BYTES, INTEGER, STRING, Field, SqlType, Struct, to_spark_type

KEY: Final = "`_key`"
_WIDTH: Final[dict[SqlType, int]] = {INTEGER: 4, BIGINT: 8}
IN_KAFKA_FORMAT: Final = (STRING, INTEGER, BIGINT, BYTES)
"""DOUBLE has no form in Spark SQL that would be its bytes."""


@dataclass(frozen=True, kw_only=True)
class KeyCodec:
    """`columns` are those of the key; `record` whether a single one is a field of a struct in the topic."""

    format: str
    columns: tuple[Column, ...]
    window: WindowedBy | None = None
    is_record: bool = False

    @property
    def form(self) -> str:
        """How `stoker.streams` reads and writes it: binary, string, avro or protobuf."""
        if self.window is not None or not self.columns:
            return "binary"
        if self.format == "KAFKA":
            return "string" if self.columns[0].type == STRING else "binary"
        return {"JSON": "string", "NONE": "binary"}.get(self.format, self.format.lower())

    def read(self, raw: str = KEY) -> list[str]:
        """For each column its value."""
        if self.window is not None:
            raw = f"substring({raw}, 1, length({raw}) - {8 * self._times})"
            if self.format == "JSON" or self._is_text:
                raw = f"CAST({raw} AS STRING)"
        if self.format == "KAFKA":
            return [number_of(raw, each.type) for each in self.columns]
        if self.format == "JSON":
            return self._of_json(raw)
        if len(self.columns) == 1 and not self.is_record:
            return [converted(raw, self.columns[0].stored, self.columns[0].type)]
        return [converted(f"{raw}.{quoted_name(each.spelling)}", each.stored, each.type) for each in self.columns]

    def write(self, values: Sequence[str], start: str | None = None, end: str | None = None) -> str:
        """The key of these values, one for each column; of a window that starts and ends then, in milliseconds."""
        key = self._written(values)
        if self.window is None:
            return key
        times = [end, start] if self.window.size is None else [start]
        parts = [f"unhex(lpad(hex({each}), 16, '0'))" for each in times]
        return f"concat(CAST({key} AS BINARY), {', '.join(parts)})"

    def window_times(self) -> tuple[str, str]:
        """Start and end of the window, in milliseconds."""
        assert self.window is not None
        start = number_of(f"substring({KEY}, length({KEY}) - 7)", BIGINT)
        if self.window.size is not None:
            return start, f"({start} + {self.window.size})"
        return start, number_of(f"substring({KEY}, length({KEY}) - 15, 8)", BIGINT)

    @property
    def _times(self) -> int:
        return 2 if self.window is not None and self.window.size is None else 1

    @property
    def _is_text(self) -> bool:
        return self.format == "KAFKA" and self.columns[0].type == STRING

    def _of_json(self, raw: str) -> list[str]:
        if len(self.columns) == 1 and not self.is_record:
            only = self.columns[0]
            stored = to_spark_type(only.stored)
            element = f"try_element_at(from_json(concat('[', {raw}, ']'), 'ARRAY<{stored}>'), 1)"
            return [converted(element, only.stored, only.type)]
        kind = to_spark_type(Struct(tuple(Field(each.spelling, each.stored) for each in self.columns)))
        record = f"from_json({raw}, '{kind}')"
        return [converted(f"{record}.{quoted_name(each.spelling)}", each.stored, each.type) for each in self.columns]

    def _written(self, values: Sequence[str]) -> str:
        texts = [converted(text, each.type, each.stored) for text, each in zip(values, self.columns, strict=True)]
        if self.format == "KAFKA":
            return bytes_of(texts[0], self.columns[0].type)
        if len(texts) == 1 and not self.is_record:
            return (
                texts[0]
                if self.format != "JSON"
                else f"regexp_replace(to_json(array({texts[0]})), '^\\\\[|\\\\]$', '')"
            )
        fields = ", ".join(f"'{each.spelling}', {text}" for each, text in zip(self.columns, texts, strict=True))
        return f"to_json(named_struct({fields}))" if self.format == "JSON" else f"named_struct({fields})"


def codec_of(source: Source) -> KeyCodec:
    """Of the keys of a source's topic. A record in Avro or Protobuf is known by a spelling that is not the column's alone."""
    keys = source.keys
    is_record = len(keys) > 1 or (source.key_format in ("AVRO", "PROTOBUF") and bool(keys) and keys[0].spelling != "")
    return KeyCodec(format=source.key_format, columns=keys, window=source.window, is_record=is_record)


def number_of(raw: str, kind: SqlType) -> str:
    width = _WIDTH.get(kind)
    if width is None:
        return raw
    value = f"CAST(conv(hex({raw}), 16, 10) AS DECIMAL(20, 0))"
    limit, whole = 2 ** (8 * width - 1), 2 ** (8 * width)
    signed = f"CASE WHEN {value} >= {limit} THEN {value} - {whole} ELSE {value} END"
    return f"CASE WHEN length({raw}) = {width} THEN CAST({signed} AS {to_spark_type(kind)}) END"


def bytes_of(text: str, kind: SqlType) -> str:
    width = _WIDTH.get(kind)
    return text if width is None else f"unhex(right(lpad(hex(CAST({text} AS BIGINT)), 16, '0'), {2 * width}))"
