"""All configs at one moment: the file, and what the metadata log says of brokers, topics, groups and client metrics."""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from stoker.broker.config.broker_config import BrokerConfig
from stoker.broker.config.definitions import (
    BROKER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    broker_setting,
    broker_synonyms,
    listener_base_name,
)
from stoker.broker.config.errors import InvalidConfig
from stoker.broker.config.rules import flush_ms, retention_ms, segment_jitter_ms, segment_ms
from stoker.broker.config.setting import PER_BROKER, Setting, Value
from stoker.broker.config.types import parse
from stoker.log.config import LogConfig


class ResourceType(IntEnum):
    """What a config belongs to; the numbers are those of the protocol."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


CLUSTER_DEFAULT: Final = ""
"""The name of the BROKER resource that holds for all brokers."""

StoredConfigs = Mapping[tuple[int, str], Mapping[str, str]]
"""What the ConfigRecords of the metadata log add up to: settings by (resource type, resource name)."""


class ConfigChange(NamedTuple):
    """What becomes one ConfigRecord; a value of None removes the setting."""

    resource_type: ResourceType
    resource_name: str
    name: str
    value: str | None


PER_LISTENER_ONLY: Final = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
"""Settings that may change while the broker runs, but only with the prefix of a listener."""

_CLUSTER_WIDE_OF_LISTENERS: Final = frozenset(
    {"max.connections", "max.connection.creation.rate", "num.network.threads"}
)


def is_read_only(name: str) -> bool:
    """Whether a broker setting cannot change while the broker runs; names nobody knows can."""
    setting = BROKER.get(name)
    return setting is not None and not setting.is_dynamic


def is_per_broker(name: str) -> bool:
    """Whether a broker setting may not be set for the whole cluster."""
    base = listener_base_name(name)
    if base is not None:
        return base not in _CLUSTER_WIDE_OF_LISTENERS
    setting = BROKER.get(name)
    return setting is not None and setting.update is PER_BROKER


def override(settings: dict[str, str], stronger: Mapping[str, str]) -> None:
    """Put `stronger` over `settings`, taking away what says the same in other units: hours may not outlive milliseconds."""
    for name, value in stronger.items():
        if listener_base_name(name) is None:
            for synonym in broker_synonyms(name):
                settings.pop(synonym, None)
        settings[name] = value


class ConfigImage:
    """The configs in force. It never changes; `apply` makes the next one.

    Strength, the strongest first: the topic's own settings, those of this broker, those of all brokers, the file, the default.
    """

    def __init__(self, file: BrokerConfig, stored: StoredConfigs | None = None) -> None:
        """From the config the broker started with and the stored ones, which are not copied.

        Stored broker settings that could not have been set (they come from elsewhere) are left out and named in `ignored`.
        """
        self.file: Final = file
        self.stored: Final[StoredConfigs] = stored if stored is not None else {}
        self.node_id: Final = file.node_id
        self.ignored: Final[list[str]] = []
        self.of_cluster: Final = self._usable_broker_configs(CLUSTER_DEFAULT)
        self.of_broker: Final = self._usable_broker_configs(str(self.node_id))
        self.broker: Final = self._broker_in_force()
        self.topic_defaults: Final = topic_defaults(self.broker)
        self._default_log_config: Final = self._log_config(self.topic_defaults)

    def apply(self, changes: Iterable[ConfigChange]) -> "ConfigImage":
        """The image after these changes. Give all of a batch at once: the list of resources is copied each time."""
        stored = dict(self.stored)
        changed: dict[tuple[int, str], dict[str, str]] = {}
        for change in changes:
            resource = (int(change.resource_type), change.resource_name)
            settings = changed.setdefault(resource, dict(stored.get(resource, {})))
            if change.value is None:
                settings.pop(change.name, None)
            else:
                settings[change.name] = change.value
        for resource, settings in changed.items():
            if settings:
                stored[resource] = settings
            else:
                stored.pop(resource, None)
        return ConfigImage(self.file, stored)

    def stored_of(self, resource_type: ResourceType, resource_name: str) -> Mapping[str, str]:
        """The settings of a resource as they were set."""
        return self.stored.get((int(resource_type), resource_name), {})

    def topic_values(self, topic: str) -> Mapping[str, Value]:
        """All settings of a topic that are in force, typed, by Kafka's names. Of a topic that does not exist: the defaults."""
        own = self.stored_of(ResourceType.TOPIC, topic)
        return self.topic_defaults | _parsed(TOPIC, own) if own else self.topic_defaults

    def log_config_for(self, topic: str) -> LogConfig:
        """What the logs of a topic's partitions need; one object for all topics without settings of their own."""
        if not self.stored_of(ResourceType.TOPIC, topic):
            return self._default_log_config
        return self._log_config(self.topic_values(topic))

    def topic_integer(self, topic: str, name: str) -> int:
        """One whole number of a topic, such as `min.insync.replicas`."""
        return _integer(name, self.topic_values(topic)[name])

    def group_values(self, group: str) -> Mapping[str, Value]:
        """All settings of a group that are in force, typed, by Kafka's names."""
        defaults = {
            setting.name: self.broker.values[setting.broker_names[0]] if setting.broker_names else setting.default
            for setting in GROUP.values()
        }
        return defaults | _parsed(GROUP, self.stored_of(ResourceType.GROUP, group))

    def group_integer(self, group: str, name: str) -> int:
        """One whole number of a group, such as `consumer.session.timeout.ms`."""
        return _integer(name, self.group_values(group)[name])

    def client_metrics_values(self, subscription: str) -> Mapping[str, Value]:
        """All settings of a subscription to client metrics, typed."""
        defaults = {setting.name: setting.default for setting in CLIENT_METRICS.values()}
        return defaults | _parsed(CLIENT_METRICS, self.stored_of(ResourceType.CLIENT_METRICS, subscription))

    def _usable_broker_configs(self, resource_name: str) -> dict[str, str]:
        usable: dict[str, str] = {}
        for name, text in self.stored_of(ResourceType.BROKER, resource_name).items():
            setting = broker_setting(name)
            try:
                if setting is not None:
                    parse(setting, text)
                if is_read_only(name) or name in PER_LISTENER_ONLY:
                    raise InvalidConfig(name, text, "it cannot change while the broker runs")
                if resource_name == CLUSTER_DEFAULT and is_per_broker(name):
                    raise InvalidConfig(name, text, "it cannot be set for the whole cluster")
            except InvalidConfig as error:
                self.ignored.append(str(error))
            else:
                usable[name] = text
        return usable

    def _broker_in_force(self) -> BrokerConfig:
        if not self.of_cluster and not self.of_broker:
            return self.file
        settings = dict(self.file.originals)
        override(settings, self.of_cluster)
        override(settings, self.of_broker)
        try:
            return BrokerConfig(settings)
        except InvalidConfig as error:
            self.ignored.append(f"all dynamic broker configs, because together with the file they cannot be: {error}")
            return self.file

    def _log_config(self, values: Mapping[str, Value]) -> LogConfig:
        segment_bytes = values["internal.segment.bytes"] or values["segment.bytes"]
        fields = {field: values[name] for name, field in _LOG_CONFIG_FIELDS}
        policy = fields["cleanup_policy"]
        assert isinstance(policy, tuple)
        return LogConfig(
            **fields  # type: ignore[arg-type]  # a test compares each field's type with the setting's
            | {
                "segment_bytes": segment_bytes,
                "cleanup_policy": frozenset(policy),
                "producer_id_expiration_ms": self.broker.producer_id_expiration_ms,
            }
        )


_LOG_CONFIG_FIELDS: Final = tuple(
    (name, setting.attribute) for name, setting in TOPIC.items() if setting.attribute in LogConfig.__slots__
)


def topic_defaults(broker: BrokerConfig) -> dict[str, Value]:
    """The settings of a topic that has none of its own."""
    defaults: dict[str, Value] = {}
    for setting in TOPIC.values():
        if not setting.broker_names:
            defaults[setting.name] = setting.default
        elif len(setting.broker_names) == 1:
            defaults[setting.name] = broker.values[setting.broker_names[0]]
    defaults["retention.ms"] = retention_ms(broker.values)
    defaults["segment.ms"] = segment_ms(broker.values)
    defaults["segment.jitter.ms"] = segment_jitter_ms(broker.values)
    defaults["flush.ms"] = flush_ms(broker.values)
    return defaults


def _integer(name: str, value: Value) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is no whole number: {value!r}")
    return value


def _parsed(settings: Mapping[str, Setting], texts: Mapping[str, str]) -> dict[str, Value]:
    """The typed values of stored settings; what cannot be read (it comes from elsewhere) is left at its default."""
    values: dict[str, Value] = {}
    for name, text in texts.items():
        setting = settings.get(name)
        if setting is not None:
            try:
                values[name] = parse(setting, text)
            except InvalidConfig:
                continue
    return values
