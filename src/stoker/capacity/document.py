"""Writes the reference part of docs/scaling.md, where numbers come from: python -m stoker.capacity.document docs/scaling.md."""

import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import Final

from stoker.capacity.load import Load
from stoker.capacity.machines import SOURCES, Machines
from stoker.capacity.measured import (
    KAFKA_FETCHED,
    KAFKA_PRODUCED,
    MEASUREMENTS,
    REGISTRY_FETCHES,
    SPARK_CORES,
    SPARK_LARGE_VALUES,
    SPARK_WORK,
    STOKER_FETCHED,
    STOKER_PRODUCED,
    STREAMS_WORK,
    Measurement,
    core_bytes_per_second,
    core_seconds,
)
from stoker.capacity.measured_streams import STREAMS_CORES, STREAMS_EVENTS_PER_SECOND, STREAMS_PAGE
from stoker.capacity.options import option, shown_field

HEADING: Final = "## Where the numbers come from\n"

_BROKER_WORK: Final = {
    "Apache Kafka, 1 KB produced in batches of 16 KB": KAFKA_PRODUCED,
    "Apache Kafka, 1 KB fetched": KAFKA_FETCHED,
    "the embedded broker, 1 KB produced in batches of 16 KB": STOKER_PRODUCED,
    "the embedded broker, 1 KB fetched": STOKER_FETCHED,
}
_STREAMS: Final = f"{STREAMS_EVENTS_PER_SECOND:,.0f} events/s on {STREAMS_CORES} cores"


def reference() -> str:
    """The part of the page from its heading on."""
    return "\n".join([HEADING, _cores(), _defaults(), _measurements()])


def _cores() -> str:
    lines = ["### What one core does\n", "| work | of one core | from |", "|---|---:|---|"]
    for name, measured in _BROKER_WORK.items():
        lines.append(f"| {name} | {1000 / measured.value:,.0f} MB/s | {measured.value:g} s/GB, {_link(measured)} |")
    for name, measured in SPARK_WORK.items():
        rate = f"{1 / core_seconds(name):,.0f} events/s"
        lines.append(f"| Spark, `--work {name}` | {rate} | {measured.value:g} µs a record, {_link(measured)} |")
    rate = f"{1 / core_seconds(STREAMS_WORK):,.0f} events/s"
    lines += [
        f"| Spark, `--work {STREAMS_WORK}` | {rate} | {_STREAMS}, [streams]({STREAMS_PAGE}) |",
        f"| Spark, bytes of large values | {core_bytes_per_second() / 1e6:,.0f} MB/s | {SPARK_LARGE_VALUES.value:g} MB/s on "
        f"{SPARK_CORES} cores, {_link(SPARK_LARGE_VALUES)} |",
        f"| the registry, schemas by id | {REGISTRY_FETCHES.value:,.0f} calls/s | one process, {_link(REGISTRY_FETCHES)} |",
    ]
    return "\n".join(lines) + "\n"


def _defaults() -> str:
    values = {each.name: each.default for kind in (Load, Machines) for each in fields(kind)}
    lines = ["### Defaults\n", "| option | default | why |", "|---|---|---|"]
    lines += [
        f"| `{option(name)}` | {shown_field(name, values[name])} | {source} |" for name, source in SOURCES.items()
    ]
    return "\n".join(lines) + "\n"


def _measurements() -> str:
    lines = ["### Measured\n", "| what | figure | page |", "|---|---:|---|"]
    lines += [
        f"| {each.section}: {each.row} ({each.column}) | {each.value:,g} {each.unit} | {_link(each)} |"
        for each in MEASUREMENTS
    ]
    lines += [f"| streams: revenue of each customer and hour | {_STREAMS} | [streams]({STREAMS_PAGE}) |"]
    return "\n".join(lines) + "\n"


def _link(measured: Measurement) -> str:
    anchor = re.sub(r"[^\w -]", "", measured.section.lower()).replace(" ", "-")
    name = measured.page.removesuffix(".md").partition("-")[2] or "broker"
    return f"[{name}]({measured.page}#{anchor})"


if __name__ == "__main__":
    page = Path(sys.argv[1])
    guide, _, _ = page.read_text().partition(HEADING)
    page.write_text(guide + reference())
