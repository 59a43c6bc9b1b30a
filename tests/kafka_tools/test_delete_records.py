"""Files of offsets that are none: refused in Kafka's words, before anybody is connected to."""

from pathlib import Path

import pytest

from stoker.kafka_tools.running import run

MAPPING = "com.fasterxml.jackson.databind.JsonMappingException"
OPERATION = "org.apache.kafka.tools.AdminOperationException"


@pytest.mark.parametrize(
    ("content", "java_class", "message"),
    [
        (b'{"version":1,"partitions":3}', MAPPING, "Expected JSON array, received 3"),
        (b'{"version":1,"partitions":null}', MAPPING, "Expected JSON array, received null"),
        (b'{"version":1,"partitions":{}}', MAPPING, "Expected JSON array, received {}"),
        (b'{"version":1,"partitions":[3]}', MAPPING, "Expected JSON object, received 3"),
        (b'{"version":' + b"1" * 5000 + b"}", OPERATION, "The input string is not a valid JSON"),
    ],
    ids=["number", "null", "object", "numbers", "endless"],
)
def test_a_file_that_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, java_class: str, message: str
) -> None:
    file = tmp_path / "offsets.json"
    file.write_bytes(content)
    assert run("kafka-delete-records.sh", ["--bootstrap-server", "127.0.0.1:1", "--offset-json-file", str(file)]) == 1
    assert capsys.readouterr().err == f"{message}\n{java_class}: {message}\n"


def test_a_file_that_is_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "offsets.json"
    file.write_bytes(b"\xff")
    assert run("kafka-delete-records.sh", ["--bootstrap-server", "127.0.0.1:1", "--offset-json-file", str(file)]) == 1
    assert capsys.readouterr().err.startswith(f"Unable to read file {file}\n")
