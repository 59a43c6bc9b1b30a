"""All configs at one moment, and which of them wins."""

import dataclasses

import pytest

from stoker.broker.config.broker_config import BrokerConfig
from stoker.broker.config.definitions import TOPIC
from stoker.broker.config.image import ConfigChange, ConfigImage, ResourceType
from stoker.broker.config.setting import ConfigType, Value
from stoker.log.config import LogConfig

BROKER = int(ResourceType.BROKER)
OF_TOPIC = (int(ResourceType.TOPIC), "orders")
ALL_BROKERS, THIS_BROKER, OTHER_BROKER = (BROKER, ""), (BROKER, "1"), (BROKER, "2")
FIELD_TYPES = {
    ConfigType.BOOLEAN: bool,
    ConfigType.DOUBLE: float,
    ConfigType.STRING: str,
    ConfigType.LIST: frozenset[str],
}


def test_the_defaults_of_a_log_are_kafkas() -> None:
    assert ConfigImage(BrokerConfig({})).log_config_for("any") == LogConfig()


def test_every_field_of_a_log_config_is_filled_from_a_setting_of_its_type() -> None:
    by_attribute = {setting.attribute: setting for setting in TOPIC.values()}
    for field in dataclasses.fields(LogConfig):
        if field.name == "producer_id_expiration_ms" or not field.init:
            continue  # a setting of the broker that each log needs, and what the log derives itself
        assert field.type == FIELD_TYPES.get(by_attribute[field.name].type, int), field.name


def test_settings_reach_the_log_config() -> None:
    file = BrokerConfig({"log.retention.hours": "1", "producer.id.expiration.ms": "5", "compression.type": "zstd"})
    stored = {OF_TOPIC: {"cleanup.policy": "compact,delete", "preallocate": "true", "min.cleanable.dirty.ratio": "0.1"}}
    image = ConfigImage(file, stored)
    log_config = image.log_config_for("orders")
    assert log_config.cleanup_policy == {"compact", "delete"}
    assert log_config.preallocate is True
    assert log_config.min_cleanable_dirty_ratio == 0.1
    assert log_config.retention_ms == 3_600_000
    assert log_config.compression_type == "zstd"
    assert log_config.producer_id_expiration_ms == 5
    assert image.log_config_for("other").cleanup_policy == {"delete"}


def test_topics_without_settings_share_one_log_config() -> None:
    image = ConfigImage(BrokerConfig({}), {OF_TOPIC: {"retention.ms": "5"}})
    assert image.log_config_for("a") is image.log_config_for("b")
    assert image.log_config_for("orders") is not image.log_config_for("a")


def test_a_small_segment_for_tests() -> None:
    image = ConfigImage(BrokerConfig({}), {OF_TOPIC: {"internal.segment.bytes": "1024"}})
    assert image.log_config_for("orders").segment_bytes == 1024
    assert image.topic_values("orders")["segment.bytes"] == 1073741824


@pytest.mark.parametrize(
    ("file", "stored", "kept"),
    [
        ({}, {}, 604_800_000),
        ({"log.retention.hours": "1"}, {}, 3_600_000),
        ({"log.retention.hours": "1"}, {ALL_BROKERS: {"log.retention.ms": "2"}}, 2),
        ({}, {ALL_BROKERS: {"log.retention.ms": "2"}, THIS_BROKER: {"log.retention.ms": "3"}}, 3),
        ({}, {OTHER_BROKER: {"log.retention.ms": "3"}}, 604_800_000),
        ({}, {THIS_BROKER: {"log.retention.ms": "3"}, OF_TOPIC: {"retention.ms": "4"}}, 4),
    ],
)
def test_the_strongest_setting_wins(
    file: dict[str, str], stored: dict[tuple[int, str], dict[str, str]], kept: int
) -> None:
    assert ConfigImage(BrokerConfig(file), stored).topic_integer("orders", "retention.ms") == kept


def test_dynamic_settings_change_the_broker_in_force_and_not_the_file() -> None:
    image = ConfigImage(BrokerConfig({"max.connections": "5"}), {ALL_BROKERS: {"max.connections": "7"}})
    assert (image.file.max_connections, image.broker.max_connections) == (5, 7)


def test_apply_leaves_the_image_before_as_it_was() -> None:
    before = ConfigImage(BrokerConfig({}))
    after = before.apply(
        [
            ConfigChange(ResourceType.TOPIC, "orders", "retention.ms", "1"),
            ConfigChange(ResourceType.TOPIC, "orders", "retention.ms", "2"),
            ConfigChange(ResourceType.TOPIC, "orders", "flush.ms", "3"),
            ConfigChange(ResourceType.TOPIC, "orders", "flush.ms", None),
        ]
    )
    assert before.stored == {}
    assert after.stored == {OF_TOPIC: {"retention.ms": "2"}}
    emptied = after.apply([ConfigChange(ResourceType.TOPIC, "orders", "retention.ms", None)])
    assert emptied.stored == {}
    assert after.topic_integer("orders", "retention.ms") == 2


@pytest.mark.parametrize(
    ("stored", "ignored"),
    [
        ({THIS_BROKER: {"num.partitions": "3"}}, "num.partitions: it cannot change while the broker runs"),
        ({THIS_BROKER: {"ssl.keystore.type": "PEM"}}, "ssl.keystore.type: it cannot change while the broker runs"),
        ({ALL_BROKERS: {"listeners": "PLAINTEXT://:1"}}, "listeners: it cannot be set for the whole cluster"),
        ({THIS_BROKER: {"max.connections": "x"}}, "max.connections: Not a number of type INT"),
        ({THIS_BROKER: {"log.roll.ms": "0"}}, "log.roll.ms must be greater than or equal to 1"),
    ],
)
def test_stored_broker_settings_that_could_not_have_been_set_are_left_out(
    stored: dict[tuple[int, str], dict[str, str]], ignored: str
) -> None:
    image = ConfigImage(BrokerConfig({}), stored)
    assert len(image.ignored) == 1
    assert ignored in image.ignored[0]
    assert image.broker is image.file


def test_a_stored_topic_setting_that_cannot_be_read_is_at_its_default() -> None:
    image = ConfigImage(BrokerConfig({}), {OF_TOPIC: {"retention.ms": "x", "nobody.knows": "1", "flush.ms": "5"}})
    assert image.topic_integer("orders", "retention.ms") == 604_800_000
    assert image.topic_integer("orders", "flush.ms") == 5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("consumer.session.timeout.ms", 46000),
        ("consumer.heartbeat.interval.ms", 6000),
        ("share.isolation.level", "read_uncommitted"),
    ],
)
def test_a_group_inherits_from_the_broker(name: str, value: Value) -> None:
    file = BrokerConfig({"group.consumer.heartbeat.interval.ms": "6000"})
    image = ConfigImage(file, {(int(ResourceType.GROUP), "g"): {"consumer.session.timeout.ms": "46000"}})
    assert image.group_values("g")[name] == value


def test_a_subscription_to_client_metrics() -> None:
    stored = {(int(ResourceType.CLIENT_METRICS), "m"): {"metrics": "a,b"}}
    values = ConfigImage(BrokerConfig({}), stored).client_metrics_values("m")
    assert values == {"interval.ms": 300000, "match": (), "metrics": ("a", "b")}


def test_a_topic_setting_that_is_no_number_is_not_read_as_one() -> None:
    with pytest.raises(TypeError, match=r"preallocate is no whole number"):
        ConfigImage(BrokerConfig({})).topic_integer("orders", "preallocate")
