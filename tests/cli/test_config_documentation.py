"""docs/stoker-toml.md: its output is real, and no key, variable, flag, command or option is missing.

python -m tests.cli.test_config_documentation docs/stoker-toml.md      writes what its commands print, and its table, into it
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from stoker import Broker
from stoker.cli.document import commands
from stoker.settings.definitions import FILE_FLAG, FILE_VARIABLE, KAFKA_PROPERTIES, SETTINGS, TABLES, Setting
from stoker.settings.stoker_toml import parse_file
from tests.faults.stoker_process import STOKER

PAGE = Path(__file__).resolve().parents[2] / "docs" / "stoker-toml.md"

_BLOCK = re.compile(r"```(console|toml)\n(.*?)```", re.DOTALL)
_ADDRESS = "broker-1:9092"
_DIRECTORY = "/home/ann/shop"
_HEAD = "|---|---|---|---|---|\n"


def row(setting: Setting) -> str:
    default = "" if setting.default is None else f"`{setting.default}`"
    flags = ", ".join(f"`{flag}`" for flag in setting.flags)
    return f"| `{setting.name}` | `{setting.variable}` | {flags} | {default} | {setting.explanation} |\n"


def written(page: str, address: str, directory: Path) -> str:
    """The page with what its commands print now, and the rows of the settings."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STOKER_")} | {
        "PATH": f"{Path(STOKER).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "200",
    }

    def run(block: re.Match[str]) -> str:
        if block[1] != "console":
            return block[0]
        lines = ["```console"]
        for command in re.findall(r"^\$ (.*)$", block[2], re.MULTILINE):
            ran = subprocess.run(
                ["bash", "-c", command.replace(_ADDRESS, address)],
                env=environment,
                cwd=directory,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            output = ran.stdout.replace(f"{address}  ", f"{_ADDRESS.ljust(len(address))}  ").replace(address, _ADDRESS)
            output = output.replace(str(directory), _DIRECTORY)
            lines += [f"$ {command}", *[line.rstrip() for line in output.splitlines()]]
        return "\n".join([*lines, "```"])

    above, head, below = _BLOCK.sub(run, page).partition(_HEAD)
    rest = "".join(
        line for line in below.splitlines(keepends=True) if not re.match(r"\| `\S+` \| `STOKER_\w+` \|", line)
    )
    return above + head + "".join(map(row, SETTINGS)) + rest


def test_output_is_real_and_the_table_is_whole(tmp_path: Path) -> None:
    page = PAGE.read_text()
    with Broker(config={"auto.create.topics.enable": "false"}) as broker:
        assert _aligned(written(page, broker.bootstrap_servers, tmp_path)) == _aligned(page)


def _aligned(page: str) -> list[str]:
    """Addresses of other lengths move the columns of tables."""
    return [re.sub(r" {2,}", "  ", line) for line in page.splitlines()]


@pytest.mark.parametrize("text", [text for kind, text in _BLOCK.findall(PAGE.read_text()) if kind == "toml"])
def test_every_file_that_is_shown_can_be_used(text: str) -> None:
    assert tomllib.loads(text)
    read = parse_file(Path("stoker.toml"), text)
    assert read.values or read.properties


def test_every_key_is_told_of() -> None:
    page = PAGE.read_text()
    for table, keys in TABLES.items():
        for key in keys if table else ():
            assert f"`{table}.{key}`" in page


def test_flags_and_variables_are_those_of_the_commands() -> None:
    """What the table says of a flag is what commands have; and where a command has one, it reads the variable."""
    for setting in SETTINGS:
        found = [
            parameter
            for words, command in commands()
            if not words.startswith("stoker config ")
            for parameter in command.params
            if parameter.opts[0] == setting.flags[0] and set(setting.flags) <= set(parameter.opts)
        ]
        assert found, setting.name
        for parameter in found:
            assert parameter.envvar == setting.variable, parameter.opts


def test_every_command_and_option_is_told_of() -> None:
    page = PAGE.read_text()
    for words, command in commands():
        if not words.startswith("stoker config "):
            continue
        assert f"$ {words}" in page
        for parameter in command.params:
            option = max(parameter.opts, key=len)
            assert re.search(rf"{option}(?![\w-])", page) or option == "--help", f"{words} {option}"
    for word in (FILE_FLAG, FILE_VARIABLE, f"[{KAFKA_PROPERTIES}]", "--local"):
        assert word in page


if __name__ == "__main__":
    import tempfile

    file = Path(sys.argv[1])
    with Broker(config={"auto.create.topics.enable": "false"}) as running, tempfile.TemporaryDirectory() as temporary:
        file.write_text(written(file.read_text(), running.bootstrap_servers, Path(temporary).resolve()))
