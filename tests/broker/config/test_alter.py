"""Changes of configs and the answers to them. test_against_kafka.py sends the same to Kafka; here are the cases that need none."""

import pytest

from stoker.broker.config.alter import (
    AlterOperation,
    ConfigOperation,
    alter_by_replacing,
    alter_incrementally,
    alter_loggers,
    configs_of_new_topic,
)
from stoker.broker.config.broker_config import BrokerConfig
from stoker.broker.config.errors import ConfigRefused
from stoker.broker.config.image import ConfigChange, ConfigImage, ResourceType
from stoker.wire.error_codes import ErrorCode

SET, DELETE, APPEND, SUBTRACT = AlterOperation
TOPIC, BROKER, GROUP = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP
INVALID_CONFIG, INVALID_REQUEST = ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST
Operations = list[tuple[str, int, str | None]]


@pytest.fixture
def image() -> ConfigImage:
    stored = {
        (int(TOPIC), "orders"): {"retention.ms": "5", "cleanup.policy": "compact"},
        (int(BROKER), "1"): {"max.connections": "5"},
    }
    return ConfigImage(BrokerConfig({}), stored)


@pytest.mark.parametrize(
    ("operations", "changes"),
    [
        ([("retention.ms", SET, "6")], {"retention.ms": "6"}),
        ([("retention.ms", SET, "5")], {}),
        ([("retention.ms", DELETE, None)], {"retention.ms": None}),
        ([("flush.ms", DELETE, None)], {}),
        ([("nobody.knows", DELETE, None)], {}),
        ([("cleanup.policy", APPEND, "delete")], {"cleanup.policy": "compact,delete"}),
        ([("cleanup.policy", APPEND, "compact")], {}),
        ([("cleanup.policy", SUBTRACT, "compact")], {"cleanup.policy": ""}),
        ([("cleanup.policy", SUBTRACT, "delete")], {}),
        ([("flush.ms", SET, "1"), ("retention.ms", DELETE, None)], {"retention.ms": None, "flush.ms": "1"}),
        ([], {}),
    ],
)
def test_operations(image: ConfigImage, operations: Operations, changes: dict[str, str | None]) -> None:
    altered = alter_incrementally(image, TOPIC, "orders", [ConfigOperation(*each) for each in operations])
    assert altered == tuple(ConfigChange(TOPIC, "orders", name, value) for name, value in changes.items())


def test_append_begins_at_the_default(image: ConfigImage) -> None:
    operation = ConfigOperation("cleanup.policy", APPEND, "compact")
    assert alter_incrementally(image, TOPIC, "other", [operation]) == (
        ConfigChange(TOPIC, "other", "cleanup.policy", "delete,compact"),
    )


@pytest.mark.parametrize(
    ("resource_type", "resource_name", "operations", "error_code", "message"),
    [
        (TOPIC, "orders", [("a", SET, "1"), ("a", SET, "1")], INVALID_REQUEST, "Error due to duplicate config keys"),
        (TOPIC, "orders", [("a", SET, None), ("b", APPEND, None)], INVALID_REQUEST, "Null value not supported for : a, b"),
        (TOPIC, "orders", [("retension.ms", SET, "1")], INVALID_CONFIG, "Unknown topic config name: retension.ms (did you mean retention.ms?)"),
        (TOPIC, "orders", [("message.format.version", SET, "2")], INVALID_CONFIG, "Unknown topic config name: message.format.version (there is one message format since Kafka 4.0)"),
        (TOPIC, "orders", [("retention.ms", SET, "x")], INVALID_CONFIG, "Invalid value x for configuration retention.ms: Not a number of type LONG"),
        (TOPIC, "orders", [("retention.ms", APPEND, "1")], INVALID_CONFIG, "Can't APPEND to key retention.ms because its type is not LIST."),
        (TOPIC, "orders", [("retention.ms", 7, "1")], INVALID_REQUEST, "Unknown operations type 7"),
        (TOPIC, "orders", [("retention.ms", SET, "1" * 32768)], INVALID_CONFIG, "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes."),
        (TOPIC, "", [("retention.ms", SET, "1")], INVALID_REQUEST, "Default topic resources are not allowed."),
        (BROKER, "1", [("num.partitions", SET, "1"), ("node.id", SET, "1")], INVALID_REQUEST, "Cannot update these configs dynamically: [node.id, num.partitions]"),
        (BROKER, "1", [("max.connections", SET, "x")], INVALID_REQUEST, "Invalid value x for configuration max.connections: Not a number of type INT"),
        (BROKER, "", [("listeners", SET, "PLAINTEXT://:1")], INVALID_REQUEST, "Cannot update these configs at default cluster level, broker id must be specified: [listeners]"),
        (BROKER, "", [("listener.name.a.ssl.key.password", SET, "x")], INVALID_REQUEST, "Cannot update these configs at default cluster level, broker id must be specified: [listener.name.a.ssl.key.password]"),
        (BROKER, "1", [("config.providers", SET, "env")], INVALID_REQUEST, "Invalid value env for configuration config.providers: Stoker does not resolve ${provider:path:key}; write the values themselves"),
        (BROKER, "2", [("max.connections", SET, "1")], INVALID_REQUEST, "Unexpected broker id, expected 1, but received 2"),
        (GROUP, "g", [("consumer.sesion.timeout.ms", SET, "1")], INVALID_CONFIG, "Unknown group config name: consumer.sesion.timeout.ms (did you mean consumer.session.timeout.ms?)"),
        (GROUP, "g", [("session.timeout.ms", SET, "1")], INVALID_CONFIG, "Unknown group config name: session.timeout.ms (did you mean consumer.session.timeout.ms?)"),
        (GROUP, "g", [("share.sesion.timeout.ms", SET, "1")], INVALID_CONFIG, "Unknown group config name: share.sesion.timeout.ms (did you mean share.session.timeout.ms?)"),
        (ResourceType.BROKER_LOGGER, "1", [("root", SET, "INFO")], INVALID_REQUEST, "Unknown resource type 8"),
    ],
)  # fmt: skip
def test_operations_that_are_refused(
    image: ConfigImage,
    resource_type: int,
    resource_name: str,
    operations: Operations,
    error_code: ErrorCode,
    message: str,
) -> None:
    with pytest.raises(ConfigRefused) as caught:
        alter_incrementally(image, resource_type, resource_name, [ConfigOperation(*each) for each in operations])
    assert (caught.value.error_code, caught.value.message) == (error_code, message)


def test_replacing_removes_what_is_not_named(image: ConfigImage) -> None:
    assert alter_by_replacing(image, TOPIC, "orders", [("cleanup.policy", "compact"), ("flush.ms", "1")]) == (
        ConfigChange(TOPIC, "orders", "retention.ms", None),
        ConfigChange(TOPIC, "orders", "flush.ms", "1"),
    )


@pytest.mark.parametrize(
    ("configs", "error_code", "message"),
    [
        ([("flush.ms", "1"), ("flush.ms", "2")], INVALID_REQUEST, "Error due to duplicate config keys"),
        ([("flush.ms", None)], INVALID_REQUEST, "Null value not supported for : flush.ms"),
        ([("flush.ms", "x")], INVALID_CONFIG, "Invalid value x for configuration flush.ms: Not a number of type LONG"),
    ],
)
def test_replacements_that_are_refused(
    image: ConfigImage, configs: list[tuple[str, str | None]], error_code: ErrorCode, message: str
) -> None:
    with pytest.raises(ConfigRefused) as caught:
        alter_by_replacing(image, TOPIC, "orders", configs)
    assert (caught.value.error_code, caught.value.message) == (error_code, message)


def test_a_new_topic_has_only_its_own_settings(image: ConfigImage) -> None:
    assert configs_of_new_topic(image, "orders", [("flush.ms", "1")]) == (
        ConfigChange(TOPIC, "orders", "flush.ms", "1"),
    )


def test_a_new_topic_needs_values(image: ConfigImage) -> None:
    with pytest.raises(ConfigRefused) as caught:
        configs_of_new_topic(image, "new", [("flush.ms", None), ("retention.ms", None)])
    assert caught.value.error_code is INVALID_CONFIG
    assert caught.value.message == "Null value not supported for topic configs: flush.ms,retention.ms"


def test_a_broker_setting_nobody_knows_is_taken_as_by_kafka(image: ConfigImage) -> None:
    operation = ConfigOperation("nobody.knows", SET, "1")
    assert alter_incrementally(image, BROKER, "1", [operation]) == (ConfigChange(BROKER, "1", "nobody.knows", "1"),)


def test_levels_of_loggers(image: ConfigImage) -> None:
    operations = [ConfigOperation("a", SET, "DEBUG"), ConfigOperation("b", DELETE, None)]
    assert alter_loggers(image, "1", operations, ["a", "b", "root"]) == (("a", "DEBUG"), ("b", None))


@pytest.mark.parametrize(
    ("resource_name", "operation", "error_code", "message"),
    [
        ("2", ("a", SET, "INFO"), INVALID_REQUEST, "Unexpected node id. Expected 1, but received 2"),
        ("x", ("a", SET, "INFO"), INVALID_REQUEST, "Node id must be an integer, but it is: x"),
        ("1", ("c", SET, "INFO"), INVALID_CONFIG, "Logger c does not exist!"),
        (
            "1",
            ("a", SET, "LOUD"),
            INVALID_CONFIG,
            "Cannot set the log level of a to LOUD as it is not a supported log level. "
            "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN",
        ),
        ("1", ("root", DELETE, None), INVALID_REQUEST, "Removing the log level of the root logger is not allowed"),
        ("1", ("a", APPEND, "INFO"), INVALID_REQUEST, "APPEND operation is not allowed for the BROKER_LOGGER resource"),
        (
            "1",
            ("a", 9, "INFO"),
            INVALID_REQUEST,
            "Unknown operation type 9 is not allowed for the BROKER_LOGGER resource",
        ),
    ],
)
def test_levels_that_are_refused(
    image: ConfigImage,
    resource_name: str,
    operation: tuple[str, int, str | None],
    error_code: ErrorCode,
    message: str,
) -> None:
    with pytest.raises(ConfigRefused) as caught:
        alter_loggers(image, resource_name, [ConfigOperation(*operation)], ["a", "b", "root"])
    assert (caught.value.error_code, caught.value.message) == (error_code, message)
