"""docs/kafka-tools.md: what it shows is real, and no tool is missing."""

import os
import re
import subprocess
from pathlib import Path

from stoker import Broker
from stoker.kafka_tools.table import TOOLS
from tests.faults.broker_process import STOKER

PAGE = Path(__file__).resolve().parents[2] / "docs" / "kafka-tools.md"
_CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)


def test_output_is_real(tmp_path: Path) -> None:
    """The commands of the page, one after the other, with the broker's address in place of localhost:9092."""
    environment = os.environ | {"PATH": f"{Path(STOKER).parent}{os.pathsep}{os.environ['PATH']}"}
    with Broker() as broker:
        for block in _CONSOLE.findall(PAGE.read_text()):
            for shown in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, expected = shown.partition("\n")
                ran = subprocess.run(
                    ["bash", "-c", command.replace("localhost:9092", broker.bootstrap_servers)],
                    cwd=tmp_path,
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=60,
                    check=False,
                )
                assert ran.stdout == expected, command


def test_every_tool_is_listed() -> None:
    assert re.findall(r"^\| `(kafka-[\w-]+\.sh)` \|", PAGE.read_text(), re.MULTILINE) == list(TOOLS)
