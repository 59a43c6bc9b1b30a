"""What DescribeConfigs shows: each setting with its value, where that comes from, and what else was in the running.

The order in which sources win, and which of them are listed as synonyms, is Kafka's, including what may surprise: a `log.retention.hours`
in the file gives a topic its `retention.ms`, yet the source of that is said to be the default.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

from stoker.broker.config.definitions import (
    BROKER,
    CLIENT_METRICS,
    DYNAMIC_ONLY,
    GROUP,
    TOPIC,
    broker_setting,
    broker_synonyms,
    milliseconds_per_unit,
)
from stoker.broker.config.errors import ConfigRefused
from stoker.broker.config.image import CLUSTER_DEFAULT, ConfigImage, ResourceType
from stoker.broker.config.setting import ConfigType, Setting, Value
from stoker.broker.config.types import render
from stoker.wire.error_codes import ErrorCode


class ConfigSource(IntEnum):
    """Where a value comes from; the numbers are those of the protocol."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


class ConfigSynonym(NamedTuple):
    """One of the settings that could give the value; the first of a list does."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigEntry:
    """One line of DescribeConfigs. The value of a sensitive setting is None."""

    name: str
    value: str | None
    source: ConfigSource = ConfigSource.DEFAULT_CONFIG
    read_only: bool = False
    sensitive: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()
    type: ConfigType = ConfigType.UNKNOWN
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT_CONFIG


_DEFAULTS: Final = {
    setting.name: text
    for setting in BROKER.values()
    if not setting.required and (text := render(setting.default)) is not None
}


def describe(
    image: ConfigImage,
    resource_type: int,
    resource_name: str,
    names: Collection[str] | None = None,
    loggers: Mapping[str, str] | None = None,
) -> list[ConfigEntry]:
    """The settings of a resource, sorted by name; only `names` if there are any.

    Whether a topic exists is for the caller to see. `loggers` are the broker's loggers with their levels. Raises ConfigRefused.
    """
    match resource_type:
        case ResourceType.TOPIC:
            entries = _describe_topic(image, resource_name)
        case ResourceType.BROKER if resource_name == CLUSTER_DEFAULT:
            entries = _describe_cluster(image)
        case ResourceType.BROKER:
            _check_broker_id(image, resource_name, f"{image.node_id} or empty string,")
            entries = _describe_broker(image)
        case ResourceType.BROKER_LOGGER:
            if not resource_name:
                raise ConfigRefused(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
            _check_broker_id(image, resource_name, str(image.node_id))
            entries = _describe_loggers(loggers or {})
        case ResourceType.CLIENT_METRICS:
            if not resource_name:
                message = "Client metrics subscription name must not be empty"
                raise ConfigRefused(ErrorCode.INVALID_REQUEST, message)
            entries = _describe_client_metrics(image, resource_name)
        case ResourceType.GROUP:
            if not resource_name:
                raise ConfigRefused(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
            entries = _describe_group(image, resource_name)
        case _:
            message = f"Unexpected resource type {resource_type} for resource {resource_name}"
            raise ConfigRefused(ErrorCode.INVALID_REQUEST, message)
    return sorted((entry for entry in entries if not names or entry.name in names), key=lambda entry: entry.name)


def describe_new_topic(image: ConfigImage, own: Mapping[str, str]) -> list[ConfigEntry]:
    """The settings that the answer to CreateTopics lists. Here, unlike in DescribeConfigs, hours in the file count as a source."""
    entries: list[ConfigEntry] = []
    for setting in sorted(TOPIC.values()):
        if setting.internal and setting.name not in own:
            continue
        value, source = _first_of(image, setting, own)
        entries.append(ConfigEntry(name=setting.name, value=value, source=source, type=setting.type))
    return entries


def _first_of(image: ConfigImage, setting: Setting, own: Mapping[str, str]) -> tuple[str | None, ConfigSource]:
    if setting.name in own:
        return own[setting.name], ConfigSource.DYNAMIC_TOPIC_CONFIG
    for settings, source in _levels(image)[:-1]:
        for name in setting.broker_names:
            if name in settings:
                unit = milliseconds_per_unit(name)
                text = settings[name]
                return (text if unit == 1 else str(int(text) * unit)), source
    return render(setting.default), ConfigSource.DEFAULT_CONFIG


def _check_broker_id(image: ConfigImage, resource_name: str, expected: str) -> None:
    try:
        is_this = int(resource_name) == image.node_id
    except ValueError:
        message = f"Broker id must be an integer, but it is: {resource_name}"
        raise ConfigRefused(ErrorCode.INVALID_REQUEST, message) from None
    if not is_this:
        message = f"Unexpected broker id, expected {expected} but received {resource_name}"
        raise ConfigRefused(ErrorCode.INVALID_REQUEST, message)


def _levels(image: ConfigImage) -> tuple[tuple[Mapping[str, str], ConfigSource], ...]:
    """Broker settings by strength."""
    return (
        (image.of_broker, ConfigSource.DYNAMIC_BROKER_CONFIG),
        (image.of_cluster, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        (image.file.originals, ConfigSource.STATIC_BROKER_CONFIG),
        (_DEFAULTS, ConfigSource.DEFAULT_CONFIG),
    )


def _broker_synonyms(image: ConfigImage, name: str, is_sensitive: bool) -> tuple[ConfigSynonym, ...]:
    """All that sets `name` or the same in other units, the strongest first, from the first that is called `name` on."""
    synonyms = broker_synonyms(name)
    found = [
        ConfigSynonym(synonym, None if is_sensitive else settings[synonym], source)
        for settings, source in _levels(image)
        for synonym in synonyms
        if synonym in settings
    ]
    while found and found[0].name != name:
        del found[0]
    return tuple(found)


def _describe_topic(image: ConfigImage, topic: str) -> list[ConfigEntry]:
    own = image.stored_of(ResourceType.TOPIC, topic)

    def inherited(setting: Setting) -> tuple[ConfigSynonym, ...]:
        return _broker_synonyms(image, setting.broker_names[0], is_sensitive=False) if setting.broker_names else ()

    return _describe_own(TOPIC, image.topic_values(topic), own, ConfigSource.DYNAMIC_TOPIC_CONFIG, inherited)


def _describe_group(image: ConfigImage, group: str) -> list[ConfigEntry]:
    own = image.stored_of(ResourceType.GROUP, group)

    def inherited(setting: Setting) -> tuple[ConfigSynonym, ...]:
        if setting.broker_names:
            return _broker_synonyms(image, setting.broker_names[0], is_sensitive=False)
        return (ConfigSynonym(setting.name, render(setting.default), ConfigSource.DEFAULT_CONFIG),)

    return _describe_own(GROUP, image.group_values(group), own, ConfigSource.GROUP_CONFIG, inherited)


def _describe_client_metrics(image: ConfigImage, subscription: str) -> list[ConfigEntry]:
    own = image.stored_of(ResourceType.CLIENT_METRICS, subscription)
    values = image.client_metrics_values(subscription)
    return _describe_own(CLIENT_METRICS, values, own, ConfigSource.CLIENT_METRICS_CONFIG, lambda setting: ())


def _describe_own(
    settings: Mapping[str, Setting],
    values: Mapping[str, Value],
    own: Mapping[str, str],
    own_source: ConfigSource,
    inherited: Callable[[Setting], tuple[ConfigSynonym, ...]],
) -> list[ConfigEntry]:
    """The settings of a resource that may have some of its own and inherits the others."""
    entries: list[ConfigEntry] = []
    for name, setting in settings.items():
        if setting.internal and name not in own:
            continue
        value = render(values[name])
        synonyms = inherited(setting)
        if name in own:
            synonyms = (ConfigSynonym(name, value, own_source), *synonyms)
        entries.append(
            ConfigEntry(
                name=name,
                value=value,
                source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
                synonyms=synonyms,
                type=setting.type,
                documentation=setting.description,
            )
        )
    return entries


def _describe_broker(image: ConfigImage) -> list[ConfigEntry]:
    shown = {name: render(image.broker.values[name]) for name, setting in BROKER.items() if not setting.internal}
    given = {name: text for name, text in image.broker.originals.items() if name not in shown}
    return [_broker_entry(image, name, value) for name, value in {**shown, **given}.items()]


def _describe_cluster(image: ConfigImage) -> list[ConfigEntry]:
    entries = []
    for name, value in image.of_cluster.items():
        entry = _broker_entry(image, name, value)
        of_cluster = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        synonyms = tuple(synonym for synonym in entry.synonyms if synonym.source is of_cluster)
        entries.append(
            ConfigEntry(
                name=name,
                value=entry.value,
                source=of_cluster if synonyms else ConfigSource.DEFAULT_CONFIG,
                read_only=entry.read_only,
                sensitive=entry.sensitive,
                synonyms=synonyms,
                type=entry.type,
                documentation=entry.documentation,
            )
        )
    return entries


def _broker_entry(image: ConfigImage, name: str, value: str | None) -> ConfigEntry:
    setting = broker_setting(name)
    # What nobody knows may be a secret.
    is_sensitive = setting is None or setting.is_sensitive
    synonyms = _broker_synonyms(image, name, is_sensitive)
    known = BROKER.get(name) or DYNAMIC_ONLY.get(name)
    return ConfigEntry(
        name=name,
        value=None if is_sensitive else value,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        read_only=known is None or not known.is_dynamic,
        sensitive=is_sensitive,
        synonyms=synonyms,
        type=ConfigType.UNKNOWN if setting is None else setting.type,
        documentation=None if known is None else known.description,
    )


def _describe_loggers(loggers: Mapping[str, str]) -> list[ConfigEntry]:
    source = ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG
    return [ConfigEntry(name=name, value=level, source=source) for name, level in loggers.items()]
