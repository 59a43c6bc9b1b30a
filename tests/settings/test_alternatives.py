"""What is said of one thing in several words, in one place and in two."""

import pytest

from stoker.settings.alternatives import contradiction, overlaid

TOML = {
    "sasl.mechanism": "PLAIN",
    "sasl.username": "ann",
    "sasl.password": "secret",
    "ssl.ca.location": "/toml.pem",
    "ssl.key.password": "key",
    "client.id": "shop",
}


def test_who_says_it_in_other_words_has_said_it() -> None:
    stronger = {
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.jaas.config": "admin",
        "ssl.truststore.location": "/mine.pem",
    }
    assert overlaid(TOML, stronger) == {"ssl.key.password": "key", "client.id": "shop", **stronger}


def test_what_belongs_together_may_come_from_two_places() -> None:
    """As the password of a user of stoker.toml, from a variable."""
    assert overlaid(TOML, {"sasl.password": "other"}) == TOML | {"sasl.password": "other"}
    assert overlaid({}, TOML) == overlaid(TOML, {}) == TOML


def test_names_may_have_something_in_front() -> None:
    weaker = {"kafka.sasl.username": "ann", "schema.registry.url": "http://localhost:8081"}
    stronger = {"kafka.sasl.jaas.config": "admin", "sasl.username": "no property of Kafka"}
    assert overlaid(weaker, stronger, "kafka.") == {"schema.registry.url": "http://localhost:8081", **stronger}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (TOML, None),
        ({"sasl.jaas.config": "x", "sasl.username": "ann"}, ("sasl.jaas.config", "sasl.username")),
        ({"sasl.jaas.config": "", "sasl.username": "ann"}, None),
        ({"sasl.mechanism": "PLAIN", "sasl.mechanisms": "PLAIN"}, None),
        ({"sasl.mechanism": "PLAIN", "sasl.mechanisms": "GSSAPI"}, ("sasl.mechanism", "sasl.mechanisms")),
        (
            {"ssl.keystore.key": "x", "ssl.certificate.location": "/x.pem", "ssl.key.location": "/x.pem"},
            ("ssl.keystore.key", "ssl.key.location"),
        ),
    ],
)
def test_one_place_says_a_thing_once(given: dict[str, str], expected: tuple[str, str] | None) -> None:
    assert contradiction(given) == expected
