"""Configs of topics, brokers and groups: what they are, where they come from, and how to set them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final, NamedTuple

from stoker.client.cluster import Cluster
from stoker.client.errors import ClientError, raise_if_refused
from stoker.client.targets import ANY_BROKER, Broker, Target
from stoker.wire.error_codes import ErrorCode
from stoker.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Resource(NamedTuple):
    """The broker named "" is what all brokers have unless one has its own."""

    type: ResourceType
    name: str


class ConfigSource(IntEnum):
    """Where a value comes from; the number is the protocol's, `label` is Kafka's word for it."""

    label: str

    def __new__(cls, number: int, label: str) -> "ConfigSource":
        member = int.__new__(cls, number)
        member._value_ = number
        member.label = label
        return member

    UNKNOWN = 0, "unknown"
    DYNAMIC_TOPIC_CONFIG = 1, "topic"
    DYNAMIC_BROKER_CONFIG = 2, "broker, dynamic"
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3, "all brokers, dynamic"
    STATIC_BROKER_CONFIG = 4, "server.properties"
    DEFAULT_CONFIG = 5, "default"
    DYNAMIC_BROKER_LOGGER_CONFIG = 6, "broker logger"
    DYNAMIC_CLIENT_METRICS_CONFIG = 7, "client metrics"
    DYNAMIC_GROUP_CONFIG = 8, "group"


_SOURCES: Final = {int(source): source for source in ConfigSource}

_MILLISECONDS: Final = {"ms": 1, "minutes": 60_000, "hours": 3_600_000}
"""Units by the last word of a config's name."""

_OTHER_NAMES: Final = {
    "retention.ms": ("log.retention.minutes", "log.retention.hours"),
    "segment.ms": ("log.roll.hours",),
    "segment.jitter.ms": ("log.roll.jitter.hours",),
    "flush.ms": ("log.flush.scheduler.interval.ms",),
}
"""Configs of brokers that give topics their default and that Kafka does not tell as synonyms of the topics' own."""


class Synonym(NamedTuple):
    """A place where a value was looked for."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """One setting. `value` is None if it is sensitive or unset; `synonyms` are the places in the order of their strength."""

    name: str
    value: str | None
    source: ConfigSource
    is_sensitive: bool
    is_read_only: bool
    synonyms: tuple[Synonym, ...]

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT_CONFIG

    @property
    def default(self) -> str | None:
        """What the value would be if it were set nowhere, in the unit of this config, if that is known."""
        defaults = (each for each in self.synonyms if each.source is ConfigSource.DEFAULT_CONFIG)
        return next((_converted(each, self.name) for each in defaults), None)


class Operation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Alteration(NamedTuple):
    name: str
    operation: Operation
    value: str | None = None


def describe_configs(
    cluster: Cluster, resource: Resource, names: Iterable[str] | None = None, *, as_told: bool = False
) -> list[Config]:
    """The configs of a resource by name, or those of them that are named. Raises KafkaRefused.

    `as_told`: with the synonyms that the cluster tells, and no others.
    """
    asked = DescribeConfigsResource(
        resource_type=resource.type,
        resource_name=resource.name,
        configuration_keys=None if names is None else list(names),
    )
    (result,) = _describe(cluster, [asked], _responsible_for(resource))
    raise_if_refused(result.error_code, result.error_message)
    configs = _configs(result)
    return _with_other_names(cluster, configs) if resource.type is ResourceType.TOPIC and not as_told else configs


def describe_topic_configs(cluster: Cluster, topics: Iterable[str]) -> dict[str, list[Config]]:
    """The configs of many topics in one request; a topic whose configs may not be seen has none."""
    asked = [
        DescribeConfigsResource(resource_type=ResourceType.TOPIC, resource_name=topic, configuration_keys=None)
        for topic in topics
    ]
    return {result.resource_name: _configs(result) for result in _describe(cluster, asked, ANY_BROKER)} if asked else {}


def list_config_resources(cluster: Cluster, kind: ResourceType) -> list[str]:
    """The names of all resources of a type that have configs. Raises KafkaRefused, and UnsupportedByBroker of an old one."""
    from stoker.wire.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse

    request = ListConfigResourcesRequest()
    if kind is not ResourceType.CLIENT_METRICS:  # the only ones that brokers before KIP-1142 tell of
        request.resource_types = [kind]
    answer = cluster.send(request, ListConfigResourcesResponse)
    raise_if_refused(answer.error_code)
    return [each.resource_name for each in answer.config_resources if each.resource_type == kind]


def alter_configs(
    cluster: Cluster, resource: Resource, alterations: Sequence[Alteration], *, validate_only: bool = False
) -> None:
    """Change some configs of a resource and leave the others, all or nothing. Raises KafkaRefused."""
    alter_configs_of(cluster, {resource: alterations}, validate_only=validate_only)


def alter_configs_of(
    cluster: Cluster, alterations: Mapping[Resource, Sequence[Alteration]], *, validate_only: bool = False
) -> None:
    """The same for many resources, one after the other, whatever becomes of the others. Raises the first ClientError."""
    from stoker.wire.messages.incremental_alter_configs import (
        AlterableConfig,
        AlterConfigsResource,
        IncrementalAlterConfigsRequest,
        IncrementalAlterConfigsResponse,
    )

    failures: list[ClientError] = []
    for resource, changes in alterations.items():
        altered = AlterConfigsResource(
            resource_type=resource.type,
            resource_name=resource.name,
            configs=[
                AlterableConfig(name=each.name, config_operation=each.operation, value=each.value) for each in changes
            ],
        )
        try:
            answer = cluster.send(
                IncrementalAlterConfigsRequest(resources=[altered], validate_only=validate_only),
                IncrementalAlterConfigsResponse,
                to=_responsible_for(resource),
                error_of=lambda answer: _worth_another_try(answer.responses[0].error_code),
            )
            raise_if_refused(answer.responses[0].error_code, answer.responses[0].error_message)
        except ClientError as failed:  # a broker that is down keeps nobody from asking the others
            failures.append(failed)
    if failures:
        raise failures[0]


def _worth_another_try(error_code: int) -> int:
    """A topic that is not there will not come by asking again."""
    return 0 if error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else error_code


def _responsible_for(resource: Resource) -> Target:
    """Only a broker itself knows what its own server.properties says."""
    is_of_a_broker = resource.type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER)
    return Broker(int(resource.name)) if is_of_a_broker and resource.name else ANY_BROKER


def _describe(cluster: Cluster, asked: list[DescribeConfigsResource], to: Target) -> list[DescribeConfigsResult]:
    request = DescribeConfigsRequest(resources=asked, include_synonyms=True)
    return cluster.send(request, DescribeConfigsResponse, to=to).results


def _with_other_names(cluster: Cluster, configs: list[Config]) -> list[Config]:
    """The configs of a topic; where the default of one that is set was not told, with what its brokers tell of it."""
    untold = {config.name for config in configs if not config.is_default and config.default is None}
    names = [name for topic_name in untold for name in _OTHER_NAMES.get(topic_name, ())]
    if not names:
        return configs
    broker = Resource(ResourceType.BROKER, str(next(iter(cluster.brokers()))))
    try:
        told = {config.name: config.synonyms for config in describe_configs(cluster, broker, names)}
    except ClientError:  # one who may not see the configs of the brokers may still see those of the topic
        return configs
    return [
        replace(config, synonyms=(*config.synonyms, *_first_told(told, config.name)))
        if config.name in untold
        else config
        for config in configs
    ]


def _first_told(told: dict[str, tuple[Synonym, ...]], topic_name: str) -> tuple[Synonym, ...]:
    """The synonyms of a stronger name have those of the weaker ones among them."""
    return next((told[name] for name in _OTHER_NAMES.get(topic_name, ()) if told.get(name)), ())


def _converted(synonym: Synonym, name: str) -> str | None:
    """The value of a synonym in the unit of the config `name`; None if it cannot be said in that."""
    unit, wanted = (_MILLISECONDS.get(each.rpartition(".")[2]) for each in (synonym.name, name))
    if synonym.value is None or unit is None or wanted is None or unit == wanted:
        return synonym.value
    number = int(synonym.value)
    if number < 0:  # no limit, in any unit
        return synonym.value
    return None if number * unit % wanted else str(number * unit // wanted)


def _configs(result: DescribeConfigsResult) -> list[Config]:
    return sorted(map(_config, result.configs), key=lambda config: config.name)


def _config(result: DescribeConfigsResourceResult) -> Config:
    return Config(
        name=result.name,
        value=result.value,
        source=_source(result.config_source),
        is_sensitive=result.is_sensitive,
        is_read_only=result.read_only,
        synonyms=tuple(Synonym(each.name, each.value, _source(each.source)) for each in result.synonyms),
    )


def _source(number: int) -> ConfigSource:
    return _SOURCES.get(number, ConfigSource.UNKNOWN)
