"""`stoker configs` as its users meet it."""

from uuid import uuid4

import pytest

from tests.cli.command_line import BOTH, CommandLine
from tests.clients.client import eventually


def altered(run: CommandLine, *resource: str, **expected: tuple[str, str]) -> dict[str, dict[str, str]]:
    """The configs by name, when these have that value and source: Apache Kafka's brokers learn of it a moment later."""
    names = {name.replace("_", "."): wanted for name, wanted in expected.items()}

    def described() -> dict[str, dict[str, str]]:
        return {each["name"]: each for each in run.json("configs", "describe", *resource, "--all")}

    def are_so(configs: dict[str, dict[str, str]]) -> bool:
        return all((configs[name]["value"], configs[name]["source"]) == wanted for name, wanted in names.items())

    configs = eventually(described, are_so)
    assert are_so(configs)
    return configs


@BOTH
def test_what_is_set_and_what_is_default(run: CommandLine, topic: str) -> None:
    run("configs", "alter", "--topic", topic, "--set", "retention.ms=60000", "--append", "cleanup.policy=compact")
    assert run.stderr == f"Altered the configs of topic '{topic}'.\n"
    altered(run, "--topic", topic, retention_ms=("60000", "DYNAMIC_TOPIC_CONFIG"))
    rows = run.rows("configs", "describe", "--topic", topic, "cleanup.policy", "retention.ms", "retention.bytes")
    assert rows[0] == ["CONFIG", "VALUE", "SET", "BY", "DEFAULT"]
    assert rows[1] == ["cleanup.policy", "delete,compact", "topic", "delete"]
    assert rows[2] == ["retention.ms", "60000", "topic", "604800000"]
    assert rows[3] == ["retention.bytes", "-1", "default", "-1"]
    assert "retention.bytes" not in run("configs", "describe", "--topic", topic)
    assert "retention.bytes" in run("configs", "describe", "--topic", topic, "--all")
    run("configs", "alter", "--topic", topic, "--delete", "retention.ms", "--subtract", "cleanup.policy=compact")
    configs = altered(run, "--topic", topic, cleanup_policy=("delete", "DYNAMIC_TOPIC_CONFIG"))
    assert configs["retention.ms"]["source"] == "DEFAULT_CONFIG"


@BOTH
def test_a_broker_and_all_brokers(run: CommandLine) -> None:
    rows = run.rows("configs", "describe", "--broker", "1")
    assert ["process.roles", "broker,controller", "server.properties", "-"] in rows
    run("configs", "alter", "--broker-defaults", "--set", "message.max.bytes=2000000")
    altered(run, "--broker", "1", message_max_bytes=("2000000", "DYNAMIC_DEFAULT_BROKER_CONFIG"))
    run("configs", "alter", "--broker-defaults", "--delete", "message.max.bytes")


@BOTH
def test_the_default_is_told_in_the_unit_of_the_config(run: CommandLine, topic: str) -> None:
    """Kafka has hours for some of them; and of a topic's it does not tell those at all."""
    wanted = {"flush.ms": "1000", "segment.jitter.ms": "1000", "segment.ms": "86400000"}
    run("configs", "alter", "--topic", topic, *[word for each in wanted.items() for word in ("--set", "=".join(each))])
    altered(run, "--topic", topic, segment_ms=("86400000", "DYNAMIC_TOPIC_CONFIG"))
    assert run.rows("configs", "describe", "--topic", topic, *wanted)[1:] == [
        ["flush.ms", "1000", "topic", "9223372036854775807"],
        ["segment.jitter.ms", "1000", "topic", "0"],
        ["segment.ms", "86400000", "topic", "604800000"],
    ]
    run("configs", "alter", "--broker-defaults", "--set", "log.roll.ms=86400000")
    altered(run, "--broker", "1", log_roll_ms=("86400000", "DYNAMIC_DEFAULT_BROKER_CONFIG"))
    described = run.rows("configs", "describe", "--broker", "1", "log.roll.ms", "log.roll.hours")
    assert described[1] == ["log.roll.ms", "86400000", "all", "brokers,", "dynamic", "604800000"]
    assert described[2] == ["log.roll.hours", "168", "default", "168"]
    run("configs", "alter", "--broker-defaults", "--delete", "log.roll.ms")


@BOTH
@pytest.mark.parametrize(
    ("resource", "name", "words"),
    [
        (["--topic", "{topic}"], "retenton.ms", "topic '{topic}' has no config 'retenton.ms'; did you mean 'retention"),
        (["--topic", "{topic}"], "xyz", "topic '{topic}' has no config 'xyz'"),
        (
            ["--broker", "1"],
            "log.retenton.ms",
            "broker '1' has no config 'log.retenton.ms'; did you mean 'log.retention",
        ),
        (
            ["--broker-defaults"],
            "log.retenton.ms",
            "all brokers have no config 'log.retenton.ms'; did you mean 'log.re",
        ),
        (
            ["--group", "g"],
            "session.timeout.ms",
            "group 'g' has no config 'session.timeout.ms'; did you mean 'consumer.",
        ),
    ],
)
def test_unsetting_what_does_not_exist(
    run: CommandLine, topic: str, resource: list[str], name: str, words: str
) -> None:
    """Clusters accept it, and the setting that was meant would stay."""
    resource = [word.format(topic=topic) for word in resource]
    assert words.format(topic=topic) in run.fails("configs", "alter", *resource, "--delete", name)


@BOTH
@pytest.mark.parametrize(
    ("resource", "name"),
    [
        (["--topic", "{topic}"], "retention.ms"),
        (["--broker", "1"], "leader.replication.throttled.rate"),
        (["--broker-defaults"], "log.retention.ms"),
        (["--group", "g"], "share.session.timeout.ms"),
    ],
)
def test_what_is_not_set_may_be_unset(run: CommandLine, topic: str, resource: list[str], name: str) -> None:
    run("configs", "alter", *[word.format(topic=topic) for word in resource], "--delete", name)


def test_a_setting_that_nobody_knows_can_be_unset_where_it_is_set(run: CommandLine) -> None:
    """Brokers may be given any: plugins have settings of their own."""

    def is_set() -> bool:
        return "plugin.of.mine" in [each["name"] for each in run.json("configs", "describe", "--broker-defaults")]

    run("configs", "alter", "--broker-defaults", "--set", "plugin.of.mine=1")
    assert eventually(is_set, lambda there: there)
    run("configs", "alter", "--broker-defaults", "--delete", "plugin.of.mine")
    assert not eventually(is_set, lambda there: not there)
    run.fails("configs", "alter", "--broker-defaults", "--delete", "plugin.of.mine")


def test_what_is_not_set_for_all_brokers(run: CommandLine) -> None:
    run("configs", "describe", "--broker-defaults", "log.segment.bytes")
    assert run.stderr.startswith("Nothing is set for all brokers; `stoker configs describe --broker ID --all`")
    assert "have no config 'log.segment.byte'" in run.fails(
        "configs", "describe", "--broker-defaults", "log.segment.byte"
    )


@BOTH
def test_of_a_group_the_settings_of_consumers_are_suggested(run: CommandLine) -> None:
    error = run.fails("configs", "alter", "--group", "g", "--set", "session.timeout.ms=60000")
    assert "did you mean" in error
    assert "consumer.session.timeout.ms" in error


@BOTH
def test_a_group(run: CommandLine) -> None:
    group = f"group-{uuid4().hex[:8]}"
    assert "group" not in [row[2] for row in run.rows("configs", "describe", "--group", group)]
    run("configs", "alter", "--group", group, "--set", "consumer.session.timeout.ms=50000")
    altered(run, "--group", group, consumer_session_timeout_ms=("50000", "DYNAMIC_GROUP_CONFIG"))
    rows = run.rows("configs", "describe", "--group", group)
    assert ["consumer.session.timeout.ms", "50000", "group"] in [row[:3] for row in rows]


def test_a_group_for_which_nothing_is_set(stoker_address: str) -> None:
    run = CommandLine(stoker_address)
    run("configs", "describe", "--group", "any")
    assert run.stderr == "Nothing is set for group 'any'; --all shows the defaults.\n"
    rows = run.rows("configs", "describe", "--group", "any", "--all")
    assert ["consumer.session.timeout.ms", "45000", "default", "45000"] in rows


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["describe", "--topic", "{topic}x"], "topic '{topic}x' does not exist; did you mean '{topic}'?"),
        (
            ["describe", "--topic", "{topic}", "retenton.ms"],
            "has no config 'retenton.ms'; did you mean 'retention.ms'?",
        ),
        (["describe", "--broker", "9"], "there is no broker 9; there are {brokers}"),
        (["alter", "--topic", "{topic}", "--set", "retenton.ms=1"], "did you mean "),
        (["alter", "--topic", "{topic}", "--set", "retention.ms=x"], "Invalid value x for configuration retention.ms"),
        (["alter", "--broker", "1", "--set", "node.id=3"], "broker '1' were not altered"),
    ],
)
def test_what_is_refused(run: CommandLine, topic: str, arguments: list[str], words: str) -> None:
    error = run.fails("configs", *[argument.format(topic=topic) for argument in arguments])
    assert error.startswith("stoker configs: ")
    brokers = ", ".join(str(each["id"]) for each in run.json("brokers"))
    assert words.format(topic=topic, brokers=brokers) in error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["describe"], "give one of --topic, --broker, --broker-defaults, --group"),
        (["describe", "--topic", "x", "--broker", "1"], "give one of"),
        (["describe", "--broker", "one"], "the id of a broker is a number"),
        (["alter", "--topic", "x"], "nothing to alter: give --set, --delete, --append or --subtract"),
        (["alter", "--topic", "x", "--set", "retention.ms"], "--set retention.ms: the form is key=value"),
    ],
)
def test_wrong_usage(run: CommandLine, arguments: list[str], words: str) -> None:
    assert words in run.fails("configs", *arguments, code=2)
