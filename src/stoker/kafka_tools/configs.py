"""kafka-configs.sh: describe and alter the configs of topics, brokers, groups and client metrics.

Quotas and SCRAM credentials (`--entity-type` users, clients and ips) are refused by name.
"""

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from stoker.errors import StokerError
from stoker.kafka_tools.configs_options import (
    BROKER_LOGGERS,
    BROKERS,
    CLIENT_METRICS,
    CLIENTS,
    GROUPS,
    IPS,
    TOPICS,
    USERS,
    ConfigOptions,
)
from stoker.kafka_tools.connection import connect, load_exact_properties, load_properties
from stoker.kafka_tools.failure import ILLEGAL_ARGUMENT, JavaError, ToolEnds, java_error

if TYPE_CHECKING:
    from stoker.client.admin.configs import Config, ConfigSource, Resource
    from stoker.client.cluster import Cluster

_INVALID_CONFIGURATION: Final = "org.apache.kafka.common.errors.InvalidConfigurationException"
_INVALID_TOPIC: Final = "org.apache.kafka.common.errors.InvalidTopicException"
_TERSE: Final = (
    ILLEGAL_ARGUMENT,
    _INVALID_CONFIGURATION,
    _INVALID_TOPIC,
    "org.apache.kafka.common.errors.UnsupportedVersionException",
)
"""Of these only the message is printed."""
_OUTSIDE_BRACKETS: Final = r"(?=[^\]]*(?:\[|$))"
_LONGEST_TOPIC: Final = 249
_DEFAULT: Final = ""


class _Executed(JavaError):
    """What a request was refused with: Kafka's tool sees it wrapped."""

    def __init__(self, error: JavaError) -> None:
        super().__init__("java.util.concurrent.ExecutionException", error.described)


def main(arguments: Sequence[str]) -> int:
    try:
        options = ConfigOptions(arguments)
        options.check()
        _process(options)
    except ToolEnds:
        raise
    except StokerError as error:
        thrown = error if isinstance(error, JavaError) else _Executed(java_error(error))
        sys.stdout.flush()
        if thrown.java_class in _TERSE or thrown.java_class.startswith("joptsimple."):
            print(thrown.message, file=sys.stderr)
        else:
            print(f"Error while executing config command with args '{' '.join(arguments)}'", file=sys.stderr)
            print(thrown.described, file=sys.stderr)
        return 1
    return 0


def _process(options: ConfigOptions) -> None:
    given = options.given
    command_config = given.value(options.command_config)
    properties = {} if command_config is None else load_properties(command_config)
    if given.has(options.bootstrap_controller):
        raise JavaError(
            ILLEGAL_ARGUMENT, "--bootstrap-controller is not supported here: name brokers with --bootstrap-server"
        )
    quotas = [kind for kind in options.entity_types if kind in (USERS, CLIENTS, IPS)]
    if quotas:
        raise JavaError(
            ILLEGAL_ARGUMENT,
            f"--entity-type {quotas[0]} is not supported here: quotas and SCRAM credentials are not served; "
            f"the entity types are {TOPICS}, {BROKERS}, {BROKER_LOGGERS}, {CLIENT_METRICS} and {GROUPS}",
        )
    with connect(given.text(options.bootstrap_server), properties) as cluster:
        if given.has(options.alter):
            if len(options.entity_types) != len(options.entity_names):
                raise JavaError(ILLEGAL_ARGUMENT, "An entity name must be specified for every entity type")
            _alter(cluster, options)
        else:
            _describe(cluster, options)


# -- altering -------------------------------------------------------------------------------------------------------


def _alter(cluster: "Cluster", options: ConfigOptions) -> None:
    from stoker.client.admin.configs import Alteration, Operation, alter_configs

    kind, name = options.entity_types[0], options.entity_names[0]
    added = added_configs(options)
    deleted = [each.strip() for each in options.given.values(options.delete_config)]
    if kind == BROKER_LOGGERS:
        there = {config.name for config in _configs(cluster, kind, name, is_all=False)}
        unknown = [each for each in (*deleted, *added) if each not in there]
        if unknown:
            raise JavaError(_INVALID_CONFIGURATION, f"Invalid broker logger(s): {','.join(unknown)}")
    alterations = [
        *(Alteration(each, Operation.DELETE, "") for each in deleted),
        *(Alteration(each, Operation.SET, value) for each, value in added.items()),
    ]
    alter_configs(cluster, _resource(kind, name), alterations)
    if name:
        print(f"Completed updating config for {kind[:-1]} {name}.")
    else:
        print(f"Completed updating default config for {kind} in the cluster.")


def added_configs(options: ConfigOptions) -> dict[str, str]:
    """Of `--add-config-file` and `--add-config`. Raises JavaError."""
    given = options.given
    path, text = given.value(options.add_config_file), given.value(options.add_config)
    found = {} if path is None else load_exact_properties(path)
    if text is not None:
        for part in re.sub(",+$", "", text).split(",") if "[" not in text else re.split("," + _OUTSIDE_BRACKETS, text):
            pair = re.split(r"\s*=\s*" + _OUTSIDE_BRACKETS, part)
            if len(pair) != 2:
                raise JavaError(
                    ILLEGAL_ARGUMENT,
                    "requirement failed: Invalid entity config: all configs to be added must be in the format "
                    '"key=val" or  "key=[val1,val2]" to group values which contain commas.',
                )
            found[pair[0].strip()] = re.sub(r"[\[\]]", "", pair[1]).strip()
    for name in found:
        if not re.fullmatch(r"[$a-zA-Z0-9._-]*", name):
            raise JavaError(ILLEGAL_ARGUMENT, f"Invalid character found for config key: {name}")
    return found


# -- describing -----------------------------------------------------------------------------------------------------


def _describe(cluster: "Cluster", options: ConfigOptions) -> None:
    kind = options.entity_types[0]
    name = next(iter(options.entity_names), None)
    is_all = options.given.has(options.all_)
    if name is not None and not is_all and not _exists(cluster, kind, name):
        print(f"The {kind[:-1]} '{name}' doesn't exist and doesn't have dynamic config.")
        return
    for entity in _entities(cluster, kind) if name is None else [name]:
        if entity == _DEFAULT:
            print(f"Default configs for {kind} in the cluster are:")
        else:
            print(f"{'All' if is_all else 'Dynamic'} configs for {kind[:-1]} {entity} are:")
        for config in _configs(cluster, kind, entity, is_all=is_all):
            synonyms = ", ".join(f"{each.source.name}:{each.name}={_shown(each.value)}" for each in config.synonyms)
            sensitive = "true" if config.is_sensitive else "false"
            print(f"  {config.name}={_shown(config.value)} sensitive={sensitive} synonyms={{{synonyms}}}")


def _exists(cluster: "Cluster", kind: str, name: str) -> bool:
    if kind == TOPICS:
        _validate_topic(name)
    return name == _DEFAULT or name in _entities(cluster, kind)


def _entities(cluster: "Cluster", kind: str) -> list[str]:
    """All that there are, in Kafka's order."""
    from stoker.client.admin.configs import ResourceType, list_config_resources
    from stoker.client.errors import KafkaRefused, UnsupportedByBroker

    if kind == TOPICS:
        from stoker.kafka_tools.hash_order import hash_map_order

        return hash_map_order(topic.name or "" for topic in cluster.metadata().topics if not topic.error_code)
    if kind in (BROKERS, BROKER_LOGGERS):
        return [*map(str, sorted(cluster.brokers())), _DEFAULT]
    if kind == CLIENT_METRICS:
        return list_config_resources(cluster, ResourceType.CLIENT_METRICS)
    from stoker.client.admin.groups import list_groups

    groups = {group.group_id for group in list_groups(cluster)}
    try:
        groups |= set(list_config_resources(cluster, ResourceType.GROUP))
    except (UnsupportedByBroker, KafkaRefused):  # an older cluster tells only of those that have members or offsets
        pass
    return sorted(groups)


def _configs(cluster: "Cluster", kind: str, name: str, *, is_all: bool) -> "list[Config]":
    from stoker.client.admin.configs import describe_configs

    if kind == TOPICS:
        _validate_topic(name)
    found = describe_configs(cluster, _resource(kind, name), as_told=True)
    source = None if is_all else _dynamic_source(kind, name)
    return [config for config in found if source is None or config.source is source]


def _resource(kind: str, name: str) -> "Resource":
    from stoker.client.admin.configs import Resource, ResourceType

    types = {
        TOPICS: ResourceType.TOPIC,
        BROKERS: ResourceType.BROKER,
        BROKER_LOGGERS: ResourceType.BROKER_LOGGER,
        CLIENT_METRICS: ResourceType.CLIENT_METRICS,
        GROUPS: ResourceType.GROUP,
    }
    return Resource(types[kind], name)


def _dynamic_source(kind: str, name: str) -> "ConfigSource | None":
    """What a config comes from that was set for this very entity; None if all are."""
    from stoker.client.admin.configs import ConfigSource

    if kind == BROKERS:
        return ConfigSource.DYNAMIC_BROKER_CONFIG if name else ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    return {
        TOPICS: ConfigSource.DYNAMIC_TOPIC_CONFIG,
        CLIENT_METRICS: ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG,
        GROUPS: ConfigSource.DYNAMIC_GROUP_CONFIG,
    }.get(kind)


def _shown(value: str | None) -> str:
    return "null" if value is None else value


def _validate_topic(name: str) -> None:
    """Raises JavaError for what can be no name of a topic."""
    problem = None
    if not name:
        problem = "the empty string is not allowed"
    elif name in (".", ".."):
        problem = "'.' or '..' is not allowed"
    elif len(name) > _LONGEST_TOPIC:
        problem = f"the length of '{name}' is longer than the max allowed length {_LONGEST_TOPIC}"
    elif not re.fullmatch(r"[a-zA-Z0-9._-]+", name):
        problem = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    if problem is not None:
        raise JavaError(_INVALID_TOPIC, f"Topic name is invalid: {problem}")
