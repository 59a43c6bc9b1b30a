"""`stoker topics` as its users meet it."""

from uuid import uuid4

import pytest

from tests.cli.command_line import BOTH, CommandLine


def fresh(word: str = "topic") -> str:
    return f"{word}-{uuid4().hex[:8]}"


@BOTH
def test_the_life_of_a_topic(run: CommandLine) -> None:
    name = fresh()
    run("topics", "create", name, "--partitions", "3", "--config", "retention.ms=60000")
    assert run.stderr == f"Created topic '{name}'.\n"
    brokers = [str(each["id"]) for each in run.json("brokers")]
    assert [name, "3", str(len(brokers))] in run.rows("topics", "list")
    described = run("topics", "describe", name).splitlines()
    assert described[0].startswith(f"Topic {name}: 3 partitions, replication factor {len(brokers)}, id ")
    assert "  retention.ms=60000 (topic)" in described
    assert described[-4].split() == ["PARTITION", "LEADER", "REPLICAS", "ISR", "EARLIEST", "LATEST", "SIZE"]
    partition, leader, replicas, in_sync, *empty = described[-1].split()
    assert (partition, empty) == ("2", ["0", "0", "0", "B"])
    assert leader in replicas.split(",")
    assert sorted(replicas.split(",")) == sorted(in_sync.split(",")) == brokers
    run("topics", "alter", name, "--partitions", "4", "--delete-config", "retention.ms")
    (topic,) = run.json("topics", "describe", name)
    assert len(topic["partitions"]) == 4
    assert "retention.ms" not in topic["configs"]
    run("topics", "delete", name)
    assert run.stderr == f"Deleted topic '{name}'.\n"
    assert name not in run("topics", "list", "--names").splitlines()


def test_names_are_one_a_line(run: CommandLine, topic: str) -> None:
    assert topic in run("topics", "list", "--names").splitlines()


def test_internal_topics_are_shown_if_asked_for(run: CommandLine, topic: str) -> None:
    run("groups", "reset-offsets", "--group", fresh("group"), "--topic", topic, "--to-earliest", "--execute")
    assert "__consumer_offsets" not in run("topics", "list", "--names").split()
    assert "__consumer_offsets" in run("topics", "list", "--names", "--internal").split()


@BOTH
def test_a_name_that_is_mistyped(run: CommandLine) -> None:
    name = fresh("orders")
    run("topics", "create", name)
    typo = name.replace("orders", "ordrs")
    error = f"stoker topics: topic '{typo}' does not exist; did you mean '{name}'?"
    assert run.fails("topics", "describe", typo) == error
    assert run.fails("topics", "delete", name, typo) == error
    assert name in run("topics", "list", "--names"), "nothing is deleted when something is mistyped"
    assert run.fails("topics", "alter", typo, "--partitions", "3") == error
    run("topics", "delete", typo, "--if-exists")
    assert run.stderr == f"Topic '{typo}' does not exist.\n"


@BOTH
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["create", "{topic}"], "topic '{topic}' exists already; --if-not-exists accepts that"),
        (["create", "{topic}-2", "--config", "retenton.ms=1"], "did you mean"),
        (["create", "{topic}-2", "--config", "retention.ms=x"], "retention.ms"),
        (["create", "not/valid"], "INVALID_TOPIC_EXCEPTION"),
        (["alter", "{topic}", "--partitions", "1"], "INVALID_PARTITIONS"),
        (["alter", "{topic}", "--config", "cleanup.polcy=compact"], "did you mean"),
        (
            ["alter", "{topic}", "--delete-config", "cleanup.polcy"],
            "topic '{topic}' has no config 'cleanup.polcy'; did you mean 'cleanup.policy'?",
        ),
    ],
)
def test_what_the_cluster_refuses(run: CommandLine, topic: str, arguments: list[str], words: str) -> None:
    error = run.fails("topics", *[argument.format(topic=topic) for argument in arguments])
    assert error.startswith("stoker topics: topic '")
    assert words.format(topic=topic) in error


def test_a_topic_that_is_there_may_be_accepted(run: CommandLine, topic: str) -> None:
    other = fresh()
    assert run.json("topics", "create", topic, other, "--if-not-exists")["created"] == [other]


@BOTH
def test_programs_are_told_what_was_made(run: CommandLine) -> None:
    name = fresh()
    assert run.json("topics", "create", name, "--partitions", "2") == {
        "created": [name],
        "topics": [{"topic": name, "partitions": 2, "replication_factor": len(run.json("brokers"))}],
    }


@pytest.mark.embedded_only("where there are fewer brokers than replicas are asked for, Apache Kafka refuses")
def test_fewer_replicas_than_were_asked_for_are_remarked_on(run: CommandLine) -> None:
    name = fresh()
    made = run.json("topics", "create", name, "--replication-factor", "3")
    assert run.stderr == f"Created topic '{name}' with 1 replica in place of 3: the cluster has 1 broker.\n"
    assert made["topics"] == [{"topic": name, "partitions": 1, "replication_factor": 1}]


@pytest.mark.java
def test_a_cluster_that_has_too_few_brokers_refuses(apache_kafka_address: str) -> None:
    run = CommandLine(apache_kafka_address)
    assert "INVALID_REPLICATION_FACTOR" in run.fails("topics", "create", fresh(), "--replication-factor", "3")


@BOTH
def test_a_topic_that_has_so_many_partitions_is_left_alone(run: CommandLine, topic: str) -> None:
    assert run.json("topics", "alter", topic, "--partitions", "2") == {"altered": []}
    assert run.stderr == f"Topic '{topic}' has 2 partitions already.\n"
    arguments = ["--partitions", "2", "--config", "retention.ms=60000"]
    assert run.json("topics", "alter", topic, *arguments) == {"altered": [topic]}
    assert run.stderr == f"Topic '{topic}' has 2 partitions already.\nAltered topic '{topic}'.\n"


def test_nothing_is_altered_when_a_config_is_mistyped(run: CommandLine, topic: str) -> None:
    other = fresh()
    run("topics", "create", other, "--config", "retention.ms=60000")
    run.fails("topics", "alter", other, topic, "--delete-config", "retention.ms", "--delete-config", "retenton.ms")
    assert run.json("topics", "describe", other)[0]["configs"]["retention.ms"] == "60000"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["create"], "Missing argument"),
        (["create", "x", "--partitions", "0"], "0 is less than 1"),
        (["create", "x", "--partitions", "many"], "'many' is not a whole number"),
        (["create", "x", "--config", "retention.ms"], "the form is key=value"),
        (["alter", "x"], "nothing to alter: give --partitions, --config or --delete-config"),
        (["lst"], "Did you mean 'list'"),
        (["list", "--jsno"], "--json"),
    ],
)
def test_wrong_usage(run: CommandLine, arguments: list[str], words: str) -> None:
    assert words in run.fails("topics", *arguments, code=2)


def test_trouble_is_filtered(run: CommandLine, topic: str) -> None:
    """On one node all partitions are in sync and have a leader."""
    assert run("topics", "describe", "--under-replicated") == ""
    assert run.json("topics", "describe", topic, "--unavailable") == []
    assert topic in run("topics", "describe")
