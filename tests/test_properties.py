"""Properties files, as java.util.Properties reads them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.errors import MalformedProperties
from stoker.properties import Property, parse_properties, read_properties


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("", []),
        ("a=1", [("a", "1", 1)]),
        ("a: 1", [("a", "1", 1)]),
        ("a 1", [("a", "1", 1)]),
        ("  a  =  1  ", [("a", "1  ", 1)]),
        ("a", [("a", "", 1)]),
        ("a=", [("a", "", 1)]),
        ("=1", [("", "1", 1)]),
        ("a=b=c:d", [("a", "b=c:d", 1)]),
        ("a = = 1", [("a", "= 1", 1)]),
        ("# no\n! no\n\n  # no\na=1", [("a", "1", 5)]),
        ("# no \\\na=1", [("a", "1", 2)]),
        ("a=1 # yes", [("a", "1 # yes", 1)]),
        ("a=1\\\n   2\\\n3\nb=4", [("a", "123", 1), ("b", "4", 4)]),
        ("a=1\\", [("a", "1", 1)]),
        ("a=1\\\\\nb=2", [("a", "1\\", 1), ("b", "2", 2)]),
        ("\\\n# no\n\\\na=1", [("a", "1", 4)]),
        ("a=1\\\n# 2", [("a", "1# 2", 1)]),
        ("a\\=b\\:c\\ d=1", [("a=b:c d", "1", 1)]),
        ("a=\\t\\n\\u00e9\\q\\\\", [("a", "\t\n\u00e9q\\", 1)]),
        ("a=1\rb=2\r\nc=3", [("a", "1", 1), ("b", "2", 2), ("c", "3", 3)]),
        ("a=1\na=2", [("a", "1", 1), ("a", "2", 2)]),
        ("a=1\u2028b=2", [("a", "1\u2028b=2", 1)]),
    ],
)
def test_lines(text: str, properties: list[tuple[str, str, int]]) -> None:
    assert parse_properties(text) == [Property(*each) for each in properties]


def test_a_bad_escape_names_its_line() -> None:
    with pytest.raises(MalformedProperties, match=r"line 2: malformed \\uxxxx encoding") as caught:
        parse_properties("a=1\nb=\\u12g4")
    assert caught.value.line == 2


@pytest.mark.parametrize("content", ["a=ü".encode(), "a=ü".encode("latin-1"), "\ufeffa=ü".encode()])
def test_a_file_is_utf_8_or_else_latin_1(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes(content)
    assert read_properties(file) == [Property("a", "ü", 1)]


@given(st.text())
def test_any_text_is_properties_or_refused_by_line(text: str) -> None:
    lines = text.count("\n") + text.count("\r") + 1
    try:
        found = [each.line for each in parse_properties(text)]
    except MalformedProperties as error:
        found = [error.line]
    assert all(1 <= line <= lines for line in found)
