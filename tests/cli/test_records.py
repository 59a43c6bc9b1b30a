"""`stoker records` as its users meet it."""

import json
import re
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.cli.command_line import BOTH, CommandLine
from tests.clients.client import eventually


@pytest.fixture
def full(run: CommandLine, topic: str) -> str:
    """A topic with four records in partition 0, a second apart, and two in partition 1."""
    producer = Producer({"bootstrap.servers": run.address})
    for number in range(4):
        producer.produce(topic, b"value", partition=0, timestamp=1_700_000_000_000 + number * 1000)
    for _ in range(2):
        producer.produce(topic, b"value", partition=1, timestamp=1_700_000_000_000)
    assert producer.flush(30) == 0
    return topic


@BOTH
@pytest.mark.parametrize(
    ("partitions", "options", "starts"),
    [
        ("", ["--all"], [4, 2]),
        (":1", ["--all"], [0, 2]),
        ("", ["--before-offset", "2"], [2, 2]),
        (":0,1", ["--before-offset", "1"], [1, 1]),
        ("", ["--before-datetime", "2023-11-14T22:13:22"], [2, 2]),
    ],
)
def test_what_is_before_goes(
    run: CommandLine, full: str, partitions: str, options: list[str], starts: list[int]
) -> None:
    run("records", "delete", f"{full}{partitions}", *options)
    (topic,) = run.json("topics", "describe", full)
    assert [each["earliest"] for each in topic["partitions"]] == starts


def test_a_file_in_the_form_of_kafkas_tool(run: CommandLine, full: str, tmp_path: Path) -> None:
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps({"partitions": [{"topic": full, "partition": 0, "offset": 3}], "version": 1}))
    assert run.json("records", "delete", "--offset-json-file", str(file)) == [
        {"topic": full, "partition": 0, "earliest": 3}
    ]
    file.write_text("[]")
    assert 'has not the form {"partitions"' in run.fails("records", "delete", "--offset-json-file", str(file))


@BOTH
def test_a_compacted_topic(run: CommandLine, full: str) -> None:
    """The error says what stands in the way and how to go on, and going on so works."""
    run("configs", "alter", "--topic", full, "--set", "cleanup.policy=compact")
    eventually(lambda: run.json("topics", "describe", full)[0]["configs"], lambda configs: "cleanup.policy" in configs)
    error = run.fails("records", "delete", f"{full}:0", "--before-offset", "1")
    assert f"{full}-0: the cleanup.policy of topic '{full}' has no 'delete' (POLICY_VIOLATION)" in error
    (command,) = re.findall("`stoker (.*)`", error)
    run(*command.split())
    eventually(
        lambda: run.json("topics", "describe", full)[0]["configs"]["cleanup.policy"], lambda policy: "delete" in policy
    )
    run("records", "delete", f"{full}:0", "--before-offset", "1")


def test_what_is_refused(run: CommandLine, full: str) -> None:
    assert "OFFSET_OUT_OF_RANGE" in run.fails("records", "delete", full, "--before-offset", "99")
    assert f"topic '{full}' has no partition 7" in run.fails("records", "delete", f"{full}:7", "--all")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give one of --all, --before-offset, --before-datetime, --offset-json-file"),
        (["x", "--all", "--before-offset", "3"], "give one of"),
        (["--all"], "name topics"),
        (["x", "--offset-json-file", "y"], "name topics"),
        (["x:y", "--all"], "'x:y' names no partitions: the form is TOPIC or TOPIC:0,1,2"),
        (["x", "--before-datetime", "soon"], "'soon' is no point in time"),
    ],
)
def test_wrong_usage(run: CommandLine, arguments: list[str], words: str) -> None:
    assert words in run.fails("records", "delete", *arguments, code=2)
