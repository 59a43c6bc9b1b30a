"""How `stoker consume` writes a record: its value, some columns, a format like kcat's, or JSON."""

import base64
import json.encoder
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from stoker.cli.escapes import unescape
from stoker.errors import StokerError


class Record(Protocol):
    """What a consumed record tells; confluent_kafka.Message does."""

    def topic(self) -> str | None: ...
    def partition(self) -> int | None: ...
    def offset(self) -> int | None: ...
    def timestamp(self) -> tuple[int, int]: ...
    def key(self) -> bytes | None: ...
    def value(self) -> bytes | None: ...
    def headers(self) -> Any: ...


Formatter = Callable[[Record], bytes]
BlockFormatter = Callable[[Sequence[Record]], bytes]
"""Many records at a time: there are millions, and calls cost."""

TIMESTAMP_TYPES: Final = {1: "CreateTime", 2: "LogAppendTime"}
"""librdkafka's numbers; 0 is a record without a timestamp."""


class MalformedFormat(StokerError):
    """A --format or --show that names what no record has; the message lists the choices."""


def each(formatter: Formatter) -> BlockFormatter:
    """One record after the other."""
    return lambda records: b"".join(map(formatter, records))


def value_format(null: bytes) -> BlockFormatter:
    """The value and a line end, as kafka-console-consumer.sh."""

    def formatted(records: Sequence[Record]) -> bytes:
        values = [record.value() for record in records]
        lines = [null if value is None else value for value in values]
        lines.append(b"")
        return b"\n".join(lines)

    return formatted


# --show -------------------------------------------------------------------------------------------------------------


def columns_format(names: Sequence[str], null: bytes) -> Formatter:
    """What is asked for and the value, between tabs, in the order and the words of kafka-console-consumer.sh."""
    columns = _columns(null)
    if unknown := [name for name in names if name not in columns]:
        raise MalformedFormat(f"--show knows no {unknown[0]!r}; the choices are {', '.join(columns)}")
    shown = [column for name, column in columns.items() if name in names]

    def formatted(record: Record) -> bytes:
        value = record.value()
        cells = [column(record) for column in shown]
        cells.append(null if value is None else value)
        return b"\t".join(cells) + b"\n"

    return formatted


def _columns(null: bytes) -> dict[str, Formatter]:
    return {
        "timestamp": _shown_timestamp,
        "topic": lambda record: f"Topic:{record.topic()}".encode(),
        "partition": lambda record: b"Partition:%d" % (record.partition() or 0),
        "offset": lambda record: b"Offset:%d" % (record.offset() or 0),
        "headers": lambda record: _headers(record, b":", null) or b"NO_HEADERS",
        "key": lambda record: _or_null(record.key(), null),
    }


def _shown_timestamp(record: Record) -> bytes:
    kind, timestamp = record.timestamp()
    return f"{TIMESTAMP_TYPES[kind]}:{timestamp}".encode() if kind else b"NO_TIMESTAMP"


# --format -----------------------------------------------------------------------------------------------------------


def parse_format(text: str, null: bytes) -> Formatter:
    """A format with kcat's letters and escapes. Raises MalformedFormat."""
    tokens = _tokens(null)
    literals, fields = [bytearray()], []
    template = iter(unescape(text))
    for byte in template:
        if byte != ord("%"):
            literals[-1].append(byte)
            continue
        letter = chr(next(template, 0))
        if letter == "%":
            literals[-1] += b"%"
        elif letter in tokens:
            fields.append(tokens[letter])
            literals.append(bytearray())
        else:
            what = f"knows no %{letter}" if letter.isprintable() else "ends in a lone %"
            raise MalformedFormat(f"--format {text!r} {what}; the choices are {_CHOICES}")
    pattern = b"%b".join(literal.replace(b"%", b"%%") for literal in literals)
    return lambda record: pattern % tuple([field(record) for field in fields])


_CHOICES = (
    "%t topic, %p partition, %o offset, %T timestamp, %k key, %K its length, %s value, %S its length, "
    "%R its length as 4 bytes, %h headers, %% a percent sign"
)


def _tokens(null: bytes) -> dict[str, Formatter]:
    return {
        "t": lambda record: str(record.topic()).encode(),
        "p": lambda record: b"%d" % (record.partition() or 0),
        "o": lambda record: b"%d" % (record.offset() or 0),
        "T": lambda record: b"%d" % _timestamp(record),
        "k": lambda record: _or_null(record.key(), null),
        "K": lambda record: b"%d" % _length(record.key()),
        "s": lambda record: _or_null(record.value(), null),
        "S": lambda record: b"%d" % _length(record.value()),
        "R": lambda record: _length(record.value()).to_bytes(4, "big", signed=True),
        "h": lambda record: _headers(record, b"=", null or b"NULL"),
    }


def _timestamp(record: Record) -> int:
    kind, timestamp = record.timestamp()
    return timestamp if kind else -1


def _length(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _or_null(data: bytes | None, null: bytes) -> bytes:
    return null if data is None else data


def _headers(record: Record, separator: bytes, null: bytes) -> bytes:
    return b",".join([b"%b%b%b" % (key.encode(), separator, _or_null(value, null)) for key, value in _pairs(record)])


def _pairs(record: Record) -> list[tuple[str, bytes | None]]:
    return record.headers() or []


# --json -------------------------------------------------------------------------------------------------------------

_quoted = json.encoder.encode_basestring


def json_format(record: Record) -> bytes:
    """One JSON object and a line end: all there is to know, from which `stoker produce --json-lines` makes it again.

    Bytes that are not UTF-8 are base64, and `"value_encoding": "base64"` says so (`key_encoding`; in a header `encoding`).
    """
    kind, timestamp = record.timestamp()
    about_time = f'{timestamp}, "timestamp_type": "{TIMESTAMP_TYPES[kind]}"' if kind else 'null, "timestamp_type": null'
    headers = ", ".join([f'{{"key": {_quoted(key)}{_member("", "value", data)}}}' for key, data in _pairs(record)])
    return (
        f'{{"topic": {_quoted(record.topic() or "")}, "partition": {record.partition()}, "offset": {record.offset()}, '
        f'"timestamp": {about_time}{_member("key_", "key", record.key())}{_member("value_", "value", record.value())}, '
        f'"headers": [{headers}]}}\n'
    ).encode()


def _member(marker: str, name: str, data: bytes | None) -> str:
    if data is None:
        return f', "{name}": null'
    try:
        return f', "{name}": {_quoted(data.decode())}'
    except UnicodeDecodeError:
        return f', "{name}": "{base64.b64encode(data).decode()}", "{marker}encoding": "base64"'
