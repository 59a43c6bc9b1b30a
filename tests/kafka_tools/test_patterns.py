"""Texts split as Java does it, and what is read by that."""

import re
from pathlib import Path

import pytest

from stoker.client.topic_partition import TopicPartition
from stoker.kafka_tools.failure import JavaError
from stoker.kafka_tools.get_offsets import GetOffsetsOptions, wanted_by
from stoker.kafka_tools.patterns import split
from stoker.kafka_tools.producer_perf_test import read_payloads

PARTITIONS = [TopicPartition(topic, index) for topic in ("orders", "payments") for index in range(3)]


@pytest.mark.parametrize(
    ("pattern", "text", "pieces"),
    [
        (",", "a,b", ["a", "b"]),
        (",", "a,,b,,", ["a", "", "b"]),
        (",", ",a", ["", "a"]),
        (",", ",", []),
        (",", "", [""]),
        (",", "a", ["a"]),
        ("", "abc", ["a", "b", "c"]),
        ("(,)|(;)", "a,b;c", ["a", "b", "c"]),
    ],
)
def test_a_text_is_split_as_by_java(pattern: str, text: str, pieces: list[str]) -> None:
    assert split(re.compile(pattern), text) == pieces


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--topic-partitions", "orders:0,"], [("orders", 0)]),
        (["--topic-partitions", "orders:0-2,payments:2,,"], [("orders", 0), ("orders", 1), ("payments", 2)]),
        (["--topic", "orders", "--partitions", "0,1,"], [("orders", 0), ("orders", 1)]),
        (["--topic-partitions", ","], []),
    ],
)
def test_a_comma_at_the_end_says_nothing(arguments: list[str], wanted: list[tuple[str, int]]) -> None:
    """To kafka-get-offsets.sh, whose rules would else be for all partitions."""
    is_wanted = wanted_by(GetOffsetsOptions(["--bootstrap-server", "localhost:1", *arguments]))
    assert list(filter(is_wanted, PARTITIONS)) == wanted


@pytest.mark.parametrize(
    ("content", "delimiter", "payloads"),
    [
        (b"a\nb\n", "\\n", [b"a", b"b"]),
        (b"\n\na\n\n", "\\n", [b"", b"a", b""]),
        (b"a\tb\nc", "\\t", [b"a", b"b\nc"]),
        (b"a\r\nb", "\\n", [b"a\r", b"b"]),
        (b"1a1b22c3", "[0-9]+", [b"a", b"b", b"c"]),
        (b"\xff\nb", "\\n", ["\ufffd".encode(), b"b"]),
    ],
)
def test_payloads_of_a_file(tmp_path: Path, content: bytes, delimiter: str, payloads: list[bytes]) -> None:
    file = tmp_path / "payloads"
    file.write_bytes(content)
    assert read_payloads({"payload_file": str(file), "payload_delimiter": delimiter}) == payloads


def test_a_file_of_no_payloads(tmp_path: Path) -> None:
    file = tmp_path / "payloads"
    file.write_bytes(b"\n")
    with pytest.raises(JavaError, match="no payload File Path"):
        read_payloads({"payload_file": str(file), "payload_delimiter": "\\n"})
