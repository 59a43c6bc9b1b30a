"""Changes of configs: what AlterConfigs, IncrementalAlterConfigs and CreateTopics may set, and the answers to what they may not.

Nothing is changed here: a change that may be made comes back as ConfigChanges, to be written to the metadata log. Whether the topic exists
(UNKNOWN_TOPIC_OR_PARTITION), whether its name is legal, and whether a request names a resource twice is for the caller to see.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from stoker.broker.config.broker_config import BrokerConfig
from stoker.broker.config.definitions import BROKER, CLIENT_METRICS, GROUP, TOPIC, broker_setting
from stoker.broker.config.errors import ConfigRefused, InvalidConfig
from stoker.broker.config.image import (
    CLUSTER_DEFAULT,
    PER_LISTENER_ONLY,
    ConfigChange,
    ConfigImage,
    ResourceType,
    is_per_broker,
    is_read_only,
    override,
)
from stoker.broker.config.retired import why_retired
from stoker.broker.config.rules import BOUNDED_GROUP_SETTINGS, check_compaction_lag, number
from stoker.broker.config.setting import ConfigType, Setting, Value
from stoker.broker.config.types import did_you_mean, parse, render
from stoker.wire.error_codes import ErrorCode


class AlterOperation(IntEnum):
    """What IncrementalAlterConfigs may do to a setting; the numbers are those of the protocol."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigOperation(NamedTuple):
    """One operation of a request, unchecked."""

    name: str
    operation: int
    value: str | None


LOG_LEVELS: Final = ("DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN")
ROOT_LOGGER: Final = "root"

_LONGEST_VALUE: Final = 32767
_SHORTEST_INTERVAL_MS, _LONGEST_INTERVAL_MS = 100, 3_600_000
_CLIENT_MATCHES: Final = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


def alter_incrementally(
    image: ConfigImage, resource_type: int, resource_name: str, operations: Collection[ConfigOperation]
) -> tuple[ConfigChange, ...]:
    """The changes of one resource of IncrementalAlterConfigs; raises ConfigRefused. See `alter_loggers` for BROKER_LOGGER."""
    _check_form((operation.name for operation in operations), operations)
    resource = _resource(image, resource_type, resource_name)
    stored = image.stored_of(resource, resource_name)
    wanted = dict(stored)
    for name, operation, value in operations:
        match operation:
            case AlterOperation.SET:
                assert value is not None, "checked above"
                wanted[name] = value
            case AlterOperation.DELETE:
                wanted.pop(name, None)
            case AlterOperation.APPEND | AlterOperation.SUBTRACT:
                assert value is not None, "checked above"
                wanted[name] = _change_list(resource, name, AlterOperation(operation), wanted.get(name), value)
            case _:
                raise ConfigRefused(ErrorCode.INVALID_REQUEST, f"Unknown operations type {operation}")
    return _changes(image, resource, resource_name, stored, wanted)


def alter_by_replacing(
    image: ConfigImage, resource_type: int, resource_name: str, configs: Collection[tuple[str, str | None]]
) -> tuple[ConfigChange, ...]:
    """The changes of one resource of the older AlterConfigs, which replaces all; raises ConfigRefused."""
    operations = [ConfigOperation(name, AlterOperation.SET, value) for name, value in configs]
    _check_form((name for name, _ in configs), operations)
    resource = _resource(image, resource_type, resource_name)
    wanted = {name: value for name, value in configs if value is not None}
    return _changes(image, resource, resource_name, image.stored_of(resource, resource_name), wanted)


def configs_of_new_topic(
    image: ConfigImage, topic: str, configs: Collection[tuple[str, str | None]]
) -> tuple[ConfigChange, ...]:
    """The changes that give a topic of CreateTopics its settings; raises ConfigRefused. The last of a name counts."""
    without_value = [name for name, value in configs if value is None]
    if without_value:
        message = f"Null value not supported for topic configs: {','.join(without_value)}"
        raise ConfigRefused(ErrorCode.INVALID_CONFIG, message)
    wanted = {name: value for name, value in configs if value is not None}
    return _changes(image, ResourceType.TOPIC, topic, {}, wanted)


def alter_loggers(
    image: ConfigImage, resource_name: str, operations: Collection[ConfigOperation], loggers: Collection[str]
) -> tuple[tuple[str, str | None], ...]:
    """Loggers with their new level, None for that of the parent. `loggers` are those that exist. Raises ConfigRefused."""
    _check_form((operation.name for operation in operations), operations)
    _check_node_id(image, resource_name, f"Unexpected node id. Expected {image.node_id}")
    levels: list[tuple[str, str | None]] = []
    for name, operation, value in operations:
        if operation in (AlterOperation.APPEND, AlterOperation.SUBTRACT):
            message = f"{AlterOperation(operation).name} operation is not allowed for the BROKER_LOGGER resource"
            raise ConfigRefused(ErrorCode.INVALID_REQUEST, message)
        if operation not in (AlterOperation.SET, AlterOperation.DELETE):
            message = f"Unknown operation type {operation} is not allowed for the BROKER_LOGGER resource"
            raise ConfigRefused(ErrorCode.INVALID_REQUEST, message)
        if name not in loggers:
            raise ConfigRefused(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
        if operation == AlterOperation.SET and value not in LOG_LEVELS:
            message = (
                f"Cannot set the log level of {name} to {value} as it is not a supported log level. "
                f"Valid log levels are {', '.join(LOG_LEVELS)}"
            )
            raise ConfigRefused(ErrorCode.INVALID_CONFIG, message)
        if operation == AlterOperation.DELETE and name == ROOT_LOGGER:
            message = f"Removing the log level of the {ROOT_LOGGER} logger is not allowed"
            raise ConfigRefused(ErrorCode.INVALID_REQUEST, message)
        levels.append((name, value if operation == AlterOperation.SET else None))
    return tuple(levels)


def _check_form(names: Iterable[str], operations: Collection[ConfigOperation]) -> None:
    if len(set(names)) != len(operations):
        raise ConfigRefused(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    without_value = [
        name for name, operation, value in operations if value is None and operation != AlterOperation.DELETE
    ]
    if without_value:
        message = f"Null value not supported for : {', '.join(without_value)}"
        raise ConfigRefused(ErrorCode.INVALID_REQUEST, message)


def _resource(image: ConfigImage, resource_type: int, resource_name: str) -> ResourceType:
    match resource_type:
        case ResourceType.BROKER:
            if resource_name != CLUSTER_DEFAULT:
                _check_node_id(image, resource_name, f"Unexpected broker id, expected {image.node_id}")
        case ResourceType.TOPIC:
            if not resource_name:
                raise ConfigRefused(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        case ResourceType.GROUP:
            if not resource_name:
                raise ConfigRefused(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
        case ResourceType.CLIENT_METRICS:
            if not resource_name:
                raise ConfigRefused(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
        case _:
            raise ConfigRefused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource_type}")
    return ResourceType(resource_type)


def _check_node_id(image: ConfigImage, resource_name: str, unexpected: str) -> None:
    try:
        node_id = int(resource_name)
    except ValueError:
        message = f"Node id must be an integer, but it is: {resource_name}"
        raise ConfigRefused(ErrorCode.INVALID_REQUEST, message) from None
    if node_id != image.node_id:
        raise ConfigRefused(ErrorCode.INVALID_REQUEST, f"{unexpected}, but received {resource_name}")


_SETTINGS: Final[Mapping[ResourceType, Mapping[str, Setting]]] = {
    ResourceType.TOPIC: TOPIC,
    ResourceType.BROKER: BROKER,
    ResourceType.GROUP: GROUP,
    ResourceType.CLIENT_METRICS: CLIENT_METRICS,
}


def _change_list(resource: ResourceType, name: str, operation: AlterOperation, current: str | None, value: str) -> str:
    setting = _SETTINGS[resource].get(name)
    if resource is ResourceType.BROKER and setting is None:
        raise ConfigRefused(ErrorCode.INVALID_CONFIG, f"Unknown config name: {name}")
    if setting is None or setting.type is not ConfigType.LIST:
        if resource is ResourceType.BROKER:
            message = f"Config value {operation.name.lower()} is not allowed for config key: {name}"
        else:
            message = f"Can't {operation.name} to key {name} because its type is not LIST."
        raise ConfigRefused(ErrorCode.INVALID_CONFIG, message)
    if current is None:
        current = render(setting.default) or ""
    elements = [element for element in current.split(",") if element]
    for element in value.split(","):
        if operation is AlterOperation.APPEND:
            if element not in elements:
                elements.append(element)
        elif element in elements:
            elements.remove(element)
    return ",".join(elements)


def _changes(
    image: ConfigImage, resource: ResourceType, resource_name: str, stored: Mapping[str, str], wanted: dict[str, str]
) -> tuple[ConfigChange, ...]:
    if any(len(value) > _LONGEST_VALUE for name, value in wanted.items() if stored.get(name) != value):
        message = (
            "The configuration value cannot be added because it exceeds the maximum value size of "
            f"{_LONGEST_VALUE} bytes."
        )
        raise ConfigRefused(ErrorCode.INVALID_CONFIG, message)
    try:
        match resource:
            case ResourceType.TOPIC:
                _check_topic(image, wanted)
            case ResourceType.BROKER:
                _check_broker(image, resource_name, wanted)
            case ResourceType.GROUP:
                _check_group(image, wanted)
            case ResourceType.CLIENT_METRICS:
                _check_client_metrics(wanted)
            case _:
                raise AssertionError(f"{resource.name} is refused earlier")
    except InvalidConfig as error:
        # Kafka answers an impossible broker setting as a bad request (KAFKA-13609).
        code = ErrorCode.INVALID_REQUEST if resource is ResourceType.BROKER else ErrorCode.INVALID_CONFIG
        raise ConfigRefused(code, str(error)) from error
    changed = {name: value for name, value in wanted.items() if stored.get(name) != value}
    removed: dict[str, str | None] = {name: None for name in stored if name not in wanted}
    return tuple(ConfigChange(resource, resource_name, name, value) for name, value in (removed | changed).items())


def _check_topic(image: ConfigImage, wanted: Mapping[str, str]) -> None:
    values = dict(image.topic_defaults)
    for name, text in wanted.items():
        setting = TOPIC.get(name)
        if setting is None:
            reason = why_retired(name)
            hint = f" ({reason})" if reason else did_you_mean(name, TOPIC)
            raise ConfigRefused(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}{hint}")
        values[name] = parse(setting, text)
    check_compaction_lag(number(values, "min.compaction.lag.ms"), number(values, "max.compaction.lag.ms"))
    if values["remote.storage.enable"]:
        message = (
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
        raise ConfigRefused(ErrorCode.INVALID_CONFIG, message)


def _check_broker(image: ConfigImage, resource_name: str, wanted: Mapping[str, str]) -> None:
    def refuse_any(names: Iterable[str], message: str) -> None:
        found = sorted(names)
        if found:
            raise ConfigRefused(ErrorCode.INVALID_REQUEST, f"{message}: [{', '.join(found)}]")

    refuse_any((name for name in wanted if is_read_only(name)), "Cannot update these configs dynamically")
    refuse_any(
        (name for name in wanted if name in PER_LISTENER_ONLY),
        "These security configs can be dynamically updated only per-listener using the listener prefix",
    )
    for name, text in wanted.items():
        setting = broker_setting(name)
        if setting is not None:
            parse(setting, text)
    if resource_name == CLUSTER_DEFAULT:
        refuse_any(
            (name for name in wanted if is_per_broker(name)),
            "Cannot update these configs at default cluster level, broker id must be specified",
        )
    settings = dict(image.file.originals)
    override(settings, wanted if resource_name == CLUSTER_DEFAULT else image.of_cluster)
    override(settings, image.of_broker if resource_name == CLUSTER_DEFAULT else wanted)
    BrokerConfig(settings)


def _check_group(image: ConfigImage, wanted: Mapping[str, str]) -> None:
    broker = image.broker.values
    values: dict[str, Value] = {
        setting.name: broker[setting.broker_names[0]] if setting.broker_names else setting.default
        for setting in GROUP.values()
    }
    for name, text in wanted.items():
        setting = GROUP.get(name)
        if setting is None:
            message = f"Unknown group config name: {name}{_meant_for_group(name)}"
            raise ConfigRefused(ErrorCode.INVALID_CONFIG, message)
        values[name] = parse(setting, text)

    def require(holds: bool, message: str) -> None:
        if not holds:
            raise ConfigRefused(ErrorCode.INVALID_CONFIG, message)

    for name, smallest, largest in BOUNDED_GROUP_SETTINGS:
        value = number(values, name)
        require(value >= number(broker, smallest), f"{name} must be greater than or equal to {smallest}")
        require(value <= number(broker, largest), f"{name} must be less than or equal to {largest}")
    standby, most = "streams.num.standby.replicas", "group.streams.max.standby.replicas"
    require(number(values, standby) <= number(broker, most), f"{standby} must be less than or equal to {most}")
    for protocol in ("consumer", "share", "streams"):
        session, heartbeat = f"{protocol}.session.timeout.ms", f"{protocol}.heartbeat.interval.ms"
        require(number(values, session) > number(values, heartbeat), f"{session} must be greater than {heartbeat}")


def _meant_for_group(name: str) -> str:
    """A hint; at the settings of share and streams groups, which are not served, only if nothing else is near."""
    if name.startswith(("share.", "streams.")):
        return did_you_mean(name, GROUP)
    of_consumers = [each for each in GROUP if each.startswith("consumer.")]
    return did_you_mean(name, of_consumers) or did_you_mean(name, GROUP)


def _check_client_metrics(wanted: Mapping[str, str]) -> None:
    for name, text in wanted.items():
        setting = CLIENT_METRICS.get(name)
        if setting is None:
            message = f"Unknown client metrics configuration: {name}{did_you_mean(name, CLIENT_METRICS)}"
            raise ConfigRefused(ErrorCode.INVALID_REQUEST, message)
        value = parse(setting, text)
        if isinstance(value, int) and not _SHORTEST_INTERVAL_MS <= value <= _LONGEST_INTERVAL_MS:
            message = f"Invalid value {value} for {name}, interval must be between 100 and 3600000 (1 hour)"
            raise ConfigRefused(ErrorCode.INVALID_REQUEST, message)
        if name == "match" and isinstance(value, tuple):
            for pattern in value:
                _check_client_match(pattern)


def _check_client_match(pattern: str) -> None:
    name, _, expression = pattern.partition("=")
    try:
        is_legal = name.strip() in _CLIENT_MATCHES and bool(expression) and "=" not in expression
        re.compile(expression.strip())
    except re.error:
        is_legal = False
    if not is_legal:
        raise ConfigRefused(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {pattern}")
