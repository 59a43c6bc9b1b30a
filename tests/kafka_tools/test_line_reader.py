"""Lines as records."""

from typing import Any

import pytest

from stoker.kafka_tools.failure import JavaError
from stoker.kafka_tools.line_reader import LineReader

KEY = {"parse.key": "true", "key.separator": ":"}
HEADERS = {"parse.headers": "true"}


@pytest.mark.parametrize(
    ("properties", "line", "record"),
    [
        ({}, "a\tb", {"value": b"a\tb"}),
        ({}, "", {"value": b""}),
        ({"parse.key": " TRUE "}, "k\tv\tw", {"key": b"k", "value": b"v\tw"}),
        (KEY, "order-1:{}", {"key": b"order-1", "value": b"{}"}),
        (KEY, ":", {"key": b"", "value": b""}),
        (KEY | {"null.marker": "NULL"}, "NULL:NULL", {"key": None, "value": None}),
        (KEY | {"ignore.error": "true"}, "no separator", {"value": b"no separator"}),
        (HEADERS, "a:1,b:2\tv", {"value": b"v", "headers": [("a", b"1"), ("b", b"2")]}),
        (HEADERS | {"null.marker": "-"}, "a:-\tv", {"value": b"v", "headers": [("a", None)]}),
        (HEADERS | {"null.marker": "-"}, "-\tv", {"value": b"v"}),
        (HEADERS | KEY, "a:1\tk:v", {"key": b"k", "value": b"v", "headers": [("a", b"1")]}),
        (HEADERS | {"headers.separator": r"\|"}, "a:1|b:2\tv", {"value": b"v", "headers": [("a", b"1"), ("b", b"2")]}),
        (HEADERS | {"ignore.error": "true"}, "a\tv", {"value": b"v", "headers": [("a", None)]}),
    ],
)
def test_a_line_is_a_record(properties: dict[str, str], line: str, record: dict[str, Any]) -> None:
    assert list(LineReader(properties).records([line])) == [record]


@pytest.mark.parametrize(
    ("properties", "lines", "message"),
    [
        (KEY, ["a:b", "ab"], "No key separator found on line number 2: 'ab'"),
        (HEADERS, ["ab"], "No headers delimiter found on line number 1: 'ab'"),
        (HEADERS, ["a\tb"], "No header key separator found in pair 'a' on line number 1"),
        (HEADERS | {"null.marker": "-"}, ["-:1\tb"], "Header keys should not be equal to the null marker '-'"),
    ],
)
def test_what_is_no_record(properties: dict[str, str], lines: list[str], message: str) -> None:
    with pytest.raises(JavaError) as raised:
        list(LineReader(properties).records(lines))
    assert raised.value.message.startswith(message)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"headers.delimiter": ","}, "headers.delimiter and headers.separator may not be equal"),
        ({"null.marker": "\t"}, "null.marker and key.separator may not be equal"),
    ],
)
def test_properties_that_contradict_each_other(properties: dict[str, str], message: str) -> None:
    with pytest.raises(JavaError, match=message):
        LineReader(properties)
