"""Values as Java's deserializers give them, in the words of Java's `toString`."""

import struct
from typing import Final

import pytest
from confluent_kafka import Message

from stoker.kafka_tools.message_formatter import MessageFormatter

_PACKAGE: Final = "org.apache.kafka.common.serialization"


def _shown(deserializer: str, value: bytes) -> str:
    formatter = MessageFormatter({"value.deserializer": f"{_PACKAGE}.{deserializer}Deserializer"})
    return formatter(Message(value=value)).decode().removesuffix("\n")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.1, "0.1"),
        (1.0, "1.0"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (9.99e-4, "9.99E-4"),
        (3.4028235e38, "3.4028235E38"),
        (1.4e-45, "1.4E-45"),
        (5.684342e-14, "5.684342E-14"),
        (-123456.7, "-123456.7"),
    ],
)
def test_a_float(number: float, text: str) -> None:
    assert _shown("Float", struct.pack(">f", number)) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (12345678.9, "1.23456789E7"),
        (0.0001, "1.0E-4"),
        (100.0, "100.0"),
        (123.456, "123.456"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1 / 3, "0.3333333333333333"),
        (5e-324, "4.9E-324"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (9007199254740992.0, "9.007199254740992E15"),
        (2e23, "2.0E23"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_a_double(number: float, text: str) -> None:
    assert _shown("Double", struct.pack(">d", number)) == text


def test_booleans_and_uuids() -> None:
    assert [_shown("Boolean", value) for value in (b"\x01", b"\x00")] == ["true", "false"]
    assert _shown("UUID", b"0A0b-1-1-1-1") == "00000a0b-0001-0001-0001-000000000001"


@pytest.mark.parametrize(
    ("deserializer", "value", "message"),
    [
        ("Float", b"1", "Size of data received by Deserializer is not 4"),
        ("Double", b"1234", "Size of data received by Deserializer is not 8"),
        ("Boolean", b"", "Size of data received by BooleanDeserializer is not 1"),
        ("Boolean", b"\xff", "Unexpected byte received by BooleanDeserializer: -1"),
        ("UUID", b"no uuid", "Error parsing data into UUID"),
        ("UUID", b"0-0-0-0-0000000000000000000000000000000", "Error parsing data into UUID"),
    ],
)
def test_what_is_none(deserializer: str, value: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _shown(deserializer, value)
