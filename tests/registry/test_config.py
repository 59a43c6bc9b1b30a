"""Settings of a registry: Confluent's names, and what is said of those that cannot be used."""

from pathlib import Path

import pytest

from stoker.registry.config import InvalidRegistryConfig, Listener, load_registry_config, parse_options
from stoker.registry.settings import Level


def test_the_defaults_are_confluents() -> None:
    config, without_effect = load_registry_config(None, {})
    assert (config.bootstrap_servers, config.topic, config.group_id) == (
        "localhost:9092",
        "_schemas",
        "schema-registry",
    )
    assert config.listener == Listener("", 8081)
    assert config.default_level is Level.BACKWARD
    assert config.is_eligible
    assert config.advertised_url is None
    assert without_effect == []


def test_a_file_of_confluents_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "schema-registry.properties"
    path.write_text(
        "listeners=http://127.0.0.1:8085\n"
        "kafkastore.bootstrap.servers=PLAINTEXT://kafka-1:9092, PLAINTEXT://kafka-2:9092\n"
        "host.name=registry-1\n"
        "avro.compatibility.level=full\n"
        "master.eligibility=false\n"
        "kafkastore.security.protocol=SASL_SSL\n"
        "debug=false\n"
    )
    config, without_effect = load_registry_config(path, {"kafkastore.topic": "_others"})
    assert config.listener == Listener("127.0.0.1", 8085)
    assert config.bootstrap_servers == "kafka-1:9092,kafka-2:9092"
    assert config.advertised_url == "http://registry-1:8085"
    assert config.default_level is Level.FULL
    assert not config.is_eligible
    assert config.topic == "_others"
    assert config.client_properties == {"security.protocol": "SASL_SSL"}
    assert without_effect == ["debug"]


def test_passwords_may_have_a_comment_sign(tmp_path: Path) -> None:
    path = tmp_path / "schema-registry.properties"
    path.write_text("kafkastore.sasl.password=abc #def\nkafkastore.topic=_others # mine\n")
    config, _ = load_registry_config(path, {})
    assert (config.client_properties, config.topic) == ({"sasl.password": "abc #def"}, "_others")


def test_a_login_of_the_file_is_not_undone_by_stoker_toml(tmp_path: Path) -> None:
    path = tmp_path / "schema-registry.properties"
    path.write_text("kafkastore.sasl.jaas.config=admin\n")
    config, _ = load_registry_config(path, {}, lambda _: {"kafkastore.sasl.username": "ann"})
    assert config.client_properties == {"sasl.jaas.config": "admin"}


def test_the_protocol_of_an_address_is_not_passed_over() -> None:
    """Who reads SASL_SSL:// would not think that passwords and schemas go in clear."""
    addresses = "SASL_SSL://kafka-1:9092,SASL_SSL://kafka-2:9092"
    with pytest.raises(
        InvalidRegistryConfig, match=r"SASL_SSL://kafka-1:9092, but kafkastore.security.protocol is PLAINTEXT"
    ):
        load_registry_config(None, {"kafkastore.bootstrap.servers": addresses})
    config, _ = load_registry_config(
        None, {"kafkastore.bootstrap.servers": addresses, "kafkastore.security.protocol": "sasl_ssl"}
    )
    assert config.bootstrap_servers == "kafka-1:9092,kafka-2:9092"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("listeners", "https://0.0.0.0:8081", "https is not served"),
        ("listeners", "http://a:1,http://b:2", "one listener is served"),
        ("listeners", "8081", "the form is http://HOST:PORT"),
        ("listeners", "http://a:b", "Port could not be cast"),
        ("schema.compatibility.level", "sideways", "Invalid compatibility level"),
        ("leader.eligibility", "perhaps", "it is true or false"),
        ("kafkastore.timeout.ms", "soon", "a number of milliseconds"),
        ("kafkastore.timeout.ms", "99999999999", "a number of milliseconds"),
        ("advertised.url", "registry-1", "the form is http://HOST:PORT"),
        ("kafkastore.topic", "", "it is empty"),
    ],
)
def test_what_cannot_be_used_is_named(name: str, value: str, reason: str) -> None:
    with pytest.raises(InvalidRegistryConfig, match=reason) as refused:
        load_registry_config(None, {name: value})
    assert str(refused.value).startswith(f"{name}={value}: ")


def test_options_have_a_form() -> None:
    assert parse_options(["kafkastore.topic=a", "kafkastore.topic = b"]) == {"kafkastore.topic": "b"}
    with pytest.raises(InvalidRegistryConfig, match="the form is key=value"):
        parse_options(["kafkastore.topic"])


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidRegistryConfig, match="cannot be read: No such file"):
        load_registry_config(tmp_path / "none", {})
