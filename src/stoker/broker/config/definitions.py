"""Every setting by its name: the tables of this room put together."""

from typing import Final

from stoker.broker.config.broker_group_settings import BROKER_GROUP_SETTINGS
from stoker.broker.config.broker_log_settings import BROKER_LOG_SETTINGS
from stoker.broker.config.broker_node_settings import BROKER_NODE_SETTINGS
from stoker.broker.config.broker_quorum_settings import BROKER_QUORUM_SETTINGS
from stoker.broker.config.broker_quota_settings import BROKER_QUOTA_SETTINGS, DYNAMIC_ONLY_SETTINGS
from stoker.broker.config.broker_remote_settings import BROKER_REMOTE_SETTINGS
from stoker.broker.config.broker_replication_settings import BROKER_REPLICATION_SETTINGS
from stoker.broker.config.broker_security_settings import BROKER_SECURITY_SETTINGS
from stoker.broker.config.broker_share_settings import BROKER_SHARE_SETTINGS
from stoker.broker.config.broker_socket_settings import BROKER_SOCKET_SETTINGS
from stoker.broker.config.broker_transaction_settings import BROKER_TRANSACTION_SETTINGS
from stoker.broker.config.client_metrics_settings import CLIENT_METRICS_SETTINGS
from stoker.broker.config.confluent_topic_settings import CONFLUENT_TOPIC_SETTINGS
from stoker.broker.config.group_settings import GROUP_SETTINGS
from stoker.broker.config.setting import HOUR_MS, MINUTE_MS, Setting
from stoker.broker.config.stoker_settings import STOKER_SETTINGS
from stoker.broker.config.topic_settings import TOPIC_SETTINGS


def _by_name(*tables: tuple[Setting, ...]) -> dict[str, Setting]:
    return {setting.name: setting for table in tables for setting in table}


BROKER: Final = _by_name(
    BROKER_NODE_SETTINGS,
    BROKER_SOCKET_SETTINGS,
    BROKER_LOG_SETTINGS,
    BROKER_REPLICATION_SETTINGS,
    BROKER_GROUP_SETTINGS,
    BROKER_TRANSACTION_SETTINGS,
    BROKER_QUOTA_SETTINGS,
    BROKER_QUORUM_SETTINGS,
    BROKER_SECURITY_SETTINGS,
    BROKER_REMOTE_SETTINGS,
    BROKER_SHARE_SETTINGS,
    STOKER_SETTINGS,
)
"""What a server.properties may hold."""

DYNAMIC_ONLY: Final = _by_name(DYNAMIC_ONLY_SETTINGS)
"""Broker settings that exist only while a throttle is on: they have no place in a file and no default that is shown."""

TOPIC: Final = _by_name(TOPIC_SETTINGS, CONFLUENT_TOPIC_SETTINGS)
GROUP: Final = _by_name(GROUP_SETTINGS)
CLIENT_METRICS: Final = _by_name(CLIENT_METRICS_SETTINGS)

BROKER_SYNONYMS: Final = (
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
)
"""Settings for the same thing in other units, the strongest first."""


def broker_synonyms(name: str) -> tuple[str, ...]:
    """The names under which the same thing may be set, the strongest first; a listener's override before what it overrides."""
    for names in BROKER_SYNONYMS:
        if name in names:
            return names
    if name == "log.flush.interval.ms":
        return (name, "log.flush.scheduler.interval.ms")
    base = listener_base_name(name)
    return (name, base) if base is not None else (name,)


LISTENER_PREFIX: Final = "listener.name."

_MECHANISM_SETTINGS: Final = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)
"""Settings of one SASL mechanism of one listener: `listener.name.<listener>.<mechanism>.<setting>`."""


def listener_base_name(name: str) -> str | None:
    """`ssl.client.auth` of `listener.name.external.ssl.client.auth`; None of a name without the prefix."""
    if not name.startswith(LISTENER_PREFIX):
        return None
    _, dot, base = name.removeprefix(LISTENER_PREFIX).partition(".")
    if not dot:
        return None
    return next((setting for setting in _MECHANISM_SETTINGS if base.endswith(setting)), base)


def broker_setting(name: str) -> Setting | None:
    """The definition of a broker setting, also of one that is only dynamic or has the prefix of a listener."""
    setting = BROKER.get(name) or DYNAMIC_ONLY.get(name)
    if setting is None:
        base = listener_base_name(name)
        if base is not None:
            return BROKER.get(base)
    return setting


def milliseconds_per_unit(broker_name: str) -> int:
    """What a broker setting in other units is multiplied by to become its topic setting."""
    if broker_name.endswith(".hours"):
        return HOUR_MS
    return MINUTE_MS if broker_name.endswith(".minutes") else 1
