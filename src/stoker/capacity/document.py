"""Writes the reference part of docs/scaling.md, where numbers come from: python -m stoker.capacity.document docs/scaling.md."""

import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import Final

from stoker.capacity.figure import shown_bytes, shown_rate
from stoker.capacity.load import DAY_SECONDS, Load
from stoker.capacity.machines import SOURCES, Machines
from stoker.capacity.measured import MEASUREMENTS, Measurement
from stoker.capacity.measured_streams import STREAMS_CORES, STREAMS_EVENTS_PER_SECOND, STREAMS_PAGE

HEADING: Final = "## Where the numbers come from\n"

OPTIONS: Final = {
    "record_bytes": "--record-size",
    "retention_seconds": "--retention",
    "partition_write": "--target-producer-rate",
    "partition_read": "--target-consumer-rate",
    "core_rate": "--spark-core-rate",
}
"""Of fields whose option has another name than they have."""


def option(field: str) -> str:
    return OPTIONS.get(field, "--" + field.replace("_", "-"))


def reference() -> str:
    """The part of the page from its heading on."""
    return "\n".join([HEADING, _defaults(), _measurements()])


def _defaults() -> str:
    values = {each.name: each.default for kind in (Load, Machines) for each in fields(kind)}
    lines = ["### Defaults\n", "| option | default | why |", "|---|---|---|"]
    lines += [f"| `{option(name)}` | {_shown(name, values[name])} | {source} |" for name, source in SOURCES.items()]
    return "\n".join(lines) + "\n"


def _measurements() -> str:
    lines = ["### Measured\n", "| what | figure | page |", "|---|---:|---|"]
    lines += [
        f"| {each.section}: {each.row} ({each.column}) | {each.value:,g} {each.unit} | {_link(each)} |"
        for each in MEASUREMENTS
    ]
    streams = f"{STREAMS_EVENTS_PER_SECOND:,.0f} events/s on {STREAMS_CORES} cores"
    lines += [f"| streams: revenue of each customer and hour | {streams} | [streams]({STREAMS_PAGE}) |"]
    return "\n".join(lines) + "\n"


def _link(measured: Measurement) -> str:
    anchor = re.sub(r"[^\w -]", "", measured.section.lower()).replace(" ", "-")
    name = measured.page.removesuffix(".md").partition("-")[2] or "broker"
    return f"[{name}]({measured.page}#{anchor})"


def _shown(name: str, value: object) -> str:
    if name == "retention_seconds" and isinstance(value, float):
        return f"{value / DAY_SECONDS:g}d"
    if name in ("broker_write", "broker_network", "partition_write", "partition_read") and isinstance(value, float):
        return shown_rate(value)
    if name in ("record_bytes", "state_bytes", "broker_disk", "broker_memory") and isinstance(value, float):
        return shown_bytes(value)
    return "measured" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    page = Path(sys.argv[1])
    guide, _, _ = page.read_text().partition(HEADING)
    page.write_text(guide + reference())
