"""What is read as records to produce."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.cli.record_format import json_format
from stoker.cli.record_input import (
    MalformedRecord,
    NewRecord,
    Parser,
    blocks_of_lines,
    json_parser,
    line_parser,
    parse_header,
    whole,
)
from tests.cli.test_record_format import FakeRecord

NOW = 1_767_225_600_000


def reader(*chunks: bytes | None) -> Callable[[], bytes | None]:
    remaining = iter(chunks)
    return lambda: next(remaining, b"")


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([], []),
        ([b"\n"], [b""]),
        ([b"one\ntwo\n"], [b"one", b"two"]),
        ([b"one\n\ntwo"], [b"one", b"", b"two"]),
        ([b"o", b"n", b"e\ntw", b"o"], [b"one", b"two"]),
        ([b"one\r\ntwo\r\n"], [b"one", b"two"]),
        ([b"one\r", b"\ntwo\r"], [b"one", b"two\r"]),
        ([b"a\rb\n"], [b"a\rb"]),
        ([b"caf\xc3", b"\xa9\n\xff\x00\n"], ["café".encode(), b"\xff\x00"]),
    ],
)
def test_lines(chunks: list[bytes], lines: list[bytes]) -> None:
    assert [line for block in blocks_of_lines(reader(*chunks)) for line in block] == lines


@given(st.lists(st.binary(max_size=8).filter(lambda chunk: chunk != b"" and b"\r" not in chunk)))
def test_lines_do_not_depend_on_how_they_come(chunks: list[bytes]) -> None:
    whole = b"".join(chunks).split(b"\n")
    expected = whole if whole[-1] else whole[:-1]
    assert [line for block in blocks_of_lines(reader(*chunks)) for line in block] == expected


def test_half_a_line_is_none() -> None:
    assert list(blocks_of_lines(reader(b"one\ntw", None))) == [[b"one"]]
    assert list(blocks_of_lines(reader(b"one\n", None))) == [[b"one"]]


def test_a_whole_file() -> None:
    assert list(whole(reader(b"one\ntw", b"o\n"))) == [[b"one\ntwo\n"]]
    assert list(whole(reader())) == [[b""]]
    assert list(whole(reader(b"one", None))) == []


PLAIN = NewRecord(None)


def lines(
    template: NewRecord = PLAIN,
    *,
    key_separator: bytes | None = None,
    with_headers: bool = False,
    null: bytes | None = None,
) -> Parser:
    return line_parser(template, key_separator=key_separator, with_headers=with_headers, null=null)


@pytest.mark.parametrize(
    ("parser", "line", "record"),
    [
        (lines(), b"a:b", NewRecord(b"a:b")),
        (lines(), b"", NewRecord(b"")),
        (lines(key_separator=b":"), b'order-123:{"amount":99.99}', NewRecord(b'{"amount":99.99}', b"order-123")),
        (lines(key_separator=b"::"), b"a:b::c::d", NewRecord(b"c::d", b"a:b")),
        (lines(key_separator=b":"), b":", NewRecord(b"", b"")),
        (lines(key_separator=b":", null=b"NULL"), b"a:NULL", NewRecord(None, b"a")),
        (lines(key_separator=b":", null=b"NULL"), b"NULL:a", NewRecord(b"a", None)),
        (lines(null=b""), b"", NewRecord(None)),
        (
            lines(with_headers=True),
            b"h:1,g:x:y\tvalue\t2",
            NewRecord(b"value\t2", headers=(("h", b"1"), ("g", b"x:y"))),
        ),
        (lines(with_headers=True), b"\tvalue", NewRecord(b"value")),
        (lines(with_headers=True, null=b"NULL"), b"NULL\tvalue", NewRecord(b"value")),
        (
            lines(NewRecord(None, b"k", (("all", b"0"),), 3, 77), with_headers=True),
            b"h:1\tv",
            NewRecord(b"v", b"k", (("all", b"0"), ("h", b"1")), 3, 77),
        ),
        (lines(with_headers=True, key_separator=b"\t"), b"h:1\tk\tv", NewRecord(b"v", b"k", (("h", b"1"),))),
    ],
)
def test_a_line(parser: Parser, line: bytes, record: NewRecord) -> None:
    assert parser(line) == record


@pytest.mark.parametrize(
    ("parser", "line", "complaint"),
    [
        (lines(key_separator=b":"), b"no key", "has no key separator ':': 'no key'"),
        (lines(with_headers=True), b"h:1 v", "has no tab after the headers"),
        (lines(with_headers=True), b"h\tv", "has a header without a colon: 'h'"),
        (lines(with_headers=True), b"\xff:1\tv", r"has a header whose name is not UTF-8: '\\xff'"),
        (lines(key_separator=b":"), b"x" * 100, "'" + "x" * 57 + "...'"),
    ],
)
def test_a_malformed_line(parser: Parser, line: bytes, complaint: str) -> None:
    with pytest.raises(MalformedRecord) as refused:
        parser(line)
    assert complaint.replace(r"\\", "\\") in str(refused.value).replace(r"\\", "\\")


json_lines = json_parser(PLAIN, now_ms=lambda: NOW)


@pytest.mark.parametrize(
    ("line", "record"),
    [
        ({"value": "text"}, NewRecord(b"text")),
        ({"value": None}, NewRecord(None)),
        ({"value": {"amount": 99.99}}, NewRecord(b'{"amount": 99.99}')),
        ({"value": [1, True, None]}, NewRecord(b"[1, true, null]")),
        ({"value": 1.5, "key": 7}, NewRecord(b"1.5", b"7")),
        ({"value": "gA==", "value_encoding": "base64", "key": "gA=="}, NewRecord(b"\x80", b"gA==")),
        ({"value": "", "key": "gA==", "key_encoding": "base64"}, NewRecord(b"", b"\x80")),
        ({"value": "", "headers": {"a": "1", "b": None}}, NewRecord(b"", headers=(("a", b"1"), ("b", None)))),
        (
            {"value": "", "headers": [{"key": "a", "value": "gA==", "encoding": "base64"}, {"key": "a", "value": 2}]},
            NewRecord(b"", headers=(("a", b"\x80"), ("a", b"2"))),
        ),
        ({"value": "", "partition": 2, "timestamp": 5}, NewRecord(b"", partition=2, timestamp=5)),
        ({"value": "", "timestamp": "2026-01-01T00:00:01"}, NewRecord(b"", timestamp=NOW + 1000)),
        ({"value": "", "timestamp": "-1s"}, NewRecord(b"", timestamp=NOW - 1000)),
        ({"value": "", "timestamp": None, "partition": None, "headers": None}, NewRecord(b"")),
        ({"value": "", "topic": "else", "offset": 9, "timestamp_type": "CreateTime"}, NewRecord(b"")),
    ],
)
def test_json(line: object, record: NewRecord) -> None:
    assert json_lines(json.dumps(line).encode()) == record


@pytest.mark.parametrize(
    "text", ["1.10", "0.12345678901234567890", "1e400", '{"a":1, "a" : 2}', '[ "Jürgen",\t"J\\u00fcrgen" ]', "false"]
)
@pytest.mark.parametrize(
    "form", ['{"value":%s}', '{ "key" : "value" ,\t"value" : %s }', '{"value": 1, "value": %s, "key": 5}']
)
def test_json_within_json_stays_as_it_is_written(text: str, form: str) -> None:
    record = json_lines((form % text).encode())
    assert record is not None
    assert record.value == text.encode()
    as_key = json_lines(b'{"value": "", "key": %s}' % text.encode())
    assert as_key is not None
    assert as_key.key == text.encode()


@pytest.mark.parametrize("line", [b"", b"  \t"])
def test_an_empty_line_between_json_objects_is_nothing(line: bytes) -> None:
    assert json_lines(line) is None


def test_json_says_what_the_command_line_left_open() -> None:
    parser = json_parser(NewRecord(None, b"k", (("all", b"0"),), 3, 77), now_ms=lambda: NOW)
    assert parser(b'{"value": "v"}') == NewRecord(b"v", b"k", (("all", b"0"),), 3, 77)
    told = b'{"value": "v", "key": null, "headers": {"h": "1"}, "partition": 0, "timestamp": 5}'
    assert parser(told) == NewRecord(b"v", None, (("all", b"0"), ("h", b"1")), 0, 5)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"text", "is no JSON"),
        (b'"\xff"', "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b'"text"', "is no JSON object"),
        (b"{}", 'has no "value"; null makes a tombstone'),
        (b'{"value": {"n": NaN}}', "is no JSON: NaN"),
        (b'{"value": [-Infinity]}', "is no JSON: -Infinity"),
        (b'{"value": "", "headers": {"h": 1e400}}', "has a header that JSON cannot write"),
        (b'{"value": 1, "kee": 2}', "has an unknown field 'kee'; the choices are value, key, headers"),
        (b'{"value": "?", "value_encoding": "base64"}', "has a value that is no base64"),
        (b'{"value": "", "key": "", "key_encoding": "hex"}', "has a key of an unknown encoding"),
        (b'{"value": "\\ud800"}', "half of a surrogate pair"),
        (b'{"value": "", "headers": "a"}', "has headers that are neither"),
        (b'{"value": "", "headers": ["a"]}', "has a header that is not"),
        (b'{"value": "", "partition": "0"}', 'has a partition that is no number: "0"'),
        (b'{"value": "", "partition": -1}', "has a partition that is no number: -1"),
        (b'{"value": "", "partition": true}', "has a partition that is no number: true"),
        (b'{"value": "", "timestamp": 1.5}', "neither milliseconds nor a text: 1.5"),
        (b'{"value": "", "timestamp": "noon"}', "'noon' is no point in time"),
        (b'{"value": "", "timestamp": 0}', "has a timestamp that no record can have: 0"),
        (b'{"value": "", "timestamp": "1969-01-01"}', "has a timestamp that no record can have"),
    ],
)
def test_malformed_json(line: bytes, complaint: str) -> None:
    with pytest.raises(MalformedRecord) as refused:
        json_lines(line)
    assert complaint in str(refused.value)


@given(
    key=st.none() | st.binary(),
    value=st.none() | st.binary(),
    headers=st.lists(st.tuples(st.text(st.characters(codec="utf-8")), st.none() | st.binary())),
    partition=st.integers(0, 2**31 - 1),
    timestamp=st.integers(1, 2**63 - 1),
)
def test_what_consume_writes_as_json_is_the_same_record_when_read(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]], partition: int, timestamp: int
) -> None:
    consumed = FakeRecord(
        with_key=key, with_value=value, with_headers=headers, in_partition=partition, at_time=(1, timestamp)
    )
    assert json_lines(json_format(consumed)) == NewRecord(value, key, tuple(headers), partition, timestamp)


def test_a_header_of_the_command_line() -> None:
    assert parse_header("source=web=1") == ("source", b"web=1")
    assert parse_header("empty=") == ("empty", b"")
    for text in ("source", "=web"):
        with pytest.raises(MalformedRecord, match="is no header; give it as name=value"):
            parse_header(text)
