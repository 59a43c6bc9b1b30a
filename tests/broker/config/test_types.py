"""Text to values as Kafka's ConfigDef does it; values and messages were taken from Kafka 4.3.0 itself."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stoker.broker.config.definitions import BROKER, GROUP, TOPIC
from stoker.broker.config.errors import InvalidConfig
from stoker.broker.config.setting import ConfigType, Value
from stoker.broker.config.types import did_you_mean, parse, parse_type, render, show

BOOLEAN, INT, SHORT, LONG = ConfigType.BOOLEAN, ConfigType.INT, ConfigType.SHORT, ConfigType.LONG
DOUBLE, LIST, STRING = ConfigType.DOUBLE, ConfigType.LIST, ConfigType.STRING


@pytest.mark.parametrize(
    ("config_type", "text", "value"),
    [
        (BOOLEAN, " TRUE ", True),
        (BOOLEAN, "False", False),
        (INT, "+5", 5),
        (INT, " -2147483648\t", -2147483648),
        (SHORT, "32767", 32767),
        (LONG, "9223372036854775807", 9223372036854775807),
        (DOUBLE, "1d", 1.0),
        (DOUBLE, " .5 ", 0.5),
        (DOUBLE, "2e3", 2000.0),
        (DOUBLE, "1e400", math.inf),
        (LIST, " a , ,b,", ("a", "", "b", "")),
        (LIST, "  ", ()),
        (STRING, " x y ", "x y"),
        (ConfigType.PASSWORD, " secret ", "secret"),
        (ConfigType.CLASS, "org.example.Thing", "org.example.Thing"),
    ],
)
def test_text_of_a_type(config_type: ConfigType, text: str, value: Value) -> None:
    assert parse_type("n", text, config_type) == value


@pytest.mark.parametrize(
    ("config_type", "text", "reason"),
    [
        (BOOLEAN, "yes", "Expected value to be either true or false"),
        (INT, " 1_0", "Not a number of type INT"),
        (INT, "2147483648", "Not a number of type INT"),
        (INT, "", "Not a number of type INT"),
        (INT, "1.0", "Not a number of type INT"),
        (INT, "0x10", "Not a number of type INT"),
        (SHORT, "40000", "Not a number of type SHORT"),
        (LONG, "9223372036854775808", "Not a number of type LONG"),
        (DOUBLE, "half", "Not a number of type DOUBLE"),
        (DOUBLE, "", "Not a number of type DOUBLE"),
        (DOUBLE, "1_0", "Not a number of type DOUBLE"),
    ],
)
def test_text_that_is_not_of_the_type(config_type: ConfigType, text: str, reason: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        parse_type("n", text, config_type)
    assert str(caught.value) == f"Invalid value {text} for configuration n: {reason}"
    assert (caught.value.name, caught.value.value, caught.value.reason) == ("n", text, reason)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("cleanup.policy", "compact,compact", ("compact",)),
        ("cleanup.policy", "", ()),
        ("compression.gzip.level", "-1", -1),
        ("leader.replication.throttled.replicas", "1:2,3:4", ("1:2", "3:4")),
        ("leader.replication.throttled.replicas", "*", ("*",)),
        ("min.cleanable.dirty.ratio", "1", 1.0),
        ("group.consumer.migration.policy", "Upgrade", "Upgrade"),
        ("share.auto.offset.reset", "by_duration:P1DT2H3.5S", "by_duration:P1DT2H3.5S"),
        ("controller.quorum.voters", "1@localhost:9093,2@[::1]:9093", ("1@localhost:9093", "2@[::1]:9093")),
        ("controller.quorum.bootstrap.servers", "localhost:9093", ("localhost:9093",)),
    ],
)
def test_values_in_range(name: str, text: str, value: Value) -> None:
    assert parse((TOPIC | BROKER | GROUP)[name], text) == value


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "cleanup.policy",
            "foo",
            "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete",
        ),
        ("cleanup.policy", ",", "Configuration 'cleanup.policy' values must not be empty."),
        (
            "compression.gzip.level",
            "0",
            "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1",
        ),
        (
            "compression.lz4.level",
            "18",
            "Invalid value 18 for configuration compression.lz4.level: Value must be no more than 17",
        ),
        (
            "compression.type",
            "brotli",
            "Invalid value brotli for configuration compression.type: "
            "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer",
        ),
        (
            "min.cleanable.dirty.ratio",
            "2",
            "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1",
        ),
        ("retention.ms", "-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
        ("node.id", "-1", "Invalid value -1 for configuration node.id: Value must be at least 0"),
        (
            "leader.replication.throttled.replicas",
            "a",
            "Invalid value [a] for configuration leader.replication.throttled.replicas: "
            "leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following format: "
            "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
        ),
        (
            "group.consumer.migration.policy",
            "x",
            "Invalid value x for configuration group.consumer.migration.policy: "
            "String must be one of (case insensitive): DISABLED, DOWNGRADE, UPGRADE, BIDIRECTIONAL",
        ),
        (
            "process.roles",
            "",
            "Configuration 'process.roles' must not be empty. Valid values include: [broker, controller]",
        ),
        ("listeners", " ", "Configuration 'listeners' must not be empty. Valid values include: any non-empty value"),
        (
            "remote.log.metadata.manager.class.name",
            "",
            "Invalid value  for configuration remote.log.metadata.manager.class.name: String must be non-empty",
        ),
        (
            "share.auto.offset.reset",
            "by_duration:x",
            "Invalid value by_duration:x for configuration share.auto.offset.reset: Invalid value `by_duration:x` for configuration "
            "share.auto.offset.reset. The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
        ),
        (
            "controller.quorum.voters",
            "localhost:9093",
            "Invalid configuration value for controller.quorum.voters: localhost:9093. "
            "Each entry should be in the form `{id}@{host}:{port}`.",
        ),
    ],
)
def test_values_out_of_range(name: str, text: str, message: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        parse((TOPIC | BROKER | GROUP)[name], text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (9223372036854775807, "9223372036854775807"),
        (("a", "b"), "a,b"),
        ((), ""),
        (0.5, "0.5"),
        (100.0, "100.0"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (12345678.9, "1.23456789E7"),
        (0.001, "0.001"),
        (9.99e-4, "9.99E-4"),
        (-2.5e-10, "-2.5E-10"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (1e21, "1.0E21"),
        (123456789.125, "1.23456789125E8"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_values_as_java_prints_them(value: Value, text: str | None) -> None:
    assert render(value) == text


@given(st.floats(allow_nan=False))
def test_a_printed_double_is_the_same_double(value: float) -> None:
    text = render(value)
    assert text is not None
    assert parse_type("n", text, DOUBLE) == value


def test_values_inside_of_messages() -> None:
    assert [show(value) for value in (("a", "b"), None, 1)] == ["[a, b]", "null", "1"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("retension.ms", " (did you mean retention.ms?)"),
        ("retention_ms", " (did you mean retention.ms?)"),
        ("cleanup.polcy", " (did you mean cleanup.policy?)"),
        ("frobnicate", ""),
    ],
)
def test_hints_at_close_names(name: str, hint: str) -> None:
    assert did_you_mean(name, TOPIC) == hint
