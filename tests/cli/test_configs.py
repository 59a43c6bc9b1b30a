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
    assert rows[2][:3] == ["retention.ms", "60000", "topic"]
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
def test_a_group(run: CommandLine) -> None:
    group = f"group-{uuid4().hex[:8]}"
    run("configs", "describe", "--group", group)
    assert run.stderr == f"Nothing is set for group '{group}'; --all shows the defaults.\n"
    run("configs", "alter", "--group", group, "--set", "consumer.session.timeout.ms=50000")
    altered(run, "--group", group, consumer_session_timeout_ms=("50000", "DYNAMIC_GROUP_CONFIG"))
    rows = run.rows("configs", "describe", "--group", group)
    assert rows[1] == ["consumer.session.timeout.ms", "50000", "group", "45000"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["describe", "--topic", "{topic}x"], "topic '{topic}x' does not exist; did you mean '{topic}'?"),
        (
            ["describe", "--topic", "{topic}", "retenton.ms"],
            "has no config 'retenton.ms'; did you mean 'retention.ms'?",
        ),
        (["describe", "--broker", "9"], "there is no broker 9; there are 1"),
        (["alter", "--topic", "{topic}", "--set", "retenton.ms=1"], "did you mean retention.ms?"),
        (["alter", "--topic", "{topic}", "--set", "retention.ms=x"], "Invalid value x for configuration retention.ms"),
        (["alter", "--broker", "1", "--set", "node.id=3"], "broker '1' were not altered"),
    ],
)
def test_what_is_refused(run: CommandLine, topic: str, arguments: list[str], words: str) -> None:
    error = run.fails("configs", *[argument.format(topic=topic) for argument in arguments])
    assert error.startswith("stoker configs: ")
    assert words.format(topic=topic) in error


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
