"""What must not be shown, and what may be."""

import pytest

from stoker.broker.config.definitions import BROKER
from stoker.settings.secrets import is_secret, masked_url, masked_user


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("sasl.password", True),
        ("ssl.key.password", True),
        ("ssl.keystore.key", True),
        ("ssl.key.pem", True),
        ("sasl.jaas.config", True),
        ("sasl.oauthbearer.client.secret", True),
        ("basic.auth.user.info", True),
        ("sasl.oauthbearer.assertion.private.key.passphrase", True),
        ("sasl.username", False),
        ("ssl.key.location", False),
        ("sasl.oauthbearer.token.endpoint.url", False),
        ("security.protocol", False),
    ],
)
def test_names(name: str, secret: bool) -> None:
    assert is_secret(name) is secret


def test_what_kafka_calls_a_password() -> None:
    """But for certificates, which anybody may see."""
    certificates = ("ssl.keystore.certificate.chain", "ssl.truststore.certificates")
    passwords = [name for name, each in BROKER.items() if each.is_sensitive and name not in certificates]
    assert len(passwords) > 5
    assert [name for name in passwords if not is_secret(name)] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://registry:8081", "http://registry:8081"),
        ("https://ann:pa:ss@registry:8081/path", "https://ann:********@registry:8081/path"),
        ("broker-1:9092,broker-2:9092", "broker-1:9092,broker-2:9092"),
        ("http://a:1@x,http://b:2@y", "http://a:********@x,http://b:********@y"),
        ("http://ann:p/ss@r:80", "http://ann:********@r:80"),
        ("http://ann:p@ss@r:80", "http://ann:********@r:80"),
        ("http://ann:p,ss@r:80,http://r:81", "http://ann:********@r:80,http://r:81"),
    ],
)
def test_addresses(text: str, shown: str) -> None:
    assert masked_url(text) == shown


@pytest.mark.parametrize(("text", "shown"), [("ann:pw", "ann:********"), ("pw", "********"), ("a:b:c", "a:********")])
def test_users(text: str, shown: str) -> None:
    assert masked_user(text) == shown
