"""Configs as they are typed: `retention.ms=60000`."""

from collections.abc import Iterable

from stoker.cli.failure import did_you_mean, wrong_usage
from stoker.client.admin.configs import ResourceType
from stoker.client.errors import KafkaRefused
from stoker.wire.error_codes import ErrorCode


def parse_key_values(option: str, texts: Iterable[str]) -> dict[str, str]:
    """`key=value` as often as given; of a key that comes twice the last counts."""
    parsed: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            wrong_usage(f"{option} {text}: the form is key=value, such as retention.ms=86400000")
        parsed[key.strip()] = value
    return parsed


def known_configs(resource_type: ResourceType) -> Iterable[str]:
    """The names of Kafka 4.3, whatever the cluster is."""
    from stoker.broker.config.definitions import BROKER, GROUP, TOPIC

    return {ResourceType.TOPIC: TOPIC, ResourceType.BROKER: BROKER, ResourceType.GROUP: GROUP}[resource_type]


def hint_at_config(refused: KafkaRefused, resource_type: ResourceType, names: Iterable[str]) -> str:
    """Behind the message of a cluster that refused configs: what a name that Kafka does not have may have meant."""
    if refused.error_code not in (ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST) or "did you mean" in str(
        refused
    ):
        return ""
    known = set(known_configs(resource_type))
    hints = [did_you_mean(name, known) for name in names if name not in known]
    return next((hint for hint in hints if hint), "")
