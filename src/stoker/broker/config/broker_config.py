"""The settings of the broker: a whole and checked server.properties, read through typed attributes."""

from collections.abc import Mapping
from typing import Final

from stoker.broker.config.definitions import BROKER, TOPIC, broker_setting
from stoker.broker.config.errors import InvalidConfig
from stoker.broker.config.listeners import (
    PLAINTEXT,
    SECURITY_PROTOCOLS,
    SERVED_PROTOCOLS,
    Listener,
    parse_listeners,
    parse_map,
    parse_protocol_map,
)
from stoker.broker.config.rules import check_rules, require
from stoker.broker.config.setting import Effect, Value
from stoker.broker.config.types import parse

_DEFAULTS: Final[Mapping[str, Value]] = {setting.name: setting.default for setting in BROKER.values()}
_REQUIRED: Final = {
    setting.name: ",".join(setting.default) if isinstance(setting.default, tuple) else str(setting.default)
    for setting in BROKER.values()
    if setting.required
}

_REFUSALS: Final = {
    "authorizer.class.name": "Stoker has no access control yet and does not act as if it had",
    "config.providers": "Stoker does not resolve ${provider:path:key}; write the values themselves",
    "remote.log.storage.system.enable": "Stoker has no remote store; tiered storage needs Apache Kafka",
}


class BrokerConfig:
    """What a broker needs to know, checked as Kafka checks it at start. Never changed: another setting makes another config.

    The attributes are the settings that take effect and are not merely the default of a topic setting; `values` has all of them by name,
    typed, and `originals` the text of those that were given.
    """

    # Who and where
    node_id: int
    broker_rack: str | None
    listeners: tuple[Listener, ...]
    """Those of clients: a controller's listener is not opened."""
    advertised_listeners: tuple[Listener, ...]
    """What clients are told, one for each of some of the `listeners`; the same as these if not set."""
    log_dirs: tuple[str, ...]
    cordoned_log_dirs: tuple[str, ...]
    """Those of `log_dirs` that get no new partitions."""
    metadata_log_dir: str

    # Connections and requests
    background_threads: int
    connections_max_idle_ms: int
    fetch_max_bytes: int
    max_connection_creation_rate: int
    max_connections: int
    max_connections_per_ip: int
    max_connections_per_ip_overrides: Mapping[str, int]
    max_incremental_fetch_session_cache_slots: int
    max_request_partition_size_limit: int
    num_network_threads: int
    socket_listen_backlog_size: int
    socket_receive_buffer_bytes: int
    socket_request_max_bytes: int
    socket_send_buffer_bytes: int
    telemetry_max_bytes: int

    # Topics
    auto_create_topics_enable: bool
    default_replication_factor: int
    delete_topic_enable: bool
    num_partitions: int
    stoker_replication_factor_policy: str

    # Groups and their offsets
    group_consumer_assignment_interval_ms: int
    group_consumer_assignors: tuple[str, ...]
    group_consumer_heartbeat_interval_ms: int
    group_consumer_max_assignment_interval_ms: int
    group_consumer_max_heartbeat_interval_ms: int
    group_consumer_max_session_timeout_ms: int
    group_consumer_max_size: int
    group_consumer_migration_policy: str
    group_consumer_min_assignment_interval_ms: int
    group_consumer_min_heartbeat_interval_ms: int
    group_consumer_min_session_timeout_ms: int
    group_consumer_regex_refresh_interval_ms: int
    group_consumer_session_timeout_ms: int
    group_coordinator_rebalance_protocols: tuple[str, ...]
    group_initial_rebalance_delay_ms: int
    group_max_session_timeout_ms: int
    group_max_size: int
    group_min_session_timeout_ms: int
    offset_metadata_max_bytes: int
    offsets_retention_check_interval_ms: int
    offsets_retention_minutes: int
    offsets_topic_compression_codec: int
    offsets_topic_num_partitions: int
    offsets_topic_segment_bytes: int

    # Transactions
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int
    transaction_max_timeout_ms: int
    transaction_partition_verification_enable: bool
    transaction_remove_expired_transaction_cleanup_interval_ms: int
    transaction_state_log_num_partitions: int
    transaction_state_log_segment_bytes: int
    transactional_id_expiration_ms: int

    # Logs
    log_cleaner_backoff_ms: int
    log_cleaner_dedupe_buffer_size: int
    log_cleaner_enable: bool
    log_cleaner_io_buffer_load_factor: float
    log_cleaner_io_buffer_size: int
    log_cleaner_io_max_bytes_per_second: float
    log_cleaner_threads: int
    log_flush_offset_checkpoint_interval_ms: int
    log_flush_scheduler_interval_ms: int
    log_flush_start_offset_checkpoint_interval_ms: int
    log_initial_task_delay_ms: int
    log_retention_check_interval_ms: int
    num_recovery_threads_per_data_dir: int
    producer_id_expiration_check_interval_ms: int
    producer_id_expiration_ms: int
    replica_high_watermark_checkpoint_interval_ms: int

    def __init__(self, originals: Mapping[str, str]) -> None:
        """From settings by name; those not given have Kafka's default. Raises InvalidConfig."""
        given = {**_REQUIRED, **originals} if not _REQUIRED.keys() <= originals.keys() else dict(originals)
        if "node.id" not in originals and "broker.id" in originals:
            given["node.id"] = originals["broker.id"]
        given.setdefault("broker.id", given["node.id"])
        self.originals: Mapping[str, str] = given
        self.values: Mapping[str, Value] = self._parse()
        self._refuse_what_cannot_be_served()
        for name, attribute in _ATTRIBUTES:
            setattr(self, attribute, self.values[name])
        self._derive_directories()
        self._derive_listeners()
        self._derive_connection_limits()
        check_rules(self.values)

    def boolean(self, name: str) -> bool:
        value = self.values[name]
        if not isinstance(value, bool):
            raise TypeError(f"{name} is no boolean: {value!r}")
        return value

    def integer(self, name: str) -> int:
        value = self.values[name]
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{name} is no whole number: {value!r}")
        return value

    def text(self, name: str) -> str:
        value = self.values[name]
        if not isinstance(value, str):
            raise TypeError(f"{name} is no text: {value!r}")
        return value

    def names(self, name: str) -> tuple[str, ...]:
        value = self.values[name]
        if not isinstance(value, tuple):
            raise TypeError(f"{name} is no list: {value!r}")
        return value

    def _parse(self) -> dict[str, Value]:
        values = dict(_DEFAULTS)
        for name, text in self.originals.items():
            setting = broker_setting(name)
            if setting is None:
                continue  # a setting of somebody else's: kept in `originals`
            value = parse(setting._replace(name=name), text)
            if name in BROKER:  # not so the override of a listener, and what is dynamic only
                values[name] = value
        if values["broker.id"] != values["node.id"]:
            message = "You must set `node.id` to the same value as `broker.id`."
            raise InvalidConfig("node.id", self.originals["node.id"], message, message=message)
        return values

    def _refuse_what_cannot_be_served(self) -> None:
        for name, reason in _REFUSALS.items():
            if self.values[name] != BROKER[name].default:
                raise InvalidConfig(name, self.originals[name], reason)
        if "broker" not in self.names("process.roles"):
            reason = "Stoker is a broker that is its own controller; `broker` must be among the roles"
            raise InvalidConfig("process.roles", self.originals["process.roles"], reason)

    def _derive_directories(self) -> None:
        self.log_dirs = self.names("log.dirs" if self.values["log.dirs"] is not None else "log.dir")
        metadata_directory = self.values["metadata.log.dir"]
        self.metadata_log_dir = metadata_directory if isinstance(metadata_directory, str) else self.log_dirs[0]
        cordoned = self.names("cordoned.log.dirs")
        if "*" in cordoned:
            message = "When cordoned.log.dirs is set to *, it must not contain other values"
            require(len(cordoned) == 1, self.values, "cordoned.log.dirs", message)
            cordoned = self.log_dirs
        missing = [directory for directory in cordoned if directory not in self.log_dirs]
        message = (
            "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. "
            f"Missing entries : {', '.join(missing)}"
        )
        require(not missing, self.values, "cordoned.log.dirs", message)
        self.cordoned_log_dirs = cordoned

    def _derive_listeners(self) -> None:
        controllers = {name.upper() for name in self.names("controller.listener.names")}
        protocols = parse_protocol_map(self.text("listener.security.protocol.map"))
        if "listener.security.protocol.map" not in self.originals:
            # Kafka lets a controller's listener go without an entry of its own.
            protocols |= {name: PLAINTEXT for name in controllers if name not in SECURITY_PROTOCOLS}
        listening = parse_listeners("listeners", self.names("listeners"), protocols, distinct_ports=True)
        advertised = listening
        if self.values["advertised.listeners"] is not None:
            setting = "advertised.listeners"
            advertised = parse_listeners(setting, self.names(setting), protocols, distinct_ports=False)
        self.listeners = tuple(listener for listener in listening if listener.name not in controllers)
        self.advertised_listeners = tuple(listener for listener in advertised if listener.name not in controllers)
        self._check_listeners()

    def _check_listeners(self) -> None:
        message = "There must be at least one broker advertised listener. Perhaps all listeners appear in controller.listener.names?"
        require(bool(self.advertised_listeners), self.values, "listeners", message)
        for listener in self.listeners:
            if listener.security_protocol not in SERVED_PROTOCOLS:
                reason = (
                    f"listener {listener.name} uses {listener.security_protocol}, which Stoker does not serve yet; "
                    f"it serves {', '.join(SERVED_PROTOCOLS)}"
                )
                raise InvalidConfig("listeners", str(listener), reason)
        names, advertised = (
            [listener.name for listener in group] for group in (self.listeners, self.advertised_listeners)
        )
        message = (
            "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners. "
            f"Found {','.join(advertised)}. The valid options based on the current configuration are {','.join(names)}"
        )
        require(set(advertised) <= set(names), self.values, "advertised.listeners", message)
        message = "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address."
        is_routable = all(listener.host != "0.0.0.0" for listener in self.advertised_listeners)
        require(is_routable, self.values, "advertised.listeners", message)

    def _derive_connection_limits(self) -> None:
        name = "max.connections.per.ip.overrides"
        text = self.text(name)
        limits: dict[str, int] = {}
        for host, limit in parse_map(name, text).items():
            if not limit.isdecimal():
                raise InvalidConfig(name, text, f"the limit of {host} is not a number: {limit}")
            limits[host] = int(limit)
        self.max_connections_per_ip_overrides = limits


_DERIVED: Final = frozenset(
    {
        "advertised.listeners",
        "broker.id",
        "cordoned.log.dirs",
        "listener.security.protocol.map",
        "listeners",
        "log.dir",
        "log.dirs",
        "max.connections.per.ip.overrides",
        "metadata.log.dir",
        "process.roles",
    }
)
"""Settings that are turned into something else than their bare value."""


def _attributes() -> tuple[tuple[str, str], ...]:
    of_topics = {name for setting in TOPIC.values() for name in setting.broker_names}
    of_topics.discard("log.flush.scheduler.interval.ms")  # also the pace of the broker's own check
    return tuple(
        (setting.name, setting.attribute)
        for setting in BROKER.values()
        if setting.effect is Effect.HONOURED and setting.name not in of_topics | _DERIVED
    )


_ATTRIBUTES: Final = _attributes()
