"""Flag, variable, file, default: which counts, where it came from, and what goes with which address."""

from itertools import product
from pathlib import Path

import pytest

from stoker.settings.definitions import SETTINGS, Setting, property_of_variable, property_variable
from stoker.settings.resolution import Place, Settings, resolve
from stoker.settings.stoker_toml import SettingsFile, parse_file

PATH = Path("/shop/stoker.toml")


def file(text: str) -> SettingsFile:
    return parse_file(PATH, text)


def value_of(settings: Settings, setting: Setting) -> tuple[str | None, str]:
    (value,) = [each for each in settings.values if each.name == setting.name]
    return value.text, str(value.origin)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
@pytest.mark.parametrize(("flag", "variable", "in_file"), list(product([True, False], repeat=3)))
def test_the_strongest_counts(setting: Setting, flag: bool, variable: bool, in_file: bool) -> None:
    table, _, key = setting.name.partition(".")
    settings = resolve(
        flags={setting.name: "by:flag" if flag else None},
        environment={setting.variable: "by:variable" if variable else ""},
        file=file(f'[{table}]\n{key} = "by:file"' if in_file else ""),
    )
    if flag:
        expected: tuple[str | None, str] = "by:flag", setting.flags[0]
    elif variable:
        expected = "by:variable", setting.variable
    elif in_file:
        expected = "by:file", "/shop/stoker.toml line 2"
    else:
        expected = setting.default, "default"
    assert value_of(settings, setting) == expected


def test_nothing_named() -> None:
    settings = resolve(environment={}, file=None)
    assert not any(value.is_named for value in settings.values)
    assert [value.named for value in settings.values] == [None] * 4
    assert (settings.bootstrap_servers.text, settings.registry_user.text) == ("localhost:9092", None)
    assert (settings.file, settings.properties) == (None, {})


def test_each_property_for_itself() -> None:
    settings = resolve(
        command_config={"a": "flag", "bootstrap.servers": "c:1"},
        environment={f"STOKER_KAFKA_PROPERTIES_{name}": "variable" for name in ("A", "B", "SASL_PASSWORD")}
        | {"STOKER_KAFKA_PROPERTIES_EMPTY": "", "STOKER_KAFKA_PROPERTIES_BOOTSTRAP_SERVERS": "d:1"},
        file=file('[kafka.properties]\na = "file"\nb = "file"\nc = "file"'),
    )
    assert settings.properties == {"a": "flag", "b": "variable", "c": "file", "sasl.password": "variable"}
    assert {name: str(value.origin) for name, value in settings.kafka_properties.items()} == {
        "a": "--command-config",
        "b": "STOKER_KAFKA_PROPERTIES_B",
        "c": "/shop/stoker.toml line 4",
        "sasl.password": "STOKER_KAFKA_PROPERTIES_SASL_PASSWORD",
    }


def test_a_login_is_not_undone_by_a_place_that_counts_less() -> None:
    settings = resolve(
        command_config={"sasl.jaas.config": "admin", "sasl.mechanisms": "SCRAM-SHA-512"},
        environment={"STOKER_KAFKA_PROPERTIES_SASL_PASSWORD": "secret"},
        file=file('[kafka.properties]\nsasl.username = "ann"\nsasl.mechanism = "PLAIN"\nclient.id = "shop"'),
    )
    assert settings.properties == {
        "sasl.jaas.config": "admin",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "client.id": "shop",
    }


@pytest.mark.parametrize("name", ["sasl.password", "ssl_key", "a", "enable.ssl.certificate.verification"])
def test_variables_of_properties_go_both_ways(name: str) -> None:
    assert property_of_variable(property_variable(name)) == name


def test_the_command_config_names_a_cluster_before_the_file_and_after_the_variable() -> None:
    """As it was before there was a file."""
    named = file('[kafka]\nbootstrap-servers = "file:1"')
    given = {"bootstrap.servers": "config:1"}
    settings = resolve(command_config=given, environment={}, file=named)
    assert (settings.bootstrap_servers.text, str(settings.bootstrap_servers.origin)) == ("config:1", "--command-config")
    settings = resolve(command_config=given, environment={"STOKER_BOOTSTRAP_SERVER": "variable:1"}, file=named)
    assert settings.bootstrap_servers.text == "variable:1"


SECURED = """
[kafka]
bootstrap-servers = ["a:1", "b:1"]
properties."sasl.password" = "secret"
[registry]
url = "https://registry:8081"
user = "ann:secret"
"""


@pytest.mark.parametrize(
    ("bootstrap_servers", "counts"),
    [(None, True), ("b:1,a:1", True), ("a:1, b:1", True), ("a:1", False), ("localhost:9092", False)],
)
def test_properties_of_the_file_are_for_its_cluster(bootstrap_servers: str | None, counts: bool) -> None:
    settings = resolve(flags={"kafka.bootstrap-servers": bootstrap_servers}, environment={}, file=file(SECURED))
    assert settings.properties == ({"sasl.password": "secret"} if counts else {})
    assert [(each.value.name, each.belongs_to, each.used) for each in settings.left_aside] == (
        [] if counts else [("kafka.properties.sasl.password", "a:1,b:1", bootstrap_servers)]
    )


@pytest.mark.parametrize(
    ("url", "counts"), [(None, True), ("https://registry:8081/", True), ("http://ann:x@localhost:8081", False)]
)
def test_the_user_of_the_file_is_for_its_registry(url: str | None, counts: bool) -> None:
    settings = resolve(environment={"STOKER_REGISTRY_URL": url or ""}, file=file(SECURED))
    assert settings.registry_user.named == ("ann:secret" if counts else None)
    assert [(each.value.name, each.used) for each in settings.left_aside] == (
        [] if counts else [("registry.user", "http://ann:********@localhost:8081")]
    )


def test_what_a_variable_says_counts_for_any_address() -> None:
    environment = {"STOKER_REGISTRY_USER": "bob:b", "STOKER_KAFKA_PROPERTIES_SASL_PASSWORD": "p"}
    flags = {"kafka.bootstrap-servers": "c:1", "registry.url": "http://c:1"}
    settings = resolve(flags=flags, environment=environment, file=file(SECURED))
    assert (settings.registry_user.text, settings.properties) == ("bob:b", {"sasl.password": "p"})
    assert settings.left_aside == ()


def test_without_an_address_in_the_file_its_security_is_for_all() -> None:
    without = file('[kafka.properties]\na = 1\n[registry]\nuser = "ann:secret"')
    flags = {"kafka.bootstrap-servers": "c:1", "registry.url": "http://c:1"}
    settings = resolve(flags=flags, environment={}, file=without)
    assert (settings.properties, settings.registry_user.text) == ({"a": "1"}, "ann:secret")


def test_secrets_are_not_shown() -> None:
    settings = resolve(
        environment={"STOKER_KAFKA_PROPERTIES_SSL_KEYSTORE_KEY": "k", "STOKER_REGISTRY_URL": "http://ann:pw@r:1/x"},
        file=file(
            '[kafka.properties]\n"sasl.jaas.config" = "j"\n"sasl.username" = "ann"\n'
            '"ssl.truststore.location" = "/ca"\n[registry]\nuser = "ann:pw"'
        ),
    )
    assert {value.name: value.shown for value in settings.values if value.is_named} == {
        "kafka.properties.sasl.jaas.config": "********",
        "kafka.properties.sasl.username": "ann",
        "kafka.properties.ssl.keystore.key": "********",
        "kafka.properties.ssl.truststore.location": "/ca",
        "registry.url": "http://ann:********@r:1/x",
        "registry.user": "ann:********",
    }
    for secret in ("pw", "'j'", "'k'"):
        assert secret not in repr(settings)


def test_places_are_in_order() -> None:
    assert Place.FLAG < Place.VARIABLE < Place.FILE < Place.DEFAULT
