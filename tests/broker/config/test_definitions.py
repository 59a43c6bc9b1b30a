"""The tables against the facts of Apache Kafka 4.3.0, as its own ConfigDefs state them (kafka_4_3_settings.tsv, by reflection)."""

import csv
from pathlib import Path

import pytest

from stoker.broker.config.confluent_topic_settings import CONFLUENT_TOPIC_SETTINGS
from stoker.broker.config.definitions import (
    BROKER,
    CLIENT_METRICS,
    DYNAMIC_ONLY,
    GROUP,
    TOPIC,
    broker_setting,
    broker_synonyms,
)
from stoker.broker.config.setting import ConfigType, Effect, Setting, UpdateMode, Value
from stoker.broker.config.stoker_settings import STOKER_SETTINGS
from stoker.broker.config.types import check, parse, render

FACTS = Path(__file__).with_name("kafka_4_3_settings.tsv")
TABLES = {
    "topic": TOPIC,
    "broker": BROKER,
    "group": GROUP,
    "client-metrics": CLIENT_METRICS,
    "dynamic-only": DYNAMIC_ONLY,
}
STOKERS_OWN = {setting.name for setting in STOKER_SETTINGS}
CONFLUENTS = {setting.name for setting in CONFLUENT_TOPIC_SETTINGS}
ALL = [(resource, setting) for resource, table in TABLES.items() for setting in table.values()]
PYTHON_TYPES: dict[ConfigType, type] = {
    ConfigType.BOOLEAN: bool,
    ConfigType.INT: int,
    ConfigType.SHORT: int,
    ConfigType.LONG: int,
    ConfigType.DOUBLE: float,
    ConfigType.LIST: tuple,
}


def facts() -> list[dict[str, str]]:
    with FACTS.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def row(resource: str, setting: Setting) -> dict[str, str]:
    default = render(setting.default)
    is_of_broker = resource in ("broker", "dynamic-only")
    return {
        "resource": resource,
        "name": setting.name,
        "type": setting.type.name,
        "default": "required" if setting.required else "null" if default is None else default,
        "valid values": setting.valid_values,
        "importance": setting.importance.value,
        "update": setting.update.value if is_of_broker else "",
        "internal": "internal" if setting.internal else "",
        "broker names": ",".join(setting.broker_names),
    }


def test_every_setting_of_kafka_is_known_with_its_type_default_range_and_update_mode() -> None:
    ours = [row(resource, setting) for resource, setting in ALL if setting.name not in STOKERS_OWN | CONFLUENTS]
    assert sorted(ours, key=lambda fact: (fact["resource"], fact["name"])) == sorted(
        facts(), key=lambda fact: (fact["resource"], fact["name"])
    )


@pytest.mark.parametrize(("resource", "setting"), ALL, ids=lambda of: of.name if isinstance(of, Setting) else of)
def test_a_default_is_a_legal_value_of_its_own_setting(resource: str, setting: Setting) -> None:
    default: Value = setting.default
    if default is None:
        assert resource != "topic" or setting.internal
        return
    assert isinstance(default, PYTHON_TYPES.get(setting.type, str))
    assert check(setting, default) == default
    text = render(default)
    assert text is not None
    assert parse(setting, text) == default


def test_a_description_is_one_sentence_of_our_own() -> None:
    for _, setting in ALL:
        assert setting.description.endswith("."), setting.name
        assert "\n" not in setting.description, setting.name
        assert len(setting.description) <= 130, setting.name


def test_what_gives_a_topic_setting_its_default_is_a_broker_setting_with_the_same_effect() -> None:
    for setting in TOPIC.values():
        for name in setting.broker_names:
            assert BROKER[name].effect is setting.effect, name


@pytest.mark.parametrize(
    ("name", "synonyms"),
    [
        ("num.partitions", ("num.partitions",)),
        ("log.retention.hours", ("log.retention.ms", "log.retention.minutes", "log.retention.hours")),
        ("log.flush.interval.ms", ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")),
        ("log.flush.scheduler.interval.ms", ("log.flush.scheduler.interval.ms",)),
        ("listener.name.a.ssl.client.auth", ("listener.name.a.ssl.client.auth", "ssl.client.auth")),
        ("listener.name.a.plain.sasl.jaas.config", ("listener.name.a.plain.sasl.jaas.config", "sasl.jaas.config")),
        ("listener.name.a", ("listener.name.a",)),
    ],
)
def test_synonyms_of_a_broker_setting(name: str, synonyms: tuple[str, ...]) -> None:
    assert broker_synonyms(name) == synonyms


@pytest.mark.parametrize(
    ("name", "known_as"),
    [
        ("num.partitions", "num.partitions"),
        ("leader.replication.throttled.rate", "leader.replication.throttled.rate"),
        ("listener.name.internal.max.connections", "max.connections"),
        ("listener.name.internal.nonsense", None),
        ("nonsense", None),
    ],
)
def test_the_definition_behind_a_name(name: str, known_as: str | None) -> None:
    setting = broker_setting(name)
    assert (setting.name if setting else None) == known_as


def test_stokers_own_settings_say_so_by_their_name() -> None:
    assert all(name.startswith("stoker.") for name in STOKERS_OWN)
    assert {name for name in BROKER if name.startswith("stoker.")} == STOKERS_OWN
    assert {name for name in TOPIC if name.startswith("confluent.")} == CONFLUENTS


def test_what_is_refused_is_what_would_mislead_if_it_were_ignored() -> None:
    refused = {setting.name for _, setting in ALL if setting.effect is Effect.REFUSED}
    assert refused == {
        "authorizer.class.name",
        "config.providers",
        "remote.log.storage.system.enable",
        "remote.storage.enable",
    }


def test_a_topic_setting_has_no_update_mode_of_its_own() -> None:
    assert {setting.update for setting in TOPIC.values()} == {UpdateMode.READ_ONLY}
