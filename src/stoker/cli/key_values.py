"""Configs as they are typed: `retention.ms=60000`, and what a name that is none may have meant."""

from collections.abc import Collection, Iterable
from typing import Final

from stoker.cli.failure import CommandFailed, did_you_mean, wrong_usage
from stoker.client.admin.configs import Resource, ResourceType, describe_configs
from stoker.client.cluster import Cluster
from stoker.client.errors import KafkaRefused
from stoker.wire.error_codes import ErrorCode

_WORDS: Final = {ResourceType.TOPIC: "topic", ResourceType.BROKER: "broker", ResourceType.GROUP: "group"}
_ALL_BROKERS: Final = Resource(ResourceType.BROKER, "")


def parse_key_values(option: str, texts: Iterable[str]) -> dict[str, str]:
    """`key=value` as often as given; of a key that comes twice the last counts."""
    parsed: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            wrong_usage(f"{option} {text}: the form is key=value, such as retention.ms=86400000")
        parsed[key.strip()] = value
    return parsed


def resource_in_words(resource: Resource) -> str:
    """As messages name it: topic 'orders', all brokers."""
    if resource == _ALL_BROKERS:
        return "all brokers"
    return f"{_WORDS[resource.type]} {resource.name!r}"


def known_configs(resource_type: ResourceType) -> Iterable[str]:
    """The names of Kafka 4.3, whatever the cluster is."""
    from stoker.broker.config.definitions import BROKER, GROUP, TOPIC

    return {ResourceType.TOPIC: TOPIC, ResourceType.BROKER: BROKER, ResourceType.GROUP: GROUP}[resource_type]


def check_config_names(cluster: Cluster, resource: Resource, names: Collection[str]) -> None:
    """Raise CommandFailed for a name that is no config of the resource: clusters accept it where a config is unset."""
    strange = [name for name in names if not _is_known(resource.type, name)]
    if not strange:
        return
    try:
        described = [config.name for config in describe_configs(cluster, resource)]
    except KafkaRefused:  # one who may alter configs without seeing them
        return
    for name in strange:
        if name not in described:
            raise no_such_config(resource, name, described)


def no_such_config(resource: Resource, name: str, described: Iterable[str]) -> CommandFailed:
    """For a name that is no config of the resource, with the nearest of those that are."""
    known = {*described, *known_configs(resource.type)} - {name}
    has = "have" if resource == _ALL_BROKERS else "has"
    return CommandFailed(f"{resource_in_words(resource)} {has} no config {name!r}{_hint(resource.type, name, known)}")


def hint_at_config(refused: KafkaRefused, resource_type: ResourceType, names: Iterable[str]) -> str:
    """Behind the message of a cluster that refused configs: what a name that Kafka does not have may have meant."""
    if refused.error_code not in (ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST) or "did you mean" in str(
        refused
    ):
        return ""
    known = set(known_configs(resource_type))
    hints = [_hint(resource_type, name, known) for name in names if name not in known]
    return next((hint for hint in hints if hint), "")


def _is_known(resource_type: ResourceType, name: str) -> bool:
    """Also of what exists only with a listener's prefix, or while a throttle is on."""
    if resource_type is ResourceType.BROKER:
        from stoker.broker.config.definitions import broker_setting

        return broker_setting(name) is not None
    return name in known_configs(resource_type)


def _hint(resource_type: ResourceType, name: str, known: Collection[str]) -> str:
    """Of a group the settings of consumers come first: `session.timeout.ms` is nearer to those of share groups."""
    if resource_type is ResourceType.GROUP and not name.startswith(("share.", "streams.")):
        of_consumers = did_you_mean(name, [each for each in known if each.startswith("consumer.")])
        return of_consumers or did_you_mean(name, known)
    return did_you_mean(name, known)
