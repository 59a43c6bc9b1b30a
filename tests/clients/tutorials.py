"""Snippets of tutorials (`tests/clients/snippets/`), with the broker's address and with the corrections that a test declares."""

import re
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.clients.client import StoredRecord
from tests.clients.drivers.confluent import ConfluentKafka
from tests.clients.drivers.kafkajs import DIRECTORY as KAFKAJS
from tests.clients.program import Program

SNIPPETS = Path(__file__).resolve().parent / "snippets"
TUTORIAL_ADDRESSES = re.compile(r"(?:broker\d?|kafka(?:-\d)?):9092(?:,(?:broker\d|kafka-\d):9092)*")


def source(name: str, address: str, corrections: Mapping[str, str] | None = None) -> str:
    """The text of a snippet with the broker's address; `corrections` say what stands for which part of it."""
    if name.endswith(".js"):
        address = address.replace(",", "', '")  # a list of texts
    return corrected(TUTORIAL_ADDRESSES.sub(address, (SNIPPETS / name).read_text()), corrections or {})


def corrected(text: str, corrections: Mapping[str, str]) -> str:
    """The text with each part replaced; a correction of what is not there is a mistake of the test."""
    for wrong, right in corrections.items():
        assert wrong in text, f"the snippet has no {wrong!r}"
        text = text.replace(wrong, right)
    return text


def run_python(text: str, tmp_path: Path, names: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Run the text as a script in a name space that holds `names`; its global names afterwards."""
    script = tmp_path / "snippet.py"
    script.write_text(text)
    return runpy.run_path(str(script), init_globals=dict(names or {}))


def python_program(text: str, tmp_path: Path) -> Program:
    """The text as a script in a process of its own."""
    script = tmp_path / "snippet.py"
    script.write_text(text)
    return Program([sys.executable, script])


def node_program(text: str, tmp_path: Path) -> Program:
    """The text as a script of node that finds KafkaJS, in a process of its own."""
    script = tmp_path / "snippet.js"
    script.write_text(text)
    return Program(["node", script], environment={"NODE_PATH": f"{KAFKAJS / 'node_modules'}:{KAFKAJS}"})


def everything(confluent: ConfluentKafka, topic: str) -> list[StoredRecord]:
    """All records of the topic's three partitions."""
    found = []
    for partition in range(3):
        earliest, latest = confluent.offset_range(topic, partition)
        if latest > earliest:
            found += confluent.read(topic, partition, count=latest - earliest)
    return found
