"""Rules between settings that Kafka checks when it starts, as far as they mean something on one node.

The messages are Kafka's. Left out are the rules of the controller quorum, of links between brokers and of remote storage.
"""

from collections.abc import Mapping
from typing import Final

from stoker.broker.config.errors import InvalidConfig
from stoker.broker.config.setting import Value
from stoker.broker.config.types import show

_AT_LEAST: Final = "{} must be greater than or equal to {}"
_AT_MOST: Final = "{} must be less than or equal to {}"
_LESS: Final = "{} must be less than {}"

_PROTOCOLS: Final = ("consumer", "share", "streams")
_BOUNDED: Final = ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")
_BOUNDED_SHARE: Final = ("delivery.count.limit", "partition.max.record.locks", "record.lock.duration.ms")

BOUNDED_GROUP_SETTINGS: Final = tuple(
    (f"{protocol}.{name}", f"group.{protocol}.min.{name}", f"group.{protocol}.max.{name}")
    for protocol in _PROTOCOLS
    for name in (_BOUNDED + _BOUNDED_SHARE if protocol == "share" else _BOUNDED)
)
"""A group setting with the broker settings that bound it; the default of each is the broker setting `group.<name>`."""


def check_rules(values: Mapping[str, Value]) -> None:
    """Raise InvalidConfig if two settings contradict each other."""
    _check_logs(values)
    _check_connections(values)
    _check_groups(values)


def number(values: Mapping[str, Value], name: str) -> int:
    value = values[name]
    assert isinstance(value, int), f"{name} is no whole number"
    return value


def retention_ms(values: Mapping[str, Value]) -> int:
    """The default of `retention.ms`; -1 for ever."""
    milliseconds = _strongest(
        values, ("log.retention.ms", 1), ("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000)
    )
    return -1 if milliseconds < 0 else milliseconds


def segment_ms(values: Mapping[str, Value]) -> int:
    """The default of `segment.ms`."""
    return _strongest(values, ("log.roll.ms", 1), ("log.roll.hours", 3_600_000))


def segment_jitter_ms(values: Mapping[str, Value]) -> int:
    """The default of `segment.jitter.ms`."""
    return _strongest(values, ("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", 3_600_000))


def flush_ms(values: Mapping[str, Value]) -> int:
    """The default of `flush.ms`."""
    return _strongest(values, ("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1))


def _strongest(values: Mapping[str, Value], *names: tuple[str, int]) -> int:
    for name, unit in names:
        if values[name] is not None:
            return number(values, name) * unit
    raise AssertionError(f"{names[-1][0]} has no default")


def require(condition: bool, values: Mapping[str, Value], name: str, message: str) -> None:
    """Kafka's `require`: the message alone says what is wrong."""
    if not condition:
        raise InvalidConfig(name, show(values[name]), message, message=message)


def _check_logs(values: Mapping[str, Value]) -> None:
    require(segment_ms(values) >= 1, values, "log.roll.ms", "log.roll.ms must be greater than or equal to 1")
    jitter = segment_jitter_ms(values)
    require(jitter >= 0, values, "log.roll.jitter.ms", "log.roll.jitter.ms must be greater than or equal to 0")
    kept = retention_ms(values)
    message = "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"
    require(kept >= 1 or kept == -1, values, "log.retention.ms", message)

    cleaners = number(values, "log.cleaner.threads")
    require(cleaners >= 1, values, "log.cleaner.threads", "log.cleaner.threads must be greater than or equal to 1")
    message = "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
    buffer = number(values, "log.cleaner.dedupe.buffer.size")
    require(buffer // cleaners > 1024 * 1024, values, "log.cleaner.dedupe.buffer.size", message)
    smallest, largest = "log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"
    check_compaction_lag(number(values, smallest), number(values, largest))

    codec = number(values, "offsets.topic.compression.codec")
    message = f"Unknown compression type id: {codec}"
    require(0 <= codec <= 4, values, "offsets.topic.compression.codec", message)


def check_compaction_lag(smallest: int, largest: int) -> None:
    """The one rule between topic settings."""
    if smallest > largest:
        message = (
            f"conflict topic config setting min.compaction.lag.ms ({smallest}) > max.compaction.lag.ms ({largest})"
        )
        raise InvalidConfig("min.compaction.lag.ms", str(smallest), message, message=message)


def _check_connections(values: Mapping[str, Value]) -> None:
    wait = number(values, "replica.fetch.wait.max.ms")
    message = "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary socket timeouts"
    require(wait <= number(values, "replica.socket.timeout.ms"), values, "replica.socket.timeout.ms", message)
    message = (
        "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms "
        "to prevent frequent changes in ISR"
    )
    require(wait <= number(values, "replica.lag.time.max.ms"), values, "replica.fetch.wait.max.ms", message)

    queued = number(values, "queued.max.request.bytes")
    message = "queued.max.request.bytes must be larger or equal to socket.request.max.bytes"
    is_enough = queued <= 0 or queued >= number(values, "socket.request.max.bytes")
    require(is_enough, values, "queued.max.request.bytes", message)

    if number(values, "max.connections.per.ip") == 0:
        message = "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set."
        require(bool(values["max.connections.per.ip.overrides"]), values, "max.connections.per.ip", message)

    idle, delay = number(values, "connections.max.idle.ms"), number(values, "connection.failed.authentication.delay.ms")
    message = (
        f"connection.failed.authentication.delay.ms={delay} should always be less than connections.max.idle.ms={idle} "
        "to prevent failed authentication responses from timing out"
    )
    require(idle < 0 or delay < idle, values, "connections.max.idle.ms", message)


def _check_groups(values: Mapping[str, Value]) -> None:
    protocols = values["group.coordinator.rebalance.protocols"]
    assert isinstance(protocols, tuple)
    message = "Disabling the 'classic' protocol is not supported."
    require("classic" in protocols, values, "group.coordinator.rebalance.protocols", message)
    for name, smallest, largest in BOUNDED_GROUP_SETTINGS:
        value = number(values, f"group.{name}")
        _compare(values, number(values, largest) >= number(values, smallest), _AT_LEAST, largest, smallest)
        _compare(values, value >= number(values, smallest), _AT_LEAST, f"group.{name}", smallest)
        _compare(values, value <= number(values, largest), _AT_MOST, f"group.{name}", largest)
    for protocol in _PROTOCOLS:
        heartbeat, session = f"group.{protocol}.heartbeat.interval.ms", f"group.{protocol}.session.timeout.ms"
        _compare(values, number(values, heartbeat) < number(values, session), _LESS, heartbeat, session)
    standby, most = "group.streams.num.standby.replicas", "group.streams.max.standby.replicas"
    _compare(values, number(values, standby) <= number(values, most), _AT_MOST, standby, most)
    sessions, size = "group.share.max.share.sessions", "group.share.max.size"
    _compare(values, number(values, sessions) >= number(values, size), _AT_LEAST, sessions, size)
    assignors = values["group.share.assignors"]
    assert isinstance(assignors, tuple)
    message = f"group.share.assignors must contain exactly one assignor, but found {len(assignors)}"
    require(len(assignors) == 1, values, "group.share.assignors", message)


def _compare(values: Mapping[str, Value], holds: bool, message: str, left: str, right: str) -> None:
    require(holds, values, left, message.format(left, right))
