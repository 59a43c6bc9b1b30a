"""The results as tables in Markdown: every quantity, its ratio, and the target beside it."""

import os
import platform
import shlex
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from side_by_side.results import Row, Section

OVER_KAFKA = "Stoker's median divided by Kafka's (or by the physical limit where the target says so)"


def render(
    title: str,
    introduction: str,
    sections: Sequence[Section],
    *,
    command: Sequence[str],
    directory: Path,
    jars: Path,
    failures: Sequence[str],
    note: str,
    ratio: str = OVER_KAFKA,
) -> str:
    """`ratio` says what the ratios are."""
    reading = f"A cell is the median of the rounds, with half of the spread between the lowest and the highest; a ratio is {ratio}."
    lines = [f"# {title}", "", f"{introduction} {reading}", ""]
    if note:
        lines += [f"**{note}**", ""]
    lines += [f"- {fact}" for fact in facts(directory, jars)]
    lines += [f"- Command: `{shlex.join(command)}`", ""]
    lines += _summary(sections)
    for section in sections:
        lines += [f"## {section.title}", "", section.settings, "", *_table(section), ""]
    if failures:
        lines += ["## What failed", "", *(f"- {failure}" for failure in failures), ""]
    return "\n".join(lines)


def facts(directory: Path, jars: Path) -> list[str]:
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    kafka = next(iter(sorted(jars.glob("kafka_2.13-*.jar"))), None)
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr.partition("\n")[0]
    load = os.getloadavg()
    return [
        f"Date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC; load average {load[0]:.1f} (1 min), {load[2]:.1f} (15 min)",
        f"Machine: {_processor()}, {os.cpu_count()} cores, {memory_gb:.0f} GB, Linux {platform.release()}; "
        f"data on {_file_system(directory)}",
        f"Stoker {_version('stoker')} on Python {platform.python_version()} with uvloop {_version('uvloop')}, "
        f"Apache Kafka {kafka.stem.partition('-')[2] if kafka else '?'} on {java}",
        f"Clients: confluent-kafka {_version('confluent-kafka')} (librdkafka {_librdkafka_version()}), "
        "Java kafka-clients of the same Kafka",
    ]


def _table(section: Section) -> list[str]:
    columns = [name for name in section.heads if any(name in row.samples for row in section.rows)]
    lines = [
        f"| | unit | {' | '.join(section.heads[column] for column in columns)} | ratio | target | |",
        f"|---|---|{'---:|' * len(columns)}---:|---:|---|",
    ]
    for row in section.rows:
        ratio = row.ratio()
        cells = [row.name, row.unit, *(_cell(row, column) for column in columns)]
        cells += [f"{ratio:.2f}" if ratio is not None else "–", str(row.target or ""), _verdict(row)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _cell(row: Row, column: str) -> str:
    value, spread = row.median(column), row.spread(column)
    if value is None:
        return "–"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    number = f"{value:,.{digits}f}"
    return f"{number} ±{spread:.0%}" if spread and len(row.samples[column]) > 1 else number


def _verdict(row: Row) -> str:
    return {True: "met", False: "short", None: "not measured" if row.target else ""}[row.is_met()]


def _summary(sections: Sequence[Section]) -> list[str]:
    wanted = [(section, row) for section in sections for row in section.rows if row.target is not None]
    short = [(section, row) for section, row in wanted if row.is_met() is False]
    unmeasured = [(section, row) for section, row in wanted if row.is_met() is None]
    if not wanted:
        return []
    met = len(wanted) - len(short) - len(unmeasured)
    lines = [f"Of {len(wanted)} targets {met} are met, {len(short)} are not, {len(unmeasured)} could not be measured."]
    if short:
        lines += ["", "Short of the target:", ""]
        for section, row in short:
            value = row.ratio() if row.target and row.target.against else row.median("stoker")
            lines.append(f"- {section.title}: {row.name}: {value:.2f}, wanted {row.target}")
    if unmeasured:
        lines += ["", "Not measured:", ""]
        lines += [f"- {section.title}: {row.name}, wanted {row.target}" for section, row in unmeasured]
    return [*lines, ""]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "?"


def _librdkafka_version() -> str:
    from confluent_kafka import libversion

    return str(libversion()[0])


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _file_system(directory: Path) -> str:
    """The type of the file system that holds the data."""
    done = subprocess.run(["stat", "-f", "-c", "%T", str(directory)], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "?"
