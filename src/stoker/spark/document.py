"""Writes the reference part of docs/spark.md, options, types and settings: python -m stoker.spark.document docs/spark.md."""

import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Final, Protocol

from stoker.spark.formats import avro_types, json_types, protobuf_types
from stoker.spark.options import OPTIONS
from stoker.spark.settings import settings
from stoker.spark.sink_options import SINK_OPTIONS

HEADING: Final = "## Reference\n"

_OF_THIS_MACHINE: Final = {
    "spark.executorEnv.STOKER_WORKER_PYTHON": "this Python",
    "spark.pyspark.python": "a script that starts this Python",
    "spark.pyspark.driver.python": "this Python",
    "spark.sql.shuffle.partitions": "the number of cores",
}
"""What the page says in place of a value that is another on each machine."""


class Option(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def default(self) -> str: ...
    @property
    def meaning(self) -> str: ...


def reference() -> str:
    """The part of the page from its heading on."""
    parts = [
        HEADING,
        _options("Options of a read", OPTIONS),
        _options("Options of a write", SINK_OPTIONS),
        _types("Avro", avro_types),
        _types("JSON Schema", json_types),
        _types("Protobuf", protobuf_types),
        _settings(),
    ]
    return "\n".join(parts)


def _options(title: str, options: Iterable[Option]) -> str:
    lines = [f"### {title}\n", "| option | default | what it is |", "|---|---|---|"]
    lines += [
        f"| `{each.name}` | {f'`{each.default}`' if each.default else ''} | {_cell(each.meaning)} |" for each in options
    ]
    return "\n".join(lines) + "\n"


def _types(title: str, module: ModuleType) -> str:
    """The table that the module's docstring begins with."""
    rows = [line.strip().strip("|") for line in (module.__doc__ or "").splitlines() if line.startswith("|")]
    rows = [" | ".join(cell.strip() for cell in row.split("|")) for row in rows if "---" not in row]
    lines = [f"### Types of {title}\n", f"| {rows[0]} |", "|---|---|", *(f"| {row} |" for row in rows[1:])]
    return "\n".join(lines) + "\n"


def _settings() -> str:
    lines = ["### What `stoker.spark.session()` sets\n", "| setting | value | why |", "|---|---|---|"]
    for each in settings():
        value = _OF_THIS_MACHINE.get(each.name) or _cell(f"`{each.value}`")
        lines.append(f"| `{each.name}` | {value} | {_cell(each.reason)} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    page = Path(sys.argv[1])
    guide, _, _ = page.read_text().partition(HEADING)
    page.write_text(guide + reference())
