"""Kafka's own tools and ours with the same arguments on the same cluster: what they print and how they end, side by side."""

import os
import re
import subprocess
import sys
from typing import Final, NamedTuple

from stoker.kafka_tools.table import TOOLS
from tests.clients.drivers.java import JavaClients

HERE: Final = "CLUSTER"
"""In arguments: the address of the cluster."""

_LOG_LINE: Final = re.compile(r"^(?:\[[^]]*\] (?:ERROR|WARN|INFO) .*|.*\((?:org\.apache\.)?kafka\.[\w.$]+\))$")
_TRACE: Final = re.compile(r"^\s*(?:\s+at .*|Caused by: .*|\.\.\. \d+ more|Suppressed: .*)$")


class Ran(NamedTuple):
    """What a tool did."""

    code: int
    output: str
    error: str

    def normalised(self) -> "Ran":
        """Without what is of the JVM: stack traces, and lines of the log."""
        return Ran(self.code, _stripped(self.output), "\n".join(_worth_comparing(self.error)))


def original(java: JavaClients, script: str, *arguments: str, stdin: str = "") -> Ran:
    """What Kafka's own tool does, in a JVM that is running already."""
    here = [argument.replace(HERE, java.bootstrap_servers) for argument in arguments]
    finished = java.tool(TOOLS[script].classes[0], *here, stdin=stdin)
    return Ran(finished.status, finished.output, finished.error)


def ours(address: str, script: str, *arguments: str, stdin: str = "", timeout: float = 60) -> Ran:
    """What ours does, in a process of its own."""
    here = [argument.replace(HERE, address) for argument in arguments]
    finished = subprocess.run(
        [sys.executable, "-m", "stoker.kafka_tools", script, *here],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        env=os.environ | {"TZ": "UTC"},
        check=False,
    )
    return Ran(finished.returncode, finished.stdout, finished.stderr)


def _worth_comparing(text: str) -> list[str]:
    lines = [line.removeprefix('Exception in thread "main" ').rstrip() for line in text.splitlines()]
    return [line for line in lines if line and not _TRACE.match(line) and not _LOG_LINE.match(line)]


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())
