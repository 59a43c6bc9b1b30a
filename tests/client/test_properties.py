"""Client properties by Kafka's names."""

from pathlib import Path

import pytest

from stoker.client.address import Address
from stoker.client.errors import InvalidClientProperty
from stoker.client.properties import client_properties, read_client_properties


def test_defaults_are_those_of_kafkas_admin_client() -> None:
    properties = client_properties("localhost:9092")
    assert properties.bootstrap_servers == (Address("localhost", 9092),)
    assert (properties.request_timeout_ms, properties.default_api_timeout_ms) == (30_000, 60_000)
    assert (properties.retry_backoff_ms, properties.retry_backoff_max_ms) == (100, 1_000)


def test_a_file_is_read_and_the_caller_is_stronger(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=a:1\nclient.id = me\nrequest.timeout.ms=500\nrequest.timeout.ms=700 \n")
    given = read_client_properties(file)
    assert client_properties(None, given).bootstrap_servers == (Address("a", 1),)
    properties = client_properties("b:2", given)
    assert properties.bootstrap_servers == (Address("b", 2),)
    assert (properties.client_id, properties.request_timeout_ms) == ("me", 700)


def test_a_comment_behind_a_value_is_left_out_and_a_secret_is_whole(tmp_path: Path) -> None:
    """To Kafka it is a part of the value; tutorials write it all the same."""
    file = tmp_path / "client.properties"
    file.write_text("acks=all   # wait for all\nclient.id=a#b\nsasl.password=x #y\nssl.key.password=# z\n")
    assert read_client_properties(file) == {
        "acks": "all",
        "client.id": "a#b",
        "sasl.password": "x #y",
        "ssl.key.password": "# z",
    }


def test_unknown_names_are_named_and_tolerated() -> None:
    given = {"sasl.mechanism": "PLAIN", "retries": "3", "request.timeout.sm": "1", "acks": "all"}
    assert client_properties("localhost:9092", given).unknown == ["acks", "request.timeout.sm"]


@pytest.mark.parametrize("value", ["soon", "2147483648", "9" * 5000, "", "-1", "1.5"])
def test_a_time_out_is_a_number(value: str) -> None:
    with pytest.raises(InvalidClientProperty, match=r"request\.timeout\.ms"):
        client_properties("localhost:9092", {"request.timeout.ms": value})


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidClientProperty, match=r"nothing\.properties cannot be read: No such file"):
        read_client_properties(tmp_path / "nothing.properties")
    file = tmp_path / "bad.properties"
    file.write_text("a=\\u12")
    with pytest.raises(InvalidClientProperty, match=r"bad\.properties line 1"):
        read_client_properties(file)
