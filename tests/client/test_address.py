"""Addresses as they stand in bootstrap.servers."""

import pytest

from stoker.client.address import Address, parse_addresses
from stoker.client.errors import InvalidClientProperty


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("localhost:9092", [("localhost", 9092)]),
        ("localhost", [("localhost", 9092)]),
        (" a:1 , b:2,", [("a", 1), ("b", 2)]),
        ("[::1]:9093", [("::1", 9093)]),
        ("[::1]", [("::1", 9092)]),
        ("PLAINTEXT://broker1:9092", [("broker1", 9092)]),
    ],
)
def test_addresses(text: str, addresses: list[tuple[str, int]]) -> None:
    assert parse_addresses(text) == tuple(Address(*each) for each in addresses)


@pytest.mark.parametrize(
    "text", ["", " , ", ":9092", "host:x", "host:0", "host:65536", "[::1:9092", "[::1]9092", "::1:9092"]
)
def test_no_addresses(text: str) -> None:
    with pytest.raises(InvalidClientProperty, match=r"bootstrap\.servers"):
        parse_addresses(text)


@pytest.mark.parametrize("text", ["localhost:9092", "[::1]:9093"])
def test_an_address_is_shown_as_it_is_typed(text: str) -> None:
    assert str(parse_addresses(text)[0]) == text
