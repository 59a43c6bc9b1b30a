"""Settings that contradict each other; the messages are Kafka's."""

import pytest

from stoker.broker.config.broker_config import BrokerConfig
from stoker.broker.config.errors import InvalidConfig
from stoker.broker.config.rules import flush_ms, retention_ms, segment_jitter_ms, segment_ms

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"log.roll.ms": "0"}, "log.roll.ms must be greater than or equal to 1"),
        ({"log.roll.jitter.ms": "-1"}, "log.roll.jitter.ms must be greater than or equal to 0"),
        ({"log.retention.ms": "0"}, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
        ({"log.cleaner.threads": "0"}, "log.cleaner.threads must be greater than or equal to 1"),
        ({"log.cleaner.threads": "128"}, "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."),
        (
            {"log.cleaner.min.compaction.lag.ms": "9", "log.cleaner.max.compaction.lag.ms": "8"},
            "conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (8)",
        ),
        ({"offsets.topic.compression.codec": "5"}, "Unknown compression type id: 5"),
        (
            {"replica.fetch.wait.max.ms": "40000", "replica.lag.time.max.ms": "50000"},
            "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary socket timeouts",
        ),
        (
            {"replica.lag.time.max.ms": "100"},
            "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to prevent frequent changes in ISR",
        ),
        (
            {"queued.max.request.bytes": "5"},
            "queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
        ),
        (
            {"max.connections.per.ip": "0"},
            "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.",
        ),
        (
            {"connections.max.idle.ms": "50"},
            "connection.failed.authentication.delay.ms=100 should always be less than connections.max.idle.ms=50 "
            "to prevent failed authentication responses from timing out",
        ),
        ({"group.coordinator.rebalance.protocols": "consumer"}, "Disabling the 'classic' protocol is not supported."),
        (
            {"group.consumer.session.timeout.ms": "1000"},
            "group.consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms",
        ),
        (
            {"group.consumer.heartbeat.interval.ms": "99999"},
            "group.consumer.heartbeat.interval.ms must be less than or equal to group.consumer.max.heartbeat.interval.ms",
        ),
        (
            {"group.consumer.max.session.timeout.ms": "10"},
            "group.consumer.max.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms",
        ),
        (
            {"group.share.min.session.timeout.ms": "10", "group.share.session.timeout.ms": "5000"},
            "group.share.heartbeat.interval.ms must be less than group.share.session.timeout.ms",
        ),
        (
            {"group.streams.num.standby.replicas": "3"},
            "group.streams.num.standby.replicas must be less than or equal to group.streams.max.standby.replicas",
        ),
        (
            {"group.share.max.share.sessions": "3"},
            "group.share.max.share.sessions must be greater than or equal to group.share.max.size",
        ),
        ({"group.share.assignors": "a,b"}, "group.share.assignors must contain exactly one assignor, but found 2"),
    ],
)
def test_contradictions(settings: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        BrokerConfig(settings)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "settings",
    [
        {"connections.max.idle.ms": "-1"},
        {"queued.max.request.bytes": "104857600"},
        {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:1"},
        {"log.retention.hours": "-1"},
        {"group.min.session.timeout.ms": "1", "group.initial.rebalance.delay.ms": "0"},
    ],
)
def test_no_contradictions(settings: dict[str, str]) -> None:
    assert BrokerConfig(settings).originals.items() >= settings.items()


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({}, 168 * HOUR),
        ({"log.retention.hours": "2"}, 2 * HOUR),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.minutes": "-1"}, -1),
    ],
)
def test_retention_in_the_strongest_unit(settings: dict[str, str], kept: int) -> None:
    assert retention_ms(BrokerConfig(settings).values) == kept


def test_other_settings_in_two_units() -> None:
    values = BrokerConfig(
        {"log.roll.hours": "2", "log.roll.jitter.hours": "1", "log.flush.scheduler.interval.ms": "5"}
    ).values
    assert (segment_ms(values), segment_jitter_ms(values), flush_ms(values)) == (2 * HOUR, HOUR, 5)
    values = BrokerConfig(
        {"log.roll.hours": "2", "log.roll.ms": "7", "log.roll.jitter.ms": "8", "log.flush.interval.ms": "9"}
    ).values
    assert (segment_ms(values), segment_jitter_ms(values), flush_ms(values)) == (7, 8, 9)
