"""What a run of a command line costs, and that a failed one is no measurement."""

import sys
from pathlib import Path

import pytest

from side_by_side import cli_sections, command_lines
from side_by_side.command_lines import CommandLine, Tools
from side_by_side.processes import LoadFailed


def python(code: str) -> CommandLine:
    return CommandLine(name="stoker", words=[sys.executable, "-c", code])


def test_input_output_and_processor_time_are_those_of_the_program(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("one\ntwo\n")
    copy = python("import sys, time; time.sleep(0.3); sys.stdout.write(sys.stdin.read())")
    cost = command_lines.run(copy, standard_input=source, output=tmp_path / "output")
    assert (tmp_path / "output").read_text() == "one\ntwo\n"
    assert cost.seconds >= 0.3
    assert 0 < cost.cpu_seconds < cost.seconds


def test_a_failure_is_named_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match="ended with status 3: no such topic"):
        command_lines.run(
            python("import sys; print('no such topic', file=sys.stderr); sys.exit(3)"), output=tmp_path / "o"
        )


def test_byte_code_is_kept() -> None:
    assert command_lines.environment({"PYTHONDONTWRITEBYTECODE": "1", "HOME": "/x"}) == {"HOME": "/x"}


def test_the_tools_do_the_same_task_on_the_same_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    tools = Tools(stoker=Path("stoker"), class_path="jars/*", server="localhost:9092")
    for lines in (tools.topics_list(), tools.produce("orders"), tools.consume("orders", 10)):
        assert [line.name for line in lines] == ["stoker", "kafka", "kcat"]
        assert all("localhost:9092" in line.words for line in lines)


def test_lines_have_the_size_of_a_record(tmp_path: Path) -> None:
    lines = cli_sections.write_lines(tmp_path / "lines", 1000).read_bytes().splitlines()
    assert {len(line) for line in lines} == {cli_sections.RECORD_BYTES}
    assert len(set(lines)) == 1000
