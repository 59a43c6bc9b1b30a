"""`listeners` and its like."""

import pytest

from stoker.broker.config.errors import InvalidConfig
from stoker.broker.config.listeners import Listener, parse_listeners, parse_map, parse_protocol_map

PROTOCOLS = {"PLAINTEXT": "PLAINTEXT", "INTERNAL": "PLAINTEXT", "OUTSIDE": "SASL_SSL"}


def listener(name: str, protocol: str, host: str, port: int) -> Listener:
    return Listener(name=name, security_protocol=protocol, host=host, port=port)


@pytest.mark.parametrize(
    ("entries", "listeners"),
    [
        (["PLAINTEXT://:9092"], [listener("PLAINTEXT", "PLAINTEXT", "", 9092)]),
        (["internal://example.org:0"], [listener("INTERNAL", "PLAINTEXT", "example.org", 0)]),
        (["PLAINTEXT://[::1]:9092"], [listener("PLAINTEXT", "PLAINTEXT", "::1", 9092)]),
        (
            ["INTERNAL://127.0.0.1:9092", "OUTSIDE://[::1]:9092"],
            [listener("INTERNAL", "PLAINTEXT", "127.0.0.1", 9092), listener("OUTSIDE", "SASL_SSL", "::1", 9092)],
        ),
        (
            ["INTERNAL://:0", "OUTSIDE://:0"],
            [listener("INTERNAL", "PLAINTEXT", "", 0), listener("OUTSIDE", "SASL_SSL", "", 0)],
        ),
    ],
)
def test_addresses(entries: list[str], listeners: list[Listener]) -> None:
    assert parse_listeners("listeners", tuple(entries), PROTOCOLS, distinct_ports=True) == tuple(listeners)


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        (["localhost:9092"], "Unable to parse localhost:9092 to a broker endpoint"),
        (["PLAINTEXT://localhost"], "Unable to parse PLAINTEXT://localhost to a broker endpoint"),
        (["PLAINTEXT://localhost:x"], "Unable to parse"),
        (["PLAINTEXT://a b:1"], "Unable to parse"),
        (["PLAINTEXT://:70000"], "port 70000 of listener PLAINTEXT is not between 0 and 65535"),
        (["OTHER://:1"], "No security protocol defined for listener OTHER; .* knows PLAINTEXT, INTERNAL, OUTSIDE"),
        (["INTERNAL://:1", "internal://:2"], "Each listener must have a different name"),
        (["INTERNAL://:1", "OUTSIDE://:1"], "Each listener must have a different port"),
        (["INTERNAL://127.0.0.1:1", "OUTSIDE://127.0.0.2:1"], "Each listener must have a different port"),
    ],
)
def test_addresses_that_cannot_be(entries: list[str], reason: str) -> None:
    with pytest.raises(InvalidConfig, match=rf"^Error creating broker listeners from '\[.*\]': {reason}"):
        parse_listeners("listeners", tuple(entries), PROTOCOLS, distinct_ports=True)


def test_advertised_listeners_may_share_a_port() -> None:
    entries = ("INTERNAL://a:1", "OUTSIDE://b:1")
    assert len(parse_listeners("advertised.listeners", entries, PROTOCOLS, distinct_ports=False)) == 2


@pytest.mark.parametrize("text", ["PLAINTEXT://:9092", "PLAINTEXT://[::1]:9092", "INTERNAL://example.org:1"])
def test_a_listener_reads_as_it_was_written(text: str) -> None:
    [parsed] = parse_listeners("listeners", (text,), PROTOCOLS, distinct_ports=True)
    assert str(parsed) == text


def test_the_last_colon_of_a_map_entry_counts() -> None:
    assert parse_map("n", " ::1:5 , 127.0.0.1 : 7 ") == {"::1": "5", "127.0.0.1": "7"}
    assert parse_map("n", " ") == {}


def test_a_map_entry_without_colon_is_named() -> None:
    with pytest.raises(InvalidConfig, match="Error parsing configuration property 'n': entry 'b' is not of the form"):
        parse_map("n", "a:1,b")


def test_protocol_maps_are_in_capitals_and_checked() -> None:
    assert parse_protocol_map("internal:plaintext") == {"INTERNAL": "PLAINTEXT"}
    with pytest.raises(InvalidConfig, match=r"^Invalid security protocol `TLS` defined in listener"):
        parse_protocol_map("INTERNAL:TLS")
