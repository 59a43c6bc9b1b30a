"""How a consumed record is written."""

import json
from dataclasses import dataclass, field

import pytest

from stoker.cli.record_format import (
    Formatter,
    MalformedFormat,
    columns_format,
    each,
    json_format,
    parse_format,
    value_format,
)


@dataclass(frozen=True, kw_only=True)
class FakeRecord:
    """Answers as confluent_kafka.Message does."""

    of_topic: str = "orders"
    in_partition: int = 2
    at_offset: int = 17
    at_time: tuple[int, int] = (1, 1_767_225_600_123)
    with_key: bytes | None = b"order-1"
    with_value: bytes | None = b'{"amount": 99.99}'
    with_headers: list[tuple[str, bytes | None]] | None = field(
        default_factory=lambda: [("source", b"web"), ("x", None)]
    )

    def topic(self) -> str:
        return self.of_topic

    def partition(self) -> int:
        return self.in_partition

    def offset(self) -> int:
        return self.at_offset

    def timestamp(self) -> tuple[int, int]:
        return self.at_time

    def key(self) -> bytes | None:
        return self.with_key

    def value(self) -> bytes | None:
        return self.with_value

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self.with_headers


FULL = FakeRecord()
BARE = FakeRecord(with_key=None, with_value=None, with_headers=None, at_time=(0, -1))

ALL = ["key", "headers", "offset", "partition", "timestamp", "topic"]


@pytest.mark.parametrize(
    ("formatter", "full", "bare"),
    [
        (columns_format(["key"], b"null"), b'order-1\t{"amount": 99.99}\n', b"null\tnull\n"),
        (
            columns_format(ALL, b"-"),
            b"CreateTime:1767225600123\tTopic:orders\tPartition:2\tOffset:17\tsource:web,x:-\torder-1\t"
            b'{"amount": 99.99}\n',
            b"NO_TIMESTAMP\tTopic:orders\tPartition:2\tOffset:17\tNO_HEADERS\t-\t-\n",
        ),
        (
            parse_format(r"%T %p %o %k %s\n", b""),
            b'1767225600123 2 17 order-1 {"amount": 99.99}\n',
            b"-1 2 17  \n",
        ),
        (parse_format(r"%t\t%K\t%S\t%h\0", b""), b"orders\t7\t17\tsource=web,x=NULL\0", b"orders\t-1\t-1\t\0"),
        (parse_format("%R", b""), b"\0\0\0\x11", b"\xff\xff\xff\xff"),
        (parse_format("100%% %%s %s", b"nil"), b'100% %s {"amount": 99.99}', b"100% %s nil"),
        (parse_format("no field", b""), b"no field", b"no field"),
        (parse_format(r"\x25s", b"nil"), b'{"amount": 99.99}', b"nil"),
    ],
)
def test_formats(formatter: Formatter, full: bytes, bare: bytes) -> None:
    assert formatter(FULL) == full
    assert formatter(BARE) == bare


def test_blocks() -> None:
    assert value_format(b"null")([FULL, BARE, FULL]) == b'{"amount": 99.99}\nnull\n{"amount": 99.99}\n'
    assert value_format(b"null")([]) == b""
    assert each(parse_format("%o;", b""))([FULL, BARE]) == b"17;17;"


@pytest.mark.parametrize("text", ["%x", "%", "%s %", "%é"])
def test_a_format_with_an_unknown_letter_is_refused_with_the_choices(text: str) -> None:
    with pytest.raises(MalformedFormat, match=r"--format.*%t topic, %p partition"):
        parse_format(text, b"")


def test_an_unknown_column_is_refused_with_the_choices() -> None:
    with pytest.raises(MalformedFormat, match=r"'keys'; the choices are timestamp, topic, partition, .*key"):
        columns_format(["offset", "keys"], b"")


@pytest.mark.parametrize(
    ("record", "members"),
    [
        (
            FULL,
            {
                "timestamp": 1_767_225_600_123,
                "timestamp_type": "CreateTime",
                "key": "order-1",
                "value": '{"amount": 99.99}',
                "headers": [{"key": "source", "value": "web"}, {"key": "x", "value": None}],
            },
        ),
        (BARE, {"timestamp": None, "timestamp_type": None, "key": None, "value": None, "headers": []}),
        (
            FakeRecord(
                at_time=(2, 5), with_key=b"\xff", with_value=b"gr\xc3\xbcn\n", with_headers=[('"', b"\xfe"), ('"', b"")]
            ),
            {
                "timestamp": 5,
                "timestamp_type": "LogAppendTime",
                "key": "/w==",
                "key_encoding": "base64",
                "value": "grün\n",
                "headers": [{"key": '"', "value": "/g==", "encoding": "base64"}, {"key": '"', "value": ""}],
            },
        ),
        (
            FakeRecord(with_key=b"", with_value=b"\x80", with_headers=None),
            {
                "timestamp": 1_767_225_600_123,
                "timestamp_type": "CreateTime",
                "key": "",
                "value": "gA==",
                "value_encoding": "base64",
                "headers": [],
            },
        ),
    ],
)
def test_json(record: FakeRecord, members: dict[str, object]) -> None:
    line = json_format(record)
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"topic": "orders", "partition": 2, "offset": 17} | members
