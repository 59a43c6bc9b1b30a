"""Files that are no reassignments."""

import json
from pathlib import Path
from typing import Any

import pytest

from stoker.kafka_tools.reassignment_json import InvalidReassignment, read_reassignment, read_topics
from stoker.kafka_tools.running import run


def partition(**fields: Any) -> dict[str, Any]:
    return {"partitions": [{"topic": "orders", "partition": 0, "replicas": [1], **fields}]}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"partitions": 3}, "Expected JSON array, received 3"),
        ({"partitions": None}, "Expected JSON array, received null"),
        ({"partitions": {"a": 1}}, 'Expected JSON array, received {"a": 1}'),
        ({"partitions": [3]}, "Expected JSON object, received 3"),
        (partition(log_dirs=3), "Expected JSON array, received 3"),
        (partition(log_dirs=None), "Expected JSON array, received null"),
        (partition(log_dirs=[3]), "Expected `String` value, received 3"),
        (partition(replicas=["a"]), 'Expected `Integer` value, received "a"'),
        (partition(replicas=[True]), "Expected `Integer` value, received true"),
        (partition(replicas=3), 'The field "replicas" has a wrong type: 3'),
    ],
    ids=str,
)
def test_what_is_no_reassignment(document: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidReassignment) as raised:
        read_reassignment(json.dumps(document))
    assert str(raised.value) == message


def test_what_are_no_topics() -> None:
    with pytest.raises(InvalidReassignment, match="Expected JSON array, received 3"):
        read_topics('{"topics": 3}')


def test_the_tool_tells_it_without_a_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "moves.json"
    file.write_text('{"version":1,"partitions":3}')
    arguments = ["--bootstrap-server", "127.0.0.1:1", "--execute", "--reassignment-json-file", str(file)]
    assert run("kafka-reassign-partitions.sh", arguments) == 1
    message = "Expected JSON array, received 3"
    mapping = "com.fasterxml.jackson.databind.JsonMappingException"
    assert capsys.readouterr() == (f"Error: {message}\n{mapping}: {message}\n\n", "")
