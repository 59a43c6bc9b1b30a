"""A record as a line, as Kafka's DefaultMessageFormatter prints it."""

import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, cast

from stoker.kafka_tools.java_text import DOUBLE, FLOAT, number_text, uuid_text
from stoker.kafka_tools.thrown import log_error

if TYPE_CHECKING:
    from confluent_kafka import Message

DEFAULT: Final = "org.apache.kafka.tools.consumer.DefaultMessageFormatter"
LOGGING: Final = "org.apache.kafka.tools.consumer.LoggingMessageFormatter"
NO_OP: Final = "org.apache.kafka.tools.consumer.NoOpMessageFormatter"
FORMATTERS: Final = (
    DEFAULT,
    LOGGING,
    NO_OP,
    "org.apache.kafka.tools.consumer.OffsetsMessageFormatter",
    "org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter",
    "org.apache.kafka.tools.consumer.TransactionLogMessageFormatter",
)

_TIMESTAMPS: Final = {1: "CreateTime", 2: "LogAppendTime"}
_SERIALIZATION: Final = "org.apache.kafka.common.serialization"

Deserializer = Callable[[bytes], bytes]
Formatter = Callable[["Message"], bytes]
"""What is printed of a record. Raises ValueError for one that cannot be shown."""


class MessageFormatter:
    """By the properties of `--formatter-property`."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        def is_true(name: str, default: bool = False) -> bool:
            return properties[name].strip().lower() == "true" if name in properties else default

        def text(name: str, default: str) -> bytes:
            return properties.get(name, default).encode()

        self._parts = [
            part
            for is_wanted, part in (
                (is_true("print.timestamp"), _timestamp),
                (is_true("print.partition"), lambda record: b"Partition:%d" % (record.partition() or 0)),
                (is_true("print.offset"), lambda record: b"Offset:%d" % (record.offset() or 0)),
                (is_true("print.delivery"), lambda record: b"Delivery:NOT_PRESENT"),
                (is_true("print.epoch"), lambda record: b"Epoch:NOT_PRESENT"),
                (is_true("print.headers"), self._headers),
                (is_true("print.key"), self._key),
                (is_true("print.value", default=True), self._value),
            )
            if is_wanted
        ]
        self._key_separator = text("key.separator", "\t")
        self._line_separator = text("line.separator", "\n")
        self._headers_separator = text("headers.separator", ",")
        self._null = text("null.literal", "null")
        self._of_key = _deserializer(properties.get("key.deserializer"))
        self._of_value = _deserializer(properties.get("value.deserializer"))
        self._of_headers = _deserializer(properties.get("headers.deserializer"))

    def __call__(self, record: "Message") -> bytes:
        """With the separator of lines at the end. Raises ValueError for what cannot be deserialized."""
        if not self._parts:
            return b""
        return self._key_separator.join([part(record) for part in self._parts]) + self._line_separator

    def _key(self, record: "Message") -> bytes:
        return self._shown(record.key(), self._of_key)

    def _value(self, record: "Message") -> bytes:
        return self._shown(record.value(), self._of_value)

    def _headers(self, record: "Message") -> bytes:
        headers = cast("list[tuple[str, bytes | None]]", record.headers())
        if not headers:
            return b"NO_HEADERS"
        return self._headers_separator.join(
            name.encode() + b":" + self._shown(value, self._of_headers) for name, value in headers
        )

    def _shown(self, value: "bytes | str | None", deserialize: Deserializer | None) -> bytes:
        if value is None:
            value = self._null  # which is deserialized, too
        content = value.encode() if isinstance(value, str) else value
        return content if deserialize is None else deserialize(content)


def _timestamp(record: "Message") -> bytes:
    kind, time = record.timestamp()
    return f"{_TIMESTAMPS[kind]}:{time}".encode() if kind in _TIMESTAMPS else b"NO_TIMESTAMP"


def _with_point(layout: struct.Struct) -> Deserializer:
    def deserialize(content: bytes) -> bytes:
        if len(content) != layout.size:
            raise ValueError(f"Size of data received by Deserializer is not {layout.size}")
        return number_text(content, layout).encode()

    return deserialize


def _boolean(content: bytes) -> bytes:
    if len(content) != 1:
        raise ValueError("Size of data received by BooleanDeserializer is not 1")
    if content not in (b"\x00", b"\x01"):
        (signed,) = struct.unpack(">b", content)
        raise ValueError(f"Unexpected byte received by BooleanDeserializer: {signed}")
    return b"true" if content == b"\x01" else b"false"


def _number(layout: str, name: str) -> Deserializer:
    packed = struct.Struct(layout)

    def deserialize(content: bytes) -> bytes:
        if len(content) != packed.size:
            raise ValueError(f"Size of data received by {name}Deserializer is not {packed.size}")
        return str(packed.unpack(content)[0]).encode()

    return deserialize


def _shown_byte(byte: int) -> str:
    return chr(byte) if 32 <= byte < 127 else f"\\x{byte:02X}"


_DESERIALIZERS: Final[dict[str, Deserializer]] = {
    "StringDeserializer": lambda content: content.decode("utf-8", "replace").encode(),
    "UUIDDeserializer": lambda content: uuid_text(content.decode("utf-8", "replace")).encode(),
    "ShortDeserializer": _number(">h", "Short"),
    "IntegerDeserializer": _number(">i", "Integer"),
    "LongDeserializer": _number(">q", "Long"),
    "FloatDeserializer": _with_point(FLOAT),
    "DoubleDeserializer": _with_point(DOUBLE),
    "BytesDeserializer": lambda content: "".join(map(_shown_byte, content)).encode(),
    "BooleanDeserializer": _boolean,
}


def _deserializer(name: str | None) -> Deserializer | None:
    """Of one of Kafka's own classes; any other is told of, and the bytes are shown as they are, as Kafka's tool does."""
    if name is None:
        return None
    package, _, short = name.rpartition(".")
    found = _DESERIALIZERS.get(short) if package == _SERIALIZATION else None
    if found is None:
        log_error(f"Unable to instantiate a deserializer from {name}", DEFAULT)
    return found
