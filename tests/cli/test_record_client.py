"""What librdkafka says, in words that help."""

import pytest
from confluent_kafka import KafkaError

from stoker.cli.record_client import ClientErrors, open_client, parse_property, reason_of, sentence
from stoker.client.errors import InvalidClientProperty
from stoker.client.properties import client_properties


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            "localhost:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)",
            "Connection refused",
        ),
        (
            "sasl_ssl://b:9092/1: Failed to resolve 'b:9092': Name or service not known (after 5ms in state CONNECT)",
            "Name or service not known",
        ),
        ("Local: Timed out", "Local: Timed out"),
    ],
)
def test_reasons(words: str, reason: str) -> None:
    assert reason_of(KafkaError(KafkaError._TRANSPORT, words)) == reason


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KafkaError(KafkaError.MSG_SIZE_TOO_LARGE), "Message size too large (MSG_SIZE_TOO_LARGE)"),
        (
            KafkaError(10, "Unable to produce message: Broker: Message size too large"),
            "Message size too large (MSG_SIZE_TOO_LARGE)",
        ),
        (KafkaError(KafkaError._MSG_TIMED_OUT), "Message timed out (_MSG_TIMED_OUT)"),
    ],
)
def test_sentences(error: KafkaError, text: str) -> None:
    assert sentence(error) == text


def test_a_cluster_that_goes_away_is_mentioned_once(capsys: pytest.CaptureFixture[str]) -> None:
    errors = ClientErrors()
    refused = KafkaError(KafkaError._TRANSPORT, "b:1/1: Connect to ipv4#127.0.0.1:1 failed: Connection refused")
    down = KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")
    for error in (refused, down, refused):
        errors(error)
    assert (errors.hopeless, errors.cause) == (True, "Connection refused")
    assert capsys.readouterr().err == ""  # the caller, who was never connected, says it

    errors.connected()
    assert not errors.hopeless
    for error in (refused, down, refused, down):
        errors(error)
    assert capsys.readouterr().err == "no broker can be reached: Connection refused; trying again\n"
    errors.connected()
    errors(down)
    assert capsys.readouterr().err.count("\n") == 1


def test_a_login_that_is_typed_takes_the_place_of_that_in_a_file() -> None:
    """In whichever words either is."""
    file = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "a",
        "sasl.password": "b",
    }
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="secret";'
    taken: list[dict[str, object]] = []
    properties = client_properties("127.0.0.1:1", file)
    open_client(taken.append, properties, {"sasl.jaas.config": jaas}, {}, ClientErrors(), fixed={})
    assert (taken[0]["sasl.username"], taken[0]["sasl.password"]) == ("ann", "secret")


def test_properties_of_the_command_line() -> None:
    assert parse_property("linger.ms=5") == ("linger.ms", "5")
    assert parse_property("a=b=c") == ("a", "b=c")
    for text in ("linger.ms", "=5"):
        with pytest.raises(InvalidClientProperty, match="is no property; give it as name=value"):
            parse_property(text)
