"""Run a tool by its name: what was foreseen ends with Kafka's words and Kafka's exit code, never with a traceback."""

import sys
from collections.abc import Sequence
from typing import Final

from stoker.errors import StokerError
from stoker.kafka_tools.failure import KAFKA_VERSION, ToolExit, UsageAsked, VersionAsked, java_error
from stoker.kafka_tools.printing import mind_no_reader
from stoker.kafka_tools.table import Tool, find_tool

FAILED: Final = 1
INTERRUPTED: Final = 130


def run(name: str, arguments: Sequence[str]) -> int:
    """Run `kafka-topics.sh`, `kafka-topics` or `org.apache.kafka.tools.TopicCommand`; returns the exit code."""
    tool = find_tool(name)
    if tool is None:
        from difflib import get_close_matches

        from stoker.kafka_tools.table import TOOLS

        meant = get_close_matches(name, TOOLS, n=1)
        hint = f"; did you mean {meant[0]}?" if meant else ""
        print(f"stoker: there is no tool {name}{hint} `stoker tools list` lists them.", file=sys.stderr)
        return 2
    mind_no_reader()
    try:
        return _run(tool, arguments)
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(tool: Tool, arguments: Sequence[str]) -> int:
    try:
        return _end(tool.load()(arguments))
    except UsageAsked as asked:
        return _end(FAILED, error=f"{asked.message}\n{asked.parser.help_text()}".removesuffix("\n"))
    except VersionAsked:
        return _end(0, output=KAFKA_VERSION)
    except ToolExit as ended:
        return _end(ended.code, output=ended.output, error=ended.error)
    except StokerError as error:
        return _end(FAILED, error=f'Exception in thread "main" {java_error(error).described}')


def _end(code: int, *, output: str | None = None, error: str | None = None) -> int:
    if output is not None:
        print(output)
    sys.stdout.flush()
    if error is not None:
        print(error, file=sys.stderr)
    return code
