"""What DescribeConfigs shows. test_against_kafka.py compares every entry; here are the cases that need no Kafka to be read."""

import pytest

from stoker.broker.config.broker_config import BrokerConfig
from stoker.broker.config.describe import ConfigEntry, ConfigSource, ConfigSynonym, describe, describe_new_topic
from stoker.broker.config.errors import ConfigRefused
from stoker.broker.config.image import ConfigImage, ResourceType
from stoker.broker.config.setting import ConfigType
from stoker.wire.error_codes import ErrorCode

TOPIC, BROKER, LOGGER = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.BROKER_LOGGER
DYNAMIC_TOPIC, DYNAMIC_BROKER = ConfigSource.DYNAMIC_TOPIC_CONFIG, ConfigSource.DYNAMIC_BROKER_CONFIG
DYNAMIC_DEFAULT = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
STATIC, DEFAULT = ConfigSource.STATIC_BROKER_CONFIG, ConfigSource.DEFAULT_CONFIG

FILE = {
    "log.segment.bytes": "2097152",
    "log.retention.hours": "1",
    "nobody.knows": "secret",
    "ssl.key.password": "secret",
    "log.initial.task.delay.ms": "5",
}
STORED = {
    (int(TOPIC), "orders"): {"segment.bytes": "3145728", "cleanup.policy": " compact , delete"},
    (int(BROKER), ""): {"log.segment.bytes": "4194304"},
    (int(BROKER), "1"): {"log.segment.bytes": "5242880"},
}


@pytest.fixture
def image() -> ConfigImage:
    return ConfigImage(BrokerConfig(FILE), STORED)


def only(entries: list[ConfigEntry]) -> ConfigEntry:
    [entry] = entries
    return entry


def test_a_setting_of_the_topic_lists_all_that_would_come_next(image: ConfigImage) -> None:
    entry = only(describe(image, TOPIC, "orders", ["segment.bytes"]))
    assert (entry.value, entry.source, entry.read_only, entry.type) == ("3145728", DYNAMIC_TOPIC, False, ConfigType.INT)
    assert not entry.is_default
    assert entry.synonyms == (
        ConfigSynonym("segment.bytes", "3145728", DYNAMIC_TOPIC),
        ConfigSynonym("log.segment.bytes", "5242880", DYNAMIC_BROKER),
        ConfigSynonym("log.segment.bytes", "4194304", DYNAMIC_DEFAULT),
        ConfigSynonym("log.segment.bytes", "2097152", STATIC),
        ConfigSynonym("log.segment.bytes", "1073741824", DEFAULT),
    )


def test_a_list_is_shown_without_the_spaces_it_was_set_with(image: ConfigImage) -> None:
    assert only(describe(image, TOPIC, "orders", ["cleanup.policy"])).value == "compact,delete"


def test_hours_in_the_file_show_as_the_default_of_retention_as_in_kafka(image: ConfigImage) -> None:
    entry = only(describe(image, TOPIC, "orders", ["retention.ms"]))
    assert (entry.value, entry.source, entry.synonyms) == ("3600000", DEFAULT, ())


@pytest.mark.parametrize(
    ("name", "value", "source", "read_only", "sensitive", "config_type"),
    [
        ("num.partitions", "1", DEFAULT, True, False, ConfigType.INT),
        ("log.retention.hours", "1", STATIC, True, False, ConfigType.INT),
        ("log.retention.ms", None, DEFAULT, False, False, ConfigType.LONG),
        ("log.segment.bytes", "5242880", DYNAMIC_BROKER, False, False, ConfigType.INT),
        ("broker.id", "1", STATIC, True, False, ConfigType.INT),
        ("log.dirs", None, DEFAULT, True, False, ConfigType.LIST),
        ("log.dir", "/tmp/kafka-logs", DEFAULT, True, False, ConfigType.LIST),
        ("ssl.key.password", None, STATIC, False, True, ConfigType.PASSWORD),
        ("nobody.knows", None, STATIC, True, True, ConfigType.UNKNOWN),
        ("log.initial.task.delay.ms", "5", STATIC, True, False, ConfigType.LONG),
    ],
)
def test_broker_settings(
    image: ConfigImage,
    name: str,
    value: str | None,
    source: ConfigSource,
    read_only: bool,
    sensitive: bool,
    config_type: ConfigType,
) -> None:
    entry = only(describe(image, BROKER, "1", [name]))
    assert (entry.value, entry.source, entry.read_only) == (value, source, read_only)
    assert (entry.sensitive, entry.type) == (sensitive, config_type)
    assert all(synonym.value is None for synonym in entry.synonyms if sensitive)


def test_internal_settings_show_only_when_they_are_set(image: ConfigImage) -> None:
    names = {entry.name for entry in describe(image, BROKER, "1")}
    assert "log.initial.task.delay.ms" in names
    assert "unstable.api.versions.enable" not in names
    assert "internal.segment.bytes" not in {entry.name for entry in describe(image, TOPIC, "orders")}


def test_the_cluster_shows_what_was_set_for_it(image: ConfigImage) -> None:
    entry = only(describe(image, BROKER, ""))
    assert (entry.name, entry.value, entry.source) == ("log.segment.bytes", "4194304", DYNAMIC_DEFAULT)
    assert entry.synonyms == (ConfigSynonym("log.segment.bytes", "4194304", DYNAMIC_DEFAULT),)


def test_entries_are_sorted_and_have_a_description(image: ConfigImage) -> None:
    entries = describe(image, BROKER, "1")
    assert [entry.name for entry in entries] == sorted(entry.name for entry in entries)
    assert all(entry.documentation for entry in entries if entry.type is not ConfigType.UNKNOWN)


def test_a_new_topic_counts_hours_in_the_file_as_a_source(image: ConfigImage) -> None:
    entries = {entry.name: entry for entry in describe_new_topic(image, {"flush.ms": "7"})}
    assert (entries["retention.ms"].value, entries["retention.ms"].source) == ("3600000", STATIC)
    assert (entries["flush.ms"].value, entries["flush.ms"].source) == ("7", DYNAMIC_TOPIC)
    assert (entries["segment.bytes"].value, entries["segment.bytes"].source) == ("5242880", DYNAMIC_BROKER)
    assert "internal.segment.bytes" not in entries
    assert len(entries) == 37


def test_loggers(image: ConfigImage) -> None:
    entry = only(describe(image, LOGGER, "1", loggers={"stoker.log": "INFO"}))
    assert (entry.name, entry.value, entry.source) == ("stoker.log", "INFO", ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG)


@pytest.mark.parametrize(
    ("resource_type", "resource_name", "message"),
    [
        (BROKER, "x", "Broker id must be an integer, but it is: x"),
        (BROKER, "2", "Unexpected broker id, expected 1 or empty string, but received 2"),
        (LOGGER, "", "Broker id must not be empty"),
        (LOGGER, "2", "Unexpected broker id, expected 1 but received 2"),
        (ResourceType.GROUP, "", "Group name must not be empty"),
        (ResourceType.CLIENT_METRICS, "", "Client metrics subscription name must not be empty"),
        (99, "x", "Unexpected resource type 99 for resource x"),
    ],
)
def test_resources_that_cannot_be_described(
    image: ConfigImage, resource_type: int, resource_name: str, message: str
) -> None:
    with pytest.raises(ConfigRefused) as caught:
        describe(image, resource_type, resource_name)
    assert (caught.value.error_code, caught.value.message) == (ErrorCode.INVALID_REQUEST, message)
