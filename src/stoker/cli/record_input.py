"""What `stoker produce` reads: lines, `key:value`, headers in the line as Kafka's console producer has them, JSON."""

import base64
import binascii
import json
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from stoker.cli.moments import MalformedMoment, parse_moment
from stoker.errors import StokerError

Headers = tuple[tuple[str, bytes | None], ...]

ANY_PARTITION: Final = -1
"""The key decides, or chance: librdkafka's RD_KAFKA_PARTITION_UA."""
NOW: Final = 0
"""librdkafka's word for the time at which it is given the record."""


class NewRecord(NamedTuple):
    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    partition: int = ANY_PARTITION
    timestamp: int = NOW


Parser = Callable[[bytes], NewRecord | None]
"""Of a line; None if it says nothing."""


class MalformedRecord(StokerError):
    """A line that is no record in the form asked for, and why."""


Read = Callable[[], bytes | None]
"""Gives what there is; nothing at the end; None if it was interrupted, and more might have come."""


def whole(read: Read) -> Iterator[list[bytes]]:
    """All that there is as one line; half of a file is none."""
    pieces: list[bytes] = []
    while chunk := read():
        pieces.append(chunk)
    if chunk is not None:
        yield [b"".join(pieces)]


def blocks_of_lines(read: Read) -> Iterator[list[bytes]]:
    """Lines as they come, without their ends (\\n or \\r\\n); many at a time, because calls cost more than lines.

    A last line without an end counts, unless it was interrupted: half of a line is none.
    """
    pieces: list[bytes] = []  # of a line whose end has not come yet
    while chunk := read():
        if b"\n" not in chunk:
            pieces.append(chunk)
            continue
        *lines, rest = b"".join([*pieces, chunk]).split(b"\n")
        if b"\r" in chunk or pieces:
            lines = [line.removesuffix(b"\r") for line in lines]
        pieces = [rest] if rest else []
        yield lines
    if pieces and chunk is not None:
        yield [b"".join(pieces)]


# Lines --------------------------------------------------------------------------------------------------------------


def line_parser(template: NewRecord, *, key_separator: bytes | None, with_headers: bool, null: bytes | None) -> Parser:
    """`headers TAB key SEPARATOR value`, of which headers and key are there only if asked for."""

    def parse(line: bytes) -> NewRecord:
        headers, key, value = template.headers, template.key, line
        if with_headers:
            text, tab, value = value.partition(b"\t")
            if not tab:
                raise MalformedRecord(f"has no tab after the headers: {_shown(line)}")
            if text != null:
                headers = headers + _headers_of_line(text)
        if key_separator is not None:
            key, found, value = value.partition(key_separator)
            if not found:
                raise MalformedRecord(f"has no key separator {_shown(key_separator)}: {_shown(line)}")
        return template._replace(
            value=None if value == null else value, key=None if key == null else key, headers=headers
        )

    return parse


def _headers_of_line(text: bytes) -> Headers:
    return tuple([_header_of_line(pair) for pair in text.split(b",")]) if text else ()


def _header_of_line(pair: bytes) -> tuple[str, bytes]:
    name, colon, value = pair.partition(b":")
    if not colon:
        raise MalformedRecord(f"has a header without a colon: {_shown(pair)}")
    try:
        return name.decode(), value
    except UnicodeDecodeError:
        raise MalformedRecord(f"has a header whose name is not UTF-8: {_shown(name)}") from None


def parse_header(text: str) -> tuple[str, bytes]:
    """`name=value`, as --header takes it."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise MalformedRecord(f"{text!r} is no header; give it as name=value")
    return name, value.encode("utf-8", "surrogateescape")


# JSON ---------------------------------------------------------------------------------------------------------------

_READ = ("value", "key", "headers", "partition", "timestamp", "value_encoding", "key_encoding")
_PASSED_OVER = ("topic", "offset", "timestamp_type")
"""What `stoker consume --json` writes and the broker decides."""
_KNOWN = frozenset(_READ + _PASSED_OVER)


def json_parser(template: NewRecord, *, now_ms: Callable[[], int]) -> Parser:
    """JSON objects as `stoker consume --json` writes them; only `value` must be there. Empty lines are passed over."""

    def parse(line: bytes) -> NewRecord | None:
        if not line or line.isspace():
            return None
        fields = _json_object(line)
        if unknown := fields.keys() - _KNOWN:
            raise MalformedRecord(f"has an unknown field {min(unknown)!r}; the choices are {', '.join(_READ)}")
        if "value" not in fields:
            raise MalformedRecord('has no "value"; null makes a tombstone')
        texts = _own_texts(line, fields)
        return NewRecord(
            texts.get("value") or _json_bytes("value", fields["value"], fields.get("value_encoding")),
            texts.get("key")
            or (_json_bytes("key", fields["key"], fields.get("key_encoding")) if "key" in fields else template.key),
            template.headers + _json_headers(fields.get("headers")),
            _json_partition(fields.get("partition"), template.partition),
            _json_timestamp(fields.get("timestamp"), template.timestamp, now_ms),
        )

    return parse


def _json_object(line: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise MalformedRecord(f"is no JSON: {error}") from None
    if not isinstance(fields, dict):
        raise MalformedRecord('is no JSON object; give {"key": ..., "value": ...}')
    return fields


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is Python's and JavaScript's")


def _own_texts(line: bytes, fields: dict[str, Any]) -> dict[str, bytes]:
    """Keys and values that are JSON themselves, as they are written: 1.10 stays 1.10, and a member that comes twice does."""
    wanted = [name for name in ("value", "key") if not isinstance(fields.get(name), str | None)]
    wanted = [name for name in wanted if f"{name}_encoding" not in fields]
    if not wanted:
        return {}
    text = line.decode(json.detect_encoding(line))
    texts = {}
    decoder = json.JSONDecoder()
    position = text.index("{")
    while text[position] != "}":
        name, position = decoder.raw_decode(text, _next_token(text, position + 1))
        start = _next_token(text, _next_token(text, position) + 1)
        _, end = decoder.raw_decode(text, start)
        if name in wanted:
            texts[name] = text[start:end].encode()
        position = _next_token(text, end)
    return texts


def _next_token(text: str, position: int) -> int:
    while text[position] in " \t\n\r":
        position += 1
    return position


def _json_bytes(name: str, value: Any, encoding: Any) -> bytes | None:
    if encoding is not None:
        if encoding != "base64" or not isinstance(value, str):
            raise MalformedRecord(f'has a {name} of an unknown encoding; the only one is "base64", of a string')
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError) as error:
            raise MalformedRecord(f"has a {name} that is no base64: {error}") from None
    if value is None:
        return None
    try:
        return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)).encode()
    except ValueError as error:
        if not isinstance(error, UnicodeEncodeError):
            raise MalformedRecord(f"has a {name} that JSON cannot write: {error}") from None
        # "\ud800" is JSON, but no text
        raise MalformedRecord(f"has a {name} with half of a surrogate pair, which UTF-8 cannot write") from None


def _json_headers(headers: Any) -> Headers:
    if headers is None:
        return ()
    if isinstance(headers, dict):
        return tuple([(name, _json_bytes("header", value, None)) for name, value in headers.items()])
    if isinstance(headers, list):
        return tuple([_json_header(header) for header in headers])
    raise MalformedRecord('has headers that are neither an object nor a list of {"key": ..., "value": ...}')


def _json_header(header: Any) -> tuple[str, bytes | None]:
    if not isinstance(header, dict) or not isinstance(header.get("key"), str) or "value" not in header:
        raise MalformedRecord('has a header that is not {"key": ..., "value": ...}')
    return header["key"], _json_bytes("header", header["value"], header.get("encoding"))


def _json_partition(partition: Any, default: int) -> int:
    if partition is None:
        return default
    if not isinstance(partition, int) or isinstance(partition, bool) or not 0 <= partition < 2**31:
        raise MalformedRecord(f"has a partition that is no number: {json.dumps(partition)}")
    return partition


def _json_timestamp(timestamp: Any, default: int, now_ms: Callable[[], int]) -> int:
    if timestamp is None:
        return default
    if isinstance(timestamp, bool) or not isinstance(timestamp, int | str):
        raise MalformedRecord(f"has a timestamp that is neither milliseconds nor a text: {json.dumps(timestamp)}")
    try:
        return checked_timestamp(parse_moment(str(timestamp), now_ms()))
    except MalformedMoment as error:
        raise MalformedRecord(f"has a timestamp that cannot be read: {error}") from None


def checked_timestamp(milliseconds: int) -> int:
    """Raises MalformedRecord for what cannot be sent: a broker takes none before 1970, and to librdkafka 0 is now."""
    if not 0 < milliseconds < 2**63:
        raise MalformedRecord(f"has a timestamp that no record can have: {milliseconds}")
    return milliseconds


def _shown(data: bytes) -> str:
    text = data.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 60 else text[:57] + "...")
